//! `aten::arange`: the numbers from `start` to before `end`.
//!
//! `out[i] = start + i * step`
//!
//! - Shapes: `[ceil((end - start) / step)]`.
//! - Dtypes: `dtype`; without it int64 if all three are integers or bools, the default one otherwise. Integers compute
//!   in int64, floats in float64, and are rounded once.
//! - Aliasing: `arange.start_out` writes `out`, in its dtype; one with as many elements keeps its shape.
//! - Dispatch: as [`EmptyMemoryFormat`]; a composite of `empty` and `arange.start_out`.
//! - Errors: a step of zero, without an end or of the wrong sign, bounds that are not finite or complex, bools and complex dtypes.
//! - Source: torch.arange, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::sequence;
use opgrid_kinds::factory::Factories;
use opgrid_tensor::families::result::compute_into;
use opgrid_tensor::ops::EmptyMemoryFormat;
use opgrid_tensor::tensor::{Element, Number};

pub use opgrid_tensor::ops::factories::arange::*;

pub(super) fn register(library: &mut Library) {
    const ZERO: Scalar = Scalar::Int(0);
    const ONE: Scalar = Scalar::Int(1);
    library.define_with_forms(Arange, &kind::FACTORY).factory(|end, dtype, layout, device, pin_memory| {
        arange(ZERO, end, ONE, dtype, layout, device, pin_memory)
    });
    library.define(ArangeStart).kind(&kind::FACTORY).factory(
        |start, end, dtype, layout, device, pin_memory| {
            arange(start, end, ONE, dtype, layout, device, pin_memory)
        },
    );
    library.define_with_forms(ArangeStartStep, &kind::FACTORY).factory(arange);
    library.implement(ArangeOut).composite(|end, out| ArangeStartOut.call(ZERO, end, ONE, out));
    library.implement(ArangeStartOut).on_cpu_and_meta(arange_out);
}

fn arange(
    start: Scalar,
    end: Scalar,
    step: Scalar,
    dtype: Option<DType>,
    layout: Option<Layout>,
    device: Option<Device>,
    pin_memory: Option<bool>,
) -> Result<Tensor> {
    let all_whole = [start, end, step].into_iter().all(|number| whole(number).is_some());
    let dtype = dtype.unwrap_or_else(|| if all_whole { DType::I64 } else { default_dtype() });
    let length = length([start, end, step], dtype)?;
    let result = EmptyMemoryFormat.call(&[length], Some(dtype), layout, device, pin_memory, None)?;
    ArangeStartOut.call(start, end, step, &result)?;
    Ok(result)
}

fn arange_out(start: Scalar, end: Scalar, step: Scalar, out: &Tensor) -> Result<()> {
    let found = out.spec()?;
    let length = length([start, end, step], found.dtype())?;
    let spec = if found.numel() == length {
        found.clone()
    } else {
        TensorSpec::contiguous(&[length], found.dtype(), found.device())?
    };
    compute_into(out, &spec, |out| number(start, step, out))
}

/// Fills a tensor with `start`, `start + step` and so on.
///
/// # Errors
///
/// Numbers that the dtype does not have; a dtype without ranges; no memory.
pub(super) fn number(start: Scalar, step: Scalar, out: &Tensor) -> Result<()> {
    if out.dtype().is_floating_point() {
        floats(start.to_f64()?, step.to_f64()?, out)
    } else {
        // Elements of other integers keep the lowest bits of these.
        let dtype = if out.dtype() == DType::U64 { DType::U64 } else { DType::I64 };
        let bits = |number| arithmetic::element_for(number, dtype);
        integers(bits(start)?, bits(step)?, out)
    }
}

fn integers(start: i64, step: i64, out: &Tensor) -> Result<()> {
    with_dtype!(out.dtype(), T: Integer by bits => sequence::numbered(out.array()?, move |i| {
        T::from_number(Number::I64(start.wrapping_add(i.wrapping_mul(step))))
    }))
}

fn floats(start: f64, step: f64, out: &Tensor) -> Result<()> {
    with_dtype!(out.dtype(), T: Float => sequence::numbered(out.array()?, move |i| {
        T::from_number(Number::F64(start + sequence::float(i) * step))
    }))
}

/// The number, if it is an integer or a bool.
fn whole(number: Scalar) -> Option<i128> {
    match number {
        Scalar::Int(value) => Some(value.into()),
        Scalar::UInt(value) => Some(value.into()),
        Scalar::Bool(value) => Some(value.into()),
        Scalar::Float(_) | Scalar::Complex(_) => None,
    }
}

