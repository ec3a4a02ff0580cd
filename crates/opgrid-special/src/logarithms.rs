//! Products of numbers and logarithms.

/// The entropy `-x ln(x)`; zero at zero.
///
/// Minus infinity for negative numbers.
///
/// Error: below 2 units.
pub fn entr(x: f64) -> f64 {
    if x > 0.0 {
        -x * x.ln()
    } else if x == 0.0 {
        0.0
    } else if x.is_nan() {
        x
    } else {
        f64::NEG_INFINITY
    }
}

/// The product `x ln(1 + y)`; zero where `x` is, unless `y` is NaN.
///
/// Error: below 2 units.
pub fn xlog1py(x: f64, y: f64) -> f64 {
    if x == 0.0 && !y.is_nan() { 0.0 } else { x * y.ln_1p() }
}
