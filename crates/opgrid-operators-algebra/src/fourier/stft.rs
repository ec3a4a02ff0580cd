//! `aten::stft`, `istft`: the short-time Fourier transform of signals, and its inverse.
//!
//! `out[k, t] = the sum over n of window[n] * self[t * hop_length + n] * exp(-2πi * k * n / n_fft)`
//!
//! - Shapes: `[length]` or `[batch, length]` to `[frequencies, parts]` or `[batch, frequencies, parts]`, with a last dimension of both parts of
//!   complex numbers without `return_complex`. There are `n_fft` frequencies, or `n_fft / 2 + 1` where `onesided`, which real numbers are unless
//!   told otherwise. `istft` goes the other way.
//! - Dtypes: float32, float64, complex64, complex128.
//! - Values: `hop_length` is a quarter of `n_fft`, `win_length` is `n_fft`, and a window of ones of `win_length` stands in the middle, unless told
//!   otherwise. With `center` signals are padded by half a part at both ends, as `pad_mode` says. With `align_to_window`, and without `center`,
//!   parts begin where the window does. `normalized` divides by the root of `n_fft`.
//! - Values of `istft`: the sums of parts times the window, divided by those of its squares, from half a part with `center`; of `length`
//!   elements, behind which zeros follow.
//! - Dispatch: composites of views, `pad`, `mul`, `_fft_r2c`, `_fft_c2c`, `_fft_c2r` and `index_add`.
//! - Errors: other shapes or dtypes; numbers of points that do not fit; no `return_complex` for real numbers; half of the frequencies of complex
//!   numbers; windows whose squares do not cover a signal that is to be found.
//! - Source: torch.stft, torch.istft, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::fourier::Direction;
use opgrid_kinds::fourier;
use opgrid_tensor::ops::{
    Arange, ConstantPadNd, FftC2c, FftC2r, FftR2c, IndexAdd, Narrow, Ones, Pad, Reshape, Unfold, ViewAsReal,
};

pub use opgrid_tensor::ops::fourier::stft::*;

/// The numbers of points of a transform.
#[derive(Clone, Copy, Debug)]
struct Points {
    /// How many each part has.
    part: i64,
    /// From one part to the next.
    hop: i64,
    /// How many the window has, which stands in the middle of a part.
    window: i64,
}

impl Points {
    /// # Errors
    ///
    /// Numbers that are not positive, a window that is longer than a part.
    fn new(part: i64, hop: Option<i64>, window: Option<i64>) -> Result<Self> {
        let points = Self { part, hop: hop.unwrap_or(part / 4), window: window.unwrap_or(part) };
        for (name, number) in [("n_fft", part), ("hop_length", points.hop), ("win_length", points.window)] {
            if number < 1 {
                return Err(argument(format!("argument `{name}` is {number}, expected a number above zero")));
            }
        }
        if points.window > part {
            let message =
                format!("argument `win_length` is {}, expected at most {part} as `n_fft`", points.window);
            return Err(argument(message));
        }
        Ok(points)
    }

    /// How many points of a part stand before the window, and behind it.
    fn beside(self) -> [i64; 2] {
        let before = (self.part - self.window) / 2;
        [before, self.part - self.window - before]
    }

    /// The window in the middle of a part; ones for no window.
    ///
    /// # Errors
    ///
    /// A window of another shape or device.
    fn whole_window(self, window: Option<&Tensor>, like: &Tensor, dtype: DType) -> Result<Tensor> {
        let window = match window {
            Some(window) => {
                if window.spec()?.sizes() != [self.window] {
                    let message = format!(
                        "argument `window` has shape {:?}, expected [{}] as `win_length`",
                        window.sizes(),
                        self.window
                    );
                    return Err(argument(message));
                }
                window.clone()
            }
            None => Ones.call(&[self.window], Some(dtype), None, Some(like.device()), None)?,
        };
        if self.window == self.part {
            Ok(window)
        } else {
            ConstantPadNd.call(&window, &self.beside(), Scalar::Int(0))
        }
    }
}

