//! Counts elements over dimensions.

use opgrid_core::Result;

use crate::reduce::{self, Reduction};
use opgrid_array::Bool;
use opgrid_array::loops::elementwise::{Destination, Operand};

/// How many elements of `input` over `dims` (all if empty) are other than zero.
///
/// # Errors
///
/// As [`reduce::fold`].
pub fn nonzero(out: &impl Destination, input: &impl Operand, dims: &[i64]) -> Result<()> {
    reduce::fold(out, input, dims, &Count)
}

struct Count;

impl Reduction for Count {
    type In = Bool;
    type Out = i64;
    type State = i64;

    #[inline(always)]
    fn start(&self) -> i64 {
        0
    }

    #[inline(always)]
    fn step(&self, state: i64, value: Bool, _index: usize) -> i64 {
        state + i64::from(value.is_true())
    }

    #[inline(always)]
    fn join(&self, one: i64, other: i64) -> i64 {
        one + other
    }

    #[inline(always)]
    fn finish(&self, state: i64, _count: usize) -> i64 {
        state
    }
}
