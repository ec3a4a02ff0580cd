//! Loops that a user writes: an element-wise one by a closure, and a reduction by a type.

use opgrid::kernels::elementwise;
use opgrid::kernels::reduce::{self, Reduction};
use opgrid::prelude::*;

/// `x / (1 + |x|)`.
pub fn softsign(input: &Tensor) -> Result<Tensor> {
    let out = Tensor::empty(input.sizes(), DType::F32, Device::CPU)?;
    elementwise::unary::<f32, f32>(&out, input, |x| x / (1.0 + x.abs()))?;
    Ok(out)
}

/// The sum of squares of all elements.
pub fn sum_of_squares(input: &Tensor) -> Result<Tensor> {
    let out = Tensor::empty((), DType::F32, Device::CPU)?;
    reduce::fold(&out, input, &[], &SumOfSquares)?;
    Ok(out)
}

struct SumOfSquares;

impl Reduction for SumOfSquares {
    type In = f32;
    type Out = f32;
    type State = f32;

    #[inline(always)]
    fn start(&self) -> f32 {
        0.0
    }

    #[inline(always)]
    fn step(&self, sum: f32, value: f32, _index: usize) -> f32 {
        sum + value * value
    }

    #[inline(always)]
    fn join(&self, one: f32, other: f32) -> f32 {
        one + other
    }

    #[inline(always)]
    fn finish(&self, sum: f32, _count: usize) -> f32 {
        sum
    }
}
