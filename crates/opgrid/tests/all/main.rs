//! The tests that need no process of their own, as one program, so that there is one to link.

mod idioms;
mod index;
mod recipes;
