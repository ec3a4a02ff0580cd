//! `aten::fill_`, `aten::fill`: every element set to a number.
//!
//! `self[i] = value`
//!
//! - Dtypes: `value` is converted to that of `self`; a fraction is cut off for integers.
//! - Shapes: that of `self`; a `value` tensor has no dimensions.
//! - Aliasing: `fill_` writes `self`, which must not repeat elements; `fill` writes a tensor like it, the `out` forms `out`.
//! - Dispatch: `fill` is a composite of `empty_like` and `fill_`; a number in a tensor is read.
//! - Errors: a number beyond the range of the dtype, a `value` with dimensions.
//! - Source: torch.Tensor.fill_, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::access::check_written;
use opgrid_kinds::factory;
use opgrid_tensor::ops::{EmptyLike, LocalScalarDense};

pub use opgrid_tensor::ops::copies::fill::*;

pub(super) fn register(library: &mut Library) {
    library
        .define(FillInplaceScalar)
        .kind(&kind::POINTWISE_UNARY)
        .in_place(shape, cpu)
        .derivative(|d, (input, _)| d.by(input, [], |grad, []| derivatives::zeros(grad)));
    library.define(FillInplaceTensor).kind(&kind::COPY).on_cpu_and_meta(fill_tensor).derivative(
        |d, (input, src)| {
            d.by(input, [], |grad, []| derivatives::zeros(grad))?;
            d.by(src, [], |grad, []| Ok(grad.clone()))
        },
    );
    library
        .define_with_forms(FillScalar, &kind::COPY)
        .on_every_backend(|input, value| {
            let out = EmptyLike.call(input, None, None, None, None, None)?;
            FillInplaceScalar.call(&out, value).map(|()| out)
        })
        .derivative(|d, (input, _)| d.by(input, [], |grad, []| derivatives::zeros(grad)));
    library.implement(FillScalarOut).on_every_backend(|input, value, out| {
        factory::fill_like(out, input, None, |out| FillInplaceScalar.call(out, value))
    });
    library
        .define_with_forms(FillTensor, &kind::COPY)
        .on_every_backend(|input, value| {
            let out = EmptyLike.call(input, None, None, None, None, None)?;
            FillInplaceTensor.call(&out, value).map(|()| out)
        })
        .derivative(|d, (input, src)| {
            d.by(input, [], |grad, []| derivatives::zeros(grad))?;
            d.by(src, [], |grad, []| Ok(grad.clone()))
        });
    library.implement(FillTensorOut).on_every_backend(|input, value, out| {
        check_value(value)?;
        // Read before anything is written, for `out` may be `value`.
        let value = opgrid_tensor::ops::CloneTensor.call(value, None)?;
        factory::fill_like(out, input, None, |out| FillInplaceTensor.call(out, &value))
    });
}

/// # Errors
///
/// A tensor with dimensions.
fn check_value(value: &Tensor) -> Result<()> {
    match value.spec()?.sizes() {
        [] => Ok(()),
        sizes => Err(argument(format!(
            "argument `value` has shape {sizes:?}, expected a tensor without dimensions"
        ))),
    }
}

fn fill_tensor(input: &Tensor, value: &Tensor) -> Result<()> {
    check_value(value)?;
    let spec = input.spec()?;
    check_written(spec.geometry())?;
    if spec.device().is_meta() {
        Ok(())
    } else {
        FillInplaceScalar.call(input, LocalScalarDense.call(value)?)
    }
}

fn shape(input: &Tensor, _value: Scalar) -> Result<TensorSpec> {
    input.spec().cloned()
}

fn cpu(_input: &Tensor, value: Scalar, out: &Tensor) -> Result<()> {
    with_dtype!(out.dtype(), T: Stored => arithmetic::element::<T>(value).map(|_| ()))?;
    elementwise::fill(out, value)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(FillInplaceScalar, STORED, with_numbers, reference)
            .refuses_data("overflow", given(generate::numbers(DType::U8, &[2], 0)).and(300));
        samples.operator(FillScalar, STORED, with_numbers, reference).output_decides();
        let with_tensors = |dtype| {
            let number = Plain::number(DType::F32, 2.5);
            generate::unary_numbers(dtype).into_iter().map(|sample| sample.and(number.clone())).collect()
        };
        let x = generate::numbers(DType::F32, &[2], 0);
        samples
            .operator(FillInplaceTensor, STORED, with_tensors, reference)
            .refuses("without dimensions", given(x.clone()).and(x));
        samples.operator(FillTensor, STORED, with_tensors, reference).output_decides();
        samples.differs(FillInplaceScalar, departures::arithmetic::NUMBERS_FIT);
    }

    fn with_numbers(dtype: DType) -> Vec<Sample> {
        let numbers = [Scalar::Int(3), Scalar::Float(1.75), Scalar::Bool(true)];
        let all = generate::unary(dtype).into_iter();
        all.flat_map(|sample| numbers.map(|number| sample.clone().and(number))).collect()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (x, value) = (it.tensor("self")?, it.operand("value")?);
        Ok(Plain::from_elements(x.dtype(), x.sizes(), value.elements()).into())
    }
}
