//! The tests that need no process of their own, as one program, so that there is one to link.
//!
//! What asks for all that the global dispatcher has, fills what a process has once, or measures, has a program of its own
//! beside this folder.

#[path = "../cases/mod.rs"]
mod cases;
#[path = "../common/mod.rs"]
mod common;

mod answers;
mod argument_types;
mod boxing;
mod columns;
mod computed_tables;
mod context;
mod differences;
mod held_kernels;
mod key_set;
mod keys;
mod legacy;
mod libraries;
mod lifetimes;
mod providers;
mod registration_errors;
mod selecting;
mod statements;
mod tables;
mod which_kernel;
mod wrapping_fallbacks;
