//! `aten::clamp`: elements limited to a range.
//!
//! `out[i] = min(max(self[i], min), max)`, without the bound that is None
//!
//! - Shapes: that of `self`; tensors as bounds broadcast with it.
//! - Dtypes: numbers as bounds take part in promotion if `self` has no fractions, tensors always.
//! - Values: where the bounds cross, `max` counts. NaN among elements or bounds gives NaN.
//! - Aliasing: `clamp_` writes `self`, the `out` overloads write `out`, which has the dtype of the result beside numbers.
//! - Derivative: that of an element at a limit is zero where limits are numbers; limits that are tensors share it with the element.
//! - Dispatch: `clip` is another name, in all forms.
//! - Errors: no bound; complex numbers; bools between two bools; a number beyond the range of the dtype.
//! - Source: torch.clamp, PyTorch 2.15.

use crate::kinds::clamp;
use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::clamp::*;

/// The family of `aten::clamp`: its kind, shape rule and `out` rule.
pub const CLAMP: Family<Clamp> =
    Family::new(Clamp, &kind::POINTWISE_UNARY, clamp::by_numbers).same_dtype_out();

/// The family of `aten::clamp.Tensor`: its kind, shape rule and `out` rule.
pub const CLAMP_TENSOR: Family<ClampTensor> =
    Family::new(ClampTensor, &kind::POINTWISE_TERNARY, clamp::by_tensors);

pub(super) fn register(library: &mut Library) {
    library.family(&CLAMP).cpu(cpu).derivative(|d, (input, min, max)| {
        d.by(input, [input], move |grad, [x]| {
            let is_low = min.map(|min| x.gt(min)).transpose()?;
            let is_high = max.map(|max| x.lt(max)).transpose()?;
            clamp::slope(grad, is_low, is_high)
        })
    });
    library.family(&CLAMP_TENSOR).cpu(clamp::write_by_tensors).derivative(|d, (input, min, max)| {
        d.together([Some(input), min, max], [Some(input), min, max], clamp::slopes)
    });
}

fn cpu(input: &Tensor, low: Option<Scalar>, high: Option<Scalar>, out: &Tensor) -> Result<()> {
    opgrid_kernels::clamp::by_numbers(
        out.array()?,
        input.source()?,
        clamp::dtype_by_numbers(input, low, high)?,
        low,
        high,
    )
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.differs(
            Clamp,
            Difference {
                id: "complex-bounds",
                what: "torch accepts complex bounds with a zero imaginary part; here complex bounds are \
                     always rejected",
                why: "whether a call is valid must not depend on sizes or elements",
                test: (
                    "opgrid-operators/tests/all/differences/refused.rs",
                    "what_torch_does_not_check_is_refused",
                ),
                when: |seen| {
                    let is_complex = seen.numbers().any(|number| matches!(number, Scalar::Complex(_)));
                    is_complex && seen.we_refuse("expected a non-complex dtype")
                },
                directed: Some(Directed {
                    operator: "aten::clamp",
                    arguments: || {
                        vec![
                            ("self", Operand::rows(0, DType::F32, &[2], &[1.0, 2.0]).into()),
                            ("min", Scalar::Complex(Complex64::new(1.5, 0.0)).into()),
                        ]
                    },
                    needs: None,
                }),
            },
        );
        clamp::samples::by_numbers(samples, Clamp, clamp::samples::numbers);
        let inputs = |dtype| {
            let triples = generate::computed_in(REAL, dtype, generate::triples(dtype));
            // A single bound is fine for bools, too.
            let single = if dtype == DType::Bool { Vec::new() } else { clamp::samples::one_tensor(dtype) };
            triples.into_iter().chain(single).collect()
        };
        clamp::samples::by_tensors(samples, ClampTensor, REAL, inputs);
        samples
            .differs_as(Clamp, &[departures::arithmetic::SIGN_OF_ZERO, pointwise::samples::NUMBER_IN_RANGE]);
    }
}
