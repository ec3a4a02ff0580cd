//! Modified Bessel functions of orders zero and one.

use crate::pieces::{Piece, evaluate};
use crate::tables::{I0E, I0E_FAR, I1E, I1E_FAR, K0_REST, K0E, K0E_FAR, K1_REST, K1E, K1E_FAR};

/// Below this the logarithm is taken out of functions of the second kind.
const NEAR: f64 = 0.5;

/// The modified Bessel function of the first kind of order zero.
///
/// NaN for infinities.
///
/// Error: below 6 units.
pub fn i0(x: f64) -> f64 {
    let x = x.abs();
    if x.is_finite() { raised(i0e(x), x) } else { f64::NAN }
}

/// The modified Bessel function of the first kind of order zero, times `exp(-|x|)`.
///
/// Error: below 4 units.
pub fn i0e(x: f64) -> f64 {
    let x = x.abs();
    if x <= 8.0 { evaluate(I0E, x) } else { far(I0E_FAR, x) }
}

/// The modified Bessel function of the first kind of order one.
///
/// NaN for infinities.
///
/// Error: below 6 units.
pub fn i1(x: f64) -> f64 {
    if x.is_finite() { raised(i1e(x), x.abs()) } else { f64::NAN }
}

/// The modified Bessel function of the first kind of order one, times `exp(-|x|)`.
///
/// Error: below 4 units.
pub fn i1e(x: f64) -> f64 {
    let size = x.abs();
    if size <= 8.0 { x * evaluate(I1E, size) } else { far(I1E_FAR, size).copysign(x) }
}

/// The modified Bessel function of the second kind of order zero.
///
/// Infinite at zero, NaN for negative numbers.
///
/// Error: below 6 units.
pub fn k0(x: f64) -> f64 {
    if x > NEAR { lowered(k0e(x), x) } else { near_k0(x) }
}

/// The modified Bessel function of the second kind of order zero, times `exp(x)`.
///
/// Infinite at zero, NaN for negative numbers.
///
/// Error: below 6 units.
pub fn k0e(x: f64) -> f64 {
    if x <= NEAR {
        near_k0(x) * x.exp()
    } else if x <= 8.0 {
        evaluate(K0E, x)
    } else {
        far(K0E_FAR, x)
    }
}

/// The modified Bessel function of the second kind of order one.
///
/// Infinite at zero, NaN for negative numbers.
///
/// Error: below 6 units.
pub fn k1(x: f64) -> f64 {
    if x > NEAR { lowered(k1e(x), x) } else { near_k1(x) }
}

/// The modified Bessel function of the second kind of order one, times `exp(x)`.
///
/// Infinite at zero, NaN for negative numbers.
///
/// Error: below 6 units.
pub fn k1e(x: f64) -> f64 {
    if x <= NEAR {
        near_k1(x) * x.exp()
    } else if x <= 8.0 {
        evaluate(K1E, x)
    } else {
        far(K1E_FAR, x)
    }
}

fn near_k0(x: f64) -> f64 {
    match x {
        0.0 => f64::INFINITY,
        x if x > 0.0 => evaluate(K0_REST, x * x) - (0.5 * x).ln() * i0(x),
        _ => f64::NAN,
    }
}

fn near_k1(x: f64) -> f64 {
    match x {
        0.0 => f64::INFINITY,
        x if x > 0.0 => 1.0 / x + ((0.5 * x).ln() * i1(x) + x * evaluate(K1_REST, x * x)),
        _ => f64::NAN,
    }
}

/// What the pieces say beyond 8, where functions decrease with the square root.
fn far(pieces: &[Piece], x: f64) -> f64 {
    evaluate(pieces, 8.0 / x) / x.sqrt()
}

/// A number times `exp(x)`, which may overflow before their product does.
fn raised(number: f64, x: f64) -> f64 {
    let half = (0.5 * x).exp();
    number * half * half
}

/// A number times `exp(-x)`.
fn lowered(number: f64, x: f64) -> f64 {
    let half = (-0.5 * x).exp();
    number * half * half
}
