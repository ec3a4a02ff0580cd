//! `aten::_foreach_*`: the same operator for each tensor of a list, in one call.
//!
//! `_foreach_add_(self, other)` is `self[k].add_(other[k])` for each `k`, and so on
//!
//! - Shapes, dtypes, errors: those of the operator for one tensor; lists of one length.
//! - Aliasing: writes every tensor of `self`; `_foreach_norm` gives new tensors.
//! - Derivative: that of the operator for one tensor.
//! - Source: torch._foreach_add_ and its like, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{AddInplaceTensor, LinalgVectorNorm, MulInplaceTensor, ZeroInplace};

pub use opgrid_tensor::ops::optimizers::foreach::*;

pub(super) fn register(library: &mut Library) {
    library.define(ForeachAddInplaceScalar).kind(&kind::OPTIMIZER).implicit(|tensors, scalar| {
        let number = Tensor::number(scalar);
        each(tensors, |tensor| AddInplaceTensor.call(tensor, &number, Scalar::Int(1)))
    });
    library.define(ForeachAddInplaceList).kind(&kind::OPTIMIZER).implicit(|tensors, others, alpha| {
        pairs(tensors, others, |tensor, other| AddInplaceTensor.call(tensor, other, alpha))
    });
    library.define(ForeachMulInplaceScalar).kind(&kind::OPTIMIZER).implicit(|tensors, scalar| {
        let number = Tensor::number(scalar);
        each(tensors, |tensor| MulInplaceTensor.call(tensor, &number))
    });
    library.define(ForeachMulInplaceList).kind(&kind::OPTIMIZER).implicit(|tensors, others| {
        pairs(tensors, others, |tensor, other| MulInplaceTensor.call(tensor, other))
    });
    library.define(ForeachMulInplaceTensor).kind(&kind::OPTIMIZER).implicit(|tensors, other| {
        if other.dim() != 0 || other.numel() != 1 {
            let found = other.sizes();
            return Err(argument(format!(
                "argument `other` has sizes {found:?}, expected [], one number for all"
            )));
        }
        each(tensors, |tensor| MulInplaceTensor.call(tensor, other))
    });
    library
        .define(ForeachZeroInplace)
        .kind(&kind::OPTIMIZER)
        .implicit(|tensors| each(tensors, |tensor| ZeroInplace.call(tensor)));
    library.define(ForeachNormScalar).kind(&kind::OPTIMIZER).implicit(|tensors, order, dtype| {
        tensors.iter().map(|tensor| LinalgVectorNorm.call(tensor, order, None, false, dtype)).collect()
    });
}

fn each(tensors: &[Tensor], f: impl Fn(&Tensor) -> Result<()>) -> Result<()> {
    check_some(tensors)?;
    tensors.iter().try_for_each(f)
}

fn pairs(tensors: &[Tensor], others: &[Tensor], f: impl Fn(&Tensor, &Tensor) -> Result<()>) -> Result<()> {
    check_some(tensors)?;
    if tensors.len() != others.len() {
        return Err(argument(format!(
            "argument `other` has {} tensors, expected {}, one for each of `self`",
            others.len(),
            tensors.len()
        )));
    }
    tensors.iter().zip(others).try_for_each(|(tensor, other)| f(tensor, other))
}

fn check_some(tensors: &[Tensor]) -> Result<()> {
    if tensors.is_empty() {
        Err(argument("argument `self` is an empty list, expected at least one tensor"))
    } else {
        Ok(())
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(_: &mut Samples) {}
}
