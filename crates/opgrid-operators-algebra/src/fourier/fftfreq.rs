//! `aten::fft_fftfreq`, `fft_rfftfreq`: the frequencies of a Fourier transform's results.
//!
//! `out[k] = k / (n * d)` for the first half of `n` results, and `(k - n) / (n * d)` for the others, which those of real numbers
//! have not; `d` is the distance of the elements that are transformed.
//!
//! - Shapes: `[n]`; `[n / 2 + 1]` for real numbers.
//! - Dtypes: floats, the default one unless another is given.
//! - Aliasing: the `out` forms write `out`, in its dtype, and give it its shape if it has no elements.
//! - Dispatch: as [`EmptyMemoryFormat`]; composites of `empty` and the `out` form.
//! - Errors: a negative `n`; a dtype of no floats.
//! - Source: torch.fft.fftfreq, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::sequence;
use opgrid_kinds::factory::Factories;
use opgrid_kinds::images::check_float;
use opgrid_tensor::families::result::compute_into;
use opgrid_tensor::ops::EmptyMemoryFormat;
use opgrid_tensor::tensor::{Element, Number};

pub use opgrid_tensor::ops::fourier::fftfreq::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(FftFftfreq, &kind::FACTORY).factory(
        |n, d, dtype, layout, device, pin_memory| {
            let result = new(count(n, false)?, dtype, layout, device, pin_memory)?;
            FftFftfreqOut.call(n, d, &result).map(|()| result)
        },
    );
    library.implement(FftFftfreqOut).on_cpu_and_meta(|n, d, out| write(n, d, false, out));
    library.define_with_forms(FftRfftfreq, &kind::FACTORY).factory(
        |n, d, dtype, layout, device, pin_memory| {
            let result = new(count(n, true)?, dtype, layout, device, pin_memory)?;
            FftRfftfreqOut.call(n, d, &result).map(|()| result)
        },
    );
    library.implement(FftRfftfreqOut).on_cpu_and_meta(|n, d, out| write(n, d, true, out));
}

/// How many frequencies there are.
fn count(n: i64, half: bool) -> Result<i64> {
    match n {
        n if n < 0 => Err(argument(format!("argument `n` is {n}, expected 0 or more"))),
        n if half => Ok(n / 2 + 1),
        n => Ok(n),
    }
}

fn new(
    count: i64,
    dtype: Option<DType>,
    layout: Option<Layout>,
    device: Option<Device>,
    pin_memory: Option<bool>,
) -> Result<Tensor> {
    let dtype = dtype.unwrap_or(default_dtype());
    check_float(dtype)?;
    EmptyMemoryFormat.call(&[count], Some(dtype), layout, device, pin_memory, None)
}

fn write(n: i64, d: f64, half: bool, out: &Tensor) -> Result<()> {
    let found = out.spec()?;
    check_float(found.dtype())?;
    let count = count(n, half)?;
    if count == 0 && out.numel() == 0 {
        // As in torch, which asks only for the number of elements.
        return Ok(());
    }
    let spec = TensorSpec::contiguous(&[count], found.dtype(), found.device())?;
    compute_into(out, &spec, |out| {
        let step = 1.0 / (n as f64 * d);
        let middle = if half { i64::MAX } else { (n + 1) / 2 };
        with_dtype!(out.dtype(), T: Float => sequence::numbered(out.array()?, move |k| {
            let k = if k < middle { k } else { k - n };
            T::from_number(Number::F64(k as f64 * step))
        }))
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_kinds::images::FLOATS;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(FftFftfreq, FLOATS, inputs, |it| reference(it, false))
            .tolerance(2.0)
            .output_decides()
            .refuses("argument `n`", given(-1));
        samples
            .operator(FftRfftfreq, FLOATS, inputs, |it| reference(it, true))
            .tolerance(2.0)
            .output_decides();
        samples.differs(
            FftRfftfreq,
            Difference {
                id: "frequencies-of-less-than-nothing",
                what: "torch returns one frequency for -1 samples; here a negative number of samples is \
                     rejected, as in `fft_fftfreq`",
                why: "a negative length is probably a mistake",
                test: (
                    "opgrid-operators/tests/all/differences/refused.rs",
                    "what_torch_does_not_check_is_refused",
                ),
                when: |seen| seen.we_refuse("argument `n` is -"),
                directed: Some(Directed {
                    operator: "aten::fft_rfftfreq",
                    arguments: || vec![("n", Scalar::Int(-1).into())],
                    needs: None,
                }),
            },
        );
        samples.rounds(FftFftfreq, Roundings::all(Rounding::Sum(2)));
        samples.rounds(FftRfftfreq, Roundings::all(Rounding::Sum(2)));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let cases = [(1, 1.0), (6, 0.5), (7, 2.0), (0, 1.0)];
        cases.map(|(n, d)| given(n).and(d).named("dtype", dtype)).to_vec()
    }

    fn reference(it: &Inputs, half: bool) -> Result<Expected> {
        let (n, d): (i64, f64) = (it.value("n")?, it.value("d")?);
        let dtype: Option<DType> = it.value("dtype")?;
        let all: Vec<i64> =
            if half { (0..=n / 2).collect() } else { (0..(n + 1) / 2).chain(-(n / 2)..0).collect() };
        let frequencies: Vec<f64> = all.iter().map(|k| *k as f64 / (n as f64 * d)).collect();
        Ok(Plain::from_elements(dtype.unwrap_or(default_dtype()), &[all.len() as i64], &frequencies).into())
    }
}
