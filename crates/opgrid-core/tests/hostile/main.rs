//! Safe programs that try to break what the dispatcher promises.
//!
//! Each did once. What ends its process, or could, runs in a process of its own (`child`).
#![forbid(unsafe_code)]

mod child;
#[path = "../common/mod.rs"]
mod common;

mod depth;
mod destructors;
mod elements;
mod ending;
mod libraries;
mod names;
mod stale;
mod unloading;
