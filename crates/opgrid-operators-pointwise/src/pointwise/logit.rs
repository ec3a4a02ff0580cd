//! `aten::logit`, `aten::logit_backward`: the inverse of the logistic function, and its gradient.
//!
//! `out[i] = ln(x / (1 - x))` with `x = self[i]`, clamped to `[eps, 1 - eps]` if `eps` is given;
//! `grad_input[i] = grad_output[i] / (x * (1 - x))`, and 0 where `x` was clamped
//!
//! - Shapes: that of `self`; that both tensors of the gradient broadcast to.
//! - Dtypes: floating-point ones stay what they are; integers and bools give the default dtype, and have no gradient.
//! - Values: NaN beyond 0 and 1 unless clamped.
//! - Aliasing: `logit_` writes `self`, `logit.out` writes `out`, `logit_backward.grad_input` writes `grad_input`.
//! - Dispatch: `logit_backward` is a composite of arithmetic and `masked_fill`.
//! - Errors: complex numbers; `logit_` of integers and bools.
//! - Source: torch.special.logit, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::MaskedFillScalar;
use opgrid_tensor::tensor::Element;

pub use opgrid_tensor::ops::pointwise::logit::*;

/// The family of `aten::logit`: its kind, shape rule and `out` rule.
pub const LOGIT: Family<Logit> =
    Family::new(Logit, &kind::POINTWISE_UNARY, |input, _| pointwise::inexact_real_unary(input));

pub(super) fn register(library: &mut Library) {
    library
        .family(&LOGIT)
        .cpu(cpu)
        .derivative(|d, (input, eps)| d.by(input, [input], move |grad, [x]| backward(grad, x, eps)));
    library.implicit(LogitBackward, &kind::POINTWISE_BINARY, backward);
}

fn backward(grad: &Tensor, input: &Tensor, eps: Option<f64>) -> Result<Tensor> {
    activation::by_composite(grad, input, |grad, x| {
        let slope = (grad / (x * (1 - x)?)?)?;
        // Outside of where it is defined the slope is none, and zero where the input was clamped.
        let (low, outside) = eps.map_or((0.0, f64::NAN), |eps| (eps, 0.0));
        let is_outside = x.lt(low)?.logical_or(&x.gt(1.0 - low)?)?;
        MaskedFillScalar.call(&slope, &is_outside, Scalar::Float(outside))
    })
}

fn cpu(input: &Tensor, eps: Option<f64>, out: &Tensor) -> Result<()> {
    with_dtype!(inexact(input.dtype()), T: Float => {
        eps.map(|eps| arithmetic::element::<T>(Scalar::Float(eps))).transpose()?;
        // Without a bound, the bounds are those of all numbers.
        let (low, high) = eps.map_or((f64::NEG_INFINITY, f64::INFINITY), |eps| (eps, 1.0 - eps));
        let (low, high): (Math<T>, Math<T>) = (low.cast(), high.cast());
        elementwise::unary::<T, T>(out, input, move |a| {
            let limited = if a > high { high } else { a };
            let a = if a < low { low } else { limited };
            Inexact::log(a / (1.0 - a))
        })
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use opgrid_tensor::tensor::{bf16, f16};

    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| generate::and_named(generate::unary(dtype), "eps", 0.125);
        samples
            .operator(Logit, ORDERED, inputs, |it| {
                let eps: Option<f64> = it.option("eps")?;
                it.unary(DTypeRule::Inexact, |x| {
                    let x = x.to_complex().re;
                    let x = match eps {
                        Some(eps) if x < eps => eps,
                        Some(eps) if x > 1.0 - eps => 1.0 - eps,
                        _ => x,
                    };
                    Scalar::Float((x / (1.0 - x)).ln())
                })
            })
            .tolerance(8.0);
        samples
            .operator(LogitBackward, FLOATS, gradients, |it| {
                let eps: Option<f64> = it.option("eps")?;
                let (low, outside) = eps.map_or((0.0, f64::NAN), |eps| (eps, 0.0));
                activation::samples::of_two(it, ["grad_output", "self"], |grad, x| {
                    if x < low || x > 1.0 - low { outside } else { grad / (x * (1.0 - x)) }
                })
            })
            .tolerance(8.0);
        samples.rounds(LogitBackward, Roundings::all(Rounding::Result(8)));
        // Near one half the logarithm is of a quotient that is rounded in 16 bits there.
        samples.rounds(Logit, Roundings::all(Rounding::Near(8)));
        samples.differs(
            Logit,
            Difference {
                id: "bounds-of-logits-keep-their-digits",
                what: "torch rounds the bounds for 16-bit floats to their dtype, where they may become \
                     0 or 1; here the bounds keep their precision",
                why: "the bounds exist to keep results finite",
                test: ("opgrid-operators/tests/all/ends_of_ranges.rs", "logits_are_bounded_by_all_digits"),
                when: |seen| {
                    let short = |input: &Operand| matches!(input.dtype, DType::F16 | DType::BF16);
                    let Some(input) = seen.tensor("self").filter(|input| short(input)) else { return false };
                    let eps = seen.number("eps").and_then(|eps| eps.to_f64().ok());
                    let (Some(eps), Ok(limits)) = (eps, opgrid_tensor::tensor::finfo(input.dtype)) else {
                        return false;
                    };
                    let rounded = |x: f64| match input.dtype {
                        DType::F16 => f16::from_f64(x).to_f64(),
                        _ => bf16::from_f64(x).to_f64(),
                    };
                    let logit = |x: f64| (x / (1.0 - x)).ln();
                    let low = rounded(eps);
                    let ends = [(logit(eps), logit(low)), (logit(1.0 - eps), logit(rounded(1.0 - low)))];
                    let near = |x: f64, end: f64, steps: f64| {
                        x == end || (x - end).abs() <= limits.eps * (steps + end.abs())
                    };
                    seen.each(|(_, ours, torch)| {
                        ends.iter()
                            .any(|(own, theirs)| near(ours.re, *own, 0.0) && near(torch.re, *theirs, 2.0))
                    })
                },
                directed: Some(Directed {
                    operator: "aten::logit",
                    arguments: || {
                        let input = Operand::rows(0, DType::BF16, &[3], &[0.25, 0.5, 0.75]);
                        vec![("self", input.into()), ("eps", Scalar::Float(0.9995).into())]
                    },
                    needs: None,
                }),
            },
        );
    }

    /// Pairs of a gradient and an element, some of them between 0 and 1.
    fn gradients(dtype: DType) -> Vec<Sample> {
        let inside = Plain::from_elements(dtype, &[2, 4], &[0.25, 0.5, 0.0625, 0.9375, 1.0, 0.0]);
        let more = given(generate::numbers(dtype, &[2, 4], 1)).and(inside);
        let pairs = activation::samples::pairs(dtype).into_iter().chain([more]).collect();
        generate::and_named(pairs, "eps", 0.125)
    }
}
