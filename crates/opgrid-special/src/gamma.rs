//! The incomplete gamma functions, and the multivariate gamma function.

use crate::normal::erfcx;
use crate::pieces::{evaluate, exact_sum, polynomial};
use crate::tables::{LGAMMA_1P, LOG1P_REST, TEMME};
use std::f64::consts::PI;

/// The regularized lower incomplete gamma function `P(a, x)`: the integral of `t^(a - 1) exp(-t) / gamma(a)` from 0 to `x`.
///
/// NaN if an argument is negative, if both are 0, or if both are infinite.
///
/// Error: below 8 units; where the result is below `exp(-3)`, below 3 units times the size of its logarithm.
///
/// Source: NIST DLMF 8.11.4, 8.9.2, and N. M. Temme's uniform expansion, 8.12, for large `a` near `x`.
pub fn gamma_p(a: f64, x: f64) -> f64 {
    at_ends(a, x).unwrap_or_else(|| match Method::choose(a, x) {
        Method::Series => series(a, x),
        Method::Difference => 1.0 - difference(a, x),
        Method::Fraction => 1.0 - fraction(a, x),
        Method::Expansion => expansion(a, x, -1.0),
    })
}

/// The regularized upper incomplete gamma function `Q(a, x)`, one minus [`gamma_p`].
///
/// NaN if an argument is negative, if both are 0, or if both are infinite.
///
/// Error: below 8 units; where the result is below `exp(-3)`, below 3 units times the size of its logarithm.
///
/// Source: as of [`gamma_p`]; for `a` and `x` below one, the difference of A. R. DiDonato and A. H. Morris, Computation of the Incomplete Gamma Function
/// Ratios and their Inverse, ACM TOMS 12 (1986).
pub fn gamma_q(a: f64, x: f64) -> f64 {
    if let Some(p) = at_ends(a, x) {
        return 1.0 - p;
    }
    match Method::choose(a, x) {
        Method::Series => 1.0 - series(a, x),
        Method::Difference => difference(a, x),
        Method::Fraction => fraction(a, x),
        Method::Expansion => expansion(a, x, 1.0),
    }
}

/// Gives `P(a, x)` where it needs no computation.
fn at_ends(a: f64, x: f64) -> Option<f64> {
    if !(a >= 0.0 && x >= 0.0) || (a == 0.0 && x == 0.0) || (a.is_infinite() && x.is_infinite()) {
        Some(f64::NAN)
    } else if a == 0.0 || x.is_infinite() {
        Some(1.0)
    } else if x == 0.0 || a.is_infinite() {
        Some(0.0)
    } else {
        None
    }
}

/// How the functions are computed: which one first, by what.
enum Method {
    /// `P`, as a power series.
    Series,
    /// `Q`, as what two numbers near one differ by.
    Difference,
    /// `Q`, as a continued fraction.
    Fraction,
    /// Both, by the error function.
    Expansion,
}

impl Method {
    fn choose(a: f64, x: f64) -> Self {
        if a > 100.0 && ((x - a) / a).abs() < 0.3 {
            return Self::Expansion;
        }
        if x > 1.1 {
            return if x > a { Self::Fraction } else { Self::Series };
        }
        // Where `Q` is small, it is the one to compute.
        let is_small = if x <= 0.5 { -0.4 / x.ln() > a } else { 1.1 * x > a };
        if is_small { Self::Difference } else { Self::Series }
    }
}

/// Computes `x^a exp(-x) / gamma(a + 1)`.
fn front(a: f64, x: f64) -> f64 {
    if a < 20.0 {
        // Both exponentials are in range where the result is.
        let half = (-0.5 * x).exp();
        return if half == 0.0 { 0.0 } else { x.powf(a) * half / libm::tgamma(a + 1.0) * half };
    }
    (-distance(a, x) - stirling(a)).exp() / (2.0 * PI * a).sqrt()
}

/// Computes `a (m - ln(1 + m))` for `m = x / a - 1`: an exponent, so that what quotients lose by rounding is added.
fn distance(a: f64, x: f64) -> f64 {
    let (difference, rest) = exact_sum(x, -a);
    let m = difference / a;
    if (-0.625..=1.5).contains(&m) {
        let lost = (-m).mul_add(a, difference) + rest;
        return a * (m * m) * evaluate(LOG1P_REST, m) + m / (1.0 + m) * lost;
    }
    let ratio = x / a;
    let lost = (-ratio).mul_add(a, x);
    difference - a * ratio.ln() + (rest - lost / ratio)
}

