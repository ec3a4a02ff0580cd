//! Activation functions.

use crate::Difference;

/// Of `mish`.
pub const SMALLEST_OF_MISH: Difference = Difference {
    id: "mish-of-the-smallest-numbers",
    what: "torch loses digits of the smallest numbers in vectors; here they keep their digits",
    why: "the slope at zero is not zero",
    test: ("opgrid-operators/tests/all/differences/layouts.rs", "results_do_not_depend_on_the_layout"),
    when: |seen| {
        seen.each(|(_, ours, torch)| {
            ours.norm() < 1e-36 && (ours - torch).norm() <= 1e-4 * ours.norm() + 2e-43
        })
    },
    directed: None,
};
