//! The Hurwitz zeta function, and the derivatives of the digamma function, which are multiples of it.

use crate::pieces::exact_sum;
use crate::tables::BERNOULLI;

/// The Hurwitz zeta function: the sum of `(q + k)^-x` for `k = 0, 1, …`.
///
/// Infinite for `x = 1`, NaN for smaller `x`. For `q` that are not positive it is infinite at integers, and elsewhere NaN unless `x`
/// is an integer. NaN if an argument is infinite; except that -∞ counts as an integer.
///
/// Error: below 6 units for positive `q`. For negative `q`, where terms of odd `x` cancel, 16 units of the largest term.
///
/// Source: the Euler–Maclaurin formula, NIST DLMF 25.11.5 with 25.11.3.
pub fn zeta(x: f64, q: f64) -> f64 {
    if x == 1.0 {
        return f64::INFINITY;
    }
    if x < 1.0 || x.is_nan() || q.is_nan() {
        return f64::NAN;
    }
    if q > 0.0 {
        return if x.is_infinite() || q.is_infinite() { f64::NAN } else { by_sum(x, q, 1.0) };
    }
    if q == q.floor() {
        return f64::INFINITY;
    }
    if x != x.floor() || x.is_infinite() { f64::NAN } else { of_negative(x, q) }
}

/// The zeta function of a negative fraction and an integer, by the terms before and behind zero.
fn of_negative(x: f64, q: f64) -> f64 {
    /// So many terms are added up one by one.
    const FEW: f64 = 20.0;
    let before = q.floor().abs();
    let behind = by_sum(x, q + before, 1.0);
    if before <= FEW {
        return (0..before as u32).rev().fold(behind, |sum, k| sum + (q + f64::from(k)).powf(-x));
    }
    let sign = if x % 2.0 == 0.0 { 1.0 } else { -1.0 };
    let nearest = -(q + (before - 1.0));
    behind + sign * (by_sum(x, nearest, 1.0) - by_sum(x, 1.0 - q, 1.0))
}

/// The sum for positive `q`, times `base^x`.
fn by_sum(x: f64, q: f64, base: f64) -> f64 {
    /// From here on the sum is an integral and corrections.
    const ENOUGH: f64 = 9.0;
    // What a number loses by rounding counts `x` times in its power.
    let power = |k: f64| {
        let (number, rest) = exact_sum(q, k);
        let power = (number / base).powf(-x);
        if power.is_finite() { (number, power - power * x * rest / number) } else { (number, power) }
    };
    let (mut sum, mut k) = (power(0.0).1, 1.0);
    let (end, at_end) = loop {
        let (number, term) = power(k);
        if k >= ENOUGH && number >= ENOUGH {
            break (number, term);
        }
        sum += term;
        if term < 1e-17 * sum {
            return sum;
        }
        k += 1.0;
    };
    let integral = if base == 1.0 { end.powf(1.0 - x) } else { at_end * end } / (x - 1.0);
    let (mut factor, mut corrections) = (x / end * at_end, 0.0);
    for (coefficient, j) in BERNOULLI.iter().zip((1u32..).step_by(2)) {
        let term = coefficient * factor;
        corrections += term;
        if term.abs() < 1e-17 * sum {
            break;
        }
        let j = f64::from(j);
        factor *= (x + j) / end * ((x + j + 1.0) / end);
    }
    sum + (integral + (0.5 * at_end + corrections))
}

/// The derivative of order `n ≥ 1` of the digamma function.
///
/// For odd `n` infinite at zero and the negative integers, for even ones minus infinity. At infinity, 0 for the first derivative and
/// NaN for others; at minus infinity, NaN for the first and the pole for others.
///
/// Error: below 8 units for positive numbers and `n` up to 20, below `8 n` units for larger `n`. For negative numbers, where terms of even `n`
/// cancel, 16 units of the largest term.
///
/// Source: NIST DLMF 25.11.12.
pub fn polygamma(n: u32, x: f64) -> f64 {
    /// The largest number with a factorial.
    const LAST_FACTORIAL: u32 = 170;
    if n == 1 && x.is_infinite() {
        return if x > 0.0 { 0.0 } else { f64::NAN };
    }
    let sign = if n % 2 == 1 { 1.0 } else { -1.0 };
    let order = f64::from(n) + 1.0;
    let factorial: f64 = (2..=n.min(LAST_FACTORIAL + 1)).map(f64::from).product();
    let sum = zeta(order, x);
    let is_in_range = factorial.is_finite() && sum > f64::MIN_POSITIVE;
    if is_in_range || !(x > 0.0 && x.is_finite()) {
        return sign * factorial * sum;
    }
    // One is too large and the other too small for a number, but not what they are together.
    sign * (libm::lgamma(order) - order * x.ln()).exp() * by_sum(order, x, x)
}
