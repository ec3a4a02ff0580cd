//! What formulas of gradients share.

use std::f64::consts::PI;

use opgrid_core::{Result, Scalar};

use opgrid_tensor::layers::autograd::Recorder;
use opgrid_tensor::ops::{
    CloneTensor, ScatterSrc, View, WhereScalarOther, WhereScalarSelf, WhereSelf, ZerosLike,
};
use opgrid_tensor::tensor::views::normalise_dim;
use opgrid_tensor::tensor::{Dims, Tensor};

/// The gradient times the conjugate of a number.
///
/// # Errors
///
/// Those of the operators.
pub fn times(grad: &Tensor, number: Scalar) -> Result<Tensor> {
    match number {
        Scalar::Int(1) => Ok(grad.clone()),
        Scalar::Complex(number) => grad.mul(number.conj()),
        number => grad.mul(number),
    }
}

/// The conjugate, which is the tensor itself for real numbers.
///
/// # Errors
///
/// Those of the operators.
pub fn conjugate(x: &Tensor) -> Result<Tensor> {
    if x.dtype().is_complex() { x.conj() } else { Ok(x.clone()) }
}

/// The gradient times the conjugate of a slope.
///
/// # Errors
///
/// Those of the operators.
pub fn chained(grad: &Tensor, slope: &Tensor) -> Result<Tensor> {
    grad.mul(&conjugate(slope)?)
}

/// The gradient over the conjugate of the reciprocal of a slope.
///
/// # Errors
///
/// Those of the operators.
pub fn divided(grad: &Tensor, reciprocal: &Tensor) -> Result<Tensor> {
    grad.div(&conjugate(reciprocal)?)
}

/// The gradient of what is constant where it is smooth.
///
/// # Errors
///
/// Those of the operators.
pub fn zeros(grad: &Tensor) -> Result<Tensor> {
    ZerosLike.call(grad, None, None, None, None, None)
}

/// The gradient where a condition holds, and zeros elsewhere.
///
/// # Errors
///
/// Those of the operators.
pub fn where_true(condition: &Tensor, grad: &Tensor) -> Result<Tensor> {
    WhereScalarOther.call(condition, grad, Scalar::Int(0))
}

/// The gradient where a condition does not hold, and zeros elsewhere.
///
/// # Errors
///
/// Those of the operators.
pub fn where_false(condition: &Tensor, grad: &Tensor) -> Result<Tensor> {
    WhereScalarSelf.call(condition, Scalar::Int(0), grad)
}

/// The slope of the digamma function, by the recurrence up to numbers for which the series is enough, and by the reflection for those below a half.
///
/// # Errors
///
/// Those of the operators.
pub fn trigamma(x: &Tensor) -> Result<Tensor> {
    let is_low = x.lt(0.5)?;
    let (mut large, mut sum) = (WhereSelf.call(&is_low, &(1 - x)?, x)?, zeros(x)?);
    for _ in 0..10 {
        sum = (sum + (&large * &large)?.reciprocal()?)?;
        large = (large + 1)?;
    }
    let inverse = large.reciprocal()?;
    let square = (&inverse * &inverse)?;
    let mut series = (&square * (5.0 / 66.0))?;
    for coefficient in [-1.0 / 30.0, 1.0 / 42.0, -1.0 / 30.0, 1.0 / 6.0] {
        series = ((series + coefficient)? * &square)?;
    }
    sum = (sum + (((series + 1)? * inverse)? + (square * 0.5)?)?)?;
    // A half instead of the others, where the sine may be zero.
    let sine = (WhereScalarOther.call(&is_low, x, Scalar::Float(0.5))? * PI)?.sin()?;
    let reflected = ((sine.reciprocal()? * PI)?.square()? - &sum)?;
    WhereSelf.call(&is_low, &reflected, &sum)
}

/// The sum of two parts of a gradient, each of which may be nothing.
///
/// # Errors
///
/// Those of the operators.
pub fn sum(one: Option<Tensor>, other: Option<Tensor>) -> Result<Option<Tensor>> {
    match (one, other) {
        (Some(one), Some(other)) => one.add(&other).map(Some),
        (one, other) => Ok(one.or(other)),
    }
}

/// States the derivative of an operator that chooses elements along a dimension, with the places of the chosen ones as its
/// second result: each has the gradient of what was made of it. Results of one element along the dimension may lack it.
///
/// # Errors
///
/// Those of the recorder.
pub fn selected_values(d: &Recorder<'_>, input: &Tensor, dim: i64, has_dim: bool) -> Result<()> {
    let (sizes, has_dim) = (Dims::from_slice(input.sizes()), has_dim || input.dim() == 0);
    d.differentiable(1);
    d.by(input, [d.result(1)], move |grad, [places]| at_places(grad, dim, places, &sizes, has_dim))
}

