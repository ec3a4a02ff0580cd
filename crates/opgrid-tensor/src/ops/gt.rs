//! `aten::gt`: whether elements are larger.
//!
//! `out[i] = self[i] > other[i]`
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: compared in the promoted dtype; the result is bool, and with NaN the answer is no.
//! - Aliasing: `gt_` writes `self`, in its dtype; `gt.out` writes `out`, of any dtype.
//! - Errors: complex numbers, which have no order.
//! - Source: torch.gt, PyTorch 2.15.

use super::prelude::*;
use crate::kernels::arithmetic::Ordered;

operator! {
    home = crate::home;
    pub GtTensor = "aten::gt.Tensor(Tensor self, Tensor other) -> Tensor";
    pub GtScalar = "aten::gt.Scalar(Tensor self, Scalar other) -> Tensor";
    pub GtInplaceTensor = "aten::gt_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)";
    pub GtInplaceScalar = "aten::gt_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)";
    pub GtTensorOut = "aten::gt.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)";
    pub GtScalarOut = "aten::gt.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)";
}

pub(super) fn register(library: &mut Library) {
    library.define(GtTensor).structured(shape, cpu);
    library.define(GtInplaceTensor).in_place(shape, cpu);
    library.define(GtTensorOut).out_of(GtTensor, shape, cpu);
    library.define(GtScalar).structured(scalar_shape, scalar_cpu);
    library.define(GtInplaceScalar).in_place(scalar_shape, scalar_cpu);
    library.define(GtScalarOut).out_of(GtScalar, scalar_shape, scalar_cpu);
}

pub(super) fn samples(samples: &mut Samples) {
    samples.of(GtTensor, ORDERED, make::pairs, reference);
    samples.of(GtScalar, ORDERED, make::with_scalar, reference);
}

fn reference(it: &Inputs) -> Result<Expected> {
    it.binary(DTypeRule::Bool, |a, b| Scalar::Bool(number::order(a, b).is_some_and(|order| order.is_gt())))
}

fn shape(input: &Tensor, other: &Tensor) -> Result<TensorSpec> {
    pointwise::check_ordered(&[input, other])?;
    pointwise::of_dtype([("self", input), ("other", other)], DType::Bool)
}

fn cpu(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[input, other])?;
    with_dtype!(dtype, T: Ordered => {
        elementwise::binary::<Bool, T, T>(out, input, other, |a, b| (b.is_below(a)).into())
    })
}

fn scalar_shape(input: &Tensor, other: Scalar) -> Result<TensorSpec> {
    shape(input, &other.into())
}

fn scalar_cpu(input: &Tensor, other: Scalar, out: &Tensor) -> Result<()> {
    cpu(input, &other.into(), out)
}
