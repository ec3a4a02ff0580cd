//! Elementary functions.

use crate::Difference;

/// Differences for the inverses of the tangent and the hyperbolic tangent.
pub const INVERSE_TANGENTS: Difference = Difference {
    id: "inverse-tangents-of-large-numbers",
    what: "torch returns NaN for the inverse tangents of complex numbers whose squares overflow; here \
         they are finite",
    why: "the result is representable",
    test: ("opgrid-operators/tests/all/differences/layouts.rs", "results_do_not_depend_on_the_layout"),
    when: |seen| {
        seen.each(|(dtype, ours, torch)| dtype.is_complex() && ours.is_finite() && !torch.is_finite())
    },
    directed: None,
};
