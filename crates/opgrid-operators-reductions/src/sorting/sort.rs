//! `aten::sort`: the elements in order along a dimension, and where they were.
//!
//! `values[0] <= values[1] <= …`, `values[i] = self[indices[i]]`, with indices of dimension `dim`
//!
//! - Shapes: those of `self`, and strides too where it has no gaps.
//! - Dtypes: bools, integers and floats; indices are int64. NaN is larger than every number.
//! - Values: equal elements keep their order, whether `stable` or not.
//! - Aliasing: `sort.values` and `sort.values_stable` write `values` and `indices`.
//! - Dispatch: `sort` is made of `sort.stable`.
//! - Errors: other dtypes; a dimension out of range; more than 4294967295 elements along it; an output of another dtype.
//! - Source: torch.sort, PyTorch 2.15.

use crate::kinds::order;
use crate::prelude::*;
use opgrid_kernels::sorting;

pub use opgrid_tensor::ops::sorting::sort::*;

/// The family of `aten::sort.stable`: its kind, shape rule and `out` rule.
pub const SORT_STABLE: Family<SortStable> =
    Family::new(SortStable, &kind::SORTING, |input, _, dim, _| order::sorted(input, dim)).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&SORT_STABLE)
        .cpu(|input, _, dim, descending, values, indices| {
            let dim = order::dimension(input, dim)?;
            sorting::sort(values.array()?, indices.array()?, input.array()?, dim, descending)
        })
        .derivative(|d, (input, _, dim, _)| derivatives::selected_values(d, input, dim, true));
    library
        .define_with_forms(Sort, &kind::SORTING)
        .composite(|input, dim, descending| SortStable.call(input, Some(false), dim, descending))
        .derivative(|d, (input, dim, _)| derivatives::selected_values(d, input, dim, true));
    library.implement(SortValues).composite(|input, dim, descending, values, indices| {
        SortValuesStable.call(input, Some(false), dim, descending, values, indices)
    });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.differs(Sort, order::samples::EQUAL_PLACES);
        let both_ways = |dtype| {
            let ways = |sample: Sample| [false, true].map(|descending| sample.clone().and(descending));
            order::samples::lines(dtype).into_iter().flat_map(ways).collect()
        };
        let named = |dtype| {
            let one = |sample: Sample| match sample.positional.as_slice() {
                [input, dim] => given(input.clone()).named("stable", true).named("dim", dim.clone()),
                _ => sample,
            };
            order::samples::lines(dtype).into_iter().map(one).collect()
        };
        let complex = || given(generate::numbers(DType::Complex64, &[2], 0));
        samples
            .operator(Sort, ORDERED, both_ways, reference)
            .refuses("range", given(generate::numbers(DType::F32, &[2], 0)).and(1))
            .refuses("not implemented", complex());
        samples
            .operator(SortStable, ORDERED, named, reference)
            .refuses("not implemented", complex().named("stable", true));
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (x, dim, descending): (_, i64, bool) =
            (it.tensor("self")?, it.value("dim")?, it.value("descending")?);
        Ok(order::samples::expected(x, dim, &|length| length, &|line| {
            order::samples::places(line, descending)
        })
        .into())
    }
}
