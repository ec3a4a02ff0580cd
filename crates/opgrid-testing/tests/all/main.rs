//! The tests that need no process of their own, as one program, so that there is one to link.
//!
//! `cpu`, beside this folder, runs after each edit of an operator.

mod flaws;
mod large;
