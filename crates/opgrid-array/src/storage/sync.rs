//! What the counting of readers and writers is made of: atomics and the two halves of the asymmetric barrier.
//!
//! [`borrows`](super::borrows) names nothing else, so that a model compiles it with a module of this name of its own.

pub(super) use std::sync::atomic::{AtomicIsize, AtomicPtr, Ordering};
pub(super) use std::thread::yield_now;

pub(super) use opgrid_core::barrier::{heavy_barrier, light_barrier};