/// What the logarithm of the gamma function of a large number has beyond Stirling's formula.
fn stirling(a: f64) -> f64 {
    let square = 1.0 / (a * a);
    polynomial(&[1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0], square) / a
}

/// Computes `P`, whose terms become small once `a + k` is above `x`.
fn series(a: f64, x: f64) -> f64 {
    let (mut term, mut sum, mut k) = (1.0, 1.0, a);
    loop {
        k += 1.0;
        term *= x / k;
        sum += term;
        if term <= 1e-17 * sum {
            return front(a, x) * sum;
        }
    }
}

/// Computes `Q` for `x` above 1.1 and `a`: Lentz's method says how many levels of the fraction count, which are then evaluated
/// from the last one, where roundings do not add up.
fn fraction(a: f64, x: f64) -> f64 {
    /// More than any `a` below the expansion takes.
    const MOST: u32 = 5000;
    let level = |k: u32| {
        let k = f64::from(k);
        (k * (a - k), x + 2.0 * k + 1.0 - a)
    };
    let mut count = 1;
    let (mut c, mut d) = (1e300, 1.0 / level(0).1);
    while count < MOST {
        let (numerator, b) = level(count);
        d = 1.0 / (numerator * d + b);
        c = b + numerator / c;
        if (c * d - 1.0).abs() < 2e-16 {
            break;
        }
        count += 1;
    }
    let below = (1..=count).rev().map(level).fold(0.0, |below, (numerator, b)| numerator / (b + below));
    front(a, x) * a / (level(0).1 + below)
}

/// Computes `Q` for small `a` and `x`: one minus `x^a / gamma(a + 1)` times a series that begins with one.
fn difference(a: f64, x: f64) -> f64 {
    let (mut power, mut sum) = (1.0, 0.0);
    for k in 1..40 {
        let k = f64::from(k);
        power *= -x / k;
        let term = power / (a + k);
        sum += term;
        if term.abs() < 1e-18 * sum.abs() {
            break;
        }
    }
    let logarithm = a * (x.ln() - ln_gamma_1p_over(a));
    -logarithm.exp_m1() - logarithm.exp() * a * sum
}

/// Computes `ln(gamma(1 + a)) / a` for `a` up to 1.25.
fn ln_gamma_1p_over(a: f64) -> f64 {
    if a <= 0.875 { evaluate(LGAMMA_1P, a) } else { libm::lgamma(1.0 + a) / a }
}

/// Computes `Q` for a side of 1 and `P` for -1, for large `a` near `x`.
fn expansion(a: f64, x: f64, side: f64) -> f64 {
    let distance = distance(a, x);
    let eta = (2.0 * distance / a).sqrt().copysign(x - a);
    let (mut power, mut sum) = (1.0, 0.0);
    for coefficients in &TEMME {
        let term = polynomial(coefficients, eta) * power;
        sum += term;
        power /= a;
        if power < 1e-17 {
            break;
        }
    }
    let rest = side * sum / (2.0 * PI * a).sqrt();
    let y = side * distance.sqrt().copysign(eta);
    let scale = (-distance).exp();
    if y >= 0.0 {
        return scale * (0.5 * erfcx(y) + rest);
    }
    1.0 - scale * (0.5 * erfcx(-y) - rest)
}

/// The logarithm of the multivariate gamma function of dimension `p`.
///
/// The sum of `ln|gamma(x - j / 2)|` for `j` below `p`, and `p (p - 1) / 4 ln(pi)`.
///
/// Error: below 8 units of the largest part of the sum.
pub fn multivariate_ln_gamma(x: f64, p: u32) -> f64 {
    let terms = (0..p).rev().map(|j| ln_gamma(x - 0.5 * f64::from(j)));
    let p = f64::from(p);
    0.25 * p * (p - 1.0) * PI.ln() + terms.sum::<f64>()
}

/// Infinite at both ends, as in C.
fn ln_gamma(x: f64) -> f64 {
    if x.is_infinite() { f64::INFINITY } else { libm::lgamma(x) }
}
