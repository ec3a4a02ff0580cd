//! `aten::ne`: whether elements differ.
//!
//! `out[i] = self[i] != other[i]`
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: compared in the promoted dtype; the result is bool, and NaN differs from everything, itself too.
//! - Aliasing: `ne_` writes `self`, in its dtype; `ne.out` writes `out`, of any dtype.
//! - Source: torch.ne, PyTorch 2.15.

use super::prelude::*;

operator! {
    home = crate::home;
    pub NeTensor = "aten::ne.Tensor(Tensor self, Tensor other) -> Tensor";
    pub NeScalar = "aten::ne.Scalar(Tensor self, Scalar other) -> Tensor";
    pub NeInplaceTensor = "aten::ne_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)";
    pub NeInplaceScalar = "aten::ne_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)";
    pub NeTensorOut = "aten::ne.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)";
    pub NeScalarOut = "aten::ne.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)";
}

pub(super) fn register(library: &mut Library) {
    library.define(NeTensor).structured(shape, cpu);
    library.define(NeInplaceTensor).in_place(shape, cpu);
    library.define(NeTensorOut).out_of(NeTensor, shape, cpu);
    library.define(NeScalar).structured(scalar_shape, scalar_cpu);
    library.define(NeInplaceScalar).in_place(scalar_shape, scalar_cpu);
    library.define(NeScalarOut).out_of(NeScalar, scalar_shape, scalar_cpu);
}

pub(super) fn samples(samples: &mut Samples) {
    samples.of(NeTensor, ANY, make::pairs, reference);
    samples.of(NeScalar, ANY, make::with_scalar, reference);
}

fn reference(it: &Inputs) -> Result<Expected> {
    it.binary(DTypeRule::Bool, |a, b| Scalar::Bool(!number::same(a, b)))
}

fn shape(input: &Tensor, other: &Tensor) -> Result<TensorSpec> {
    pointwise::of_dtype([("self", input), ("other", other)], DType::Bool)
}

fn cpu(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[input, other])?;
    with_dtype!(dtype, T => {
        elementwise::binary::<Bool, T, T>(out, input, other, |a, b| (a != b).into())
    })
}

fn scalar_shape(input: &Tensor, other: Scalar) -> Result<TensorSpec> {
    shape(input, &other.into())
}

fn scalar_cpu(input: &Tensor, other: Scalar, out: &Tensor) -> Result<()> {
    cpu(input, &other.into(), out)
}
