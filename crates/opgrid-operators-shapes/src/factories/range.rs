//! `aten::range`: the numbers from `start` to `end`, with the end.
//!
//! `out[i] = start + i * step`
//!
//! - Shapes: `[floor((end - start) / step) + 1]`.
//! - Dtypes: `dtype`, or the default one; real ones but bool.
//! - Aliasing: the overloads `out` write `out`, in its dtype.
//! - Dispatch: as [`EmptyMemoryFormat`]; a composite of `empty` and `range.out`.
//! - Errors: those of [`Arange`](opgrid_tensor::ops::Arange).
//! - Source: torch.range, PyTorch 2.15, which warns that `arange` is meant.

use super::arange::{check_length, check_range, number};
use crate::prelude::*;
use opgrid_kinds::factory::Factories;
use opgrid_tensor::families::result::compute_into;
use opgrid_tensor::ops::EmptyMemoryFormat;

pub use opgrid_tensor::ops::factories::range::*;

pub(super) fn register(library: &mut Library) {
    library.define(Range).kind(&kind::FACTORY).factory(|start, end, dtype, layout, device, pin_memory| {
        range(start, end, Scalar::Int(1), dtype, layout, device, pin_memory)
    });
    library.define_with_forms(RangeStep, &kind::FACTORY).factory(range);
    library
        .define(RangeOutWithoutStep)
        .kind(&kind::FACTORY)
        .composite(|start, end, out| RangeOut.call(start, end, Scalar::Int(1), out));
    library.implement(RangeOut).on_cpu_and_meta(range_out);
}

fn range(
    start: Scalar,
    end: Scalar,
    step: Scalar,
    dtype: Option<DType>,
    layout: Option<Layout>,
    device: Option<Device>,
    pin_memory: Option<bool>,
) -> Result<Tensor> {
    let dtype = dtype.unwrap_or_else(default_dtype);
    let length = length([start, end, step], dtype)?;
    let result = EmptyMemoryFormat.call(&[length], Some(dtype), layout, device, pin_memory, None)?;
    RangeOut.call(start, end, step, &result)?;
    Ok(result)
}

fn range_out(start: Scalar, end: Scalar, step: Scalar, out: &Tensor) -> Result<()> {
    let found = out.spec()?;
    let length = length([start, end, step], found.dtype())?;
    let spec = if found.numel() == length {
        found.clone()
    } else {
        TensorSpec::contiguous(&[length], found.dtype(), found.device())?
    };
    compute_into(out, &spec, |out| number(start, step, out))
}

fn length(range: [Scalar; 3], dtype: DType) -> Result<i64> {
    let [start, end, step] = check_range(range, dtype)?;
    check_length((((end - start) / step).floor() as i128).saturating_add(1))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let bounds = |dtype| [(2, 7), (3, 3)].map(|(a, b)| given(a).and(b).named("dtype", dtype)).to_vec();
        samples.operator(Range, REAL, bounds, reference).refuses("inconsistent", given(1).and(0));
        let steps = |dtype: DType| {
            let whole = [(1, 10, 3), (10, 1, -4), (0, 40, 2)].map(|(a, b, c)| given(a).and(b).and(c));
            let broken = given(0).and(2).and(0.25);
            let all = whole.into_iter().chain(dtype.is_floating_point().then_some(broken));
            all.map(|sample| sample.named("dtype", dtype)).collect()
        };
        samples
            .operator(RangeStep, REAL, steps, reference)
            .tolerance(2.0)
            .output_decides()
            .refuses("nonzero", given(0).and(1).and(0))
            .refuses("finite", given(0).and(f64::INFINITY));
        samples.operator(RangeOutWithoutStep, REAL, into_output, reference);
        // A product and a sum, which are fused where torch was compiled so; torch counts in single precision.
        samples.rounds(RangeStep, Roundings::all(Rounding::Sum(2)));
    }

    fn into_output(dtype: DType) -> Vec<Sample> {
        vec![given(2).and(7).named("out", generate::numbers(dtype, &[6], 0))]
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (start, end): (Scalar, Scalar) = (it.value("start")?, it.value("end")?);
        let step = it.option::<Scalar>("step").ok().flatten().unwrap_or(Scalar::Int(1));
        let out = it.tensor("out").ok().map(Plain::dtype);
        let dtype = out.or(it.option("dtype").ok().flatten()).unwrap_or(DType::F32);
        let [from, to, by] = [start, end, step].map(|number| number.to_complex().re);
        let count = ((to - from) / by).floor() as i64 + 1;
        let at = |i: &[i64]| number::plus(start, number::times(step, Scalar::Int(i[0])));
        Ok(Plain::from_fn(dtype, &[count], at).into())
    }
}
