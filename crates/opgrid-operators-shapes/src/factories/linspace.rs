//! `aten::linspace`: numbers from `start` to `end` at equal distances, both included.
//!
//! `out[i] = start + i * (end - start) / (steps - 1)`
//!
//! - Shapes: `[steps]`; one number is `start`. Bounds in tensors have no dimensions.
//! - Dtypes: `dtype`; without it the default one, or the complex one of it for complex bounds. Integers cut off
//!   fractions. The bounds are converted first; numbers are computed in
//!   float64 from the nearer end, and rounded once, where torch computes in the dtype.
//! - Aliasing: `linspace.out` writes `out`, in its dtype, and gives it its shape if it has no elements.
//! - Dispatch: as [`EmptyMemoryFormat`]; a composite of `empty` and `linspace.out`. Bounds in tensors are read.
//! - Errors: a negative number of steps, complex bounds for a real dtype, more than one bool.
//! - Source: torch.linspace, PyTorch 2.15.

use num_complex::Complex64;

use crate::prelude::*;
use opgrid_kernels::sequence;
use opgrid_kinds::factory::Factories;
use opgrid_tensor::families::result::compute_into;
use opgrid_tensor::ops::{EmptyMemoryFormat, Item};
use opgrid_tensor::tensor::{Element, Number, complex_of};

pub use opgrid_tensor::ops::factories::linspace::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(Linspace, &kind::FACTORY).factory(linspace);
    library.implement(LinspaceOut).on_cpu_and_meta(linspace_out);
    library.define_with_forms(LinspaceTensorTensor, &kind::FACTORY).on_every_backend(
        |start, end, steps, dtype, layout, device, pin_memory| {
            let device = device_beside(&[start, end], device)?;
            Linspace.call(
                bound(start, device)?,
                bound(end, device)?,
                steps,
                dtype,
                layout,
                device,
                pin_memory,
            )
        },
    );
    library.define_with_forms(LinspaceTensorScalar, &kind::FACTORY).on_every_backend(
        |start, end, steps, dtype, layout, device, pin_memory| {
            let device = device_beside(&[start], device)?;
            Linspace.call(bound(start, device)?, end, steps, dtype, layout, device, pin_memory)
        },
    );
    library.define_with_forms(LinspaceScalarTensor, &kind::FACTORY).on_every_backend(
        |start, end, steps, dtype, layout, device, pin_memory| {
            let device = device_beside(&[end], device)?;
            Linspace.call(start, bound(end, device)?, steps, dtype, layout, device, pin_memory)
        },
    );
    library.implement(LinspaceTensorTensorOut).on_every_backend(|start, end, steps, out| {
        LinspaceOut.call(bound(start, Some(out.device()))?, bound(end, Some(out.device()))?, steps, out)
    });
    library.implement(LinspaceTensorScalarOut).on_every_backend(|start, end, steps, out| {
        LinspaceOut.call(bound(start, Some(out.device()))?, end, steps, out)
    });
    library.implement(LinspaceScalarTensorOut).on_every_backend(|start, end, steps, out| {
        LinspaceOut.call(start, bound(end, Some(out.device()))?, steps, out)
    });
}

fn linspace(
    start: Scalar,
    end: Scalar,
    steps: i64,
    dtype: Option<DType>,
    layout: Option<Layout>,
    device: Option<Device>,
    pin_memory: Option<bool>,
) -> Result<Tensor> {
    check(start, end, steps, dtype)?;
    let dtype = Some(dtype.unwrap_or_else(|| default_of(start, end)));
    let result = EmptyMemoryFormat.call(&[steps], dtype, layout, device, pin_memory, None)?;
    LinspaceOut.call(start, end, steps, &result)?;
    Ok(result)
}

fn linspace_out(start: Scalar, end: Scalar, steps: i64, out: &Tensor) -> Result<()> {
    check(start, end, steps, Some(out.spec()?.dtype()))?;
    compute_into(out, &result_spec(out, steps)?, |out| {
        with_dtype!(out.dtype(), T: Any by itself => {
            let (start, end) = (arithmetic::element::<T>(start)?, arithmetic::element::<T>(end)?);
            let (start, end): (Complex64, Complex64) = (start.cast(), end.cast());
            // One number is `start`, whatever `end` is.
            let step = if steps > 1 { (end - start) / (steps - 1) as f64 } else { Complex64::ZERO };
            let element = |number| T::from_number(Number::Complex128(number));
            sequence::produced(out.array()?, |sequence| {
                // Two loops without a comparison.
                let first = (sequence.rest() / 2).max(sequence.rest().min(1));
                sequence.extend_with(first, move |i| element(start + step * sequence::float(i as i64)));
                let second = sequence.rest();
                sequence.extend_with(second, move |i| element(end - step * sequence::float((second - 1 - i) as i64)));
                Ok(())
            })
        })
    })
}

/// Where a sequence between tensors is made: beside a meta tensor on meta, whatever is asked for, for its bounds are not known.
///
/// # Errors
///
/// A tensor that is not defined.
pub(super) fn device_beside(bounds: &[&Tensor], device: Option<Device>) -> Result<Option<Device>> {
    for bound in bounds {
        let beside = bound.spec()?.device();
        if beside.is_meta() {
            return Ok(device.filter(|device| device.is_meta()).or(Some(beside)));
        }
    }
    Ok(device)
}