pub(super) fn register(library: &mut Library) {
    let kind = &kind::SHORT_TIME_TRANSFORM;
    library.define(StftCenter).kind(kind).implicit(
        |input, n_fft, hop, win, window, center, pad_mode, normalized, onesided, complex, align| {
            let points = Points::new(n_fft, hop, win)?;
            let signal = check_signal(input)?;
            if center && align.is_some() {
                return Err(argument(
                    "argument `align_to_window` is given, expected None where `center` is True",
                ));
            }
            let form = Form { is_normalized: normalized, is_onesided: onesided, is_complex: complex };
            let signal = if center { pad(&signal, &[n_fft / 2; 2], pad_mode)? } else { signal };
            transform(input, &signal, points, window, form, align)
        },
    );
    library.define(Stft).kind(kind).implicit(
        |input, n_fft, hop, win, window, normalized, onesided, complex, align| {
            let points = Points::new(n_fft, hop, win)?;
            let form = Form { is_normalized: normalized, is_onesided: onesided, is_complex: complex };
            transform(input, &check_signal(input)?, points, window, form, align)
        },
    );
    library.define(Istft).kind(kind).implicit(
        |input, n_fft, hop, win, window, center, normalized, onesided, length, complex| {
            let points = Points::new(n_fft, hop, win)?;
            invert(input, points, window, (center, normalized, onesided), length, complex)
        },
    );
}

/// What a transform gives.
#[derive(Clone, Copy)]
struct Form {
    is_normalized: bool,
    is_onesided: Option<bool>,
    is_complex: Option<bool>,
}

/// Signals with a dimension that counts them.
///
/// # Errors
///
/// Another number of dimensions, integers.
fn check_signal(input: &Tensor) -> Result<Tensor> {
    let dtype = input.spec()?.dtype();
    pointwise::check_inexact(dtype)?;
    match input.dim() {
        1 => input.unsqueeze(0),
        2 => Ok(input.clone()),
        _ => Err(argument(format!(
            "argument `self` has shape {:?}, expected one or two dimensions",
            input.sizes()
        ))),
    }
}

/// Signals with more at both ends.
fn pad(signal: &Tensor, amounts: &[i64], mode: &str) -> Result<Tensor> {
    Pad.call(&signal.unsqueeze(0)?, amounts, mode, None)?.squeeze(0)
}

fn transform(
    input: &Tensor,
    signal: &Tensor,
    points: Points,
    window: Option<&Tensor>,
    form: Form,
    align: Option<bool>,
) -> Result<Tensor> {
    let is_real = !signal.dtype().is_complex() && window.is_none_or(|window| !window.dtype().is_complex());
    let returns_complex = match form.is_complex {
        Some(complex) => complex,
        None if !is_real => true,
        None => {
            return Err(argument(
                "argument `return_complex` is None, expected True or False for real numbers; pass True",
            ));
        }
    };
    let is_onesided = form.is_onesided.unwrap_or(is_real);
    if is_onesided && !is_real {
        return Err(argument("argument `onesided` is True, expected False for complex signals or windows"));
    }
    let signal = if align == Some(true) {
        ConstantPadNd.call(signal, &points.beside(), Scalar::Int(0))?
    } else {
        signal.clone()
    };
    let length = signal.sizes()[1];
    if points.part > length {
        let message = format!(
            "argument `n_fft` is {}, expected at most {length}, the length of the signal",
            points.part
        );
        return Err(argument(message));
    }
    let mut parts = Unfold.call(&signal, 1, points.part, points.hop)?;
    if window.is_some() || points.window < points.part {
        parts = parts.mul(&points.whole_window(window, input, input.dtype())?)?;
    }
    let division = division(form.is_normalized, Direction::Forward)?;
    let found = if is_real {
        FftR2c.call(&parts, &[2], division, is_onesided)?
    } else {
        FftC2c.call(&parts, &[2], division, true)?
    };
    let found = found.transpose(1, 2)?;
    let found = if input.dim() == 1 { found.squeeze(0)? } else { found };
    if returns_complex { Ok(found) } else { ViewAsReal.call(&found) }
}

