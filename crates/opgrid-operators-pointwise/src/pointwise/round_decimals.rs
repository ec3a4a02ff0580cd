//! `aten::round.decimals`, `special_round`: the nearest number with so many decimals.
//!
//! `out[i] = round(self[i] * 10 ^ decimals) / 10 ^ decimals`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones.
//! - Values: ties are those of the product; negative `decimals` round to tens and more.
//! - Aliasing: `round_.decimals` writes `self`, `round.decimals_out` writes `out`, which has the dtype of `self`.
//! - Dispatch: `special_round` is another name.
//! - Errors: other dtypes.
//! - Source: torch.round, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::rounding::Whole;
use opgrid_tensor::tensor::Element;

pub use opgrid_tensor::ops::pointwise::round_decimals::*;

/// The family of `aten::round.decimals`: its kind, shape rule and `out` rule.
pub const ROUND_DECIMALS: Family<RoundDecimals> =
    Family::new(RoundDecimals, &kind::POINTWISE_UNARY, |input, _| pointwise::float_unary(input))
        .same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&ROUND_DECIMALS)
        .cpu(cpu)
        .derivative(|d, (input, _)| d.by(input, [], |grad, []| derivatives::zeros(grad)))
        .alias(SpecialRound, RoundDecimals)
        .alias(SpecialRoundOut, RoundDecimalsOut);
}

/// Multiplied by a power of ten that is a whole number, or divided by one, which loses the fewest digits.
fn cpu(input: &Tensor, decimals: i64, out: &Tensor) -> Result<()> {
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

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            let with = |sample: Sample| {
                [0, 1, -1].map(|decimals| sample.clone().named("decimals", i64::from(decimals)))
            };
            generate::unary_numbers(dtype).into_iter().flat_map(with).collect()
        };
        samples
            .operator(RoundDecimals, FLOATS, inputs, |it| {
                let scale = 10f64.powi(it.value::<i64>("decimals")? as i32);
                it.unary(DTypeRule::Promoted, |x| {
                    Scalar::Float((x.to_complex().re * scale).round_ties_even() / scale)
                })
            })
            .tolerance(2.0);
        samples.alias(SpecialRound, RoundDecimals);
    }
}
