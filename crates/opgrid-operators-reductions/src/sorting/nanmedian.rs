//! `aten::nanmedian`: the element in the middle of all numbers, or over a dimension and where it is.
//!
//! As many elements are not larger as are not smaller; the lower one of two in the middle.
//!
//! - Shapes: without the dimension `dim`, or with size 1 for it with `keepdim`; none of all elements.
//! - Dtypes: integers and floats; indices are int64.
//! - Values: NaN is left out; NaN for no numbers. Of equal elements the index is that of one in the middle, counted from the first.
//! - Aliasing: `nanmedian.out` writes `out`, `nanmedian.dim_values` writes `values` and `indices`.
//! - Derivative: of all elements, equal ones share the gradient; along a dimension the one at the index has it.
//! - Errors: other dtypes; integers without elements; a dimension of size 0 or out of range; an output of another dtype.
//! - Source: torch.nanmedian, PyTorch 2.15, where integers without elements give the smallest of their range.

use crate::kinds::order;
use crate::prelude::*;
use opgrid_kernels::sorting::{self, Rank};

pub use opgrid_tensor::ops::sorting::nanmedian::*;

/// The family of `aten::nanmedian`: its kind, shape rule and `out` rule.
pub const NANMEDIAN: Family<Nanmedian> =
    Family::new(Nanmedian, &kind::SORTING, order::middle).same_dtype_out();

/// The family of `aten::nanmedian.dim`: its kind, shape rule and `out` rule.
pub const NANMEDIAN_DIM: Family<NanmedianDim> =
    Family::new(NanmedianDim, &kind::SORTING, order::middle_of_lines).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&NANMEDIAN)
        .cpu(|input, out| sorting::of_all(out.array()?, input.array()?, Rank::NanMedian))
        .derivative(|d, (input,)| order::derivative_of_middle(d, input));
    library
        .family(&NANMEDIAN_DIM)
        .cpu(|input, dim, _, values, indices| order::fill_one(input, dim, Rank::NanMedian, values, indices))
        .derivative(|d, (input, dim, keepdim)| derivatives::selected_values(d, input, dim, keepdim));
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        order::samples::of_middle(samples, (Nanmedian, NanmedianDim), chosen);
        samples.differs_as(
            Nanmedian,
            &[
                order::samples::EQUAL_ELEMENTS,
                order::samples::REPEATED,
                order::samples::OF_NOTHING,
                READ_AFTER_WRITTEN,
            ],
        );
    }

    /// Where the one in the middle is.
    fn chosen(line: &[Scalar]) -> usize {
        let numbers = line.iter().filter(|element| !number::is_nan(**element)).count();
        order::samples::places(line, false).get(numbers.saturating_sub(1) / 2).copied().unwrap_or(0)
    }
}
