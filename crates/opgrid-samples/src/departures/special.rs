//! Special functions.

use opgrid_core::DType;

use crate::Difference;

/// Differences for the error function.
pub const SMALLEST_OF_ERF: Difference = Difference {
    id: "error-functions-of-the-smallest-numbers",
    what: "torch returns zero for numbers near the smallest ones in vectorized code, and loses \
         precision for 16-bit floats near zero; here they keep their precision",
    why: "the slope at zero is not zero",
    test: ("opgrid-operators/tests/all/differences/layouts.rs", "results_do_not_depend_on_the_layout"),
    when: |seen| {
        let is_short = |dtype| matches!(dtype, DType::F16 | DType::BF16);
        // Those are rounded before they come into a wider output.
        let are_short = seen.tensor("self").is_some_and(|input| is_short(input.dtype));
        seen.each(|(dtype, ours, torch)| {
            let units = (ours.re - torch.re).abs() * 2f64.powi(24);
            torch.re == 0.0 && ours.re.abs() < 1e-37
                || (are_short || is_short(*dtype)) && ours.re.abs() < 2e-4 && units <= 8.0
        })
    },
    directed: None,
};