fn invert(
    input: &Tensor,
    points: Points,
    window: Option<&Tensor>,
    (is_centered, is_normalized, is_onesided): (bool, bool, Option<bool>),
    length: Option<i64>,
    returns_complex: bool,
) -> Result<Tensor> {
    let dtype = input.spec()?.dtype();
    if !dtype.is_complex() {
        let message =
            format!("argument `self` is {dtype}, expected complex numbers; pass view_as_complex of it");
        return Err(argument(message));
    }
    let found = input.sizes();
    let &[.., frequencies, count] = found else {
        return Err(argument(format!(
            "argument `self` has shape {found:?}, expected two or three dimensions"
        )));
    };
    if found.len() > 3 || input.numel() == 0 {
        let message =
            format!("argument `self` has shape {found:?}, expected two or three dimensions, and elements");
        return Err(argument(message));
    }
    let is_onesided = is_onesided.unwrap_or(frequencies != points.part);
    let expected = if is_onesided { points.part / 2 + 1 } else { points.part };
    if frequencies != expected {
        let message = format!(
            "argument `self` has {frequencies} frequencies, expected {expected} by `n_fft` and `onesided`"
        );
        return Err(argument(message));
    }
    if let Some(length @ ..0) = length {
        return Err(argument(format!("argument `length` is {length}, expected zero or more")));
    }
    if points.hop > points.window {
        let message = format!(
            "argument `hop_length` is {}, expected at most {} as `win_length`",
            points.hop, points.window
        );
        return Err(argument(message));
    }
    let spectra = if found.len() == 2 { input.unsqueeze(0)? } else { input.clone() };
    let spectra = spectra.transpose(1, 2)?;
    let division = division(is_normalized, Direction::Backward)?;
    let parts = if returns_complex {
        if is_onesided {
            return Err(argument(
                "argument `onesided` is True, expected False where `return_complex` is True",
            ));
        }
        FftC2c.call(&spectra, &[2], division, false)?
    } else {
        if window.is_some_and(|window| window.dtype().is_complex()) {
            return Err(argument("argument `window` is complex, expected `return_complex` to be True"));
        }
        let half = Narrow.call(&spectra, 2, 0, points.part / 2 + 1)?;
        FftC2r.call(&half, &[2], division, points.part)?
    };
    let real = part_of(dtype);
    let window = points.whole_window(window, input, real)?;
    let signals = overlapped(&parts.mul(&window)?, points)?;
    let squares = window.mul(&window)?.expand([1, count, points.part])?;
    let weights = overlapped(&squares, points)?;
    let whole = points.part + points.hop * (count - 1);
    let start = if is_centered { points.part / 2 } else { 0 };
    // More elements than memory has are refused where they are asked for.
    let end = length.map_or(whole - start, |length| start.saturating_add(length));
    let taken = end.clamp(start, whole) - start;
    let (signals, weights) =
        (Narrow.call(&signals, 1, start, taken)?, Narrow.call(&weights, 1, start, taken)?);
    if weights.device() == Device::CPU && weights.array().is_ok() && taken > 0 {
        let least = weights.abs()?.amin([0, 1], false)?.to_dtype(DType::F64)?.to_vec::<f64>()?;
        if least.iter().any(|least| *least < 1e-11) {
            let message = "argument `window` has squares whose sum is zero at some points, so that the signal is not known there; \
                           pass a smaller `hop_length`";
            return Err(argument(message));
        }
    }
    let mut signals = signals.div(&weights)?;
    if end > whole {
        signals = ConstantPadNd.call(&signals, &[0, end - whole], Scalar::Int(0))?;
    }
    if found.len() == 2 { signals.squeeze(0) } else { Ok(signals) }
}

/// What the transforms of the parts are divided by, as `_fft_r2c` and its like take it.
///
/// # Errors
///
/// None here: both norms are known.
fn division(is_normalized: bool, direction: Direction) -> Result<i64> {
    fourier::normalisation(is_normalized.then_some("ortho"), direction)
}

