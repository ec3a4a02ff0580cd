//! `aten::logspace`: powers whose exponents go from `start` to `end` at equal distances, both included.
//!
//! `out[i] = base ^ (start + i * (end - start) / (steps - 1))`
//!
//! - Shapes: `[steps]`; one number is the power of `start`. Bounds in tensors have no dimensions.
//! - Dtypes: as [`Linspace`](opgrid_tensor::ops::Linspace). Exponents and powers are computed in float64 or complex128, and
//!   rounded once, where torch computes in the dtype.
//! - Aliasing: the `out` forms write `out`, in its dtype, and give it its shape if it has no elements.
//! - Dispatch: as [`EmptyMemoryFormat`]; a composite of `empty` and `logspace.out`. Bounds in tensors are read.
//! - Errors: as `linspace`.
//! - Source: torch.logspace, PyTorch 2.15.

use num_complex::Complex64;

use crate::factories::linspace::{bound, check, default_of, result_spec};
use crate::prelude::*;
use opgrid_kernels::sequence;
use opgrid_kinds::factory::Factories;
use opgrid_tensor::families::result::compute_into;
use opgrid_tensor::ops::EmptyMemoryFormat;
use opgrid_tensor::tensor::{Element, Number};

pub use opgrid_tensor::ops::factories::logspace::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(Logspace, &kind::FACTORY).factory(logspace);
    library.implement(LogspaceOut).on_cpu_and_meta(logspace_out);
    library.define_with_forms(LogspaceTensorTensor, &kind::FACTORY).on_every_backend(
        |start, end, steps, base, dtype, layout, device, pin_memory| {
            Logspace.call(
                bound(start, device)?,
                bound(end, device)?,
                steps,
                base,
                dtype,
                layout,
                device,
                pin_memory,
            )
        },
    );
    library.define_with_forms(LogspaceTensorScalar, &kind::FACTORY).on_every_backend(
        |start, end, steps, base, dtype, layout, device, pin_memory| {
            Logspace.call(bound(start, device)?, end, steps, base, dtype, layout, device, pin_memory)
        },
    );
    library.define_with_forms(LogspaceScalarTensor, &kind::FACTORY).on_every_backend(
        |start, end, steps, base, dtype, layout, device, pin_memory| {
            Logspace.call(start, bound(end, device)?, steps, base, dtype, layout, device, pin_memory)
        },
    );
    library.implement(LogspaceTensorTensorOut).on_every_backend(|start, end, steps, base, out| {
        LogspaceOut.call(bound(start, Some(out.device()))?, bound(end, Some(out.device()))?, steps, base, out)
    });
    library.implement(LogspaceTensorScalarOut).on_every_backend(|start, end, steps, base, out| {
        LogspaceOut.call(bound(start, Some(out.device()))?, end, steps, base, out)
    });
    library.implement(LogspaceScalarTensorOut).on_every_backend(|start, end, steps, base, out| {
        LogspaceOut.call(start, bound(end, Some(out.device()))?, steps, base, out)
    });
}

#[allow(clippy::too_many_arguments)]
fn logspace(
    start: Scalar,
    end: Scalar,
    steps: i64,
    base: f64,
    dtype: Option<DType>,
    layout: Option<Layout>,
    device: Option<Device>,
    pin_memory: Option<bool>,
) -> Result<Tensor> {
    check(start, end, steps, dtype)?;
    let dtype = Some(dtype.unwrap_or_else(|| default_of(start, end)));
    let result = EmptyMemoryFormat.call(&[steps], dtype, layout, device, pin_memory, None)?;
    LogspaceOut.call(start, end, steps, base, &result)?;
    Ok(result)
}

