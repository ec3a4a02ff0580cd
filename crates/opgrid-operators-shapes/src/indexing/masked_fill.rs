//! `aten::masked_fill`: a number where a mask is true.
//!
//! `out[i] = value if mask[i] else self[i]`
//!
//! - Shapes: `self` and `mask` broadcast; in place, `mask` is stretched to `self`. The result is row-major.
//! - Dtypes: that of `self`, to which `value` is converted; `mask` is bool.
//! - Aliasing: `masked_fill_` writes `self`, the `out` forms `out`, of the dtype of `self`.
//! - Errors: a mask of another dtype, a `value` tensor with dimensions, a number beyond the range of the dtype,
//!   overlap of `self` and `mask`.
//! - Source: torch.Tensor.masked_fill_, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{LocalScalarDense, WhereScalarOther};
use opgrid_tensor::tensor::{Element, broadcast};

pub use opgrid_tensor::ops::indexing::masked_fill::*;

/// The family of `aten::masked_fill.Scalar`: its kind, shape rule and `out` rule.
pub const MASKED_FILL: Family<MaskedFillScalar> =
    Family::new(MaskedFillScalar, &kind::INDEXING, |input, mask, _| shape(input, mask))
        .in_place_shape(|input, mask, _| in_place_shape(input, mask))
        .same_dtype_out();

/// The family of `aten::masked_fill.Tensor`: its kind, shape rule and `out` rule.
pub const MASKED_FILL_TENSOR: Family<MaskedFillTensor> =
    Family::new(MaskedFillTensor, &kind::INDEXING, |input, mask, value| {
        check_value(value).and_then(|()| shape(input, mask))
    })
    .in_place_shape(|input, mask, value| check_value(value).and_then(|()| in_place_shape(input, mask)))
    .same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&MASKED_FILL)
        .cpu(cpu)
        .derivative(|d, (input, mask, _)| d.by(input, [mask], |grad, [mask]| grad.masked_fill(mask, 0)));
    library
        .family(&MASKED_FILL_TENSOR)
        .cpu(|input, mask, value, out| cpu(input, mask, LocalScalarDense.call(value)?, out))
        .derivative(|d, (input, mask, value)| {
            d.by(input, [mask], |grad, [mask]| grad.masked_fill(mask, 0))?;
            d.by(value, [mask], |grad, [mask]| WhereScalarOther.call(mask, grad, 0.into()))
        });
}

fn shape(input: &Tensor, mask: &Tensor) -> Result<TensorSpec> {
    check_mask(input, mask)?;
    let sizes = broadcast(&[input.sizes(), mask.sizes()])?;
    TensorSpec::contiguous(&sizes, input.dtype(), input.device())
}

fn in_place_shape(input: &Tensor, mask: &Tensor) -> Result<TensorSpec> {
    check_mask(input, mask)?;
    if mask.geometry().expand(input.sizes()).is_err() {
        let message = format!(
            "argument `mask` has shape {:?}, which does not broadcast to `self` of shape {:?}",
            mask.sizes(),
            input.sizes()
        );
        return Err(argument(message));
    }
    input.spec().cloned()
}

/// # Errors
///
/// A mask of another dtype than bool, or on another device.
fn check_mask(input: &Tensor, mask: &Tensor) -> Result<()> {
    let (spec, mask) = (input.spec()?, mask.spec()?);
    if mask.dtype() != DType::Bool {
        return Err(argument(format!("argument `mask` has dtype {}, expected bool", mask.dtype())));
    }
    if mask.device() != spec.device() {
        let message =
            format!("argument `mask` is on device {}, expected {} as `self`", mask.device(), spec.device());
        return Err(argument(message));
    }
    Ok(())
}

/// # Errors
///
/// A tensor with dimensions.
fn check_value(value: &Tensor) -> Result<()> {
    match value.spec()?.sizes() {
        [] => Ok(()),
        sizes => {
            let message =
                format!("argument `value` has shape {sizes:?}, expected a tensor without dimensions");
            Err(argument(message))
        }
    }
}

fn cpu(input: &Tensor, mask: &Tensor, value: Scalar, out: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T: Any by bits => {
        let value = arithmetic::element_for::<T>(value, input.dtype())?.widen();
        elementwise::binary::<T, T, Bool>(out, input, mask, move |element, masked| {
            if masked.is_true() { value } else { element }
        })
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2], 0);
        let mask = generate::numbers(DType::Bool, &[2], 0);
        samples
            .operator(MaskedFillScalar, ANY, |dtype| masked(dtype, |_| Scalar::Int(1).into()), reference)
            .refuses("expected bool", given(x.clone()).and(x.clone()).and(1))
            .refuses_data("overflow", given(x.to(DType::U8)).and(mask.clone()).and(300));
        samples
            .operator(
                MaskedFillTensor,
                ANY,
                |dtype| masked(dtype, |dtype| Plain::number(dtype, 1).into()),
                reference,
            )
            .refuses("without dimensions", given(x.clone()).and(mask).and(x));
        samples.differs(MaskedFillScalar, departures::arithmetic::NUMBERS_FIT);
    }

    /// A tensor, a mask that broadcasts with it, and the value.
    fn masked(dtype: DType, value: fn(DType) -> Given) -> Vec<Sample> {
        let shapes: [[&[i64]; 2]; 5] =
            [[&[2, 3], &[2, 3]], [&[2, 3], &[3]], [&[3], &[2, 3]], [&[], &[]], [&[0], &[1]]];
        let one = |[sizes, mask]: [&[i64]; 2]| {
            given(generate::numbers(dtype, sizes, 0))
                .and(generate::numbers(DType::Bool, mask, 1))
                .and(value(dtype))
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
}
