//! `aten::hinge_embedding_loss`: distances of what is alike, and what those of others lack to a margin.
//!
//! `loss[i] = self[i] if target[i] = 1, max(0, margin - self[i]) if target[i] = -1, their sum otherwise`, reduced to the
//! mean (1) or the sum (2) of all, or not (0), as `reduction` says
//!
//! - Shapes: `self` and `target` broadcast; none with a reduction.
//! - Dtypes: that of `self`.
//! - Dispatch: a composite of comparisons, `where` and arithmetic, whose derivatives it inherits.
//! - Errors: bools; the mean of integers; a `margin` beyond the dtype, or with a fraction beside integers; another `reduction`.
//! - Source: torch.nn.functional.hinge_embedding_loss, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{AddTensor, ClampMin, Full, NeScalar, SubTensor, WhereScalarOther};

pub use opgrid_tensor::ops::losses::hinge_embedding_loss::*;

pub(super) fn register(library: &mut Library) {
    library.define(HingeEmbeddingLoss).kind(&kind::LOSS).implicit(hinge_embedding_loss);
}

fn hinge_embedding_loss(input: &Tensor, target: &Tensor, margin: f64, reduction: i64) -> Result<Tensor> {
    const ZERO: Scalar = Scalar::Int(0);
    const ONE: Scalar = Scalar::Int(1);
    let dtype = input.spec()?.dtype();
    if dtype.is_integral() && margin.fract() != 0.0 {
        let message =
            format!("argument `margin` is {margin}, expected an integer for `self` of dtype {dtype}");
        return Err(argument(message));
    }
    let margin = Full.call(&[], Scalar::Float(margin), Some(dtype), None, Some(input.device()), None)?;
    let lack = ClampMin.call(&SubTensor.call(&margin, input, ONE)?, ZERO)?;
    let other = WhereScalarOther.call(&NeScalar.call(target, ONE)?, &lack, ZERO)?;
    let alike = WhereScalarOther.call(&NeScalar.call(target, Scalar::Int(-1))?, input, ZERO)?;
    loss::reduced(AddTensor.call(&other, &alike, ONE)?, reduction)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype: DType| -> Vec<Sample> {
            if !dtype.is_floating_point() {
                return Vec::new();
            }
            let shapes: [(&[i64], &[i64]); 4] =
                [(&[2, 3], &[2, 3]), (&[2, 3], &[3]), (&[], &[]), (&[0, 2], &[2])];
            let pair = |(a, b): (&[i64], &[i64])| {
                given(generate::numbers(dtype, a, 1)).and(Plain::from_elements(dtype, b, &[1, -1, 1]))
            };
            generate::and_named(loss::samples::all_reductions(shapes.map(pair).to_vec()), "margin", 0.5)
        };
        samples
            .operator(HingeEmbeddingLoss, FLOATS, inputs, |it| {
                let margin: f64 = it.value("margin")?;
                loss::samples::of_two(it, ["self", "target"], |x, target| {
                    let far = if target == 1.0 { 0.0 } else { (margin - x).max(0.0) };
                    far + if target == -1.0 { 0.0 } else { x }
                })
            })
            .tolerance(loss::samples::TOLERANCE);
        samples.rounds(HingeEmbeddingLoss, Roundings::all(Rounding::Sum(64)));
        samples.differs_as(
            HingeEmbeddingLoss,
            &[loss::samples::CHECKED, WHOLE, departures::arithmetic::NUMBERS_FIT],
        );
    }

    /// Differences for integer margins.
    const WHOLE: Difference = Difference {
        id: "margins-of-integers-are-integers",
        what: "torch truncates a margin with a fraction for integers; here it is rejected",
        why: "a fraction is probably a mistake",
        test: ("opgrid-operators/tests/all/losses.rs", "what_torch_does_not_check_is_refused"),
        when: |seen| seen.we_refuse("argument `margin` is"),
        directed: None,
    };
}