fn logspace_out(start: Scalar, end: Scalar, steps: i64, base: f64, out: &Tensor) -> Result<()> {
    check(start, end, steps, Some(out.spec()?.dtype()))?;
    compute_into(out, &result_spec(out, steps)?, |out| {
        let (start, end) = (start.to_complex(), end.to_complex());
        let step = if steps > 1 { (end - start) / (steps - 1) as f64 } else { Complex64::ZERO };
        let exponent = move |i: i64| match i {
            _ if i == 0 || i < steps / 2 => start + step * sequence::float(i),
            _ => end - step * sequence::float(steps - 1 - i),
        };
        if out.dtype().is_complex() {
            with_dtype!(out.dtype(), T: Complex => sequence::numbered(out.array()?, move |i| {
                T::from_number(Number::Complex128(Complex64::new(base, 0.0).powc(exponent(i))))
            }))
        } else {
            with_dtype!(out.dtype(), T: Real by itself => sequence::numbered(out.array()?, move |i| {
                T::from_number(Number::F64(base.powf(exponent(i).re)))
            }))
        }
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;
    use opgrid_tensor::tensor::{FloatLimits, finfo};

    pub(crate) fn collect(samples: &mut Samples) {
        let numbers = |dtype| {
            let cases = [(0, 4, 5, 2.0), (0, 2, 3, 10.0), (1, 1, 1, 3.0), (2, 0, 3, 2.0), (0, 1, 0, 2.0)];
            let one = |(start, end, steps, base): (i64, i64, i64, f64)| {
                given(start).and(end).and(steps).and(base).named("dtype", dtype)
            };
            cases.map(one).to_vec()
        };
        samples
            .operator(Logspace, NUMBERS, numbers, reference)
            .tolerance(16.0)
            .output_decides()
            .refuses("steps", given(0).and(1).and(-1));
        let in_tensors = |dtype| {
            let number = |number: i64| Plain::number(DType::F64, number);
            vec![given(number(0)).and(number(3)).and(4).and(2.0).named("dtype", dtype)]
        };
        let x = generate::numbers(DType::F32, &[1], 0);
        samples
            .operator(LogspaceTensorTensor, NUMBERS, in_tensors, reference)
            .tolerance(16.0)
            .output_decides()
            .refuses("without dimensions", given(x.clone()).and(x).and(2));
        let first =
            |dtype| vec![given(Plain::number(DType::F64, 0)).and(3).and(4).and(2.0).named("dtype", dtype)];
        samples.operator(LogspaceTensorScalar, NUMBERS, first, reference).tolerance(16.0).output_decides();
        let second =
            |dtype| vec![given(0).and(Plain::number(DType::F64, 3)).and(4).and(2.0).named("dtype", dtype)];
        samples.operator(LogspaceScalarTensor, NUMBERS, second, reference).tolerance(16.0).output_decides();
        samples.differs(Logspace, departures::arithmetic::NUMBERS_FIT);
        samples.differs(
            Logspace,
            Difference {
                id: "exponents-of-integers",
                what: "torch converts the first and last exponent to the dtype of the result, and \
                     rejects those that it cannot represent; here exponents are not elements and keep \
                     their fractions",
                why: "2 to the power of 3.5 is 11",
                test: ("opgrid-operators/tests/all/differences/numbers.rs", "exponents_of_integers"),
                when: |seen| {
                    let bounds: Vec<f64> = ["start", "end"]
                        .iter()
                        .flat_map(|name| match seen.argument(name) {
                            Some(Argument::Number(number)) => vec![number.to_complex().re],
                            Some(Argument::Tensor(tensor)) => {
                                tensor.elements.iter().map(|element| element.re).collect()
                            }
                            _ => Vec::new(),
                        })
                        .collect();
                    let has_fraction = bounds.iter().any(|bound| bound.fract() != 0.0);
                    let is_outside = |dtype: DType| {
                        let Ok(range) = opgrid_tensor::tensor::iinfo(dtype) else { return false };
                        bounds.iter().any(|bound| *bound < range.min as f64 || *bound > range.max as f64)
                    };
                    let is_end = |dtype: DType, value: f64| {
                        opgrid_tensor::tensor::iinfo(dtype).is_ok_and(|range| {
                            value == 0.0 || value == range.min as f64 || value == range.max as f64
                        })
                    };
                    let is_integral = seen.each(|(dtype, ..)| dtype.is_integral());
                    let is_beyond = seen.each(|(dtype, ours, _)| is_end(*dtype, ours.re));
                    is_integral && (has_fraction || is_beyond || seen.each(|(dtype, ..)| is_outside(*dtype)))
                        || seen.torch_refuses("without overflow")
                },
                directed: None,
            },
        );
        samples.differs(
            Logspace,
            Difference {
                id: "sequences-of-one-bool",
                what: "torch does not check the dtype of a sequence of one element; here bools are \
                     rejected whatever the number is",
                why: "whether a call is valid must not depend on sizes or elements",
                test: (
                    "opgrid-operators/tests/all/differences/refused.rs",
                    "what_torch_does_not_check_is_refused",
                ),
                when: |seen| {
                    seen.we_refuse("not implemented for 'Bool'")
                        && matches!(seen.number("steps"), Some(Scalar::Int(1)))
                },
                directed: None,
            },
        );
        samples.differs(Logspace, departures::math::FAR_POWERS);
        samples.differs(
            Logspace,
            Difference {
                id: "powers-by-rounded-exponents",
                what: "torch rounds the exponents of complex sequences differently: one near zero may \
                     be above it, or zero, where powers of zero and infinity jump; powers of very \
                     large and small numbers amplify the rounding error thousands of times",
                why: "the exponent is exactly zero where the sequence crosses zero",
                test: ("opgrid-operators/tests/all/differences/numbers.rs", "powers_of_zero_go_through_one"),
                when: |seen| {
                    let Some(Scalar::Float(base)) = seen.number("base") else { return false };
                    let is_end = |x: &Complex64| x.norm() == 0.0 || *x == Complex64::ONE || !x.is_finite();
                    let is_far = !(1e-19..1e19).contains(&base.abs());
                    seen.each(|(dtype, ours, torch)| {
                        let near =
                            |limits: FloatLimits| (ours - torch).norm() <= 4096.0 * limits.eps * ours.norm();
                        let is_near = is_far && dtype.is_complex() && finfo(*dtype).is_ok_and(near);
                        is_near || (base == 0.0 || base.is_infinite()) && is_end(ours) && is_end(torch)
                    })
                },
                directed: None,
            },
        );
        // Powers of rounded exponents, in single precision there.
        samples.rounds(Logspace, Roundings::all(Rounding::Result(256)));
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let [start, end] = ["start", "end"].map(|name| it.operand(name).map(|bound| bound.elements()[0]));
        let (start, end) = (start?, end?);
        let (steps, base, dtype): (i64, f64, Option<DType>) =
            (it.value("steps")?, it.value("base")?, it.value("dtype")?);
        let step = number::over(number::minus(end, start), Scalar::Float((steps - 1).max(1) as f64));
        Ok(Plain::from_fn(dtype.unwrap_or(default_dtype()), &[steps], |at| {
            let exponent = number::plus(start, number::times(step, Scalar::Float(at[0] as f64)));
            number::power(Scalar::Float(base), exponent)
        })
        .into())
    }
}
