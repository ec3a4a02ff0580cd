//! `aten::eq`: whether elements are equal.
//!
//! `out[i] = self[i] == other[i]`
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: compared in the promoted dtype; the result is bool. NaN equals nothing.
//! - Aliasing: `eq_` writes `self`, in its dtype; `eq.out` writes `out`, of any dtype.
//! - Source: torch.eq, PyTorch 2.15.

use super::prelude::*;

operator! {
    home = crate::home;
    pub EqTensor = "aten::eq.Tensor(Tensor self, Tensor other) -> Tensor";
    pub EqScalar = "aten::eq.Scalar(Tensor self, Scalar other) -> Tensor";
    pub EqInplaceTensor = "aten::eq_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)";
    pub EqInplaceScalar = "aten::eq_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)";
    pub EqTensorOut = "aten::eq.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)";
    pub EqScalarOut = "aten::eq.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)";
}

pub(super) fn register(library: &mut Library) {
    library.define(EqTensor).structured(shape, cpu);
    library.define(EqInplaceTensor).in_place(shape, cpu);
    library.define(EqTensorOut).out_of(EqTensor, shape, cpu);
    library.define(EqScalar).structured(scalar_shape, scalar_cpu);
    library.define(EqInplaceScalar).in_place(scalar_shape, scalar_cpu);
    library.define(EqScalarOut).out_of(EqScalar, scalar_shape, scalar_cpu);
}

pub(super) fn samples(samples: &mut Samples) {
    samples.of(EqTensor, ANY, make::pairs, reference);
    samples.of(EqScalar, ANY, make::with_scalar, reference);
}

fn reference(it: &Inputs) -> Result<Expected> {
    it.binary(DTypeRule::Bool, |a, b| Scalar::Bool(number::same(a, b)))
}

fn shape(input: &Tensor, other: &Tensor) -> Result<TensorSpec> {
    pointwise::of_dtype([("self", input), ("other", other)], DType::Bool)
}

fn cpu(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[input, other])?;
    with_dtype!(dtype, T => elementwise::binary::<Bool, T, T>(out, input, other, |a, b| (a == b).into()))
}

fn scalar_shape(input: &Tensor, other: Scalar) -> Result<TensorSpec> {
    shape(input, &other.into())
}

fn scalar_cpu(input: &Tensor, other: Scalar, out: &Tensor) -> Result<()> {
    cpu(input, &other.into(), out)
}
