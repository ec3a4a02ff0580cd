//! `aten::le`: whether elements are smaller or equal.
//!
//! `out[i] = self[i] <= other[i]`
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: compared in the promoted dtype; the result is bool, and with NaN the answer is no.
//! - Aliasing: `le_` writes `self`, in its dtype; `le.out` writes `out`, of any dtype.
//! - Errors: complex numbers, which have no order.
//! - Source: torch.le, PyTorch 2.15.

use super::prelude::*;
use crate::kernels::arithmetic::Ordered;

operator! {
    home = crate::home;
    pub LeTensor = "aten::le.Tensor(Tensor self, Tensor other) -> Tensor";
    pub LeScalar = "aten::le.Scalar(Tensor self, Scalar other) -> Tensor";
    pub LeInplaceTensor = "aten::le_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)";
    pub LeInplaceScalar = "aten::le_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)";
    pub LeTensorOut = "aten::le.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)";
    pub LeScalarOut = "aten::le.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)";
}

pub(super) fn register(library: &mut Library) {
    library.define(LeTensor).structured(shape, cpu);
    library.define(LeInplaceTensor).in_place(shape, cpu);
    library.define(LeTensorOut).out_of(LeTensor, shape, cpu);
    library.define(LeScalar).structured(scalar_shape, scalar_cpu);
    library.define(LeInplaceScalar).in_place(scalar_shape, scalar_cpu);
    library.define(LeScalarOut).out_of(LeScalar, scalar_shape, scalar_cpu);
}

pub(super) fn samples(samples: &mut Samples) {
    samples.of(LeTensor, ORDERED, make::pairs, reference);
    samples.of(LeScalar, ORDERED, make::with_scalar, reference);
}

fn reference(it: &Inputs) -> Result<Expected> {
    it.binary(DTypeRule::Bool, |a, b| Scalar::Bool(number::order(a, b).is_some_and(|order| order.is_le())))
}

fn shape(input: &Tensor, other: &Tensor) -> Result<TensorSpec> {
    pointwise::check_ordered(&[input, other])?;
    pointwise::of_dtype([("self", input), ("other", other)], DType::Bool)
}

fn cpu(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[input, other])?;
    with_dtype!(dtype, T: Ordered => {
        elementwise::binary::<Bool, T, T>(out, input, other, |a, b| (a.is_at_most(b)).into())
    })
}

fn scalar_shape(input: &Tensor, other: Scalar) -> Result<TensorSpec> {
    shape(input, &other.into())
}

fn scalar_cpu(input: &Tensor, other: Scalar, out: &Tensor) -> Result<()> {
    cpu(input, &other.into(), out)
}
