//! What a reduction is: a start, a step, how two states become one, and how blocks are taken faster than by steps.

use super::lanes::join_lanes;
use crate::{Element, Math};

/// Independent states within a block, so that steps need not wait for each other.
pub const LANES: usize = 16;
/// Rows of columns that are handed over together.
pub const STEPS: usize = 8;
/// Columns that are reduced side by side: few, so that their states stay in registers.
pub const COLUMNS: usize = 16;

/// How many elements become one.
///
/// The index of an element counts the reduced elements of one result in row-major order. Elements arrive in any
/// order: a reduction that cares compares indices.
///
/// Three short functions are enough for vector code: several states are kept beside each other, and joined in the end. A sum of
/// squares of 100,000 floats takes 3 µs (AMD EPYC Zen 5, one core; figure `own_reduction` of `cargo xtask bench kernels`),
/// where composed of torch's operators it takes 7.
///
/// # Examples
///
/// ```
/// use opgrid_array::Array;
/// use opgrid_array::loops::iter::{self, fold::Typed, reduction::Reduction};
///
/// struct SumOfSquares;
///
/// impl Reduction for SumOfSquares {
///     type In = f32;
///     type Out = f32;
///     type State = f32;
///
///     #[inline(always)]
///     fn start(&self) -> f32 {
///         0.0
///     }
///
///     #[inline(always)]
///     fn step(&self, sum: f32, value: f32, _index: usize) -> f32 {
///         sum + value * value
///     }
///
///     #[inline(always)]
///     fn join(&self, one: f32, other: f32) -> f32 {
///         one + other
///     }
///
///     #[inline(always)]
///     fn finish(&self, sum: f32, _count: usize) -> f32 {
///         sum
///     }
/// }
///
/// let x = Array::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
/// let out = Array::from_slice(&[0.0f32, 0.0], &[2])?;
/// iter::fold(&out, &x, &[1], &Typed(&SumOfSquares))?;
/// assert_eq!(out.to_vec::<f32>()?, [5.0, 25.0]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub trait Reduction: Sync {
    /// What elements are read as, converted where the input has another dtype.
    type In: Element;
    /// What results are.
    type Out: Element;
    /// What is known of some elements.
    type State: Copy + Send;

    /// The state before any element.
    fn start(&self) -> Self::State;

    /// Adds one element to a state.
    fn step(&self, state: Self::State, value: Math<Self::In>, index: usize) -> Self::State;

    /// Combines two states.
    fn join(&self, one: Self::State, other: Self::State) -> Self::State;

    /// The result for `count` elements.
    fn finish(&self, state: Self::State, count: usize) -> Math<Self::Out>;

    /// Reduces a block of elements whose indices are `step` apart. Implement it only if that is faster than steps in
    /// [`LANES`] states. Says `#[inline(always)]`, as do all functions that it calls, to become vector code.
    #[inline(always)]
    fn block(&self, values: &[Self::In], index: usize, step: usize) -> Self::State {
        let (groups, rest) = values.as_chunks::<LANES>();
        let mut at = index + groups.len() * LANES * step;
        let mut state = self.start();
        for value in rest {
            state = self.step(state, value.widen(), at);
            at += step;
        }
        if groups.is_empty() {
            return state;
        }
        let mut lanes = [self.start(); LANES];
        let mut done = 0;
        for group in groups {
            for (lane, (state, value)) in lanes.iter_mut().zip(group).enumerate() {
                *state = self.step(*state, value.widen(), index + (done + lane) * step);
            }
            done += LANES;
        }
        self.join(join_lanes(&lanes, |one, other| self.join(one, other)), state)
    }

    /// Takes rows of elements, each of which is one more for its column. To be written as [`block`](Self::block).
    #[inline(always)]
    fn rows(
        &self,
        states: &mut [Self::State; COLUMNS],
        rows: [&[Self::In; COLUMNS]; STEPS],
        index: usize,
        step: usize,
    ) {
        for (i, row) in rows.iter().enumerate() {
            for (state, value) in states.iter_mut().zip(*row) {
                *state = self.step(*state, value.widen(), index + i * step);
            }
        }
    }
}
