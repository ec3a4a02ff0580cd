//! How far results may lie apart: as the samples of each operator say, beside the numbers of the call.

use opgrid_core::{Complex64, DType};
use opgrid_tensor::families::kind;
use opgrid_tensor::tensor::{FloatLimits, finfo};

pub use opgrid_samples::Rounding;

use super::case::{Arg, Call, Case};
use super::hex;
use super::ours::Ours;

/// How the results of a call are compared.
pub fn for_call(ours: &Ours, call: &Call, is_complex: bool) -> Rounding {
    ours.roundings(&call.operator).select(is_complex, has_factor(call))
}

/// Whether a sum has a factor other than one.
fn has_factor(call: &Call) -> bool {
    let factors = call.named("alpha").into_iter().chain(call.positional.get(2));
    factors.into_iter().any(|factor| !matches!(factor, Arg::Int(1) | Arg::Bool(true) | Arg::None))
}

/// How much the error of a logarithm grows in a power that gives `result`.
pub fn growth(case: &Case, call: &Call, result: Complex64) -> f64 {
    // A result of zero comes of the smallest power that there is.
    let shrunk = result.norm().max(f64::MIN_POSITIVE).ln().abs();
    let computes_complex = |at| case.dtype(at).is_some_and(DType::is_complex);
    let has_complex = call.args().any(|arg| matches!(arg, Arg::Complex(_)));
    if has_complex || call.tensors().into_iter().any(computes_complex) {
        // The angle that the power turns by does not show in the result: it is a logarithm times a part of the exponent.
        let logarithm =
            numbers(case, call).map(|norm| norm.ln().abs()).filter(|ln| ln.is_finite()).fold(20.0, f64::max);
        return 1.0 + logarithm * (largest(case, call) + factors(call)) + 4.0 * shrunk;
    }
    1.0 + shrunk
}

/// The coarsest precision that takes part in a call: that of the result, of the arguments, of the default dtype where
/// integers become floats.
pub fn precision(case: &Case, call: &Call, result: DType) -> f64 {
    limits_of_call(case, call, result).map(|limits| limits.eps).fold(0.0, f64::max)
}

/// The largest distance between neighbours below the numbers with full precision, of the same dtypes.
pub fn smallest_step(case: &Case, call: &Call, result: DType) -> f64 {
    limits_of_call(case, call, result).map(|limits| limits.smallest_normal * limits.eps).fold(0.0, f64::max)
}

/// The largest number of the dtype with the lowest range that takes part in a call.
pub fn largest_number(case: &Case, call: &Call, result: DType) -> f64 {
    limits_of_call(case, call, result).map(|limits| limits.max).fold(f64::MAX, f64::min)
}

fn limits_of_call(case: &Case, call: &Call, result: DType) -> impl Iterator<Item = FloatLimits> {
    let mut dtypes: Vec<DType> = call.tensors().into_iter().filter_map(|at| case.dtype(at)).collect();
    if dtypes.is_empty() || dtypes.iter().any(|dtype| !dtype.is_floating_point() && !dtype.is_complex()) {
        dtypes.push(case.default);
    }
    dtypes.push(result);
    dtypes.into_iter().filter_map(|dtype| finfo(dtype).ok())
}

/// A number that no sum of terms of a call exceeds, as far as the arguments are finite.
pub fn largest_sum(ours: &Ours, case: &Case, call: &Call, terms: f64) -> f64 {
    let largest = largest(case, call);
    let is_sum_of_products =
        [&kind::PRODUCT, &kind::CONVOLUTION].iter().any(|kind| ours.is_of_kind(&call.operator, kind));
    let products = if is_sum_of_products { largest } else { 1.0 };
    largest * products * terms.max(1.0) * factors(call)
}

/// The largest finite element of the arguments, at least one.
pub fn largest(case: &Case, call: &Call) -> f64 {
    numbers(case, call).filter(|norm| norm.is_finite()).fold(1.0, f64::max)
}

/// The norms of all elements in the blocks of the tensors of a call.
fn numbers(case: &Case, call: &Call) -> impl Iterator<Item = f64> {
    let blocks =
        call.tensors().into_iter().filter_map(|at| case.tensors.get(at)).map(|view| &case.blocks[view.block]);
    blocks.flat_map(|block| hex::numbers(block.dtype, &block.bytes)).map(|number| number.norm())
}

/// The product of the numbers among the arguments, of those that are greater than one and finite.
fn factors(call: &Call) -> f64 {
    let factors = call.args().map(|arg| match arg {
        Arg::Int(value) => (*value as f64).abs(),
        Arg::Float(value) => value.abs(),
        Arg::Complex(value) => value.norm(),
        _ => 1.0,
    });
    factors.filter(|factor| factor.is_finite() && *factor > 1.0).product()
}

/// Two numbers that are compared: an infinity of one of them counts as the end of the range, for what is rounded to
/// infinity on one side may lie just below on the other.
pub fn beside_infinity(one: Complex64, other: Complex64, end: f64) -> (Complex64, Complex64) {
    let parts = |one: f64, other: f64| {
        if one.is_infinite() != other.is_infinite() {
            (one.clamp(-end, end), other.clamp(-end, end))
        } else {
            (one, other)
        }
    };
    let ((re, other_re), (im, other_im)) = (parts(one.re, other.re), parts(one.im, other.im));
    (Complex64::new(re, im), Complex64::new(other_re, other_im))
}

/// Whether two elements agree within `distance`; parts of a complex number count together.
pub fn agree(one: Complex64, other: Complex64, distance: f64) -> bool {
    let parts = [(one.re, other.re), (one.im, other.im)];
    parts.into_iter().all(|(one, other)| {
        one == other || (one.is_nan() && other.is_nan()) || (one - other).abs() <= distance
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_at_the_end_of_the_range_is_as_good_as_infinity() {
        let compared = |one: f64, other: f64| {
            let (one, other) = beside_infinity(one.into(), other.into(), 100.0);
            agree(one, other, 1.0)
        };
        assert!(compared(99.5, f64::INFINITY) && compared(f64::NEG_INFINITY, -100.0));
        assert!(compared(f64::INFINITY, 101.0) && compared(f64::INFINITY, f64::INFINITY));
        assert!(!compared(5.0, f64::INFINITY) && !compared(f64::INFINITY, -100.0));
        assert!(!compared(f64::NAN, f64::INFINITY) && !compared(103.0, 101.0));
    }
}
