//! `aten::bartlett_window`, `blackman_window`, `hamming_window`, `hann_window`, `kaiser_window`: what parts of signals are multiplied by.
//!
//! With `t = i / (n - 1)`, and one more point that is left out where they are periodic: `1 - |2t - 1|` (Bartlett),
//! `0.42 - 0.5 cos(2πt) + 0.08 cos(4πt)` (Blackman), `alpha - beta cos(2πt)` (Hamming: 0.54 and 0.46, Hann: 0.5 and 0.5),
//! `I₀(beta √(1 - (2t - 1)²)) / I₀(beta)` (Kaiser, with 12)
//!
//! - Shapes: `[window_length]`; one point is 1.
//! - Dtypes: `dtype`, the default one without it; floating-point ones. Numbers are computed in float64 and rounded once, where torch
//!   computes in the dtype.
//! - Values: periodic unless told otherwise.
//! - Aliasing: the `out` forms write `out`, in its dtype, and give it its shape if it has no elements.
//! - Dispatch: as [`EmptyMemoryFormat`]; composites of `arange` and pointwise operators, and a copy.
//! - Errors: a negative length; other dtypes.
//! - Source: torch.hann_window and its like, PyTorch 2.15.

use std::f64::consts::TAU;

use crate::prelude::*;
use opgrid_kinds::factory::Factories;
use opgrid_tensor::families::result::give_shape;
use opgrid_tensor::ops::{Arange, CopyInplace, EmptyMemoryFormat, OnesLike, SpecialModifiedBesselI0};

pub use opgrid_tensor::ops::factories::windows::*;

/// What a window is, by places from 0 to 1.
#[derive(Clone, Copy, Debug)]
enum Window {
    Triangle,
    /// A sum of a constant and of cosines.
    Cosines([f64; 3]),
    /// By the Bessel function of this number.
    Bessel(f64),
}

impl Window {
    const BLACKMAN: Self = Self::Cosines([0.42, -0.5, 0.08]);
    const HAMMING: Self = Self::raised_cosine(0.54, 0.46);
    const HANN: Self = Self::raised_cosine(0.5, 0.5);
    const KAISER: Self = Self::Bessel(12.0);

    const fn raised_cosine(alpha: f64, beta: f64) -> Self {
        Self::Cosines([alpha, -beta, 0.0])
    }

    fn at(self, places: &Tensor) -> Result<Tensor> {
        match self {
            Self::Triangle => places.mul(2)?.sub(1)?.abs()?.neg()?.add(1),
            Self::Cosines([constant, first, second]) => {
                let angle = places.mul(TAU)?;
                let sum = angle.cos()?.mul(first)?.add(constant)?;
                if second == 0.0 { Ok(sum) } else { sum.add(&angle.mul(2)?.cos()?.mul(second)?) }
            }
            Self::Bessel(beta) => {
                let across = places.mul(2)?.sub(1)?;
                let height = across.mul(&across)?.neg()?.add(1)?.sqrt()?.mul(beta)?;
                let whole = places.mul(0)?.add(beta)?;
                SpecialModifiedBesselI0.call(&height)?.div(&SpecialModifiedBesselI0.call(&whole)?)
            }
        }
    }

    /// Writes a window to a tensor of one dimension.
    fn fill(self, out: &Tensor, is_periodic: bool) -> Result<()> {
        let &[length] = out.sizes() else {
            return Err(argument(format!(
                "found an output of shape {:?}, expected one dimension",
                out.sizes()
            )));
        };
        let number = Arange.call(Scalar::Int(length), Some(DType::F64), None, Some(out.device()), None)?;
        let window = if length < 2 {
            OnesLike.call(&number, None, None, None, None, None)?
        } else {
            let last = if is_periodic { length } else { length - 1 };
            self.at(&number.div(last)?)?
        };
        CopyInplace.call(out, &window, false)
    }