/// The sums of parts, each where it stands in the signal.
fn overlapped(parts: &Tensor, points: Points) -> Result<Tensor> {
    let &[signals, count, length] = parts.sizes() else { return Ok(parts.clone()) };
    let arange = |end: i64| Arange.call(Scalar::Int(end), Some(DType::I64), None, Some(parts.device()), None);
    let starts = arange(count)?.mul(points.hop)?.unsqueeze(1)?;
    let places = Reshape.call(&starts.add(&arange(length)?)?, &[-1])?;
    let whole = length + points.hop * (count - 1);
    let zeros = derivatives::zeros_of(&[signals, whole], parts)?;
    IndexAdd.call(&zeros, 1, &places, &Reshape.call(parts, &[signals, count * length])?, Scalar::Int(1))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::matrices::complex;
    use opgrid_samples::prelude::*;
    use std::f64::consts::TAU;

    const DTYPES: &[DType] = &[DType::F32, DType::F64, DType::Complex64, DType::Complex128];

    pub(crate) fn collect(samples: &mut Samples) {
        let x = |sizes: &[i64]| given(generate::numbers(DType::F32, sizes, 0));
        samples
            .operator(Stft, DTYPES, |dtype| inputs(dtype, false), forward)
            .tolerance(256.0)
            .refuses("pass True", x(&[8]).and(4))
            .refuses("one or two dimensions", x(&[2, 2, 8]).and(4).named("return_complex", true))
            .refuses("the length of the signal", x(&[3]).and(4).named("return_complex", true))
            .refuses("above zero", x(&[8]).and(0).named("return_complex", true))
            .refuses("as `n_fft`", x(&[8]).and(4).named("win_length", 5).named("return_complex", true));
        samples
            .operator(StftCenter, DTYPES, |dtype| inputs(dtype, true), forward)
            .tolerance(256.0)
            .refuses("`center` is True", x(&[8]).and(4).named("align_to_window", true))
            .refuses(
                "as `win_length`",
                x(&[8])
                    .and(4)
                    .named("window", generate::numbers(DType::F32, &[3], 0))
                    .named("return_complex", true),
            );
        samples
            .operator(Istft, &[DType::Complex64, DType::Complex128], inverse_inputs, backward)
            .tolerance(256.0)
            .refuses("complex numbers", x(&[3, 2]).and(4))
            .refuses(
                "zero or more",
                given(generate::numbers(DType::Complex64, &[3, 2], 0)).and(4).named("length", -1),
            )
            .refuses(
                "by `n_fft`",
                given(generate::numbers(DType::Complex64, &[4, 2], 0)).and(4).named("onesided", true),
            );
        samples.rounds(Stft, Roundings::all(Rounding::Sum(256)));
        samples.rounds(Istft, Roundings::all(Rounding::Sum(256)));
    }

    fn inputs(dtype: DType, has_center: bool) -> Vec<Sample> {
        let x = |sizes: &[i64], n_fft: i64| given(generate::numbers(dtype, sizes, 1)).and(n_fft);
        let window = |n: i64| Plain::from_fn(dtype, &[n], |at| Scalar::Float(0.5 + at[0] as f64 / 4.0));
        let all = [
            x(&[12], 4),
            x(&[2, 11], 4).named("hop_length", 3),
            x(&[12], 8).named("win_length", 5).named("window", window(5)),
            x(&[9], 4).named("window", window(4)).named("normalized", true),
            x(&[9], 5).named("onesided", false).named("hop_length", 2),
        ];
        let complex = |sample: Sample| sample.named("return_complex", true);
        let mut all: Vec<Sample> = all.into_iter().map(complex).collect();
        all.push(x(&[8], 4).named("return_complex", false));
        if has_center {
            all.push(complex(
                x(&[12], 8).named("center", false).named("win_length", 4).named("align_to_window", true),
            ));
            all.push(complex(x(&[12], 4).named("pad_mode", "constant")));
        } else {
            all.push(complex(x(&[12], 8).named("win_length", 4).named("align_to_window", true)));
        }
        all
    }

    /// The window of a sample, whole.
    fn window_of(it: &Inputs, n_fft: i64) -> Result<Vec<f64>> {
        let length = it.option::<i64>("win_length")?.unwrap_or(n_fft);
        let own: Vec<f64> = match it.tensor("window") {
            Ok(window) => window.elements().iter().map(|x| x.to_complex().re).collect(),
            Err(_) => vec![1.0; length as usize],
        };
        let before = (n_fft - length) / 2;
        Ok((0..n_fft)
            .map(|n| own.get((n - before) as usize).copied().filter(|_| n >= before).unwrap_or(0.0))
            .collect())
    }

    fn forward(it: &Inputs) -> Result<Expected> {
        let (x, n_fft): (_, i64) = (it.tensor("self")?, it.value("n_fft")?);
        let hop = it.option::<i64>("hop_length")?.unwrap_or(n_fft / 4);
        let window = window_of(it, n_fft)?;
        let length = *x.sizes().last().unwrap_or(&0);
        let lines = x.elements().len() as i64 / length;
        let pad = if it.value("center").unwrap_or(false) {
            n_fft / 2
        } else if it.option("align_to_window")? == Some(true) {
            (n_fft - it.option::<i64>("win_length")?.unwrap_or(n_fft)) / 2
        } else {
            0
        };
        let reflects = it.value("center").unwrap_or(false) && it.value::<String>("pad_mode")? == "reflect";
        let count = 1 + (length + 2 * pad - n_fft) / hop;
        let element = |line: i64, place: i64| {
            let place = place - pad;
            let place = match place {
                _ if !reflects => place,
                place if place < 0 => -place,
                place if place >= length => 2 * (length - 1) - place,
                place => place,
            };
            let is_there = (0..length).contains(&place);
            if is_there { x.elements()[(line * length + place) as usize].to_complex() } else { 0.0.into() }
        };
        let onesided = it.option("onesided")?.unwrap_or(!x.dtype().is_complex());
        let frequencies = if onesided { n_fft / 2 + 1 } else { n_fft };
        let divisor = if it.value("normalized")? { (n_fft as f64).sqrt() } else { 1.0 };
        let at = |line: i64, k: i64, t: i64| -> Complex64 {
            let term = |n: i64| {
                let turn = Complex64::from_polar(1.0, -TAU * (k * n) as f64 / n_fft as f64);
                element(line, t * hop + n) * window[n as usize] * turn
            };
            (0..n_fft).map(term).sum::<Complex64>() / divisor
        };
        let outer = if x.sizes().len() == 1 { vec![] } else { vec![lines] };
        let line_of = |at: &[i64]| if outer.is_empty() { 0 } else { at[0] };
        let own = |place: &[i64]| at(line_of(place), place[outer.len()], place[outer.len() + 1]);
        let sizes = [&outer[..], &[frequencies, count]].concat();
        if it.option("return_complex")? == Some(true) {
            return Ok(Plain::from_fn(complex(x.dtype()), &sizes, |place| Scalar::Complex(own(place))).into());
        }
        Ok(Plain::from_fn(part_of(x.dtype()), &[&sizes[..], &[2]].concat(), |place| {
            let number = own(place);
            Scalar::Float(if place[place.len() - 1] == 0 { number.re } else { number.im })
        })
        .into())
    }

    fn inverse_inputs(dtype: DType) -> Vec<Sample> {
        let x = |sizes: &[i64], n_fft: i64| given(generate::numbers(dtype, sizes, 1)).and(n_fft);
        let window =
            |n: i64| Plain::from_fn(part_of(dtype), &[n], |at| Scalar::Float(0.5 + at[0] as f64 / 4.0));
        vec![
            x(&[3, 5], 4),
            x(&[2, 3, 4], 4).named("hop_length", 2).named("window", window(4)),
            x(&[5, 4], 8)
                .named("win_length", 6)
                .named("length", 5)
                .named("hop_length", 2)
                .named("window", window(6)),
            x(&[4, 4], 4).named("normalized", true).named("return_complex", true),
            x(&[3, 5], 4).named("length", 12),
        ]
    }

    fn backward(it: &Inputs) -> Result<Expected> {
        let (x, n_fft): (_, i64) = (it.tensor("self")?, it.value("n_fft")?);
        let hop = it.option::<i64>("hop_length")?.unwrap_or(n_fft / 4);
        let window = window_of(it, n_fft)?;
        let &[.., frequencies, count] = x.sizes() else { return Ok(x.clone().into()) };
        let lines = x.elements().len() as i64 / frequencies / count;
        let returns_complex: bool = it.value("return_complex")?;
        let divisor = if it.value("normalized")? { (n_fft as f64).sqrt() } else { n_fft as f64 };
        let spectrum = |line: i64, k: i64, t: i64| {
            let place = |k: i64| x.elements()[((line * frequencies + k) * count + t) as usize].to_complex();
            if returns_complex {
                return place(k);
            }
            // Of the first half the others are conjugates; what has no other one is real.
            match k {
                0 => place(0).re.into(),
                k if 2 * k == n_fft => place(k).re.into(),
                k if k <= n_fft / 2 => place(k),
                k => place(n_fft - k).conj(),
            }
        };
        let part = |line: i64, t: i64, n: i64| -> Complex64 {
            let term = |k: i64| {
                spectrum(line, k, t) * Complex64::from_polar(1.0, TAU * (k * n) as f64 / n_fft as f64)
            };
            (0..n_fft).map(term).sum::<Complex64>() / divisor
        };
        let whole = n_fft + hop * (count - 1);
        let start = if it.value("center")? { n_fft / 2 } else { 0 };
        let length = it.option::<i64>("length")?.unwrap_or(whole - 2 * start);
        let at = |line: i64, place: i64| -> Complex64 {
            let place = place + start;
            if place >= whole {
                return 0.0.into();
            }
            let (mut sum, mut weight) = (Complex64::from(0.0), 0.0);
            for t in 0..count {
                let n = place - t * hop;
                if (0..n_fft).contains(&n) {
                    sum += part(line, t, n) * window[n as usize];
                    weight += window[n as usize] * window[n as usize];
                }
            }
            sum / weight
        };
        let outer = if x.sizes().len() == 2 { vec![] } else { vec![lines] };
        let sizes = [&outer[..], &[length]].concat();
        let dtype = if returns_complex { x.dtype() } else { part_of(x.dtype()) };
        Ok(Plain::from_fn(dtype, &sizes, |place| {
            let number = at(if outer.is_empty() { 0 } else { place[0] }, place[outer.len()]);
            if returns_complex { Scalar::Complex(number) } else { Scalar::Float(number.re) }
        })
        .into())
    }
}
