//! Orthogonal polynomials by degree.
//!
//! The degree is a number without its fraction; polynomials of negative degrees, and of those beyond 63 bits, are zero. Recurrences take a
//! step for each degree, and give NaN where numbers become too large on the way, and for degrees above 2²⁰.

/// Recurrences take so many steps.
const MOST_STEPS: f64 = 1_048_576.0;

/// Hermite polynomials of larger degrees are too large for a number, except near their zeros.
const LAST_HERMITE: f64 = 512.0;

/// The whole degree, or none if it is negative or no degree.
fn degree(n: f64) -> Option<f64> {
    // 2⁶³, from which on there is no degree of 64 bits.
    (n > -1.0 && n < 9_223_372_036_854_775_808.0).then(|| n.trunc())
}

/// The value of degree `n`, from those of degrees 0 and 1 and the step to degree `k + 1` from that of `k` and the one before it.
fn recurrence(n: f64, first: f64, second: f64, step: impl Fn(f64, f64, f64) -> f64) -> f64 {
    if n == 0.0 {
        return first;
    }
    if n > MOST_STEPS {
        return f64::NAN;
    }
    let (mut before, mut now) = (first, second);
    for k in 1..n as u32 {
        if now.is_nan() {
            break;
        }
        (before, now) = (now, step(f64::from(k), now, before));
    }
    now
}

/// One for even degrees and minus one for odd ones.
fn parity(n: f64) -> f64 {
    if n % 2.0 == 0.0 { 1.0 } else { -1.0 }
}

/// Chebyshev's polynomials share their recurrence; above a degree their angle is multiplied instead.
fn chebyshev(n: f64, x: f64, second: f64, most: f64, by_angle: impl Fn(f64) -> f64) -> f64 {
    if n > most && x.abs() < 1.0 {
        return by_angle(x.acos());
    }
    recurrence(n, 1.0, second, |_, now, before| 2.0 * x * now - before)
}

/// The Chebyshev polynomial of the first kind, `cos(n acos(x))` between -1 and 1.
///
/// Error: `8 n + 4` units of one between -1 and 1, `8 n + 4` units of the result beyond.
pub fn chebyshev_t(x: f64, n: f64) -> f64 {
    let Some(n) = degree(n) else { return 0.0 };
    if x.abs() == 1.0 {
        return if x > 0.0 { 1.0 } else { parity(n) };
    }
    chebyshev(n, x, x, 6.0, |angle| (n * angle).cos())
}

/// The Chebyshev polynomial of the second kind, `sin((n + 1) acos(x)) / sin(acos(x))` between -1 and 1.
///
/// Error: `8 n + 4` units of the larger one of the result and `1 / sqrt(1 - x²)` between -1 and 1, and of the result beyond.
pub fn chebyshev_u(x: f64, n: f64) -> f64 {
    let Some(n) = degree(n) else { return 0.0 };
    if x.abs() == 1.0 {
        return (n + 1.0) * if x > 0.0 { 1.0 } else { parity(n) };
    }
    chebyshev(n, x, 2.0 * x, 8.0, |angle| ((n + 1.0) * angle).sin() / angle.sin())
}

/// The Chebyshev polynomial of the third kind, `cos((n + 1/2) acos(x)) / cos(acos(x) / 2)` between -1 and 1.
///
/// Error: `8 n + 4` units of the larger one of the result and `1 / sqrt(1 - x²)` between -1 and 1, and of the result beyond.
pub fn chebyshev_v(x: f64, n: f64) -> f64 {
    let Some(n) = degree(n) else { return 0.0 };
    if x.abs() == 1.0 {
        return if x > 0.0 { 1.0 } else { parity(n) * (2.0 * n + 1.0) };
    }
    chebyshev(n, x, 2.0 * x - 1.0, 8.0, |angle| ((n + 0.5) * angle).cos() / (0.5 * angle).cos())
}