    fn make(
        self,
        (length, is_periodic): (i64, bool),
        dtype: Option<DType>,
        (layout, device, pin_memory): (Option<Layout>, Option<Device>, Option<bool>),
    ) -> Result<Tensor> {
        let dtype = dtype.unwrap_or_else(default_dtype);
        check(length, dtype)?;
        let out = EmptyMemoryFormat.call(&[length], Some(dtype), layout, device, pin_memory, None)?;
        self.fill(&out, is_periodic)?;
        Ok(out)
    }

    fn write(self, (length, is_periodic): (i64, bool), out: &Tensor) -> Result<()> {
        check(length, out.spec()?.dtype())?;
        give_shape(out, &TensorSpec::contiguous(&[length], out.dtype(), out.device())?)?;
        self.fill(out, is_periodic)
    }
}

/// # Errors
///
/// A negative length, a dtype without fractions.
fn check(length: i64, dtype: DType) -> Result<()> {
    if length < 0 {
        return Err(argument(format!("argument `window_length` is {length}, expected zero or more")));
    }
    if !dtype.is_floating_point() {
        return Err(argument(format!("found dtype {dtype}, expected a real floating-point one")));
    }
    Ok(())
}

macro_rules! windows {
    ($library:ident: $($name:ident $out:ident, $periodic:ident $periodic_out:ident = $window:expr;)*) => {$(
        $library.define_with_forms($name, &kind::FACTORY).factory(|length, dtype, layout, device, pin| {
            $window.make((length, true), dtype, (layout, device, pin))
        });
        $library.implement($out).on_every_backend(|length, out| $window.write((length, true), out));
        $library.define_with_forms($periodic, &kind::FACTORY).factory(
            |length, periodic, dtype, layout, device, pin| {
                $window.make((length, periodic), dtype, (layout, device, pin))
            },
        );
        $library
            .implement($periodic_out)
            .on_every_backend(|length, periodic, out| $window.write((length, periodic), out));
    )*};
}

