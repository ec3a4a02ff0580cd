//! `aten::gcd`: the largest integer that divides both of two.
//!
//! `out[i]` is the largest integer that divides both `self[i]` and `other[i]`; 0 for two zeros
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: promoted; integers.
//! - Values: they wrap around; the least number of a dtype, whose size it does not have, gives a negative one, as in torch.
//! - Aliasing: `gcd_` writes `self`, `gcd.out` writes `out`.
//! - Errors: bools, floating-point and complex numbers.
//! - Source: torch.gcd, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::divisors::Divisors;

pub use opgrid_tensor::ops::pointwise::gcd::*;

/// The family of `aten::gcd`: its kind, shape rule and `out` rule.
pub const GCD: Family<Gcd> = Family::new(Gcd, &kind::POINTWISE_BINARY, bits::integers_of_two);

pub(super) fn register(library: &mut Library) {
    library.family(&GCD).cpu(cpu);
}

fn cpu(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[input, other])?;
    let [input, other] = &pointwise::operands(dtype, [input, other])?;
    with_dtype!(dtype, T: Integer by value => {
        elementwise::binary::<T, T, T>(out, input, other, T::common_divisor)
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let divisor = |a: Scalar, b: Scalar| {
            let [a, b] = [a, b].map(|x| number::whole(x).abs());
            Scalar::Int((1..=a.max(b)).rev().find(|k| a % k == 0 && b % k == 0).unwrap_or(0))
        };
        samples.operator_with(Gcd, INTEGERS, bits::samples::integer_pairs, move |it| {
            it.binary(DTypeRule::Promoted, divisor)
        });
    }
}
