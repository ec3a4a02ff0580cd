//! The names that samples of operators use, beside those of operator files.

pub use opgrid_core::Value;

pub use crate::departures::access::READ_AFTER_WRITTEN;
pub use crate::{
    ANY, Argument, COMPLEX, DTypeRule, Difference, Directed, Distribution, Expected, FLOATS, Given, INEXACT,
    INTEGERS, INTEGRAL, Inputs, NUMBERS, ORDERED, Operand, Part, Plain, REAL, Rounding, Roundings, STORED,
    Sample, Samples, Seen, departures, differences, generate, given, naive, number,
};
