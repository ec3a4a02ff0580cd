//! Safe programs that try to break what the dispatcher promises.
//!
//! Each did once. What ends its process, or could, runs in a process of its own (`child`).
#![forbid(unsafe_code)]

mod child;
#[path = "../common/mod.rs"]
mod common;

mod aliases;
mod arguments;
mod binding;
mod deep_values;
mod depth;
mod destructors;
mod drops;
mod elements;
mod ending;
mod ending_threads;
mod fallbacks;
mod first_calls;
mod libraries;
mod listeners;
mod names;
mod registration;
mod selecting;
mod signatures;
mod stale;
mod unloading;
