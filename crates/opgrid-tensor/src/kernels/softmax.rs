//! Softmax and its logarithm along a dimension, and their derivatives.
//!
//! A line is read once: exponentials are kept beside it until their sum is known. 16-bit floats are computed in single
//! precision.

use opgrid_core::Result;

use super::arithmetic::{Arithmetic, Ordered};
use super::choice::Bounded;
use super::iter::fold::{LANES, in_lanes};
use super::lines;
use super::math::Inexact;
use super::reduce::Summed;
use super::simd::VectorLoop;
use crate::tensor::{Array, Element, Math};
use crate::with_dtype;

/// What softmax computes in.
pub(crate) trait Weighed: Inexact + Bounded + Summed {}

impl<M: Inexact + Bounded + Summed> Weighed for M {}

/// `out[i] = e ^ input[i] / (e ^ input[0] + e ^ input[1] + …)` along `dim`, or its logarithm.
///
/// # Errors
///
/// As [`lines::map`]; a dtype that is no floating-point one.
pub(crate) fn softmax(out: &Array, input: &Array, dim: usize, is_log: bool) -> Result<()> {
    with_dtype!(input.dtype(), T: Float => {
        let line = move |weights: &mut Vec<Math<T>>, x: &[T], y: &mut [T]| Weigh { x, y, weights, is_log }.vectorised();
        lines::map(out, input, dim, Vec::new, line)
    })
}

/// The derivative of [`softmax`] along `dim`, for the gradient of its result `output`.
///
/// # Errors
///
/// As [`lines::map`]; a dtype that is no floating-point one.
pub(crate) fn backward(out: &Array, grad: &Array, output: &Array, dim: usize, is_log: bool) -> Result<()> {
    with_dtype!(grad.dtype(), T: Float => {
        let line = move |grad: &[T], output: &[T], x: &mut [T]| Backward { grad, output, x, is_log }.vectorised();
        lines::map_two(out, (grad, output), dim, line)
    })
}

/// A line of softmax.
struct Weigh<'a, T: Element> {
    x: &'a [T],
    y: &'a mut [T],
    weights: &'a mut Vec<Math<T>>,
    is_log: bool,
}

impl<T: Element<Math: Weighed>> VectorLoop for Weigh<'_, T> {
    type Output = ();
    const IS_WIDE: bool = true;

    #[inline(always)]
    fn run(self) {
        let Self { x, y, weights, is_log } = self;
        // Numbers behind the line make its last vector a whole one; their exponentials are zero.
        weights.resize(x.len().next_multiple_of(2 * LANES), Math::<T>::LOWEST);
        weights[x.len()..].fill(Math::<T>::LOWEST);
        for (weight, x) in weights.iter_mut().zip(x) {
            *weight = x.widen();
        }
        let largest = largest(weights);
        for weight in weights.iter_mut() {
            *weight = Inexact::exp(weight.minus(largest));
        }
        let sum = sum(([], weights), |[]: [T; 0], weight| weight);
        if is_log {
            let log = Inexact::log(sum);
            for (y, x) in y.iter_mut().zip(x) {
                *y = T::narrow(x.widen().minus(largest).minus(log));
            }
        } else {
            for (y, weight) in y.iter_mut().zip(weights) {
                *y = T::narrow(weight.over(sum));
            }
        }
    }
}

/// A line of the derivative: `output * (grad - sum(grad * output))`, and of the logarithm's `grad - e ^ output * sum(grad)`.
struct Backward<'a, T> {
    grad: &'a [T],
    output: &'a [T],
    x: &'a mut [T],
    is_log: bool,
}

impl<T: Element<Math: Weighed>> VectorLoop for Backward<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { grad, output, x, is_log } = self;
        let output = &output[..grad.len()];
        let lines = x.iter_mut().zip(grad).zip(output);
        if is_log {
            let sum = sum(([], grad), |[]: [T; 0], grad| grad.widen());
            for ((x, grad), output) in lines {
                *x = T::narrow(grad.widen().minus(Inexact::exp(output.widen()).times(sum)));
            }
        } else {
            let sum = sum(([grad], output), |[grad], output| grad.widen().times(output.widen()));
            for ((x, grad), output) in lines {
                *x = T::narrow(output.widen().times(grad.widen().minus(sum)));
            }
        }
    }
}

/// The largest element that is a number.
#[inline(always)]
fn largest<T: Element<Math: Weighed>>(values: &[T]) -> Math<T> {
    let larger = |one: Math<T>, other: Math<T>| if one.is_below(other) { other } else { one };
    let lowest = [Math::<T>::LOWEST; 2 * LANES];
    in_lanes(([], values), lowest, |largest, []: [T; 0], value| larger(largest, value.widen()), larger)
}

/// The sum of a term for all elements: of some in their own precision, of those sums in a higher one.
#[inline(always)]
fn sum<A: Copy, B: Copy, M: Weighed, const K: usize>(
    (of, beside): ([&[A]; K], &[B]),
    term: impl Fn([A; K], B) -> M,
) -> M {
    /// Terms that are added in their own precision.
    const BLOCK: usize = 32 * LANES;
    let (n, mut total, mut start) = (beside.len(), M::Wide::default(), 0);
    while start < n {
        let end = n.min(start + BLOCK);
        let part = (of.map(|of| &of[start..end]), &beside[start..end]);
        let sum = in_lanes(part, [M::ZERO; 2 * LANES], |sum, of, beside| sum.plus(term(of, beside)), M::plus);
        total = M::add(total, sum.wide());
        start = end;
    }
    M::narrowed(total)
}
