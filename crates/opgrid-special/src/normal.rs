//! The normal distribution, and the scaled error function that it is computed by.

use crate::pieces::{evaluate, exact_square};
use crate::tables::{ERFCX, ERFCX_FAR, NDTRI, NDTRI_TAIL};
use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

/// The complementary error function times `exp(x²)`.
///
/// Error: below 4 units.
pub fn erfcx(x: f64) -> f64 {
    let size = x.abs();
    let upper =
        if size <= 8.0 { evaluate(ERFCX, size) } else { evaluate(ERFCX_FAR, 64.0 / (size * size)) / size };
    if x >= 0.0 || x.is_nan() {
        return upper;
    }
    if x < -27.0 {
        return f64::INFINITY;
    }
    let (square, rest) = exact_square(x);
    let scale = square.exp();
    2.0 * (scale + scale * rest) - upper
}

/// The part of a normal distribution that lies below `x`.
///
/// Error: below 5 units.
pub fn ndtr(x: f64) -> f64 {
    if x < -1.0 {
        tail(-x)
    } else if x > 1.0 {
        1.0 - tail(x)
    } else {
        0.5 + 0.5 * libm::erf(x * FRAC_1_SQRT_2)
    }
}

/// The part of a normal distribution that lies above a positive number.
fn tail(x: f64) -> f64 {
    if x > 40.0 {
        return 0.0;
    }
    let (square, rest) = exact_square(x);
    0.5 * erfcx(x / SQRT_2) * (1.0 - 0.5 * rest) * (-0.5 * square).exp()
}

/// The logarithm of [`ndtr`].
///
/// Error: below 4 units.
pub fn log_ndtr(x: f64) -> f64 {
    if x < -1.0 {
        (0.5 * erfcx(-x / SQRT_2)).ln() - 0.5 * x * x
    } else if x > 1.0 {
        (-tail(x)).ln_1p()
    } else {
        (-0.5 * libm::erfc(x * FRAC_1_SQRT_2)).ln_1p()
    }
}

/// The number below which a part `p` of a normal distribution lies, the inverse of [`ndtr`].
///
/// Infinite at 0 and 1, NaN beyond.
///
/// Error: below 4 units.
pub fn ndtri(p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    let from_middle = p - 0.5;
    if from_middle.abs() <= 0.425 {
        return from_middle * evaluate(NDTRI, from_middle * from_middle);
    }
    let part = if p < 0.5 { p } else { 1.0 - p };
    let size = if part == 0.0 { f64::INFINITY } else { evaluate(NDTRI_TAIL, (-2.0 * part.ln()).sqrt()) };
    size.copysign(from_middle)
}
