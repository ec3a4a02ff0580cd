//! `aten::searchsorted`: where values belong in lines that are in order.
//!
//! `sorted_sequence[…, out[…, i] - 1] < self[…, i] <= sorted_sequence[…, out[…, i]]`, with `<=` and `<` for `right`
//!
//! - Shapes: that of `self`. The sequence has one dimension, or the sizes of `self` but for the last.
//! - Dtypes: integers and floats, compared in their promoted dtype; the result is int64, or int32 with `out_int32`.
//! - Values: NaN belongs behind all. The sequence is in order, or is so by the indices of `sorter`; otherwise the result
//!   says nothing.
//! - Aliasing: `searchsorted.Tensor_out` and `searchsorted.Scalar_out` write `out`.
//! - Errors: other dtypes and shapes; a `side` that is neither left nor right, or says otherwise than `right`; a `sorter` of
//!   another shape or dtype, or with an index out of range; an output of another dtype.
//! - Source: torch.searchsorted, PyTorch 2.15.

use crate::kinds::searching;
use crate::prelude::*;

pub use opgrid_tensor::ops::sorting::searchsorted::*;

/// The family of `aten::searchsorted.Tensor`: its kind, shape rule and `out` rule.
pub const SEARCHSORTED_TENSOR: Family<SearchsortedTensor> =
    Family::new(SearchsortedTensor, &kind::SORTING, shape).same_dtype_out();

/// The family of `aten::searchsorted.Scalar`: its kind, shape rule and `out` rule.
pub const SEARCHSORTED_SCALAR: Family<SearchsortedScalar> =
    Family::new(SearchsortedScalar, &kind::SORTING, |sequence, value, out_int32, right, side, sorter| {
        shape(sequence, &Tensor::number(value), out_int32, right, side, sorter)
    })
    .same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&SEARCHSORTED_TENSOR).cpu(|sequence, values, _, right, side, sorter, out| {
        searching::fill(sequence, values, searching::is_right(right, side)?, sorter, out)
    });
    library.family(&SEARCHSORTED_SCALAR).cpu(|sequence, value, _, right, side, sorter, out| {
        searching::fill(sequence, &Tensor::number(value), searching::is_right(right, side)?, sorter, out)
    });
}

fn shape(
    sequence: &Tensor,
    values: &Tensor,
    out_int32: bool,
    right: bool,
    side: Option<&str>,
    sorter: Option<&Tensor>,
) -> Result<TensorSpec> {
    searching::is_right(right, side)?;
    searching::check_sorter(sequence, sorter)?;
    searching::places(sequence, values, out_int32)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let (line, rows) = (line(DType::F32), generate::numbers(DType::F32, &[2, 3], 0));
        let one = given(line.clone()).and(rows.clone());
        samples
            .operator(SearchsortedTensor, REAL, inputs, |it| {
                searching::samples::expected(it, "sorted_sequence", "self")
            })
            .refuses("same sizes", given(generate::numbers(DType::F32, &[3, 4], 0)).and(rows.clone()))
            .refuses("no dimensions", given(generate::numbers(DType::F32, &[], 0)).and(rows))
            .refuses("side", one.clone().named("side", "up"))
            .refuses("side", one.clone().named("side", "left").named("right", true))
            .refuses("sorter", one.clone().named("sorter", Plain::from_elements(DType::I64, &[2], &[0, 1])))
            .refuses("int64", one.clone().named("sorter", Plain::from_elements(DType::I32, &[5], &[0])))
            .refuses_data("out of range", one.named("sorter", Plain::from_elements(DType::I64, &[5], &[5])));
        samples.operator(
            SearchsortedScalar,
            REAL,
            |dtype| {
                let one = given(self::samples::line(dtype)).and(3);
                vec![
                    one.clone(),
                    one.clone().named("right", true),
                    one.named("out_int32", true),
                    given(generate::numbers(dtype, &[0], 0)).and(1),
                ]
            },
            |it| searching::samples::expected(it, "sorted_sequence", "self"),
        );
        samples.differs(SearchsortedScalar, READ_AFTER_WRITTEN);
    }

    /// Five elements in order, of which two are equal.
    fn line(dtype: DType) -> Plain {
        Plain::from_elements(dtype, &[5], &[0, 3, 3, 5, 20])
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let values = Plain::from_elements(dtype, &[2, 3], &[3, 0, 21, 4, 5, 1]);
        let one = given(line(dtype)).and(values.clone());
        let rows = Plain::from_elements(dtype, &[2, 4], &[0, 1, 4, 4, 2, 3, 5, 9]);
        let shuffled = Plain::from_elements(dtype, &[5], &[3, 20, 0, 5, 3]);
        vec![
            one.clone(),
            one.clone().named("right", true),
            one.clone().named("side", "right").named("out_int32", true),
            given(rows.clone()).and(values.clone()),
            given(rows).and(values.clone()).named("right", true),
            given(shuffled)
                .and(values)
                .named("sorter", Plain::from_elements(DType::I64, &[5], &[2, 0, 4, 3, 1])),
            given(line(dtype)).and(Plain::from_elements(dtype, &[], &[4])),
            given(line(dtype)).and(generate::extremes(dtype)),
            given(Plain::from_elements(dtype, &[0], &[0])).and(generate::numbers(dtype, &[3], 1)),
            given(line(dtype)).and(generate::numbers(dtype, &[0], 1)),
        ]
    }
}
