//! Averages elements over dimensions.

use std::marker::PhantomData;

use num_complex::Complex;
use opgrid_core::{DType, Result};

use crate::reduce::{self, COLUMNS, Reduction, STEPS, Sum, Summed};
use opgrid_array::loops::elementwise::{Destination, Operand};
use opgrid_array::loops::iter::Source;
use opgrid_array::with_dtype;
use opgrid_array::{Element, Math};

/// The average of `input` over `dims` (all if empty), each element first converted to `dtype`, or to single precision
/// where that has 16 bits. The sum is kept in the precision of [`reduce::sum`] until it is divided.
///
/// # Errors
///
/// As [`reduce::fold`]; a dtype without fractions.
///
/// # Examples
///
/// ```
/// use opgrid_core::DType;
/// use opgrid_array::Array;
/// use opgrid_kernels::mean;
///
/// let x = Array::from_slice(&[1.0f32, 2.0, 3.0, 6.0], &[2, 2])?;
/// let out = Array::from_slice(&[0.0f32, 0.0], &[2])?;
/// mean::mean(&out, &x, &[0], DType::F32)?;
/// assert_eq!(out.to_vec::<f32>()?, [2.0, 4.0]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn mean(out: &impl Destination, input: &impl Operand, dims: &[i64], dtype: DType) -> Result<()> {
    let dtype = match dtype {
        // Rounded to the dtype before it is added, an integer would lose digits that the average has room for.
        DType::F16 | DType::BF16 if !is_of(input.source()?, dtype) => DType::F32,
        dtype => dtype,
    };
    with_dtype!(dtype, T: Inexact => reduce::fold(out, input, dims, &Mean::<T>(Sum(PhantomData))))
}

fn is_of(source: Source<'_>, dtype: DType) -> bool {
    matches!(source, Source::Array(array) if array.dtype() == dtype)
}

/// What averages are kept in.
pub trait Averaged: Summed {
    /// A sum divided by the number of its terms.
    fn average(sum: Self::Wide, count: usize) -> Self;
}

macro_rules! averaged {
    ($($type:ty, |$mean:ident| $narrow:expr;)*) => {
        $(impl Averaged for $type {
            #[inline(always)]
            fn average(sum: Self::Wide, count: usize) -> Self {
                let $mean = sum / count as f64;
                $narrow
            }
        })*
    };
}

averaged! {
    f32, |mean| mean as f32;
    f64, |mean| mean;
    Complex<f32>, |mean| Complex::new(mean.re as f32, mean.im as f32);
    Complex<f64>, |mean| mean;
}

/// A sum that is divided in the end.
struct Mean<T>(Sum<T>);

impl<T: Element<Math: Averaged>> Reduction for Mean<T> {
    type In = T;
    type Out = T;
    type State = <Math<T> as Summed>::Wide;

    #[inline(always)]
    fn start(&self) -> Self::State {
        self.0.start()
    }

    #[inline(always)]
    fn step(&self, state: Self::State, value: Math<T>, index: usize) -> Self::State {
        self.0.step(state, value, index)
    }

    #[inline(always)]
    fn join(&self, one: Self::State, other: Self::State) -> Self::State {
        self.0.join(one, other)
    }

    #[inline(always)]
    fn finish(&self, state: Self::State, count: usize) -> Math<T> {
        Math::<T>::average(state, count)
    }

    #[inline(always)]
    fn block(&self, values: &[T], index: usize, step: usize) -> Self::State {
        self.0.block(values, index, step)
    }

    #[inline(always)]
    fn rows(
        &self,
        states: &mut [Self::State; COLUMNS],
        rows: [&[T; COLUMNS]; STEPS],
        index: usize,
        step: usize,
    ) {
        self.0.rows(states, rows, index, step);
    }
}
