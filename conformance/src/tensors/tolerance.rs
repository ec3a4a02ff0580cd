//! How far results may lie apart, and why.

use opgrid_core::{Complex64, DType};
use opgrid_tensor::tensor::finfo;

use super::case::{Arg, Call, Case};
use super::hex;

/// How results are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Bit by bit: elements are moved, compared, or computed by operations that are correctly rounded. NaN equals NaN.
    Exact,
    /// By so many times the precision of the dtype, beside the result: neither side rounds the function correctly.
    Result(u32),
    /// By so many times the precision, beside the largest sum that the inputs could have: the order of the terms is
    /// not the same, and both sides keep more digits than the result has.
    Sum(u32),
    /// Not at all: the elements were never written.
    Unset,
}

/// The families whose results are not exact.
const INEXACT: &[(&[&str], Rounding)] = &[
    // Polynomials here, the library SLEEF there: 1 to 2 units in the last place each.
    (&["exp", "log", "tanh", "sigmoid", "pow"], Rounding::Result(4)),
    // A product and a sum, which are fused where the processor can.
    (&["linspace"], Rounding::Result(2)),
    (&["addmm", "bmm", "matmul", "mm"], Rounding::Sum(2)),
    (&["sum", "mean"], Rounding::Sum(2)),
    // Box and Muller's formula, by another logarithm, sine and cosine.
    (&["normal", "randn"], Rounding::Sum(8)),
    (&["empty", "empty_like", "empty_strided"], Rounding::Unset),
];

/// Complex arithmetic is several roundings, which are fused and ordered otherwise.
const COMPLEX: &[&str] = &["abs", "add", "div", "mul", "reciprocal", "rsub", "sqrt", "sub"];

/// How the results of a call are compared.
pub fn of(call: &Call, is_complex: bool) -> Rounding {
    let family = call.family();
    match INEXACT.iter().find(|(families, _)| families.contains(&family)) {
        Some((_, rounding)) => *rounding,
        None if is_complex && COMPLEX.contains(&family) => Rounding::Result(4),
        None => Rounding::Exact,
    }
}

/// The coarsest precision that takes part in a call: that of the result, of the arguments, of the default dtype where
/// integers become floats.
pub fn precision(case: &Case, call: &Call, result: DType) -> f64 {
    let mut dtypes: Vec<DType> = call.tensors().into_iter().filter_map(|at| case.dtype(at)).collect();
    if !dtypes.iter().any(|dtype| dtype.is_floating_point() || dtype.is_complex()) {
        dtypes.push(case.default);
    }
    dtypes.push(result);
    let precision = |dtype: DType| finfo(dtype).map_or(0.0, |limits| limits.eps);
    dtypes.into_iter().map(precision).fold(0.0, f64::max)
}

/// A number that no sum of terms of a call exceeds, as far as the arguments are finite.
pub fn largest_sum(case: &Case, call: &Call, terms: f64) -> f64 {
    let largest = |tensor: usize| -> f64 {
        let Some(place) = case.tensors.get(tensor) else { return 1.0 };
        let block = &case.blocks[place.block];
        let numbers = hex::numbers(block.dtype, &block.bytes);
        numbers.iter().map(|number| number.norm()).filter(|norm| norm.is_finite()).fold(0.0, f64::max)
    };
    let tensors = call.tensors().into_iter().map(largest).fold(1.0, f64::max);
    let factors = call.args().filter_map(|arg| match arg {
        Arg::Int(value) => Some((*value as f64).abs()),
        Arg::Float(value) => Some(value.abs()),
        Arg::Complex(value) => Some(value.norm()),
        _ => None,
    });
    let factor = factors.filter(|factor| factor.is_finite()).fold(1.0, f64::max);
    let products = if matches!(call.family(), "sum" | "mean") { 1.0 } else { tensors };
    tensors * products * terms.max(1.0) * factor
}

/// Whether two elements agree within `distance`; parts of a complex number count together.
pub fn agree(one: Complex64, other: Complex64, distance: f64) -> bool {
    let parts = [(one.re, other.re), (one.im, other.im)];
    parts.into_iter().all(|(one, other)| {
        one == other || (one.is_nan() && other.is_nan()) || (one - other).abs() <= distance
    })
}
