//! Limits elements to a range, of which NaN is no part: a bound or an element that is NaN gives NaN.

use opgrid_core::{DType, Result, Scalar};

use super::arithmetic::{self, Ordered};
use super::elementwise;
use crate::tensor::{Element, Tensor};
use crate::with_dtype;

/// Limits elements of integers or floats, computed in `dtype`, by numbers. Where the bounds cross, the upper one counts.
///
/// # Errors
///
/// Another dtype; a number beyond its range; as [`elementwise::unary`].
pub fn by_numbers(
    out: &Tensor,
    input: &Tensor,
    dtype: DType,
    low: Option<Scalar>,
    high: Option<Scalar>,
) -> Result<()> {
    with_dtype!(dtype, T: Real => {
        let bound = |number: Option<Scalar>| -> Result<_> {
            Ok(number.map(arithmetic::element::<T>).transpose()?.map(Element::widen))
        };
        match (bound(low)?, bound(high)?) {
            (Some(low), Some(high)) => {
                elementwise::unary::<T, T>(out, input, move |a| a.larger(low).smaller(high))
            }
            (Some(low), None) => elementwise::unary::<T, T>(out, input, move |a| a.larger(low)),
            (None, Some(high)) => elementwise::unary::<T, T>(out, input, move |a| a.smaller(high)),
            (None, None) => elementwise::copy(out, input),
        }
    })
}

/// # Errors
///
/// A bound that is no number of the dtype, which has integers or floats.
pub fn check_numbers(dtype: DType, bounds: [Option<Scalar>; 2]) -> Result<()> {
    bounds
        .into_iter()
        .flatten()
        .try_for_each(|number| with_dtype!(dtype, T: Real => arithmetic::element::<T>(number).map(drop)))
}

/// Limits elements of any dtype with an order, computed in `dtype`, by those of tensors.
///
/// # Errors
///
/// Another dtype; as [`elementwise::ternary`].
pub fn by_tensors(
    out: &Tensor,
    input: &Tensor,
    dtype: DType,
    low: Option<&Tensor>,
    high: Option<&Tensor>,
) -> Result<()> {
    with_dtype!(dtype, T: Ordered => match (low, high) {
        (Some(low), Some(high)) => {
            elementwise::ternary::<T, T, T, T>(out, input, low, high, |a, low, high| {
                // A bound that is NaN wins over the other one.
                let limited = a.larger(low).smaller(high);
                if low.is_nan() { low } else { limited }
            })
        }
        (Some(low), None) => elementwise::binary::<T, T, T>(out, input, low, |a, low| a.larger(low)),
        (None, Some(high)) => elementwise::binary::<T, T, T>(out, input, high, |a, high| a.smaller(high)),
        (None, None) => elementwise::copy(out, input),
    })
}
