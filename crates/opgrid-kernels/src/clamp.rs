//! Limits elements to a range, of which NaN is no part: a bound or an element that is NaN gives NaN.

use opgrid_core::{DType, Result, Scalar};

use opgrid_array::error::argument;
use opgrid_array::loops::arithmetic::{self, Ordered};
use opgrid_array::loops::{Source, elementwise};
use opgrid_array::with_dtype;
use opgrid_array::{Array, Element, iinfo};

/// Limits elements of integers or floats, computed in `dtype`, by numbers. Where the bounds cross, the upper one counts.
/// A bound that every integer of the dtype keeps is none.
///
/// # Errors
///
/// Another dtype; as [`check_numbers`] and [`elementwise::unary`].
pub fn by_numbers(
    out: &Array,
    input: Source<'_>,
    dtype: DType,
    low: Option<Scalar>,
    high: Option<Scalar>,
) -> Result<()> {
    with_dtype!(dtype, T: Real by value => {
        let bound = |number: Option<Scalar>| -> Result<_> {
            Ok(number.map(|number| arithmetic::element_for::<T>(number, dtype)).transpose()?.map(Element::widen))
        };
        let low = bound(effective(dtype, low, Side::Low)?)?;
        let high = bound(effective(dtype, high, Side::High)?)?;
        if [low, high].into_iter().flatten().any(Ordered::is_nan) {
            return elementwise::fill_for(out, &input, f64::NAN);
        }
        match (low, high) {
            (Some(low), Some(high)) => {
                elementwise::unary::<T, T>(out, &input, move |a| at_most(at_least(a, low), high))
            }
            (Some(low), None) => elementwise::unary::<T, T>(out, &input, move |a| at_least(a, low)),
            (None, Some(high)) => elementwise::unary::<T, T>(out, &input, move |a| at_most(a, high)),
            (None, None) => elementwise::copy(out, &input),
        }
    })
}

/// The larger one, or NaN if `a` is that: one instruction, as the bound is a number.
#[inline(always)]
fn at_least<T: Ordered>(a: T, low: T) -> T {
    if a.is_below(low) { low } else { a }
}

/// The smaller one, as [`at_least`].
#[inline(always)]
fn at_most<T: Ordered>(a: T, high: T) -> T {
    if high.is_below(a) { high } else { a }
}

/// Checks a lower and an upper bound for elements of a dtype, which has integers or floats.
///
/// # Errors
///
/// A bound of integers that none of them keeps; one of floats beyond their range.
pub fn check_numbers(dtype: DType, [low, high]: [Option<Scalar>; 2]) -> Result<()> {
    let bounds = [effective(dtype, low, Side::Low)?, effective(dtype, high, Side::High)?];
    bounds.into_iter().flatten().try_for_each(
        |number| with_dtype!(dtype, T: Real by itself => arithmetic::element::<T>(number).map(drop)),
    )
}

/// Which of two bounds a number is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Low,
    High,
}

/// The bound that elements of a dtype have in a number: none where every integer of the dtype keeps it.
///
/// # Errors
///
/// An integer that no element of the dtype can keep: the result would be a number that the dtype does not have.
fn effective(dtype: DType, bound: Option<Scalar>, side: Side) -> Result<Option<Scalar>> {
    let Ok(range) = iinfo(dtype) else { return Ok(bound) };
    let number = match bound {
        Some(Scalar::Int(number)) => i128::from(number),
        Some(Scalar::UInt(number)) => i128::from(number),
        _ => return Ok(bound),
    };
    let is_below = number < range.min.into();
    if !is_below && number <= range.max.into() {
        return Ok(bound);
    }
    match (side, is_below) {
        (Side::Low, true) | (Side::High, false) => Ok(None),
        _ => {
            let name = if side == Side::Low { "lower" } else { "upper" };
            Err(argument(format!(
                "the {name} bound {number} is outside of the range of {dtype}, from {} to {}; give one \
                 inside, or convert `self`",
                range.min, range.max
            )))
        }
    }
}

/// Limits elements of any dtype with an order, computed in `dtype`, by those of tensors.
///
/// # Errors
///
/// Another dtype; as [`elementwise::ternary`].
pub fn by_tensors(
    out: &Array,
    input: Source<'_>,
    dtype: DType,
    low: Option<Source<'_>>,
    high: Option<Source<'_>>,
) -> Result<()> {
    with_dtype!(dtype, T: Ordered by value => match (low, high) {
        (Some(low), Some(high)) => {
            elementwise::ternary::<T, T, T, T>(out, &input, &low, &high, |a, low, high| {
                // A bound that is NaN wins over the other one.
                let limited = a.larger(low).smaller(high);
                if low.is_nan() { low } else { limited }
            })
        }
        (Some(low), None) => elementwise::binary::<T, T, T>(out, &input, &low, |a, low| a.larger(low)),
        (None, Some(high)) => elementwise::binary::<T, T, T>(out, &input, &high, |a, high| a.smaller(high)),
        (None, None) => elementwise::copy(out, &input),
    })
}