/// Zeros of these sizes, with gradients at places along a dimension. `has_dim` says whether gradients and places have the dimension.
///
/// # Errors
///
/// Those of the operators.
pub fn at_places(grad: &Tensor, dim: i64, places: &Tensor, sizes: &[i64], has_dim: bool) -> Result<Tensor> {
    let zeros = zeros_of(sizes, grad)?;
    if has_dim {
        ScatterSrc.call(&zeros, dim, places, grad)
    } else {
        ScatterSrc.call(&zeros, dim, &places.unsqueeze(dim)?, &grad.unsqueeze(dim)?)
    }
}

/// The dimensions of an input that a reduction keeps, to give results and gradients the input's sizes again.
#[derive(Clone)]
pub struct ReducedDims {
    /// The input's.
    pub(crate) sizes: Dims,
    /// With 1 for every dimension that was reduced.
    pub(crate) kept: Dims,
    /// How many elements of the input one of the result was made of.
    pub count: i64,
    keepdim: bool,
}

impl ReducedDims {
    /// Computes the kept sizes of a reduction over dimensions, or over all if none is given.
    ///
    /// # Errors
    ///
    /// A dimension out of range.
    pub fn new(input: &Tensor, dim: Option<&[i64]>, keepdim: bool) -> Result<Self> {
        let sizes = Dims::from_slice(input.sizes());
        let dim = dim.unwrap_or(&[]);
        let mut kept = sizes.clone();
        if dim.is_empty() {
            kept.iter_mut().for_each(|size| *size = 1);
        }
        for dim in dim {
            let dim = normalise_dim(*dim, sizes.len())?;
            // A tensor without dimensions takes 0 and -1.
            if let Some(size) = kept.get_mut(dim) {
                *size = 1;
            }
        }
        let reduced = sizes.iter().zip(&kept).filter(|(size, kept)| size != kept);
        let count = reduced.map(|(size, _)| *size).product();
        Ok(Self { sizes, kept, count, keepdim })
    }

    /// What is of the input's sizes, summed over the dimensions that were reduced, which stay with size 1.
    ///
    /// # Errors
    ///
    /// Those of the sum.
    pub fn sum_to_kept(&self, x: &Tensor) -> Result<Tensor> {
        let pairs = self.sizes.iter().zip(&self.kept).enumerate();
        let dims: Vec<i64> =
            pairs.filter(|(_, (size, kept))| size != kept).map(|(dim, _)| dim as i64).collect();
        if dims.is_empty() { Ok(x.clone()) } else { x.sum_dim(&dims, true) }
    }

    /// A result, or its gradient, with a dimension of size 1 for each that was reduced.
    ///
    /// # Errors
    ///
    /// Those of the view.
    pub fn keep_dims(&self, result: &Tensor) -> Result<Tensor> {
        if self.keepdim || result.sizes() == self.kept.as_slice() {
            return Ok(result.clone());
        }
        View.call(result, &self.kept)
    }

    /// Expands a result, or its gradient, to the sizes of the input.
    ///
    /// # Errors
    ///
    /// Those of the views.
    pub fn expand_to_input(&self, result: &Tensor) -> Result<Tensor> {
        self.keep_dims(result)?.expand(self.sizes.as_slice())
    }
}

/// A gradient as a new tensor, which it may not be where it passed through without a change.
///
/// # Errors
///
/// No memory.
pub fn owned(gradient: Tensor, given: &Tensor) -> Result<Tensor> {
    if gradient.is_same(given) { CloneTensor.call(&gradient, None) } else { Ok(gradient) }
}

/// The sum of the parts of a gradient that are there.
///
/// # Errors
///
/// Those of the sum.
pub fn sum_gradients<const N: usize>(parts: [Option<Tensor>; N]) -> Result<Option<Tensor>> {
    let mut all = None;
    for part in parts.into_iter().flatten() {
        all = Some(match all {
            Some(sum) => part.add(&sum)?,
            None => part,
        });
    }
    Ok(all)
}

/// Zeros of these sizes, as gradients are.
///
/// # Errors
///
/// No memory.
pub fn zeros_of(sizes: &[i64], like: &Tensor) -> Result<Tensor> {
    Tensor::zeros(sizes, like.dtype(), like.device())
}
