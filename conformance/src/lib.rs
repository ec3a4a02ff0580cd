//! Compares opgrid with PyTorch, by random programs that both run: its dispatcher in [`dispatcher`], its tensors and operators
//! in [`tensors`].
//!
//! Both have the same parts: one module makes what is compared of a seed, `ours` runs it here, `compare` looks for
//! differences and `deliberate` knows those that were decided. Whatever else differs fails the run. A seed means the same
//! program forever, so that a difference can be looked at again. What both share stands here: random numbers, the counts of a run
//! ([`tally`]), command lines ([`options`]), and the pages of all differences ([`differences`]) and of operators that are not here
//! ([`missing`]).
#![forbid(unsafe_code)]

pub mod dispatcher;
pub mod tensors;

pub mod differences;
pub mod missing;
pub mod options;
pub mod random;
pub mod tally;
