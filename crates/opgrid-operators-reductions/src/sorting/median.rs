//! `aten::median`: the element in the middle of all, or over a dimension and where it is.
//!
//! As many elements are not larger as are not smaller; the lower one of two in the middle.
//!
//! - Shapes: without the dimension `dim`, or with size 1 for it with `keepdim`; none of all elements.
//! - Dtypes: integers and floats; indices are int64.
//! - Values: NaN if there is one, and for no elements. Of equal elements the index is that of one in the middle, counted from the first.
//! - Aliasing: `median.out` writes `out`, `median.dim_values` writes `values` and `indices`.
//! - Derivative: of all elements, equal ones share the gradient; along a dimension the one at the index has it.
//! - Errors: other dtypes; integers without elements; a dimension of size 0 or out of range; an output of another dtype.
//! - Source: torch.median, PyTorch 2.15, where integers without elements give the smallest of their range.

use crate::kinds::order;
use crate::prelude::*;
use opgrid_kernels::sorting::{self, Rank};

pub use opgrid_tensor::ops::sorting::median::*;

/// The family of `aten::median`: its kind, shape rule and `out` rule.
pub const MEDIAN: Family<Median> = Family::new(Median, &kind::SORTING, order::middle).same_dtype_out();

/// The family of `aten::median.dim`: its kind, shape rule and `out` rule.
pub const MEDIAN_DIM: Family<MedianDim> =
    Family::new(MedianDim, &kind::SORTING, order::middle_of_lines).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&MEDIAN)
        .cpu(|input, out| sorting::of_all(out.array()?, input.array()?, Rank::Median))
        .derivative(|d, (input,)| order::derivative_of_middle(d, input));
    library
        .family(&MEDIAN_DIM)
        .cpu(|input, dim, _, values, indices| order::fill_one(input, dim, Rank::Median, values, indices))
        .derivative(|d, (input, dim, keepdim)| derivatives::selected_values(d, input, dim, keepdim));
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        order::samples::of_middle(samples, (Median, MedianDim), chosen);
        samples.differs_as(
            Median,
            &[
                order::samples::EQUAL_ELEMENTS,
                order::samples::OF_NOTHING,
                order::samples::REPEATED,
                READ_AFTER_WRITTEN,
            ],
        );
    }

    /// Where the one in the middle is.
    fn chosen(line: &[Scalar]) -> usize {
        match line.iter().position(|element| number::is_nan(*element)) {
            Some(place) => place,
            None => order::samples::places(line, false)
                .get(line.len().saturating_sub(1) / 2)
                .copied()
                .unwrap_or(0),
        }
    }
}
