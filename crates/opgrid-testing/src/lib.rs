//! The suite that operators and backends have to pass: samples × checks.
//!
//! [Samples](opgrid_samples) say what an operator is called with, what it has to answer and what it refuses. A
//! [`Suite`] runs all of them on one device of one dispatcher and judges each call by every [`Check`]: against the plain
//! reference, on meta tensors, typed and boxed, on strided memory, in place and into outputs. The [`Report`] counts per
//! operator and check, and names what failed and what was left out, with reasons.
//!
//! # Examples
//!
//! ```
//! use opgrid_core::{DType, Device, Dispatcher};
//! use opgrid_testing::Suite;
//!
//! let dispatcher = Dispatcher::new();
//! let _operators = opgrid_tensor::register(&dispatcher)?;
//! let samples = opgrid_operators::samples().only(|name| name.starts_with("aten::mul."));
//! let report = Suite::new(samples).device(Device::CPU).dtypes(&[DType::F32]).run(&dispatcher);
//! assert!(report.passed(), "{report}");
//! # Ok::<(), opgrid_core::Error>(())
//! ```
#![forbid(unsafe_code)]

// The operators that the checks call.
use opgrid_operators as _;

mod agreement;
mod checks;
mod draws;
mod fault;
mod memory;
mod report;
mod subject;
mod suite;
mod target;
mod variants;

pub use checks::Check;
pub use report::{Failure, Report, Skip};
pub use suite::Suite;

/// The examples of README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
