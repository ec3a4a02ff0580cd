//! `aten::_foreach_*`: arithmetic with each tensor of a list, in one call.
//!
//! `_foreach_add(self, other)[k]` is `self[k].add(other[k])`, `_foreach_add_` writes it to `self[k]`, and so on
//!
//! - Arguments: a list has one tensor or number for each tensor of `self`; a tensor of one number and a number are for all.
//!   `scalars` may be a vector with a number for each.
//! - Shapes, dtypes: those of the operator for one tensor, for each by itself.
//! - Aliasing: `_foreach_add_` and its like write every tensor of `self`; the `out` forms write every tensor of `out`.
//! - Dispatch: composites of the operators for one tensor; `maximum` and `minimum` are `clamp_min` and `clamp_max`, as in torch.
//! - Errors: no tensors, lists of different lengths, a tensor of several elements where one number is meant; those for one tensor, which
//!   leave the tensors before it written.
//! - Source: torch._foreach_add and its like, PyTorch 2.15.

use crate::kinds::foreach::{define_with, over_lists};
use crate::prelude::*;
use opgrid_tensor::ops::{
    AddScalar, AddTensor, Addcdiv, Addcmul, ClampMax, ClampMaxTensor, ClampMin, ClampMinTensor, CloneTensor,
    Copy, CopyInplace, DivScalar, DivTensor, LerpScalar, LerpTensor, LinalgPowsum, LinalgVectorNorm, Max, Mm,
    MulScalar, MulTensor, PowScalar, PowTensorScalar, PowTensorTensor, SubScalar, SubTensor, Zero,
    ZeroInplace,
};

pub use opgrid_tensor::ops::optimizers::foreach::*;

over_lists! {
    ForeachAddList: AddTensor,
    ForeachAddScalar: AddScalar,
    ForeachAddScalarList: AddScalar,
    ForeachAddTensor: AddTensor,
    ForeachSubList: SubTensor,
    ForeachSubScalar: SubScalar,
    ForeachSubScalarList: SubScalar,
    ForeachMulList: MulTensor,
    ForeachMulScalar: MulScalar,
    ForeachMulScalarList: MulScalar,
    ForeachMulTensor: MulTensor,
    ForeachDivList: DivTensor,
    ForeachDivScalar: DivScalar,
    ForeachDivScalarList: DivScalar,
    ForeachDivTensor: DivTensor,
    ForeachClampMinList: ClampMinTensor,
    ForeachClampMinScalar: ClampMin,
    ForeachClampMinScalarList: ClampMin,
    ForeachClampMaxList: ClampMaxTensor,
    ForeachClampMaxScalar: ClampMax,
    ForeachClampMaxScalarList: ClampMax,
    ForeachMaximumList: ClampMinTensor,
    ForeachMaximumScalar: ClampMin,
    ForeachMaximumScalarList: ClampMin,
    ForeachMinimumList: ClampMaxTensor,
    ForeachMinimumScalar: ClampMax,
    ForeachMinimumScalarList: ClampMax,
    ForeachPowList: PowTensorTensor,
    ForeachPowScalar: PowTensorScalar,
    ForeachPowScalarAndTensor: PowScalar,
    ForeachPowScalarList: PowTensorScalar,
    ForeachAddcmulScalar: Addcmul,
    ForeachAddcmulScalarList: Addcmul,
    ForeachAddcmulTensor: Addcmul,
    ForeachAddcdivScalar: Addcdiv,
    ForeachAddcdivScalarList: Addcdiv,
    ForeachAddcdivTensor: Addcdiv,
    ForeachLerpList: LerpTensor,
    ForeachLerpScalar: LerpScalar,
    ForeachLerpScalarList: LerpScalar,
    ForeachNormScalar: LinalgVectorNorm,
    ForeachPowsumScalar: LinalgPowsum,
    ForeachMax: Max,
    ForeachMm: Mm,
    ForeachClone: CloneTensor,
}

pub(super) fn register(library: &mut Library) {
    define_all(library);
    define_with(library, ForeachCopy, Copy, CopyInplace);
    define_with(library, ForeachZero, Zero, ZeroInplace);
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        sample_all(samples);
        samples.each(ForeachCopy, Copy);
        samples.each(ForeachZero, Zero);
        let x = generate::numbers(DType::F32, &[2], 0);
        let two = || given(vec![x.clone(), generate::numbers(DType::F32, &[3], 1)]);
        let nothing = given(Vec::<Plain>::new());
        samples
            .added(ForeachAddList)
            .refuses("empty list", nothing.clone().and(Vec::<Plain>::new()))
            .refuses("`other` has 1 tensors, expected 2", two().and(vec![x.clone()]));
        samples.added(ForeachAddScalar).refuses("empty list", nothing.and(1));
        samples
            .added(ForeachAddScalarList)
            .refuses("`scalars` has 1 numbers, expected 2", two().and(vec![1.5]));
        samples.added(ForeachAddTensor).refuses("one number for all", two().and(x.clone()));
        let inputs = |dtype| {
            let list = |seed| -> Vec<Plain> {
                let sizes: [&[i64]; 4] = [&[2, 3], &[], &[0, 2], &[4]];
                sizes.iter().zip(seed..).map(|(sizes, seed)| generate::nonzero(dtype, sizes, seed)).collect()
            };
            vec![given(list(0)).and(list(3)).and(list(6)).and(generate::numbers(dtype, &[4], 1))]
        };
        let wrong = || two().and(vec![x.clone(); 2]).and(vec![x.clone(); 2]).and(x.with_sizes(&[2, 1]));
        samples
            .operator(ForeachAddcmulTensor, NUMBERS, inputs, |it| scaled(it, number::times))
            .constant(&["scalars"])
            .tolerance(4.0)
            .not_on_meta()
            .refuses("expected [2]", wrong());
        samples
            .operator(ForeachAddcdivTensor, INEXACT, inputs, |it| scaled(it, number::over))
            .constant(&["scalars"])
            .tolerance(4.0)
            .not_on_meta()
            .refuses("expected [2]", wrong());
    }

    /// Each tensor and what two others are together, times its number.
    fn scaled(it: &Inputs, together: fn(Scalar, Scalar) -> Scalar) -> Result<Expected> {
        let [x, one, other] = ["self", "tensor1", "tensor2"].map(|name| it.tensors(name));
        let (x, one, other, numbers) = (x?, one?, other?, it.tensor("scalars")?);
        let of = |k: usize| -> Expected {
            let number = numbers.at(&[k as i64]);
            let element = |at: &[i64]| {
                number::plus(x[k].at(at), number::times(number, together(one[k].at(at), other[k].at(at))))
            };
            Plain::from_fn(x[k].dtype(), x[k].sizes(), element).into()
        };
        Ok(Expected::Several((0..x.len()).map(of).collect()))
    }
}
