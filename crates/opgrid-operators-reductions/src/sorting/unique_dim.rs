//! `aten::unique_dim`, `aten::unique_dim_consecutive`: the different slices along a dimension in the order of their elements,
//! or the first one of each run of equal slices.
//!
//! `values[…, inverse[k], …] == self[…, k, …]`, and `counts[k]` slices are equal to `values[…, k, …]`
//!
//! - Shapes: `values` has the sizes of `self` but for dimension `dim`; `inverse` and `counts` have one dimension, and are
//!   given whether they are asked for or not.
//! - Dtypes: bools, integers and floats; `inverse` and `counts` are int64.
//! - Values: slices are in order, whether `sorted` or not. NaN is equal to nothing.
//! - Aliasing: `unique_dim.out` and `unique_dim_consecutive.out` write their outputs, and give them their shapes if they have
//!   no elements.
//! - Errors: other dtypes; a tensor without dimensions; a dimension out of range; slices without elements; a meta tensor; an
//!   output of another dtype or shape.
//! - Source: torch.unique with `dim`, PyTorch 2.15.

use crate::kinds::unique;
use crate::prelude::*;

pub use opgrid_tensor::ops::sorting::unique_dim::*;

pub(super) fn register(library: &mut Library) {
    library
        .define_with_forms(UniqueDim, &kind::SORTING)
        .on_cpu_and_meta(|input, dim, _, _, _| unique::of_slices(input, dim, false));
    library.implement(UniqueDimOut).on_cpu_and_meta(|input, dim, _, _, _, out0, out1, out2| {
        let found = unique::of_slices(input, dim, false)?;
        unique::write([(out0, &found.0), (out1, &found.1), (out2, &found.2)])
    });
    library
        .define_with_forms(UniqueDimConsecutive, &kind::SORTING)
        .on_cpu_and_meta(|input, dim, _, _| unique::of_slices(input, dim, true));
    library.implement(UniqueDimConsecutiveOut).on_cpu_and_meta(|input, dim, _, _, out0, out1, out2| {
        let found = unique::of_slices(input, dim, true)?;
        unique::write([(out0, &found.0), (out1, &found.1), (out2, &found.2)])
    });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let nothing = Difference {
            id: "unique-slices-of-nothing",
            what: "torch rejects tensors in which several dimensions have size zero; here there are no \
                 slices, so none are unique",
            why: "whether a call is valid must not depend on sizes or elements",
            test: ("opgrid-operators/tests/all/differences/computed.rs", "products_and_slices_of_nothing"),
            when: |seen| seen.torch_refuses("Number of zero sized dimensions is more than one"),
            directed: None,
        };
        samples.differs(UniqueDim, nothing);
        samples.differs(UniqueDimConsecutive, nothing);
        let inputs = |dtype| {
            let rows = Plain::from_elements(dtype, &[4, 2], &[1, 0, 0, 1, 1, 0, 0, 0]);
            let columns = Plain::from_elements(dtype, &[2, 4], &[1, 1, 0, 1, 0, 0, 1, 0]);
            vec![
                given(rows.clone()).and(0),
                given(rows).and(-1),
                given(columns.clone()).and(1),
                given(columns.with_sizes(&[2, 2, 2])).and(1),
                given(Plain::from_elements(dtype, &[0, 2], &[0])).and(0),
            ]
        };
        let number = given(generate::numbers(DType::F32, &[], 0)).and(0);
        let none = given(generate::numbers(DType::F32, &[2, 0], 0)).and(0);
        samples
            .operator(UniqueDim, ORDERED, inputs, |it| {
                Ok(unique::samples::expected_slices(it.tensor("self")?, it.value("dim")?, false).into())
            })
            .not_on_meta()
            .refuses("no dimensions", number.clone())
            .refuses("no elements", none);
        samples
            .operator(UniqueDimConsecutive, ORDERED, inputs, |it| {
                Ok(unique::samples::expected_slices(it.tensor("self")?, it.value("dim")?, true).into())
            })
            .not_on_meta()
            .refuses("no dimensions", number);
    }
}
