//! `aten::std`: the standard deviation of all elements, or over dimensions.
//!
//! `out[j] = sqrt((|self[0, j] - m[j]|² + |self[1, j] - m[j]|² + …) / (n - correction))`, where `m[j]` is the average
//!
//! - Shapes: without the dimensions of `dim`, or with size 1 for them with `keepdim`; no `dim` means all.
//! - Dtypes: that of `self`; that of the parts for complex numbers, which are points in the plane.
//! - Values: NaN for no elements; infinite, or NaN, where there are no more elements than `correction`.
//! - Aliasing: `std.correction_out` and `std.out` write `out`.
//! - Derivative: zero where the deviation is.
//! - Dispatch: the overloads with `unbiased` are made of `std.correction`, with a correction of one or zero.
//! - Errors: integers and bools; a dimension out of range or named twice; a complex `correction`.
//! - Source: torch.std, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::reductions::std::*;

/// The family of `aten::std.correction`: its kind, shape rule and `out` rule.
pub const STD_CORRECTION: Family<StdCorrection> =
    Family::new(StdCorrection, &kind::REDUCTION, variance_rules::over_dims);

pub(super) fn register(library: &mut Library) {
    library
        .family(&STD_CORRECTION)
        .cpu(|input, dim, correction, _, out| variance_rules::fill(input, dim, correction, true, out))
        .derivative(|d, (input, dim, correction, keepdim)| {
            variance_rules::derivative(d, input, (dim, correction, keepdim), true)
        });
    library.define(Std).kind(&kind::REDUCTION).implicit(|input, unbiased| {
        StdCorrection.call(input, None, variance_rules::correction(unbiased), false)
    });
    library.define_with_forms(StdDim, &kind::REDUCTION).implicit(|input, dim, unbiased, keepdim| {
        StdCorrection.call(input, dim, variance_rules::correction(unbiased), keepdim)
    });
    library.implement(StdOut).implicit(|input, dim, unbiased, keepdim, out| {
        StdCorrectionOut.call(input, dim, variance_rules::correction(unbiased), keepdim, out)
    });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    /// Differences for the corrections of standard deviations.
    pub(crate) const CORRECTIONS: Difference = Difference {
        id: "spreads-into-complex-outputs",
        what: "torch has no kernel that writes real standard deviations to complex outputs, and accepts \
             complex corrections with a zero imaginary part; here results are converted to complex, \
             and corrections are real",
        why: "all outputs behave alike",
        test: ("opgrid-operators/tests/all/differences/refused.rs", "what_torch_does_not_check_is_refused"),
        when: |seen| {
            seen.torch_refuses("not implemented for 'Complex") || seen.we_refuse("argument `correction`")
        },
        directed: Some(Directed {
            operator: "aten::var.correction",
            arguments: || {
                vec![
                    ("self", Operand::rows(0, DType::F32, &[2], &[1.0, 2.0]).into()),
                    ("dim", Argument::None),
                    ("correction", Scalar::Complex(Complex64::new(1.0, 0.0)).into()),
                ]
            },
            needs: None,
        }),
    };

    /// Differences for standard deviations of large numbers.
    pub(crate) const OF_LARGE_NUMBERS: Difference = Difference {
        id: "spreads-of-large-numbers",
        what: "torch rounds variances to the dtype before it takes the root, and those of both parts of \
             complex numbers before it adds them, so that standard deviations whose squares overflow \
             become infinite or NaN; here they are finite",
        why: "the mathematical result",
        test: ("opgrid-operators/tests/all/ends_of_ranges.rs", "deviations_of_large_numbers"),
        when: |seen| {
            let leaves = |dtype: DType, ours: f64| {
                let largest = opgrid_tensor::tensor::finfo(dtype).map_or(f64::MAX, |limits| limits.max);
                !ours.is_finite() || ours >= 0.9 * largest.sqrt()
            };
            seen.each(|(dtype, ours, torch)| !torch.is_finite() && leaves(*dtype, ours.re))
        },
        directed: None,
    };

    pub(crate) fn collect(samples: &mut Samples) {
        samples.differs_as(Std, &[CORRECTIONS, OF_LARGE_NUMBERS]);
        variance_rules::samples::collect(samples, (Std, StdDim, StdCorrection), f64::sqrt);
    }
}
