//! `aten::round`: the nearest whole number, or the nearest one with so many decimals.
//!
//! `out[i] = the nearest integer to self[i], the even one of two`
//!
//! - Shapes: that of `self`.
//! - Dtypes: that of `self`; integers stay what they are. With `decimals`, floats only.
//! - Values: with `decimals` the number is multiplied by that power of ten, rounded and divided, so that ties are those of
//!   the product; negative ones round to tens and more.
//! - Aliasing: `round_` writes `self`, the `out` overloads write `out`, which has the dtype of `self`.
//! - Errors: bools and complex numbers; integers with `decimals`.
//! - Source: torch.round, PyTorch 2.15.

use crate::kernels::rounding::Whole;
use crate::ops::prelude::*;
use crate::tensor::Element;

operator! {
    home = crate::home_of(register);
    /// The nearest whole number, the even one of two.
    pub Round = "aten::round(Tensor self) -> Tensor", in_place, out, method;
    /// The nearest number with so many decimals.
    pub RoundDecimals = "aten::round.decimals(Tensor self, *, int decimals) -> Tensor", in_place, out, method(round_decimals);
}

/// Kind, shape rule and `out` rule, for everybody.
pub const ROUND: Family<Round> =
    Family::new(Round, &kind::POINTWISE_UNARY, pointwise::real_unary).same_dtype_out();

/// Kind, shape rule and `out` rule, for everybody.
pub const ROUND_DECIMALS: Family<RoundDecimals> =
    Family::new(RoundDecimals, &kind::POINTWISE_UNARY, |input, _| pointwise::float_unary(input))
        .same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&ROUND)
        .cpu(cpu)
        .derivative(|d, (input,)| d.by(input, [], |grad, []| derivatives::zeros(grad)));
    library
        .family(&ROUND_DECIMALS)
        .cpu(decimals_cpu)
        .derivative(|d, (input, _)| d.by(input, [], |grad, []| derivatives::zeros(grad)));
}

pub(super) fn samples(samples: &mut Samples) {
    samples.unary(Round, REAL, DTypeRule::Promoted, |x| number::whole_by(x, f64::round_ties_even));
    let inputs = |dtype| {
        let with =
            |sample: Sample| [0, 1, -1].map(|decimals| sample.clone().named("decimals", i64::from(decimals)));
        make::unary_numbers(dtype).into_iter().flat_map(with).collect()
    };
    samples
        .of(RoundDecimals, FLOATS, inputs, |it| {
            let scale = 10f64.powi(it.value::<i64>("decimals")? as i32);
            it.unary(DTypeRule::Promoted, |x| {
                Scalar::Float((x.to_complex().re * scale).round_ties_even() / scale)
            })
        })
        .tolerance(2.0);
    samples.differs(Round, arithmetic::SIGN_OF_ZERO);
    samples.rounds(Round, Roundings::all(Rounding::Result(2)));
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T: Real => elementwise::unary::<T, T>(out, input, Whole::round))
}

/// Multiplied by a power of ten that is a whole number, or divided by one, which loses the fewest digits.
fn decimals_cpu(input: &Tensor, decimals: i64, out: &Tensor) -> Result<()> {
    let scale = 10f64.powi(decimals.unsigned_abs().min(400) as i32);
    let is_fraction = decimals < 0;
    with_dtype!(input.dtype(), T: Float => {
        let scale: Math<T> = scale.cast();
        elementwise::unary::<T, T>(out, input, move |a| {
            let scaled = if is_fraction { a / scale } else { a * scale };
            let whole = Whole::round(scaled);
            if is_fraction { whole * scale } else { whole / scale }
        })
    })
}
