//! `aten::sub`: difference of two tensors, the second one scaled.
//!
//! `out[i] = self[i] - alpha * other[i]`
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: promoted. Integers wrap around.
//! - Aliasing: `sub_` writes `self`, `sub.out` writes `out`, and gives it its shape if it has no elements.
//! - Errors: bools; a float `alpha` for integers; an in-place result or an `out` of a lower kind of dtype than the
//!   difference; outputs that overlap inputs in part.
//! - Source: torch.sub, PyTorch 2.15.

use super::prelude::*;

operator! {
    home = crate::home;
    pub SubTensor = "aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor";
    pub SubScalar = "aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor";
    pub SubInplaceTensor = "aten::sub_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)";
    pub SubInplaceScalar = "aten::sub_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)";
    pub SubOut = "aten::sub.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)";
}

pub(super) fn register(library: &mut Library) {
    library.define(SubTensor).structured(shape, cpu);
    library.define(SubInplaceTensor).in_place(shape, cpu);
    library.define(SubOut).out_of(SubTensor, shape, cpu);
    library.define(SubScalar).composite(|input, other, alpha| SubTensor.call(input, &other.into(), alpha));
    library
        .define(SubInplaceScalar)
        .composite(|input, other, alpha| SubInplaceTensor.call(input, &other.into(), alpha));
}

fn shape(input: &Tensor, other: &Tensor, alpha: Scalar) -> Result<TensorSpec> {
    let arguments = [("self", input), ("other", other)];
    pointwise::check_subtraction(&arguments)?;
    let spec = pointwise::promoted(arguments)?;
    pointwise::check_factor("alpha", alpha, spec.dtype())?;
    Ok(spec)
}

fn cpu(input: &Tensor, other: &Tensor, alpha: Scalar, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[input, other])?;
    with_dtype!(dtype, T: Number => {
        let alpha = arithmetic::element::<Math<T>>(alpha)?;
        elementwise::binary::<T, T, T>(out, input, other, move |a, b| a.minus(alpha.times(b)))
    })
}
