//! `aten::lt`: whether elements are smaller.
//!
//! `out[i] = self[i] < other[i]`
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: compared in the promoted dtype; the result is bool, and with NaN the answer is no.
//! - Aliasing: `lt_` writes `self`, in its dtype; `lt.out` writes `out`, of any dtype.
//! - Errors: complex numbers, which have no order.
//! - Source: torch.lt, PyTorch 2.15.

use super::prelude::*;
use crate::kernels::arithmetic::Ordered;

operator! {
    home = crate::home;
    pub LtTensor = "aten::lt.Tensor(Tensor self, Tensor other) -> Tensor";
    pub LtScalar = "aten::lt.Scalar(Tensor self, Scalar other) -> Tensor";
    pub LtInplaceTensor = "aten::lt_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)";
    pub LtInplaceScalar = "aten::lt_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)";
    pub LtTensorOut = "aten::lt.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)";
    pub LtScalarOut = "aten::lt.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)";
}

pub(super) fn register(library: &mut Library) {
    library.define(LtTensor).structured(shape, cpu);
    library.define(LtInplaceTensor).in_place(shape, cpu);
    library.define(LtTensorOut).out_of(LtTensor, shape, cpu);
    library.define(LtScalar).structured(scalar_shape, scalar_cpu);
    library.define(LtInplaceScalar).in_place(scalar_shape, scalar_cpu);
    library.define(LtScalarOut).out_of(LtScalar, scalar_shape, scalar_cpu);
}

pub(super) fn samples(samples: &mut Samples) {
    samples.of(LtTensor, ORDERED, make::pairs, reference);
    samples.of(LtScalar, ORDERED, make::with_scalar, reference);
}

fn reference(it: &Inputs) -> Result<Expected> {
    it.binary(DTypeRule::Bool, |a, b| Scalar::Bool(number::order(a, b).is_some_and(|order| order.is_lt())))
}

fn shape(input: &Tensor, other: &Tensor) -> Result<TensorSpec> {
    pointwise::check_ordered(&[input, other])?;
    pointwise::of_dtype([("self", input), ("other", other)], DType::Bool)
}

fn cpu(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[input, other])?;
    with_dtype!(dtype, T: Ordered => {
        elementwise::binary::<Bool, T, T>(out, input, other, |a, b| (a.is_below(b)).into())
    })
}

fn scalar_shape(input: &Tensor, other: Scalar) -> Result<TensorSpec> {
    shape(input, &other.into())
}

fn scalar_cpu(input: &Tensor, other: Scalar, out: &Tensor) -> Result<()> {
    cpu(input, &other.into(), out)
}
