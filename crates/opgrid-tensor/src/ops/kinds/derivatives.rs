//! What formulas of gradients share.

use opgrid_core::{Result, Scalar};

use crate::ops::View;
use crate::tensor::views::normalise_dim;
use crate::tensor::{Dims, Tensor};

/// The gradient times the conjugate of a number.
pub(crate) fn times(grad: &Tensor, number: Scalar) -> Result<Tensor> {
    match number {
        Scalar::Int(1) => Ok(grad.clone()),
        Scalar::Complex(number) => grad.mul_scalar(number.conj()),
        number => grad.mul_scalar(number),
    }
}

/// The dimensions of an input that a reduction keeps, to give results and gradients the input's sizes again.
#[derive(Clone)]
pub(crate) struct Kept {
    /// The input's.
    pub(crate) sizes: Dims,
    /// With 1 for every dimension that was reduced.
    pub(crate) kept: Dims,
    /// How many elements of the input one of the result was made of.
    pub(crate) count: i64,
    keepdim: bool,
}

impl Kept {
    /// Of a reduction along dimensions, all if none is named.
    ///
    /// # Errors
    ///
    /// A dimension out of range.
    pub(crate) fn of(input: &Tensor, dim: Option<&[i64]>, keepdim: bool) -> Result<Self> {
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

    /// A result, or its gradient, with a dimension of size 1 for each that was reduced.
    ///
    /// # Errors
    ///
    /// Those of the view.
    pub(crate) fn whole(&self, result: &Tensor) -> Result<Tensor> {
        if self.keepdim || result.sizes() == self.kept.as_slice() {
            return Ok(result.clone());
        }
        View.call(result, &self.kept)
    }

    /// The same stretched to the sizes of the input.
    ///
    /// # Errors
    ///
    /// Those of the views.
    pub(crate) fn stretched(&self, result: &Tensor) -> Result<Tensor> {
        self.whole(result)?.expand(&self.sizes)
    }
}

/// The sum of the parts of a gradient that are there.
///
/// # Errors
///
/// Those of the sum.
pub(crate) fn total<const N: usize>(parts: [Option<Tensor>; N]) -> Result<Option<Tensor>> {
    let mut all = None;
    for part in parts.into_iter().flatten() {
        all = Some(match all {
            Some(sum) => part.add(&sum, 1)?,
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
pub(crate) fn zeros(sizes: &[i64], like: &Tensor) -> Result<Tensor> {
    Tensor::zeros(sizes, like.dtype(), like.device())
}
