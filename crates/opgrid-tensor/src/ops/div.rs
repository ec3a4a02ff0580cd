//! `aten::div`: quotient of two tensors, rounded or not.
//!
//! `out[i] = self[i] / other[i]`
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: promoted; without a `rounding_mode` integers and bools are divided in the default dtype.
//! - Rounding: "trunc" towards zero, "floor" downwards; `None` keeps fractions.
//! - Aliasing: `div_` writes `self`, `div.out` writes `out`, and gives it its shape if it has no elements.
//! - Errors: another `rounding_mode`; with one, bools, complex numbers, and integers divided by zero; `div_` of
//!   integers without one.
//! - Source: torch.div, PyTorch 2.15.

use super::prelude::*;
use crate::kernels::division::{self, Division, Rounding};

operator! {
    home = crate::home;
    pub DivTensor = "aten::div.Tensor(Tensor self, Tensor other) -> Tensor";
    pub DivScalar = "aten::div.Scalar(Tensor self, Scalar other) -> Tensor";
    pub DivInplaceTensor = "aten::div_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)";
    pub DivInplaceScalar = "aten::div_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)";
    pub DivOut = "aten::div.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)";
    pub DivTensorMode = "aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor";
    pub DivScalarMode = "aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor";
    pub DivInplaceTensorMode = "aten::div_.Tensor_mode(Tensor(a!) self, Tensor other, *, str? rounding_mode) -> Tensor(a!)";
    pub DivInplaceScalarMode = "aten::div_.Scalar_mode(Tensor(a!) self, Scalar other, *, str? rounding_mode) -> Tensor(a!)";
    pub DivOutMode = "aten::div.out_mode(Tensor self, Tensor other, *, str? rounding_mode, Tensor(a!) out) -> Tensor(a!)";
}

pub(super) fn register(library: &mut Library) {
    library.define(DivTensor).structured(shape, cpu);
    library.define(DivInplaceTensor).in_place(shape, cpu);
    library.define(DivOut).out_of(DivTensor, shape, cpu);
    library.define(DivScalar).composite(|input, other| DivTensor.call(input, &other.into()));
    library.define(DivInplaceScalar).composite(|input, other| DivInplaceTensor.call(input, &other.into()));
    library.define(DivTensorMode).structured(mode_shape, mode_cpu);
    library.define(DivInplaceTensorMode).in_place(mode_shape, mode_cpu);
    library.define(DivOutMode).out_of(DivTensorMode, mode_shape, mode_cpu);
    library
        .define(DivScalarMode)
        .composite(|input, other, mode| DivTensorMode.call(input, &other.into(), mode));
    library
        .define(DivInplaceScalarMode)
        .composite(|input, other, mode| DivInplaceTensorMode.call(input, &other.into(), mode));
}

fn shape(input: &Tensor, other: &Tensor) -> Result<TensorSpec> {
    pointwise::inexact([("self", input), ("other", other)])
}

fn cpu(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    let dtype = inexact(result_type(&[input, other])?);
    with_dtype!(dtype, T: Inexact => elementwise::binary::<T, T, T>(out, input, other, Inexact::over))
}

fn mode_shape(input: &Tensor, other: &Tensor, mode: Option<&str>) -> Result<TensorSpec> {
    if Rounding::named(mode)?.is_none() {
        return shape(input, other);
    }
    let spec = pointwise::promoted([("self", input), ("other", other)])?;
    pointwise::check_real(spec.dtype())?;
    Ok(spec)
}

fn mode_cpu(input: &Tensor, other: &Tensor, mode: Option<&str>, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[input, other])?;
    let checked = |run: &dyn Fn() -> Result<()>| match dtype.is_floating_point() {
        true => run(),
        false => division::check_no_zero(other).and_then(|()| run()),
    };
    match Rounding::named(mode)? {
        None => cpu(input, other, out),
        Some(Rounding::Trunc) => checked(&|| {
            with_dtype!(dtype, T: Real => elementwise::binary::<T, T, T>(out, input, other, Division::truncated))
        }),
        Some(Rounding::Floor) => checked(&|| {
            with_dtype!(dtype, T: Real => elementwise::binary::<T, T, T>(out, input, other, Division::floored))
        }),
    }
}
