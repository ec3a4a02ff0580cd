//! The tests that need no process of their own, as one program, so that there is one to link.
//!
//! What exchanges the allocator, draws from the stream of random numbers, or installs layers in the global dispatcher has a program of
//! its own beside this folder.

mod compiled;
mod errors;
mod exported;
mod functionalize;
mod hostile;
mod mapped;
mod models;
mod passes;
mod reuse;
mod text;
mod trace;
mod written;