/// The number in a tensor without dimensions, for a result on a device: on meta any of its kind will do.
pub(super) fn bound(tensor: &Tensor, device: Option<Device>) -> Result<Scalar> {
    let spec = tensor.spec()?;
    match spec.sizes() {
        [] if spec.device().is_meta() && device.is_some_and(Device::is_meta) => {
            Ok(if spec.dtype().is_complex() { Scalar::Complex(Complex64::ZERO) } else { Scalar::Int(0) })
        }
        [] => Item.call(tensor),
        sizes => Err(argument(format!("a bound has shape {sizes:?}, expected a tensor without dimensions"))),
    }
}

/// The dtype of numbers between these.
pub(super) fn default_of(start: Scalar, end: Scalar) -> DType {
    if is_complex(start, end) { complex_of(default_dtype()) } else { default_dtype() }
}

/// What an output becomes: one with as many elements keeps its shape.
pub(super) fn result_spec(out: &Tensor, steps: i64) -> Result<TensorSpec> {
    let found = out.spec()?;
    if found.numel() == steps {
        Ok(found.clone())
    } else {
        TensorSpec::contiguous(&[steps], found.dtype(), found.device())
    }
}

fn is_complex(start: Scalar, end: Scalar) -> bool {
    [start, end].iter().any(|bound| matches!(bound, Scalar::Complex(_)))
}

pub(super) fn check(start: Scalar, end: Scalar, steps: i64, dtype: Option<DType>) -> Result<()> {
    if steps < 0 {
        return Err(argument(format!("number of steps must be non-negative, found {steps}")));
    }
    match dtype {
        Some(dtype) if is_complex(start, end) && !dtype.is_complex() => {
            let message =
                format!("bounds from {start} to {end} cannot be cast to dtype {dtype}; use a complex one");
            Err(argument(message))
        }
        // One element, or none, needs no arithmetic.
        Some(dtype) if steps > 1 => with_dtype!(dtype, _T: Number by itself => Ok(())),
        _ => Ok(()),
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let negative = given(0).and(1).and(-1).named("dtype", DType::F32);
        samples
            .operator(Linspace, NUMBERS, inputs, reference)
            .tolerance(2.0)
            .output_decides()
            .refuses("steps", negative);
        let in_tensors = |dtype| {
            let number = |number: i64| Plain::number(DType::F64, number);
            vec![given(number(0)).and(number(8)).and(5).named("dtype", dtype)]
        };
        let x = generate::numbers(DType::F32, &[1], 0);
        samples
            .operator(LinspaceTensorTensor, NUMBERS, in_tensors, reference)
            .tolerance(2.0)
            .output_decides()
            .refuses("without dimensions", given(x.clone()).and(x).and(2));
        let first = |dtype| vec![given(Plain::number(DType::F64, 0)).and(8).and(5).named("dtype", dtype)];
        samples.operator(LinspaceTensorScalar, NUMBERS, first, reference).tolerance(2.0).output_decides();
        let second = |dtype| vec![given(0).and(Plain::number(DType::F64, 8)).and(5).named("dtype", dtype)];
        samples.operator(LinspaceScalarTensor, NUMBERS, second, reference).tolerance(2.0).output_decides();
        samples.differs(Linspace, departures::arithmetic::NUMBERS_FIT);
        samples.differs(
            Linspace,
            Difference {
                id: "integers-between-two-others",
                what: "torch computes integer sequences in single precision and truncates results that \
                     rounding made fractional; here in double precision",
                why: "more precise",
                test: ("opgrid-operators/tests/all/differences/numbers.rs", "integers_between_two_others"),
                when: |seen| {
                    seen.each(|(dtype, ours, torch)| dtype.is_integral() && (ours - torch).norm() == 1.0)
                },
                directed: None,
            },
        );
        // A product and a sum, which are fused where torch was compiled so; torch counts in single precision.
        samples.rounds(Linspace, Roundings::all(Rounding::Sum(2)));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let mut samples = vec![given(0).and(8).and(5)];
        if dtype == DType::Bool || dtype.is_signed() {
            samples
                .extend([(3, -3, 7), (-1, 1, 3)].map(|(start, end, steps)| given(start).and(end).and(steps)));
        }
        // Fewer than two bools are no range, and not refused.
        if dtype != DType::Bool {
            samples.extend([0, 1].map(|steps| given(2.5).and(5).and(steps)));
        }
        samples.into_iter().map(|sample| sample.named("dtype", dtype)).collect()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let [start, end] = ["start", "end"].map(|name| it.operand(name).map(|bound| bound.elements()[0]));
        let (start, end) = (start?, end?);
        let (steps, dtype): (i64, Option<DType>) = (it.value("steps")?, it.value("dtype")?);
        let step = number::over(number::minus(end, start), Scalar::Float((steps - 1).max(1) as f64));
        let place = |at: i64| number::plus(start, number::times(step, Scalar::Float(at as f64)));
        Ok(Plain::from_fn(dtype.unwrap_or(default_dtype()), &[steps], |at| place(at[0])).into())
    }
}
