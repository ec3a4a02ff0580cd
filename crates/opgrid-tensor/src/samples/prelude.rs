//! The names that samples of operators use, beside those of operator files.

pub(crate) use opgrid_core::Value;

pub(crate) use super::departures::access::READ_AFTER_WRITTEN;
pub(crate) use super::{
    ANY, Argument, COMPLEX, DTypeRule, Difference, Directed, Distribution, Expected, FLOATS, Given, INEXACT,
    INTEGERS, INTEGRAL, Inputs, NUMBERS, ORDERED, Operand, Part, Plain, REAL, Rounding, Roundings, STORED,
    Sample, Samples, Seen, departures, differences, given, make, naive, number,
};
