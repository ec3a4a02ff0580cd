//! `aten::_assert_tensor_metadata`, `aten::_assert_scalar`, `aten::_assert_async`, `aten::sym_constrain_range`: what exported programs
//! make sure of while they run.
//!
//! - Results: none.
//! - Dispatch: composites. `_assert_async` looks at an element, which meta tensors do not have: there it is taken as true.
//! - Errors: what is asserted does not hold, with what was found and what was expected.
//! - Source: torch.ops.aten, PyTorch 2.15. `sym_constrain_range_for_size` asks for at least 0, where 2 is what torch assumes while it traces.

use crate::prelude::*;
use opgrid_core::DeviceType;
use opgrid_tensor::ops::IsNonzero;

pub use opgrid_tensor::ops::questions::assertions::*;

pub(super) fn register(library: &mut Library) {
    const SINGLE: &str = "expected a tensor whose only element is not zero, found zero";
    library.define(AssertTensorMetadata).kind(&kind::QUESTION).implicit(metadata);
    library
        .define(AssertScalar)
        .kind(&kind::QUESTION)
        .implicit(|value, message| expect(value.to_bool(), message));
    library.define(AssertAsync).kind(&kind::QUESTION).implicit(|input| expect_true(input, SINGLE));
    library.define(AssertAsyncMsg).kind(&kind::QUESTION).implicit(expect_true);
    library
        .define(SymConstrainRange)
        .kind(&kind::QUESTION)
        .implicit(|value, min, max| constrain(value, min.unwrap_or(i64::MIN), max));
    library.define(SymConstrainRangeForSize).kind(&kind::QUESTION).implicit(for_size);
}

fn expect(holds: bool, message: &str) -> Result<()> {
    if holds {
        return Ok(());
    }
    Err(argument(if message.is_empty() { "an assertion of the program does not hold" } else { message }))
}

fn expect_true(input: &Tensor, message: &str) -> Result<()> {
    expect(input.spec()?.device().kind() == DeviceType::Meta || IsNonzero.call(input)?, message)
}

fn metadata(
    input: &Tensor,
    size: Option<&[i64]>,
    stride: Option<&[i64]>,
    dtype: Option<DType>,
    device: Option<Device>,
    layout: Option<Layout>,
) -> Result<()> {
    let spec = input.spec()?;
    let mismatch = |what: &str, found: String, expected: String| {
        Err(argument(format!(
            "argument `a` has {what} {found}, expected {expected} as when the program was exported"
        )))
    };
    if let Some(size) = size.filter(|size| *size != spec.sizes()) {
        return mismatch("sizes", format!("{:?}", spec.sizes()), format!("{size:?}"));
    }
    if let Some(stride) = stride.filter(|stride| *stride != spec.strides()) {
        return mismatch("strides", format!("{:?}", spec.strides()), format!("{stride:?}"));
    }
    if let Some(dtype) = dtype.filter(|dtype| *dtype != spec.dtype()) {
        return mismatch("dtype", spec.dtype().to_string(), dtype.to_string());
    }
    if let Some(device) = device.filter(|device| device.kind() != spec.device().kind()) {
        return mismatch("device", spec.device().to_string(), device.to_string());
    }
    match layout.filter(|layout| *layout != Layout::Strided) {
        Some(layout) => mismatch("layout", Layout::Strided.to_string(), layout.to_string()),
        None => Ok(()),
    }
}

fn constrain(value: Scalar, min: i64, max: Option<i64>) -> Result<()> {
    let value = match value {
        Scalar::Int(value) => value,
        Scalar::Bool(value) => i64::from(value),
        other => return Err(argument(format!("argument `size` is {other}, expected an integer"))),
    };
    let max = max.unwrap_or(i64::MAX);
    if max < min {
        return Err(argument(format!("argument `max` is {max}, expected at least `min`, which is {min}")));
    }
    if (min..=max).contains(&value) {
        return Ok(());
    }
    Err(argument(format!("argument `size` is {value}, expected a number from {min} to {max}")))
}

fn for_size(value: Scalar, min: Option<i64>, max: Option<i64>) -> Result<()> {
    if let Some(max) = max.filter(|max| *max <= 2) {
        return Err(argument(format!(
            "argument `max` is {max}, expected more than 2, as sizes 0 and 1 are always specialized"
        )));
    }
    constrain(value, min.unwrap_or(0), max)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(AssertTensorMetadata, STORED, generate::unary, |_| Ok(Expected::Several(Vec::new())))
            .refuses("[2], expected [3]", given(generate::numbers(DType::F32, &[2], 0)).and(vec![3i64]));
        samples
            .operator(AssertAsync, STORED, truths_of, |_| Ok(Expected::Several(Vec::new())))
            .refuses_data("found zero", given(Plain::from_elements(DType::F32, &[], &[0])))
            .refuses_data("2 elements", given(generate::numbers(DType::F32, &[2], 0)));
        let with_message =
            |dtype| truths_of(dtype).into_iter().map(|sample| sample.and("too small")).collect();
        samples
            .operator(AssertAsyncMsg, STORED, with_message, |_| Ok(Expected::Several(Vec::new())))
            .refuses_data("too small", given(Plain::from_elements(DType::F32, &[], &[0])).and("too small"));
        samples
            .operator(
                AssertScalar,
                STORED,
                |_| vec![given(3).and("too small")],
                |_| Ok(Expected::Several(Vec::new())),
            )
            .refuses("too small", given(0).and("too small"));
        samples
            .operator(SymConstrainRange, STORED, |_| in_range(), |_| Ok(Expected::Several(Vec::new())))
            .refuses("from 6 to", given(5).named("min", 6))
            .refuses("to 4", given(5).named("max", 4))
            .refuses("at least `min`", given(5).named("min", 7).named("max", 4));
        samples
            .operator(SymConstrainRangeForSize, STORED, |_| in_range(), |_| Ok(Expected::Several(Vec::new())))
            .refuses("from 0 to", given(-1))
            .refuses("more than 2", given(1).named("max", 2));
    }

    fn truths_of(dtype: DType) -> Vec<Sample> {
        vec![given(Plain::from_elements(dtype, &[1], &[1])), given(Plain::from_elements(dtype, &[], &[1]))]
    }

    fn in_range() -> Vec<Sample> {
        vec![given(5), given(5).named("min", 5), given(5).named("min", 2).named("max", 9)]
    }
}
