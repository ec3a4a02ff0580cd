//! Reductions.

use opgrid_core::DType;

use crate::Difference;

/// Differences for sums that are not finite.
pub const NOT_FINITE: Difference = Difference {
    id: "sums-that-are-not-finite",
    what: "torch sums in another order and in lower precision; a sum of infinities and of numbers near \
         the end of the range may be infinite in one order and NaN in the other",
    why: "both sides report an overflow",
    test: ("opgrid-operators/tests/all/differences/numbers.rs", "results_that_are_not_finite"),
    when: |seen| seen.each(|(_, ours, torch)| !ours.is_finite() && !torch.is_finite()),
    directed: None,
};

/// Differences for operators that test whether elements are zero.
pub const TRUTH_OF_ELEMENTS: Difference = Difference {
    id: "truth-of-elements",
    what: "torch converts elements to a uint8 output, which truncates them, before it tests them; here \
         the original element is tested",
    why: "0.5 is nonzero",
    test: ("opgrid-operators/tests/all/differences/numbers.rs", "any_and_all_look_at_elements_as_they_are"),
    when: |seen| seen.each(|(dtype, ..)| *dtype == DType::U8),
    directed: None,
};
