//! What is registered in a dispatcher, as data: checked for faults, recorded, compared, laid out as a grid.
//!
//! Everything here asks the dispatcher's public interface; nothing decides again which kernel runs. So it holds for any
//! dispatcher, whoever registered operators, backends and layers.
//!
//! - [`lint`] finds what is probably a mistake in a registry.
//! - [`Record`] is a registry on paper, which can be written, read again and [compared](Record::changes_to).
//! - [`Grid`] is the registry as rows of operators and columns of keys.

#![forbid(unsafe_code)]

mod compare;
mod grid;
mod lint;
mod names;
mod record;
mod types;

pub use compare::{Change, ChangeKind};
pub use grid::{Cell, Grid, GridKernel, KeyColumn, Row};
pub use lint::{Fault, Finding, lint};
pub use record::{KernelOnRecord, OperatorOnRecord, Record, SlotOnRecord};

/// The examples of README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
