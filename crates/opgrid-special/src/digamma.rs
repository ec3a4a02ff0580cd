//! The logarithm of the gamma function, and its derivative.

use crate::pieces::polynomial;
use std::f64::consts::PI;

/// The logarithm of the absolute value of the gamma function.
///
/// Infinite at zero, at the negative integers and at both ends.
///
/// Error: below 4 units.
pub fn ln_gamma(x: f64) -> f64 {
    if x.is_infinite() { f64::INFINITY } else { libm::lgamma(x) }
}

/// The digamma function: the derivative of [`ln_gamma`].
///
/// Infinite at zero with the sign of `-x`, NaN at the negative integers.
///
/// Error: below 8 units.
///
/// Source: NIST DLMF 5.5.2, 5.5.4 and 5.11.2: the asymptotic series above 10, to which the recurrence leads, and the reflection for negative numbers.
pub fn digamma(x: f64) -> f64 {
    if x == 0.0 {
        return f64::NEG_INFINITY.copysign(-x);
    }
    if x < 0.0 {
        if x.trunc() == x {
            return f64::NAN;
        }
        // The fraction alone, so that the angle has all its digits.
        let fraction = x - x.trunc();
        return digamma(1.0 - x) - PI / (PI * fraction).tan();
    }
    let (mut x, mut result) = (x, 0.0);
    while x < 10.0 {
        result -= 1.0 / x;
        x += 1.0;
    }
    if x == 10.0 {
        const AT_TEN: f64 = 2.251_752_589_066_721;
        return result + AT_TEN;
    }
    /// Bernoulli numbers, divided by their index.
    const SERIES: [f64; 7] =
        [1.0 / 12.0, -1.0 / 120.0, 1.0 / 252.0, -1.0 / 240.0, 1.0 / 132.0, -691.0 / 32_760.0, 1.0 / 12.0];
    let z = 1.0 / (x * x);
    result + x.ln() - 0.5 / x - z * polynomial(&SERIES, z)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values are those of the closed forms at integers and halves.
    #[test]
    fn digamma_is_known_at_integers_and_halves() {
        const EULER: f64 = 0.577_215_664_901_532_9;
        let cases = [
            (1.0, -EULER),
            (2.0, 1.0 - EULER),
            (0.5, -EULER - 2.0 * std::f64::consts::LN_2),
            (1.5, 2.0 - EULER - 2.0 * std::f64::consts::LN_2),
            (-0.5, 2.0 - EULER - 2.0 * std::f64::consts::LN_2),
            (10.0, 2.251_752_589_066_721),
        ];
        for (x, expected) in cases {
            assert!((digamma(x) - expected).abs() < 1e-15, "{x}: {}", digamma(x));
        }
        assert_eq!(digamma(0.0), f64::NEG_INFINITY);
        assert_eq!(digamma(-0.0), f64::INFINITY);
        assert!(digamma(-3.0).is_nan() && digamma(f64::INFINITY) == f64::INFINITY);
    }
}
