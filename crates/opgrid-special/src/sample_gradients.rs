//! How samples of the gamma and the Dirichlet distribution change with the parameters: implicit gradients.
//!
//! A sample whose share of the distribution below it, `F(x; a)`, is held moves by `dx / da = -(dF / da) / (dF / dx)`. Density and its
//! derivative are in closed form, so what is left is an integral of both over the sample's side of the distribution, divided by the density there: no
//! difference of large numbers. M. Figurnov, S. Mohamed and A. Mnih, Implicit Reparameterization Gradients (2018).

use crate::digamma;

/// The derivative by `a` of a sample `x` of the gamma distribution of shape `a`.
///
/// Zero at `x = 0`; NaN for negative numbers and where an argument is infinite or NaN.
///
/// Error: relative to the result below 1e-9.
pub fn standard_gamma_gradient(a: f64, x: f64) -> f64 {
    if !(a > 0.0 && x >= 0.0 && a.is_finite() && x.is_finite()) {
        return f64::NAN;
    }
    if x == 0.0 {
        return 0.0;
    }
    // The derivative of the density's logarithm is `ln t - digamma(a)`.
    let slope = x.ln() - digamma(a);
    if x > a.max(1.0) {
        // t = x + s
        let scale = x / (x - a + 1.0 + x.sqrt());
        return decaying_integral(scale, 1.0, |s| {
            let further = (s / x).ln_1p();
            (slope + further) * ((a - 1.0) * further - s).exp()
        });
    }
    // t = x e^-w
    let scale = 1.0 / ((a - x).max(0.0) + a.min(a.sqrt()));
    -x * decaying_integral(scale, a, |w| (slope - w) * (-a * w - x * (-w).exp_m1()).exp())
}

/// The derivative of an element `x` of a sample of the Dirichlet distribution by its own parameter `a`, divided by `1 - x`; `total` is the
/// sum of all parameters.
///
/// Zero at `x = 0`; NaN for parameters that are not positive, and for an `x` that is not in `[0, 1)`.
///
/// Error: relative to the result below 1e-9.
pub fn dirichlet_gradient(x: f64, a: f64, total: f64) -> f64 {
    let b = total - a;
    if !(a > 0.0 && b > 0.0 && total.is_finite() && (0.0..1.0).contains(&x)) {
        return f64::NAN;
    }
    if x == 0.0 {
        return 0.0;
    }
    // The derivative of the density's logarithm is `ln t + digamma(total) - digamma(a)`.
    let (slope, rest) = (x.ln() + digamma(total) - digamma(a), 1.0 - x);
    if x <= a / total {
        // t = x e^-w
        let scale = 1.0 / ((a - (b - 1.0) * x / rest).max(0.0) + a.min(a.sqrt()));
        let integral = decaying_integral(scale, a, |w| {
            let other = (-x * (-w).exp_m1() / rest).ln_1p();
            (slope - w) * ((b - 1.0) * other - a * w).exp()
        });
        return -x / rest * integral;
    }
    // 1 - t = (1 - x) e^-w
    let scale = 1.0 / ((b - (a - 1.0) * rest / x).max(0.0) + b.min(b.sqrt()));
    decaying_integral(scale, b, |w| {
        let further = (-rest * (-w).exp_m1() / x).ln_1p();
        (slope + further) * ((a - 1.0) * further - b * w).exp()
    })
}

/// The integral from 0 to infinity of a function that begins to fall at about `scale`, and falls like `exp(-rate * s)` at last.
///
/// By the double exponential rule for such functions: `s = scale * exp(u - exp(-u))`, in equal steps of `u`. H. Takahasi and M. Mori, Double Exponential Formulas
/// for Numerical Integration (1974).
fn decaying_integral(scale: f64, rate: f64, function: impl Fn(f64) -> f64) -> f64 {
    const STEP: f64 = 0.125;
    /// Where `s` is too small to count.
    const FIRST: i32 = -32;
    /// Where `exp(-rate * s)` is, with room for powers in front of it.
    const END: f64 = 100.0;
    let last = (END / (rate * scale)).ln().max(4.0) / STEP;
    let term = |k: i32| {
        let u = f64::from(k) * STEP;
        let small = (-u).exp();
        let s = scale * (u - small).exp();
        function(s) * s * (1.0 + small)
    };
    (FIRST..=last as i32).map(term).sum::<f64>() * STEP
}