/// The number of elements.
///
/// # Errors
///
/// A range without an end, in the wrong direction, of too many elements, or of a dtype without ranges.
fn length(range: [Scalar; 3], dtype: DType) -> Result<i64> {
    let [from, to, by] = check_range(range, dtype)?;
    // Floats lose the lowest bits of large integers.
    let length = match (dtype, range.map(whole)) {
        (DType::I64 | DType::U64, [Some(start), Some(end), Some(step)]) => {
            (end - start + step - step.signum()) / step
        }
        _ => ((to - from) / by).ceil() as i128,
    };
    check_length(length)
}

/// Start, end and step in double precision.
///
/// # Errors
///
/// A range without an end, in the wrong direction, or of a dtype without ranges.
pub(super) fn check_range(range: [Scalar; 3], dtype: DType) -> Result<[f64; 3]> {
    with_dtype!(dtype, _T: Real by itself => Ok(()))?;
    let [start, end, step] = range.map(Scalar::to_f64);
    let (start, end, step) = (start?, end?, step?);
    if step == 0.0 || step.is_nan() {
        return Err(argument(format!("step must be nonzero, found {step}")));
    }
    if step.is_infinite() {
        return Err(argument(format!("step must be finite, found {step}")));
    }
    if !start.is_finite() || !end.is_finite() {
        return Err(argument(format!("unsupported range: {start} -> {end}, expected finite bounds")));
    }
    if (step > 0.0 && start > end) || (step < 0.0 && start < end) {
        let message = format!(
            "upper bound and lower bound inconsistent with step sign: from {start} to {end} by {step}"
        );
        return Err(argument(message));
    }
    Ok([start, end, step])
}

/// # Errors
///
/// More elements than a tensor can have.
pub(super) fn check_length(length: i128) -> Result<i64> {
    i64::try_from(length)
        .map_err(|_| argument(format!("invalid size {length}, possible overflow; choose a larger step")))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.operator(Arange, REAL, ends, reference).output_decides().refuses("inconsistent", given(-1));
        samples.operator(ArangeStart, REAL, bounds, reference).refuses("finite", given(0).and(f64::INFINITY));
        samples
            .operator(ArangeStartStep, REAL, ranges, reference)
            .refuses("must be finite", given(0).and(5).and(f64::INFINITY))
            .tolerance(2.0)
            .output_decides()
            .refuses("nonzero", given(0).and(1).and(0))
            .refuses("inconsistent", given(0).and(1).and(-1));
        // Integers without a dtype give int64.
        let whole = |dtype| if dtype == DType::I64 { vec![given(1).and(6).and(2)] } else { Vec::new() };
        samples.operator(ArangeStartStep, &[DType::I64], whole, reference).output_decides();
        // A product and a sum, which are fused where torch was compiled so; torch counts in single precision.
        samples.rounds(ArangeStartStep, Roundings::all(Rounding::Sum(2)));
    }

    fn ends(dtype: DType) -> Vec<Sample> {
        [Scalar::Int(5), Scalar::Int(0), Scalar::Float(2.5)]
            .map(|end| given(end).named("dtype", dtype))
            .to_vec()
    }

    fn bounds(dtype: DType) -> Vec<Sample> {
        let bounds = [(Scalar::Int(2), 7), (Scalar::Float(0.5), 3)];
        bounds.map(|(start, end)| given(start).and(end).named("dtype", dtype)).to_vec()
    }

    fn ranges(dtype: DType) -> Vec<Sample> {
        let whole =
            [(1, 10, 3), (10, 1, -4), (0, 40, 1)].map(|(start, end, step)| given(start).and(end).and(step));
        let broken = given(0).and(2).and(0.25);
        let all = whole.into_iter().chain(dtype.is_floating_point().then_some(broken));
        all.map(|sample| sample.named("dtype", dtype)).collect()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let [start, end, step] = [("start", 0), ("end", 0), ("step", 1)]
            .map(|(name, default)| Ok(it.option(name)?.unwrap_or(Scalar::Int(default))));
        let (start, end, step): (Scalar, Scalar, Scalar) = (start?, end?, step?);
        let dtype = it.value::<Option<DType>>("dtype")?.unwrap_or(DType::I64);
        let [from, to, by] = [start, end, step].map(|number| number.to_complex().re);
        let count = ((to - from) / by).ceil() as i64;
        let [from, by] = [start, step].map(|number| {
            if dtype.is_floating_point() { number } else { Scalar::Int(number::whole(number)) }
        });
        let numbers =
            Plain::from_fn(dtype, &[count], |at| number::plus(from, number::times(by, Scalar::Int(at[0]))));
        Ok(numbers.into())
    }
}