/// The Chebyshev polynomial of the fourth kind, `sin((n + 1/2) acos(x)) / sin(acos(x) / 2)` between -1 and 1.
///
/// Error: `8 n + 4` units of the larger one of the result and `1 / sqrt(1 - x²)` between -1 and 1, and of the result beyond.
pub fn chebyshev_w(x: f64, n: f64) -> f64 {
    let Some(n) = degree(n) else { return 0.0 };
    if x.abs() == 1.0 {
        return if x > 0.0 { 2.0 * n + 1.0 } else { parity(n) };
    }
    chebyshev(n, x, 2.0 * x + 1.0, 8.0, |angle| ((n + 0.5) * angle).sin() / (0.5 * angle).sin())
}

/// The Chebyshev polynomial of the first kind of `2 x - 1`.
///
/// Error: that of [`chebyshev_t`], and what the argument loses.
pub fn shifted_chebyshev_t(x: f64, n: f64) -> f64 {
    chebyshev_t(2.0 * x - 1.0, n)
}

/// The Chebyshev polynomial of the second kind of `2 x - 1`.
///
/// Error: that of [`chebyshev_u`], and what the argument loses.
pub fn shifted_chebyshev_u(x: f64, n: f64) -> f64 {
    chebyshev_u(2.0 * x - 1.0, n)
}

/// The Chebyshev polynomial of the third kind of `2 x - 1`.
///
/// Error: that of [`chebyshev_v`], and what the argument loses.
pub fn shifted_chebyshev_v(x: f64, n: f64) -> f64 {
    chebyshev_v(2.0 * x - 1.0, n)
}

/// The Chebyshev polynomial of the fourth kind of `2 x - 1`.
///
/// Error: that of [`chebyshev_w`], and what the argument loses.
pub fn shifted_chebyshev_w(x: f64, n: f64) -> f64 {
    chebyshev_w(2.0 * x - 1.0, n)
}

/// The Hermite polynomial of the physicists, orthogonal with the weight `exp(-x²)`.
///
/// NaN for degrees above 512.
///
/// Error: `8 n + 4` units of the sum of its terms' absolute values.
pub fn hermite_h(x: f64, n: f64) -> f64 {
    let Some(n) = degree(n) else { return 0.0 };
    if n > LAST_HERMITE {
        return f64::NAN;
    }
    recurrence(n, 1.0, 2.0 * x, |k, now, before| 2.0 * x * now - 2.0 * k * before)
}

/// The Hermite polynomial of statistics, orthogonal with the weight `exp(-x² / 2)`.
///
/// NaN for degrees above 512.
///
/// Error: `8 n + 4` units of the sum of its terms' absolute values.
pub fn hermite_he(x: f64, n: f64) -> f64 {
    let Some(n) = degree(n) else { return 0.0 };
    if n > LAST_HERMITE {
        return f64::NAN;
    }
    recurrence(n, 1.0, x, |k, now, before| x * now - k * before)
}

/// The Laguerre polynomial.
///
/// Error: `8 n + 4` units of the sum of its terms' absolute values.
pub fn laguerre_l(x: f64, n: f64) -> f64 {
    let Some(n) = degree(n) else { return 0.0 };
    if x == 0.0 {
        return 1.0;
    }
    recurrence(n, 1.0, 1.0 - x, |k, now, before| ((2.0 * k + 1.0 - x) * now - k * before) / (k + 1.0))
}

/// The Legendre polynomial.
///
/// Error: `8 n + 4` units of one between -1 and 1, of the result beyond.
pub fn legendre_p(x: f64, n: f64) -> f64 {
    let Some(n) = degree(n) else { return 0.0 };
    if x.abs() == 1.0 {
        return if x > 0.0 { 1.0 } else { parity(n) };
    }
    recurrence(n, 1.0, x, |k, now, before| ((2.0 * k + 1.0) * x * now - k * before) / (k + 1.0))
}
