//! Bessel functions of orders zero and one.

/// The Bessel function of the first kind of order zero.
///
/// NaN for infinities.
///
/// Error: 4 units of the amplitude `sqrt(2 / (pi |x|))`, or of one below 1.
pub fn bessel_j0(x: f64) -> f64 {
    if x.is_finite() { libm::j0(x) } else { f64::NAN }
}

/// The Bessel function of the first kind of order one.
///
/// NaN for infinities.
///
/// Error: 4 units of the amplitude `sqrt(2 / (pi |x|))`; of the result for arguments between -1 and 1.
pub fn bessel_j1(x: f64) -> f64 {
    if x.is_finite() { libm::j1(x) } else { f64::NAN }
}

/// The Bessel function of the second kind of order zero.
///
/// Minus infinity at zero, NaN for negative numbers and infinities.
///
/// Error: 4 units of the larger one of the result and the amplitude `sqrt(2 / (pi x))`.
pub fn bessel_y0(x: f64) -> f64 {
    second_kind(x, libm::y0)
}

/// The Bessel function of the second kind of order one.
///
/// Minus infinity at zero, NaN for negative numbers and infinities.
///
/// Error: 4 units of the larger one of the result and the amplitude `sqrt(2 / (pi x))`.
pub fn bessel_y1(x: f64) -> f64 {
    second_kind(x, libm::y1)
}

fn second_kind(x: f64, function: fn(f64) -> f64) -> f64 {
    if x == 0.0 {
        f64::NEG_INFINITY
    } else if x > 0.0 && x.is_finite() {
        function(x)
    } else {
        f64::NAN
    }
}

/// The spherical Bessel function of the first kind of order zero, `sin(x) / x`.
///
/// Zero for infinities.
///
/// Error: below 3 units.
pub fn spherical_bessel_j0(x: f64) -> f64 {
    if x.is_infinite() {
        0.0
    } else if x == 0.0 {
        1.0
    } else {
        x.sin() / x
    }
}
