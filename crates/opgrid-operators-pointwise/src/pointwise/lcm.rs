//! `aten::lcm`: the smallest integer that both of two divide.
//!
//! `out[i]` is the smallest integer that both `self[i]` and `other[i]` divide; 0 where one is 0
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: promoted; integers.
//! - Values: they wrap around; the least number of a dtype, whose size it does not have, gives a negative one, as in torch.
//! - Aliasing: `lcm_` writes `self`, `lcm.out` writes `out`.
//! - Errors: bools, floating-point and complex numbers.
//! - Source: torch.lcm, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::divisors::Divisors;

pub use opgrid_tensor::ops::pointwise::lcm::*;

/// The family of `aten::lcm`: its kind, shape rule and `out` rule.
pub const LCM: Family<Lcm> = Family::new(Lcm, &kind::POINTWISE_BINARY, bits::integers_of_two);

pub(super) fn register(library: &mut Library) {
    library.family(&LCM).cpu(cpu);
}

fn cpu(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[input, other])?;
    let [input, other] = &pointwise::operands(dtype, [input, other])?;
    if dtype.is_wide_unsigned() {
        // The multiple of two uint32 may be beyond int64.
        return elementwise::binary::<u64, u64, u64>(out, input, other, u64::common_multiple);
    }
    with_dtype!(dtype, T: Integer => {
        elementwise::binary::<T, T, T>(out, input, other, T::common_multiple)
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let multiple = |a: Scalar, b: Scalar| {
            let [a, b] = [a, b].map(|x| number::whole(x).abs());
            Scalar::Int((1..=a * b).find(|k| k % a == 0 && k % b == 0).unwrap_or(0))
        };
        samples.operator_with(Lcm, INTEGERS, bits::samples::integer_pairs, move |it| {
            it.binary(DTypeRule::Promoted, multiple)
        });
    }
}
