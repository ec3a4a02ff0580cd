//! Arithmetic, and numbers beside tensors.

use opgrid_core::{DType, Scalar};

use crate::{Argument, Difference, Directed};

/// Of operators that torch computes by several ways.
pub const SIGN_OF_ZERO: Difference = Difference {
    id: "signs-of-zeros",
    what: "torch gives zeros of one sign or the other where vectors and single elements are computed by \
           different instructions; here each element alike",
    why: "equal numbers, computed in one way",
    test: ("opgrid-operators/tests/all/differences/numbers.rs", "signs_of_zeros"),
    when: |seen| {
        let same = |ours: f64, torch: f64| ours == torch || (ours.is_nan() && torch.is_nan());
        seen.each(|(_, ours, torch)| same(ours.re, torch.re) && same(ours.im, torch.im))
    },
    directed: None,
};

/// Of operators that fill tensors with numbers.
pub const NUMBERS_FIT: Difference = Difference {
    id: "numbers-fit-what-they-are-written-to",
    what: "torch writes numbers beyond the range of a dtype as infinity, or does not look at bounds that a \
           sequence does not reach, and takes some margins beyond the range of a loss; here they are refused",
    why: "numbers must not be lost silently",
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
