//! `aten::_foreach_*`: a function of the elements of each tensor of a list, in one call.
//!
//! `_foreach_exp(self)[k]` is `self[k].exp()`, and `_foreach_exp_` writes it to `self[k]`
//!
//! - Shapes, dtypes: those of the operator for one tensor, for each by itself.
//! - Aliasing: `_foreach_exp_` and its like write every tensor of `self`; the `out` forms write every tensor of `out`.
//! - Dispatch: composites of the operators for one tensor.
//! - Errors: no tensors; those for one tensor, which leave the tensors before it written.
//! - Source: torch._foreach_exp and its like, PyTorch 2.15.

use crate::kinds::foreach::over_lists;
use crate::prelude::*;
use opgrid_tensor::ops::{
    Abs, Acos, Asin, Atan, Ceil, Cos, Cosh, Erf, Erfc, Exp, Expm1, Floor, Frac, Lgamma, Log, Log1p, Log2,
    Log10, Neg, Reciprocal, Round, Rsqrt, Sigmoid, Sign, Sin, Sinh, Sqrt, Tan, Tanh, Trunc,
};

pub use opgrid_tensor::ops::optimizers::foreach_unary::*;

over_lists! {
    ForeachAbs: Abs,
    ForeachAcos: Acos,
    ForeachAsin: Asin,
    ForeachAtan: Atan,
    ForeachCeil: Ceil,
    ForeachCos: Cos,
    ForeachCosh: Cosh,
    ForeachErf: Erf,
    ForeachErfc: Erfc,
    ForeachExp: Exp,
    ForeachExpm1: Expm1,
    ForeachFloor: Floor,
    ForeachFrac: Frac,
    ForeachLgamma: Lgamma,
    ForeachLog: Log,
    ForeachLog10: Log10,
    ForeachLog1p: Log1p,
    ForeachLog2: Log2,
    ForeachNeg: Neg,
    ForeachReciprocal: Reciprocal,
    ForeachRound: Round,
    ForeachRsqrt: Rsqrt,
    ForeachSigmoid: Sigmoid,
    ForeachSign: Sign,
    ForeachSin: Sin,
    ForeachSinh: Sinh,
    ForeachSqrt: Sqrt,
    ForeachTan: Tan,
    ForeachTanh: Tanh,
    ForeachTrunc: Trunc,
}

pub(super) fn register(library: &mut Library) {
    define_all(library);
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        sample_all(samples);
        samples.added(ForeachAbs).refuses("empty list", given(Vec::<Plain>::new()));
    }
}
