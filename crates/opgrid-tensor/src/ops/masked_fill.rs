//! `aten::masked_fill`: a number where a mask is true.
//!
//! `out[i] = value if mask[i] else self[i]`
//!
//! - Shapes: `self` and `mask` broadcast; in place, `mask` is stretched to `self`. The result is row-major.
//! - Dtypes: that of `self`, to which `value` is converted; `mask` is bool.
//! - Aliasing: `masked_fill_` writes `self`; `masked_fill` writes a copy.
//! - Errors: a mask of another dtype, a `value` tensor with dimensions, a number beyond the range of the dtype,
//!   overlap of `self` and `mask`.
//! - Source: torch.Tensor.masked_fill_, PyTorch 2.15.

use super::prelude::*;
use super::{Expand, LocalScalarDense};
use crate::tensor::{Element, broadcast};

operator! {
    home = crate::home;
    /// A copy with a number where a mask is true.
    pub MaskedFillScalar = "aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor", in_place, method;
    pub MaskedFillTensor = "aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor", in_place;
}

pub(super) fn register(library: &mut Library) {
    library.implement(MaskedFillInplaceScalar).in_place(|input, mask, _| shape(input, mask), cpu);
    library.implement(MaskedFillInplaceTensor).in_place(tensor_shape, |input, mask, value, out| {
        cpu(input, mask, LocalScalarDense.call(value)?, out)
    });
    library.define_with_forms(MaskedFillScalar, &kind::INDEXING).on_every_backend(|input, mask, value| {
        let result = stretched(input, mask)?;
        MaskedFillInplaceScalar.call(&result, mask, value)?;
        Ok(result)
    });
    library.define_with_forms(MaskedFillTensor, &kind::INDEXING).on_every_backend(|input, mask, value| {
        let result = stretched(input, mask)?;
        MaskedFillInplaceTensor.call(&result, mask, value)?;
        Ok(result)
    });
}

pub(super) fn samples(samples: &mut Samples) {
    let x = make::numbers(DType::F32, &[2], 0);
    let mask = make::numbers(DType::Bool, &[2], 0);
    samples
        .of(MaskedFillScalar, ANY, |dtype| masked(dtype, |_| Scalar::Int(1).into()), reference)
        .refuses("expected bool", given(x.clone()).and(x.clone()).and(1))
        .refuses_data("overflow", given(x.to(DType::U8)).and(mask.clone()).and(300));
    samples
        .of(MaskedFillTensor, ANY, |dtype| masked(dtype, |dtype| Plain::number(dtype, 1).into()), reference)
        .refuses("without dimensions", given(x.clone()).and(mask).and(x));
    samples.differs(MaskedFillScalar, arithmetic::NUMBERS_FIT);
}

/// A tensor, a mask that broadcasts with it, and the value.
fn masked(dtype: DType, value: fn(DType) -> Given) -> Vec<Sample> {
    let shapes: [[&[i64]; 2]; 5] =
        [[&[2, 3], &[2, 3]], [&[2, 3], &[3]], [&[3], &[2, 3]], [&[], &[]], [&[0], &[1]]];
    let one = |[sizes, mask]: [&[i64]; 2]| {
        given(make::numbers(dtype, sizes, 0)).and(make::numbers(DType::Bool, mask, 1)).and(value(dtype))
    };
    shapes.map(one).to_vec()
}

fn reference(it: &Inputs) -> Result<Expected> {
    let (x, mask, value) = (it.tensor("self")?, it.tensor("mask")?, it.operand("value")?);
    let sizes = naive::broadcast([x.sizes(), mask.sizes()].into_iter())?;
    let filled = Plain::from_fn(x.dtype(), &sizes, |position| {
        if mask.at(position).to_bool() { value.at(&[]) } else { x.at(position) }
    });
    Ok(filled.into())
}

/// A row-major copy of `input`, stretched to the shape that it has together with the mask.
fn stretched(input: &Tensor, mask: &Tensor) -> Result<Tensor> {
    let sizes = broadcast(&[input.spec()?.sizes(), mask.spec()?.sizes()])?;
    super::Clone.call(&Expand.call(input, &sizes, false)?, Some(MemoryFormat::Contiguous))
}

fn shape(input: &Tensor, mask: &Tensor) -> Result<TensorSpec> {
    let (spec, mask) = (input.spec()?, mask.spec()?);
    if mask.dtype() != DType::Bool {
        return Err(argument(format!("argument `mask` has dtype {}, expected bool", mask.dtype())));
    }
    if mask.device() != spec.device() {
        let message =
            format!("argument `mask` is on device {}, expected {} as `self`", mask.device(), spec.device());
        return Err(argument(message));
    }
    if mask.geometry().expand(spec.sizes()).is_err() {
        let message = format!(
            "argument `mask` has shape {:?}, which does not broadcast to `self` of shape {:?}",
            mask.sizes(),
            spec.sizes()
        );
        return Err(argument(message));
    }
    Ok(spec.clone())
}

fn tensor_shape(input: &Tensor, mask: &Tensor, value: &Tensor) -> Result<TensorSpec> {
    let sizes = value.spec()?.sizes();
    if !sizes.is_empty() {
        let message = format!("argument `value` has shape {sizes:?}, expected a tensor without dimensions");
        return Err(argument(message));
    }
    shape(input, mask)
}

fn cpu(input: &Tensor, mask: &Tensor, value: Scalar, out: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T => {
        let value = arithmetic::element::<T>(value)?.widen();
        elementwise::binary::<T, T, Bool>(out, input, mask, move |element, masked| {
            if masked.is_true() { value } else { element }
        })
    })
}
