//! `aten::ge`: whether elements are larger or equal.
//!
//! `out[i] = self[i] >= other[i]`
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: compared in the promoted dtype; the result is bool, and with NaN the answer is no.
//! - Aliasing: `ge_` writes `self`, in its dtype; `ge.out` writes `out`, of any dtype.
//! - Errors: complex numbers, which have no order.
//! - Source: torch.ge, PyTorch 2.15.

use super::prelude::*;
use crate::kernels::arithmetic::Ordered;

operator! {
    home = crate::home;
    pub GeTensor = "aten::ge.Tensor(Tensor self, Tensor other) -> Tensor";
    pub GeScalar = "aten::ge.Scalar(Tensor self, Scalar other) -> Tensor";
    pub GeInplaceTensor = "aten::ge_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)";
    pub GeInplaceScalar = "aten::ge_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)";
    pub GeTensorOut = "aten::ge.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)";
    pub GeScalarOut = "aten::ge.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)";
}

pub(super) fn register(library: &mut Library) {
    library.define(GeTensor).structured(shape, cpu);
    library.define(GeInplaceTensor).in_place(shape, cpu);
    library.define(GeTensorOut).out_of(GeTensor, shape, cpu);
    library.define(GeScalar).structured(scalar_shape, scalar_cpu);
    library.define(GeInplaceScalar).in_place(scalar_shape, scalar_cpu);
    library.define(GeScalarOut).out_of(GeScalar, scalar_shape, scalar_cpu);
}

pub(super) fn samples(samples: &mut Samples) {
    samples.of(GeTensor, ORDERED, make::pairs, reference);
    samples.of(GeScalar, ORDERED, make::with_scalar, reference);
}

fn reference(it: &Inputs) -> Result<Expected> {
    it.binary(DTypeRule::Bool, |a, b| Scalar::Bool(number::order(a, b).is_some_and(|order| order.is_ge())))
}

fn shape(input: &Tensor, other: &Tensor) -> Result<TensorSpec> {
    pointwise::check_ordered(&[input, other])?;
    pointwise::of_dtype([("self", input), ("other", other)], DType::Bool)
}

fn cpu(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[input, other])?;
    with_dtype!(dtype, T: Ordered => {
        elementwise::binary::<Bool, T, T>(out, input, other, |a, b| (b.is_at_most(a)).into())
    })
}

fn scalar_shape(input: &Tensor, other: Scalar) -> Result<TensorSpec> {
    shape(input, &other.into())
}

fn scalar_cpu(input: &Tensor, other: Scalar, out: &Tensor) -> Result<()> {
    cpu(input, &other.into(), out)
}
