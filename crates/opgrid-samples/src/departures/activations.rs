//! Activation functions.

use crate::Difference;

/// Differences for `mish`.
pub const SMALLEST_OF_MISH: Difference = Difference {
    id: "mish-of-the-smallest-numbers",
    what: "torch loses precision for the smallest numbers in vectorized code; here they keep their \
         precision",
    why: "the slope at zero is not zero",
    test: ("opgrid-operators/tests/all/differences/layouts.rs", "results_do_not_depend_on_the_layout"),
    when: |seen| {
        seen.each(|(_, ours, torch)| {
            ours.norm() < 1e-36 && (ours - torch).norm() <= 1e-4 * ours.norm() + 2e-43
        })
    },
    directed: None,
};