pub(super) fn register(library: &mut Library) {
    windows! { library:
        BartlettWindow BartlettWindowOut, BartlettWindowPeriodic BartlettWindowPeriodicOut = Window::Triangle;
        BlackmanWindow BlackmanWindowOut, BlackmanWindowPeriodic BlackmanWindowPeriodicOut = Window::BLACKMAN;
        HammingWindow HammingWindowOut, HammingWindowPeriodic HammingWindowPeriodicOut = Window::HAMMING;
        HannWindow HannWindowOut, HannWindowPeriodic HannWindowPeriodicOut = Window::HANN;
        KaiserWindow KaiserWindowOut, KaiserWindowPeriodic KaiserWindowPeriodicOut = Window::KAISER;
    }
    library.define_with_forms(HammingWindowPeriodicAlpha, &kind::FACTORY).factory(
        |length, periodic, alpha, dtype, layout, device, pin| {
            Window::raised_cosine(alpha, 0.46).make((length, periodic), dtype, (layout, device, pin))
        },
    );
    library.implement(HammingWindowPeriodicAlphaOut).on_every_backend(|length, periodic, alpha, out| {
        Window::raised_cosine(alpha, 0.46).write((length, periodic), out)
    });
    library.define_with_forms(HammingWindowPeriodicAlphaBeta, &kind::FACTORY).factory(
        |length, periodic, alpha, beta, dtype, layout, device, pin| {
            Window::raised_cosine(alpha, beta).make((length, periodic), dtype, (layout, device, pin))
        },
    );
    library.implement(HammingWindowPeriodicAlphaBetaOut).on_every_backend(
        |length, periodic, alpha, beta, out| {
            Window::raised_cosine(alpha, beta).write((length, periodic), out)
        },
    );
    library.define_with_forms(KaiserWindowBeta, &kind::FACTORY).factory(
        |length, periodic, beta, dtype, layout, device, pin| {
            Window::Bessel(beta).make((length, periodic), dtype, (layout, device, pin))
        },
    );
    library
        .implement(KaiserWindowBetaOut)
        .on_every_backend(|length, periodic, beta, out| Window::Bessel(beta).write((length, periodic), out));
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        macro_rules! both {
            ($($name:ident, $periodic:ident: $window:expr;)*) => {$(
                samples
                    .operator($name, FLOATS, |dtype| lengths(dtype, |sample| vec![sample]), |it| reference(it, $window))
                    .tolerance(8.0)
                    .output_decides()
                    .refuses("zero or more", given(-1));
                samples
                    .operator($periodic, FLOATS, |dtype| lengths(dtype, both_ways), |it| reference(it, $window))
                    .tolerance(8.0)
                    .output_decides()
                    .refuses("real floating-point", given(3).and(true).named("dtype", DType::I64));
                samples.rounds($name, Roundings::all(Rounding::Sum(64)));
            )*};
        }
        both! {
            BartlettWindow, BartlettWindowPeriodic: |t, _| Ok(if t < 0.5 { 2.0 * t } else { 2.0 - 2.0 * t });
            BlackmanWindow, BlackmanWindowPeriodic: |t, _| Ok(0.42 - 0.5 * (TAU * t).cos() + 0.08 * (2.0 * TAU * t).cos());
            HammingWindow, HammingWindowPeriodic: |t, _| Ok(0.54 - 0.46 * (TAU * t).cos());
            HannWindow, HannWindowPeriodic: |t, _| Ok(0.5 - 0.5 * (TAU * t).cos());
            KaiserWindow, KaiserWindowPeriodic: |t, _| Ok(kaiser(t, 12.0));
        }
        samples
            .operator(
                HammingWindowPeriodicAlpha,
                FLOATS,
                |dtype| lengths(dtype, |sample| vec![sample.and(true).and(0.6)]),
                |it| reference(it, |t, it| Ok(it.value::<f64>("alpha")? - 0.46 * (TAU * t).cos())),
            )
            .tolerance(8.0)
            .output_decides();
        samples
            .operator(
                HammingWindowPeriodicAlphaBeta,
                FLOATS,
                |dtype| lengths(dtype, |sample| vec![sample.and(false).and(0.6).and(0.3)]),
                |it| {
                    reference(it, |t, it| {
                        Ok(it.value::<f64>("alpha")? - it.value::<f64>("beta")? * (TAU * t).cos())
                    })
                },
            )
            .tolerance(8.0)
            .output_decides();
        samples
            .operator(
                KaiserWindowBeta,
                FLOATS,
                |dtype| lengths(dtype, |sample| vec![sample.and(true).and(5.0)]),
                |it| reference(it, |t, it| Ok(kaiser(t, it.value("beta")?))),
            )
            .tolerance(8.0)
            .output_decides();
    }

    fn reference(it: &Inputs, window: fn(f64, &Inputs) -> Result<f64>) -> Result<Expected> {
        let length: i64 = it.value("window_length")?;
        let is_periodic: bool = it.value("periodic").unwrap_or(true);
        let last = (length - i64::from(!is_periodic)) as f64;
        let dtype = it.option("dtype")?.unwrap_or(DType::F32);
        let number = |i: i64| if length < 2 { Ok(1.0) } else { window(i as f64 / last, it) };
        let all: Vec<f64> = (0..length).map(number).collect::<Result<_>>()?;
        Ok(Plain::from_elements(dtype, &[length], &all).into())
    }

    fn lengths(dtype: DType, more: impl Fn(Sample) -> Vec<Sample>) -> Vec<Sample> {
        let one =
            |length: i64| more(given(length)).into_iter().map(move |sample| sample.named("dtype", dtype));
        [0, 1, 2, 7, 16].into_iter().flat_map(one).collect()
    }

    fn both_ways(sample: Sample) -> Vec<Sample> {
        [true, false].map(|periodic| sample.clone().and(periodic)).to_vec()
    }

    fn kaiser(t: f64, beta: f64) -> f64 {
        // The series of the Bessel function.
        let bessel = |x: f64| {
            let mut term = 1.0;
            1.0 + (1..200)
                .map(|k| {
                    term *= (x / 2.0 / f64::from(k)).powi(2);
                    term
                })
                .sum::<f64>()
        };
        let across = 2.0 * t - 1.0;
        bessel(beta * (1.0 - across * across).max(0.0).sqrt()) / bessel(beta)
    }
}
