//! Arithmetic, and numbers beside tensors.

use opgrid_core::{DType, Scalar};

use crate::{Argument, Difference, Directed};

/// Differences for operators that torch computes in several ways.
pub const SIGN_OF_ZERO: Difference = Difference {
    id: "signs-of-zeros",
    what: "torch returns zeros of either sign if vectorized and scalar code use different instructions; \
         here every element is computed alike",
    why: "equal inputs give equal results",
    test: ("opgrid-operators/tests/all/differences/numbers.rs", "signs_of_zeros"),
    when: |seen| {
        let same = |ours: f64, torch: f64| ours == torch || (ours.is_nan() && torch.is_nan());
        seen.each(|(_, ours, torch)| same(ours.re, torch.re) && same(ours.im, torch.im))
    },
    directed: None,
};

/// Differences for operators that fill tensors with numbers.
pub const NUMBERS_FIT: Difference = Difference {
    id: "numbers-fit-what-they-are-written-to",
    what: "torch writes numbers that overflow a dtype as infinity, does not check bounds that a \
         sequence does not reach, and accepts some margins that overflow a loss; here they are rejected",
    why: "values must not be lost silently",
    test: ("opgrid-operators/tests/all/differences/outputs.rs", "numbers_that_are_written_fit_the_dtype"),
    when: |seen| {
        let words = ["without overflow", "cannot be cast to dtype"];
        words.iter().any(|words| seen.we_refuse(words))
    },
    directed: Some(Directed {
        operator: "aten::linspace",
        arguments: || {
            vec![
                ("start", Scalar::Int(4).into()),
                ("end", Scalar::Int(-300).into()),
                ("steps", Scalar::Int(1).into()),
                ("dtype", Argument::DType(DType::I8)),
            ]
        },
        needs: None,
    }),
};
