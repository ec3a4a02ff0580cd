//! `aten::mode`: the element that is there most often along a dimension, and where it is.
//!
//! `values = self[indices]`
//!
//! - Shapes: without the dimension `dim`, or with size 1 for it with `keepdim`.
//! - Dtypes: bools, integers and floats; indices are int64.
//! - Values: of several elements the smallest, at its last place. NaN is equal to NaN, and larger than every number.
//! - Aliasing: `mode.values` writes `values` and `indices`.
//! - Errors: complex numbers; a dimension of size 0 or out of range; an output of another dtype.
//! - Source: torch.mode, PyTorch 2.15.

use crate::kinds::order;
use crate::prelude::*;
use opgrid_kernels::sorting::Rank;

pub use opgrid_tensor::ops::sorting::mode::*;

/// The family of `aten::mode`: its kind, shape rule and `out` rule.
pub const MODE: Family<Mode> = Family::new(Mode, &kind::SORTING, order::one).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&MODE)
        .cpu(|input, dim, _, values, indices| order::fill_one(input, dim, Rank::Mode, values, indices))
        .derivative(|d, (input, dim, keepdim)| derivatives::selected_values(d, input, dim, keepdim));
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let refused = [
            given(generate::numbers(DType::F32, &[0], 0)),
            given(generate::numbers(DType::F32, &[2], 0)).and(1),
        ];
        order::samples::of_one(samples, Mode, ORDERED, order::samples::filled_lines, refused, |_, line| {
            let places = order::samples::places(line, false);
            let is_same = |a: usize, b: usize| {
                number::same(line[a], line[b]) || line[a].to_f64().ok() == line[b].to_f64().ok()
            };
            let (mut best, mut longest, mut run) = (0, 0, 0);
            for (at, place) in places.iter().enumerate() {
                run = if at > 0 && is_same(places[at - 1], *place) { run + 1 } else { 1 };
                // A run that is longer than all before it is so at its last element.
                if run > longest {
                    (best, longest) = (*place, run);
                }
            }
            best
        });
        samples.differs(Mode, order::samples::EQUAL_ELEMENTS);
        samples.differs(Mode, order::samples::ONE_COMPLEX_NUMBER);
        samples.differs(
            Mode,
            Difference {
                id: "mode-of-nan",
                what: "torch returns NaN, at any index, if there is a NaN in the middle of comparisons; \
                     here NaN equals NaN and is larger than every number, as in sorting",
                why: "all operators order NaN alike",
                test: (
                    "opgrid-operators/tests/all/differences/numbers.rs",
                    "equal_elements_keep_their_order",
                ),
                when: |seen| {
                    seen.tensor("self").is_some_and(|x| x.elements.iter().any(|element| element.re.is_nan()))
                },
                directed: Some(Directed {
                    operator: "aten::mode",
                    arguments: || {
                        vec![("self", Operand::rows(0, DType::F32, &[3], &[1.0, f64::NAN, f64::NAN]).into())]
                    },
                    needs: None,
                }),
            },
        );
    }
}
