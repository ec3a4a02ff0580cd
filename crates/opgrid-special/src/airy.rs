//! The Airy function of the first kind.

use crate::pieces::evaluate;
use crate::tables::{AIRY, AIRY_EVEN, AIRY_ODD, AIRY_POSITIVE};
use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// The Airy function `Ai`, which solves `y'' = x y` and vanishes towards infinity.
///
/// NaN for infinities, and below -1e205, where its angle is out of range.
///
/// Error: below 8 units for arguments above -2; below, where it oscillates, 8 units of its amplitude `|x|^(-1/4) / sqrt(pi)`.
///
/// Source: polynomials that interpolate the function and what the asymptotic expansions in NIST DLMF 9.7 stand for.
pub fn airy_ai(x: f64) -> f64 {
    if !x.is_finite() {
        return f64::NAN;
    }
    if (-2.0..=2.125).contains(&x) {
        return evaluate(AIRY, x);
    }
    let (zeta, rest) = two_thirds_of_power(x.abs());
    let scale = 1.0 / (PI.sqrt() * x.abs().sqrt().sqrt());
    if x > 0.0 {
        return 0.5 * scale * evaluate(AIRY_POSITIVE, 2.0 / zeta) * (-zeta).exp() * (1.0 - rest);
    }
    let (even, odd) = (evaluate(AIRY_EVEN, 2.0 / zeta), evaluate(AIRY_ODD, 2.0 / zeta) / zeta);
    let (sin, cos) = zeta.sin_cos();
    let (sin, cos) = (sin + cos * rest, cos - sin * rest);
    // The angle is zeta less a quarter of pi.
    scale * FRAC_1_SQRT_2 * ((cos + sin) * even + (sin - cos) * odd)
}

/// Computes `2/3 x^(3/2)` and what it lacks of the exact number, because it is an angle and an exponent.
fn two_thirds_of_power(x: f64) -> (f64, f64) {
    let root = x.sqrt();
    let root_rest = (-root).mul_add(root, x) / (2.0 * root);
    let product = x * root;
    let product_rest = x.mul_add(root, -product) + x * root_rest;
    let zeta = 2.0 * product / 3.0;
    (zeta, ((-3.0f64).mul_add(zeta, 2.0 * product) + 2.0 * product_rest) / 3.0)
}
