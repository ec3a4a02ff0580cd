//! `aten::index_reduce`: slices combined at the indices of a dimension.
//!
//! `out[…, i, …] = reduce(self[…, i, …], source[…, k, …], …)` over all `k` with `index[k] = i`
//!
//! - Combinations: `prod`, `mean`, `amax`, `amin`; without `include_self` the element that was there does not count. Places
//!   that no slice comes to keep it. The mean of integers is rounded down.
//! - Shapes, errors: as [`IndexAdd`](opgrid_tensor::ops::IndexAdd); bools and complex numbers.
//! - Aliasing: `index_reduce_` writes `self`, `index_reduce.out` writes `out`, of the dtype of `self`.
//! - Source: torch.Tensor.index_reduce_, PyTorch 2.15.

use crate::kinds::scatter::{self, Named, Reduction};
use crate::prelude::*;

pub use opgrid_tensor::ops::indexing::index_reduce::*;

/// The family of `aten::index_reduce`: its kind, shape rule and `out` rule.
pub const INDEX_REDUCE: Family<IndexReduce> =
    Family::new(IndexReduce, &kind::INDEXING, |input, dim, index, source, reduce, include_self| {
        Reduction::named(reduce, &NAMES, include_self)?;
        with_dtype!(input.spec()?.dtype(), _T: Real by itself => Ok(()))?;
        scatter::shape_of_joined_slices(input, dim, index, source)
    })
    .same_dtype_out();

const NAMES: [&str; 4] = ["prod", "mean", "amax", "amin"];

pub(super) fn register(library: &mut Library) {
    library
        .family(&INDEX_REDUCE)
        .cpu(|input, dim, index, source, reduce, include_self, out| {
            let places = scatter::places_of_slices((input, out), (dim, index), &[source], false)?;
            Reduction::named(reduce, &NAMES, include_self)?.apply(out.array()?, &places, source.array()?)
        })
        .derivative(|d, (input, dim, index, source, reduce, include_self)| {
            scatter::reduction_derivative(
                d,
                Named::Slices,
                [input, source],
                (dim, index),
                reduce,
                include_self,
            )
        });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            let with_names = |sample: Sample| {
                NAMES.into_iter().flat_map(move |name| {
                    let sample = sample.clone().and(name);
                    [sample.clone(), sample.named("include_self", false)]
                })
            };
            scatter::samples::inputs_with_slices(dtype).into_iter().flat_map(with_names).collect()
        };
        let x = generate::numbers(DType::F32, &[2, 3], 0);
        let index = Plain::from_elements(DType::I64, &[2], &[1, 2]);
        samples
            .operator(IndexReduce, REAL, inputs, |it| {
                let (name, include_self): (String, bool) = (it.value("reduce")?, it.value("include_self")?);
                let combine = scatter::samples::reduced(&name, include_self, it.tensor("self")?.dtype());
                scatter::samples::reference_of_slices(it, it.tensor("source")?, &combine)
            })
            .tolerance(8.0)
            .refuses("prod, mean", given(x.clone()).and(0).and(index.clone()).and(x.clone()).and("sum"))
            .refuses("as many dimensions", {
                let vector = x.with_sizes(&[6]);
                given(vector)
                    .and(0)
                    .and(Plain::from_elements(DType::I64, &[1], &[0]))
                    .and(Plain::number(DType::F32, 1))
                    .and("mean")
            })
            .refuses_data("out of bounds", given(x.clone()).and(0).and(index).and(x).and("amax"));
        samples.rounds(IndexReduce, Roundings::all(Rounding::Sum(4)));
        samples.differs(IndexReduce, departures::arithmetic::SIGN_OF_ZERO);
        samples.differs(
            IndexReduce,
            Difference {
                id: "slices-of-any-strides",
                what: "torch fails an internal assertion if slices have repeated elements, and reduces \
                     complex and bool slices but not vectors; here slices may have any strides, and \
                     both dtypes are rejected",
                why: "slices and vectors behave alike",
                test: ("opgrid-operators/tests/all/differences/layouts.rs", "slices_of_any_strides"),
                when: |seen| {
                    seen.torch_refuses("INTERNAL ASSERT FAILED")
                        || seen.we_refuse("not implemented for 'Complex")
                        || seen.we_refuse("not implemented for 'Bool'")
                },
                directed: None,
            },
        );
    }
}
