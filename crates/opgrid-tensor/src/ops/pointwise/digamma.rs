//! `aten::digamma`: the derivative of the logarithm of the gamma function.
//!
//! `out[i] = gamma'(self[i]) / gamma(self[i])`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones stay what they are; integers and bools give the default dtype.
//! - Values: Minus infinity at zero (infinity at -0), NaN at the negative integers.
//! - Aliasing: `digamma_` writes `self`, `digamma.out` writes `out`.
//! - Errors: complex numbers; `digamma_` of integers and bools.
//! - Source: torch.special.digamma, PyTorch 2.15.

use std::f64::consts::PI;

use crate::kernels::special::Special;
use crate::ops::prelude::*;
use crate::ops::{WhereScalarOther, WhereSelf};

operator! {
    home = crate::home_of(register);
    /// The derivative of the logarithm of the gamma function.
    pub Digamma = "aten::digamma(Tensor self) -> Tensor", in_place, out, method;
}

/// Kind, shape rule and `out` rule, for everybody.
pub const DIGAMMA: Family<Digamma> =
    Family::new(Digamma, &kind::POINTWISE_UNARY, pointwise::inexact_real_unary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&DIGAMMA)
        .cpu(cpu)
        .derivative(|d, (input,)| d.by(input, [input], |grad, [x]| grad * slope(x)?));
}

pub(super) fn samples(samples: &mut Samples) {
    samples
        .unary(Digamma, ORDERED, DTypeRule::Inexact, |x| number::inexact(x, digamma, |x| x))
        .tolerance(64.0);
    samples.rounds(Digamma, Roundings::all(Rounding::Near(16)).complex(Rounding::Near(64)));
}

/// By the recurrence up to numbers for which four terms of the series are enough; a negative number is lifted, too.
fn digamma(x: f64) -> f64 {
    if x <= 0.0 && x.trunc() == x {
        return if x == 0.0 { f64::NEG_INFINITY.copysign(-x) } else { f64::NAN };
    }
    if x < -1e4 {
        return f64::NAN;
    }
    let (mut x, mut result) = (x, 0.0);
    while x < 40.0 {
        result -= 1.0 / x;
        x += 1.0;
    }
    let series = 1.0 / 12.0 - 1.0 / (120.0 * x * x) + 1.0 / (252.0 * x.powi(4));
    result + x.ln() - 0.5 / x - series / (x * x)
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(inexact(input.dtype()), T: Float => elementwise::unary::<T, T>(out, input, Special::digamma))
}

/// The slope, by the recurrence up to numbers for which the series is enough, and by the reflection for those below a half.
fn slope(x: &Tensor) -> Result<Tensor> {
    let is_low = x.lt_scalar(0.5)?;
    let (mut large, mut sum) = (WhereSelf.call(&is_low, &(1 - x)?, x)?, derivatives::zeros(x)?);
    for _ in 0..10 {
        sum = (sum + (&large * &large)?.reciprocal()?)?;
        large = (large + 1)?;
    }
    let inverse = large.reciprocal()?;
    let square = (&inverse * &inverse)?;
    let mut series = (&square * (5.0 / 66.0))?;
    for coefficient in [-1.0 / 30.0, 1.0 / 42.0, -1.0 / 30.0, 1.0 / 6.0] {
        series = ((series + coefficient)? * &square)?;
    }
    sum = (sum + (((series + 1)? * inverse)? + (square * 0.5)?)?)?;
    // A half instead of the others, where the sine may be zero.
    let sine = (WhereScalarOther.call(&is_low, x, Scalar::Float(0.5))? * PI)?.sin()?;
    let reflected = ((sine.reciprocal()? * PI)?.square()? - &sum)?;
    WhereSelf.call(&is_low, &reflected, &sum)
}
