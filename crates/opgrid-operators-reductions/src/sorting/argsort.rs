//! `aten::argsort`: where the elements were that are in order along a dimension.
//!
//! `self[out[0]] <= self[out[1]] <= …`, with indices of dimension `dim`
//!
//! - Shapes, dtypes, values, errors: those of the indices of `sort`.
//! - Aliasing: `argsort.stable_out` writes `out`.
//! - Dispatch: made of `sort.stable`.
//! - Source: torch.argsort, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::SortStable;

pub use opgrid_tensor::ops::sorting::argsort::*;

pub(super) fn register(library: &mut Library) {
    library
        .define(Argsort)
        .kind(&kind::SORTING)
        .implicit(|input, dim, descending| indices(input, false, dim, descending));
    library.define_with_forms(ArgsortStable, &kind::SORTING).implicit(indices);
    library.implement(ArgsortStableOut).implicit(|input, stable, dim, descending, out| {
        result::copied(out, &indices(input, stable, dim, descending)?)
    });
}

fn indices(input: &Tensor, stable: bool, dim: i64, descending: bool) -> Result<Tensor> {
    SortStable.call(input, Some(stable), dim, descending).map(|(_, indices)| indices)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::order;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
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
        samples
            .operator(Argsort, ORDERED, both_ways, reference)
            .refuses("range", given(generate::numbers(DType::F32, &[2], 0)).and(1));
        samples.operator(ArgsortStable, ORDERED, named, reference);
        samples.differs_as(Argsort, &[READ_AFTER_WRITTEN]);
        samples.differs(Argsort, order::samples::EQUAL_PLACES);
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (x, dim, descending): (_, i64, bool) =
            (it.tensor("self")?, it.value("dim")?, it.value("descending")?);
        let [_, indices] = order::samples::expected(x, dim, &|length| length, &|line| {
            order::samples::places(line, descending)
        });
        Ok(indices.into())
    }
}
