//! What divisions of real numbers share: shape rule, the search for zeros, and samples.

use opgrid_array::loops::elementwise::Operand as _;
use opgrid_core::{DType, Result};

use opgrid_kernels::division;
use opgrid_kinds::pointwise;
use opgrid_tensor::tensor::{Tensor, TensorSpec};

/// What has the promoted dtype of both, which are integers or floats.
pub(crate) fn of_reals(input: &Tensor, other: &Tensor) -> Result<TensorSpec> {
    let spec = pointwise::promoted([("self", input), ("other", other)])?;
    pointwise::check_real(spec.dtype())?;
    Ok(spec)
}

/// # Errors
///
/// Integers are divided by zero.
pub(crate) fn check_divisor(divisor: &Tensor, dtype: DType) -> Result<()> {
    if dtype.is_integral() {
        division::check_no_zero(divisor.source()?, divisor.spec()?, dtype)
    } else {
        Ok(())
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    /// Pairs of which the second is not zero, and floats at the ends of their range.
    pub(crate) fn pairs(dtypes: &[DType], dtype: DType) -> Vec<Sample> {
        let mut pairs = generate::pairs_to_divide(dtype);
        if dtype.is_floating_point() {
            let ends = generate::extremes(dtype);
            pairs.push(given(ends.with_sizes(&[ends.sizes()[0], 1])).and(ends));
        }
        generate::computed_in(dtypes, dtype, pairs)
    }

    /// Samples with a number as the divisor.
    pub(crate) fn by_number(dtypes: &[DType], dtype: DType) -> Vec<Sample> {
        generate::computed_in(dtypes, dtype, generate::with_number(dtype))
    }

    /// Samples with a number as the dividend.
    pub(crate) fn first(dtypes: &[DType], dtype: DType) -> Vec<Sample> {
        let shapes: [&[i64]; 4] = [&[2, 3], &[], &[0], &[2, 37]];
        let one = |sizes: &[i64]| [7, -7].map(|number| given(number).and(generate::nonzero(dtype, sizes, 1)));
        generate::computed_in(dtypes, dtype, shapes.into_iter().flat_map(one).collect())
    }

    /// Differences for remainders of large quotients.
    pub(crate) const LARGE_QUOTIENTS: Difference = Difference {
        id: "remainders-of-large-quotients",
        what: "torch computes remainders in vectorized code from a quotient, which overflows for small \
             divisors, and exactly elsewhere; here always exactly",
        why: "the remainder is representable",
        test: ("opgrid-operators/tests/all/differences/numbers.rs", "remainders_of_large_quotients"),
        when: |seen| seen.each(|(_, ours, torch)| ours.is_finite() && torch.re.is_nan()),
        directed: Some(Directed {
            operator: "aten::remainder.Tensor",
            arguments: || {
                vec![
                    ("self", Operand::rows(0, DType::F32, &[16], &[3e38; 16]).into()),
                    ("other", Operand::rows(1, DType::F32, &[16], &[1e-5; 16]).into()),
                ]
            },
            needs: None,
        }),
    };
}
