//! `aten::mvlgamma`, `special_multigammaln`: the logarithm of the multivariate gamma function.
//!
//! `out[i] = p * (p - 1) / 4 * ln(pi) + the sum of ln|gamma(self[i] - j / 2)|` for `j = 0, …, p - 1`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones stay what they are; integers give the default dtype. Results are computed in double precision.
//! - Values: infinite where one of the terms is.
//! - Aliasing: `mvlgamma_` writes `self`, `mvlgamma.out` writes `out`.
//! - Dispatch: `special_multigammaln` is another name.
//! - Derivative: the sum of the digamma functions of the terms.
//! - Errors: bools and complex numbers; `mvlgamma_` of integers; a `p` below 1 or above 65,536.
//! - Source: torch.special.multigammaln, PyTorch 2.15.

use crate::kinds::special;
use crate::prelude::*;

pub use opgrid_tensor::ops::special::mvlgamma::*;

/// The family of `aten::mvlgamma`: its kind, shape rule and `out` rule.
pub const MVLGAMMA: Family<Mvlgamma> = Family::new(Mvlgamma, &kind::POINTWISE_UNARY, |input, p| {
    pointwise::check_numbers(input.spec()?.dtype())?;
    terms(p)?;
    pointwise::inexact_real_unary(input)
});

pub(super) fn register(library: &mut Library) {
    library
        .family(&MVLGAMMA)
        .cpu(|input, p, out| {
            let p = terms(p)?;
            special::unary_with(input, out, move |x| opgrid_special::multivariate_ln_gamma(x, p))
        })
        .derivative(|d, (input, p)| {
            d.by(input, [input], move |grad, [x]| {
                let mut slope = x.digamma()?;
                for j in 1..terms(p)? {
                    slope = (slope + (x - 0.5 * f64::from(j))?.digamma()?)?;
                }
                grad * slope
            })
        });
}

/// The number of terms, which each element takes.
fn terms(p: i64) -> Result<u32> {
    /// More dimensions are a mistake, and take long.
    const MOST: u32 = 65_536;
    u32::try_from(p).ok().filter(|terms| (1..=MOST).contains(terms)).ok_or_else(|| {
        let advice =
            if p < 1 { "a dimension is at least 1" } else { "each element takes a term for each dimension" };
        argument(format!("argument `p` is {p}, expected a number from 1 to {MOST}: {advice}"))
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(Mvlgamma, REAL, inputs, |it| {
                let p: i64 = it.value("p")?;
                it.unary(DTypeRule::Inexact, move |x| number::float_by(x, |x| product(x, p)))
            })
            .tolerance(64.0)
            .refuses("argument `p` is 0", given(generate::numbers(DType::F32, &[2], 0)).and(0));
        samples.rounds(Mvlgamma, Roundings::all(Rounding::Near(64)));
        samples.differs(
            Mvlgamma,
            pointwise::samples::lies_as_input(
                "multivariate-gamma-functions-lie-as-the-input",
                "torch returns row-major results of `mvlgamma` for some inputs; here they have the input's memory format",
            ),
        );
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let with = |sample: Sample| [1, 2, 5].map(|p| sample.clone().and(p));
        generate::unary_numbers(dtype).into_iter().flat_map(with).collect()
    }

    /// The logarithm by the recursion in the dimension, and of gamma functions themselves where they are in range.
    fn product(x: f64, p: i64) -> f64 {
        let gamma = libm::tgamma(x).abs();
        let is_pole = x <= 0.0 && x == x.floor();
        let own = if is_pole {
            f64::INFINITY
        } else if gamma.is_normal() {
            gamma.ln()
        } else {
            libm::lgamma(x)
        };
        let rest = 0.5 * (p - 1) as f64 * std::f64::consts::PI.ln();
        if p == 1 { own } else { rest + own + product(x - 0.5, p - 1) }
    }
}
