//! `aten::polygamma`, `special_polygamma`: derivatives of the digamma function.
//!
//! `out[i] = the derivative of order n of digamma at self[i]`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones stay what they are; integers and bools give the default dtype. Results are computed in double precision.
//! - Values: infinite at zero and the negative integers, except those of order zero, which are those of `digamma`. At infinity zero for the
//!   first derivative, and NaN for later ones.
//! - Aliasing: `polygamma_` writes `self`, `polygamma.out` writes `out`.
//! - Dispatch: `special_polygamma` is another name; `polygamma_` is made of `polygamma`.
//! - Derivative: that of the next order.
//! - Errors: complex numbers; a negative order; `polygamma_` of integers and bools.
//! - Source: torch.special.polygamma, PyTorch 2.15.

use crate::kinds::special;
use crate::prelude::*;
use opgrid_kernels::special::Special;

pub use opgrid_tensor::ops::special::polygamma::*;

/// The family of `aten::polygamma`: its kind, shape rule and `out` rule.
pub const POLYGAMMA: Family<Polygamma> = Family::new(Polygamma, &kind::POINTWISE_UNARY, |n, input| {
    order(n)?;
    pointwise::inexact_real_unary(input)
});

pub(super) fn register(library: &mut Library) {
    library
        .family(&POLYGAMMA)
        .cpu(|n, input, out| match order(n)? {
            0 => special::unary(input, out, Special::digamma),
            n => special::unary_with(input, out, move |x| opgrid_special::polygamma(n, x)),
        })
        .derivative(|d, (n, input)| {
            d.by(input, [input], move |grad, [x]| grad * Polygamma.call(n.saturating_add(1), x)?)
        });
    library
        .define(PolygammaInplace)
        .kind(&kind::POINTWISE_UNARY)
        .composite(|input, n| PolygammaOut.call(n, input, input))
        .derivative(|d, (input, n)| {
            d.by(input, [input], move |grad, [x]| grad * Polygamma.call(n.saturating_add(1), x)?)
        });
}

/// The order, of which all beyond 32 bits are alike.
fn order(n: i64) -> Result<u32> {
    match n {
        0.. => Ok(u32::try_from(n).unwrap_or(u32::MAX - 1)),
        _ => Err(argument(format!("argument `n` is {n}, expected an order that is not negative"))),
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(
                Polygamma,
                ORDERED,
                |dtype| inputs(dtype, true),
                |it| {
                    let n: i64 = it.value("n")?;
                    let only = Inputs::new(vec![it.arguments()[1].clone()]);
                    only.unary(DTypeRule::Inexact, move |x| number::float_by(x, |x| value(n, x)))
                },
            )
            .tolerance(256.0)
            .refuses("argument `n` is -1", given(-1).and(generate::numbers(DType::F32, &[2], 0)));
        samples
            .operator(
                PolygammaInplace,
                FLOATS,
                |dtype| inputs(dtype, false),
                |it| {
                    let n: i64 = it.value("n")?;
                    it.unary(DTypeRule::Inexact, move |x| number::float_by(x, |x| value(n, x)))
                },
            )
            .tolerance(256.0);
        samples.rounds(Polygamma, Roundings::all(Rounding::Near(256)));
        samples.differs(Polygamma, special::samples::POLES);
    }

    fn inputs(dtype: DType, is_order_first: bool) -> Vec<Sample> {
        let with = |sample: Sample| [0, 1, 2, 3, 5].map(|n| sample.clone().and(n));
        let samples: Vec<_> = generate::unary_numbers(dtype).into_iter().flat_map(with).collect();
        if is_order_first { generate::number_first(samples) } else { samples }
    }

    fn value(n: i64, x: f64) -> f64 {
        if n == 0 {
            return number::digamma(x);
        }
        let factorial: f64 = (1..=n).map(|k| k as f64).product();
        let sum = factorial * special::samples::zeta((n + 1) as f64, x);
        if n % 2 == 0 { -sum } else { sum }
    }
}
