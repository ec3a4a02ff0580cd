//! Softmax and its logarithm along a dimension, and their derivatives.
//!
//! A line is read once: exponentials are kept beside it until their sum is known. 16-bit floats are computed in single
//! precision.

use opgrid_core::Result;

use crate::choice::Bounded;
use crate::lines;
use crate::reduce::Summed;
use opgrid_array::loops::arithmetic::Arithmetic;
use opgrid_array::loops::iter::lanes::{in_lanes, join_sixteen};
use opgrid_array::loops::iter::reduction::LANES;
use opgrid_array::loops::math::Inexact;
use opgrid_array::loops::simd::VectorLoop;
use opgrid_array::with_dtype;
use opgrid_array::{Array, Element, Math};

/// What softmax computes in.
pub(crate) trait Weighed: Inexact + Bounded + Summed {}

impl<M: Inexact + Bounded + Summed> Weighed for M {}

/// `out[i] = e ^ input[i] / (e ^ input[0] + e ^ input[1] + …)` along `dim`, or its logarithm.
///
/// # Errors
///
/// As `lines::map`; a dtype that is no floating-point one.
pub fn softmax(out: &Array, input: &Array, dim: usize, is_log: bool) -> Result<()> {
    with_dtype!(input.dtype(), T: Float => {
        let line = move |weights: &mut Vec<Math<T>>, x: &[T], y: &mut [T]| Weigh { x, y, weights, is_log }.vectorised();
        lines::map(out, input, dim, Vec::new, line)
    })
}

/// The derivative of [`softmax`] along `dim`, for the gradient of its result `output`.
///
/// # Errors
///
/// As `lines::map`; a dtype that is no floating-point one.
pub fn backward(out: &Array, grad: &Array, output: &Array, dim: usize, is_log: bool) -> Result<()> {
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
        self.weigh(Inexact::exp, Inexact::exp_near);
    }

    #[inline(always)]
    fn run_unfused(self) {
        self.weigh(Inexact::exp_unfused, Inexact::exp_near_unfused);
    }
}

impl<T: Element<Math: Weighed>> Weigh<'_, T> {
    /// With that exponential, and that of numbers whose exponentials can be had in fewer steps.
    #[inline(always)]
    fn weigh(self, exp: impl Fn(Math<T>) -> Math<T>, exp_near: impl Fn(Math<T>) -> Math<T>) {
        let Self { x, y, weights, is_log } = self;
        let mut seen = Seen::none();
        let (groups, rest) = x.as_chunks::<LANES>();
        weights.resize(x.len().next_multiple_of(LANES), Math::<T>::ZERO);
        let (places, _) = weights.as_chunks_mut::<LANES>();
        for (place, group) in places.iter_mut().zip(groups) {
            let values = group.map(Element::widen);
            *place = values;
            seen.look(&values);
        }
        if let (Some(place), Some(first)) = (places.get_mut(groups.len()), rest.first()) {
            // The last group is made whole by one of the numbers.
            let mut values = [first.widen(); LANES];
            for (value, x) in values.iter_mut().zip(rest) {
                *value = x.widen();
            }
            *place = values;
            seen.look(&values);
        }
        let largest = join_sixteen(&seen.largest, larger);
        if join_sixteen(&seen.farthest, u32::max) <= Math::<T>::EXP_REACH {
            weights.iter_mut().for_each(|weight| *weight = exp_near(weight.minus(largest)));
        } else {
            weights.iter_mut().for_each(|weight| *weight = exp(weight.minus(largest)));
        }
        weights[x.len()..].fill(Math::<T>::ZERO);
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

/// What was seen of a line, in each lane.
struct Seen<M> {
    /// The largest element that is a number.
    largest: [M; LANES],
    /// The distance from zero of twice the farthest one, which no difference of two of them is beyond.
    farthest: [u32; LANES],
}

impl<M: Weighed> Seen<M> {
    #[inline(always)]
    fn none() -> Self {
        Self { largest: [M::LOWEST; LANES], farthest: [0; LANES] }
    }

    #[inline(always)]
    #[expect(clippy::needless_range_loop, reason = "three lists by one lane")]
    fn look(&mut self, values: &[M; LANES]) {
        for lane in 0..LANES {
            self.largest[lane] = larger(self.largest[lane], values[lane]);
            self.farthest[lane] = values[lane].plus(values[lane]).exp_distance().max(self.farthest[lane]);
        }
    }
}

/// The larger one, or the one that is a number.
#[inline(always)]
fn larger<M: Weighed>(one: M, other: M) -> M {
    if one.is_below(other) { other } else { one }
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
        self.pass_back(Inexact::exp);
    }

    #[inline(always)]
    fn run_unfused(self) {
        self.pass_back(Inexact::exp_unfused);
    }
}

impl<T: Element<Math: Weighed>> Backward<'_, T> {
    /// With that exponential.
    #[inline(always)]
    fn pass_back(self, exp: impl Fn(Math<T>) -> Math<T>) {
        let Self { grad, output, x, is_log } = self;
        let output = &output[..grad.len()];
        let lines = x.iter_mut().zip(grad).zip(output);
        if is_log {
            let sum = sum(([], grad), |[]: [T; 0], grad| grad.widen());
            for ((x, grad), output) in lines {
                *x = T::narrow(grad.widen().minus(exp(output.widen()).times(sum)));
            }
        } else {
            let sum = sum(([grad], output), |[grad], output| grad.widen().times(output.widen()));
            for ((x, grad), output) in lines {
                *x = T::narrow(output.widen().times(grad.widen().minus(sum)));
            }
        }
    }
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
        let sum = in_lanes(part, [M::ZERO; LANES], |sum, of, beside| sum.plus(term(of, beside)), M::plus);
        total = M::add(total, sum.wide());
        start = end;
    }
    M::narrowed(total)
}
