//! `aten::scatter`: values written to the places of a dimension that indices name.
//!
//! `out[i, index[i, j, k], k] = src[i, j, k]` for dimension 1; with `reduce`, the sum or product of both
//!
//! - Shapes: that of `self`, row-major; `index` has as many dimensions, outside of `dim` no larger ones, and none larger
//!   than those of `src`. An `index` without elements writes nothing.
//! - Dtypes: `src` has that of `self`, to which `value` is converted; `index` is int32 or int64.
//! - Values: of several for one place the last one stays.
//! - Aliasing: `scatter_` writes `self`, the `out` forms `out`, of the dtype of `self`.
//! - Derivative: values that others overwrite have gradients, too, as in torch.
//! - Errors: an index out of range (negative ones are), before anything is written; another `reduce` than `add` and
//!   `multiply`; overlap of what is written with `index` or `src`.
//! - Source: torch.scatter, PyTorch 2.15.

use crate::kinds::scatter::{self, Named, Reduction, Source};
use crate::prelude::*;
use opgrid_kernels::scatter::Combine;
use opgrid_tensor::ops::FullLike;

pub use opgrid_tensor::ops::indexing::scatter::*;

/// The family of `aten::scatter.src`: its kind, shape rule and `out` rule.
pub const SCATTER_SRC: Family<ScatterSrc> =
    Family::new(ScatterSrc, &kind::INDEXING, |input, dim, index, src| {
        scatter::shape(input, dim, index, Source::Tensor(src))
    })
    .same_dtype_out();

/// The family of `aten::scatter.value`: its kind, shape rule and `out` rule.
pub const SCATTER_VALUE: Family<ScatterValue> =
    Family::new(ScatterValue, &kind::INDEXING, |input, dim, index, value| {
        scatter::shape(input, dim, index, Source::Number(value))
    })
    .same_dtype_out();

/// The family of `aten::scatter.reduce`: its kind, shape rule and `out` rule.
pub const SCATTER_REDUCE: Family<ScatterReduce> =
    Family::new(ScatterReduce, &kind::INDEXING, |input, dim, index, src, reduce| {
        reduction(reduce)?.check_dtype(input.spec()?.dtype())?;
        scatter::shape(input, dim, index, Source::Tensor(src))
    })
    .same_dtype_out();

/// The family of `aten::scatter.value_reduce`: its kind, shape rule and `out` rule.
pub const SCATTER_VALUE_REDUCE: Family<ScatterValueReduce> =
    Family::new(ScatterValueReduce, &kind::INDEXING, |input, dim, index, value, reduce| {
        reduction(reduce)?.check_dtype(input.spec()?.dtype())?;
        scatter::shape(input, dim, index, Source::Number(value))
    })
    .same_dtype_out();

const REPLACED: Reduction = Reduction::new(Combine::Replace);

pub(super) fn register(library: &mut Library) {
    library
        .family(&SCATTER_SRC)
        .cpu(|input, dim, index, src, out| {
            scatter::scatter((input, out), (dim, index), Source::Tensor(src), REPLACED)
        })
        .derivative(|d, (input, dim, index, src)| {
            let sizes = src.sizes().to_vec();
            d.by(input, [index], move |grad, [index]| Named::Elements.cleared(grad, dim, index))?;
            d.by(src, [index], move |grad, [index]| Named::Elements.read(grad, dim, index, &sizes))
        });
    library
        .family(&SCATTER_VALUE)
        .cpu(|input, dim, index, value, out| {
            scatter::scatter((input, out), (dim, index), Source::Number(value), REPLACED)
        })
        .derivative(|d, (input, dim, index, _)| {
            d.by(input, [index], move |grad, [index]| Named::Elements.cleared(grad, dim, index))
        });
    library
        .family(&SCATTER_REDUCE)
        .cpu(|input, dim, index, src, reduce, out| {
            scatter::scatter((input, out), (dim, index), Source::Tensor(src), reduction(reduce)?)
        })
        .derivative(|d, (input, dim, index, src, reduce)| {
            let name = if reduce == "add" { "sum" } else { "prod" };
            scatter::reduction_derivative(d, Named::Elements, [input, src], (dim, index), name, true)
        });
    library
        .family(&SCATTER_VALUE_REDUCE)
        .cpu(|input, dim, index, value, reduce, out| {
            scatter::scatter((input, out), (dim, index), Source::Number(value), reduction(reduce)?)
        })
        .derivative(|d, (input, dim, index, value, reduce)| {
            let name = if reduce == "add" { "sum" } else { "prod" };
            let src = FullLike.call(index, value, Some(input.dtype()), None, None, None, None)?;
            scatter::reduction_derivative(d, Named::Elements, [input, &src], (dim, index), name, true)
        });
}

fn reduction(name: &str) -> Result<Reduction> {
    Reduction::named(name, &["add", "multiply"], true)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2, 3], 0);
        let index = Plain::from_elements(DType::I64, &[1, 3], &[2]);
        samples
            .operator(ScatterSrc, STORED, scatter::samples::inputs_with_values, |it| {
                scatter::samples::reference_of_each(it, it.tensor("src")?, &|_, coming| {
                    coming[coming.len() - 1]
                })
            })
            // Values that others overwrite get gradients, too, as in torch.
            .constant(&["src"])
            .refuses_data("out of bounds", given(x.clone()).and(0).and(index.clone()).and(x.clone()))
            .refuses("expected float32", given(x.clone()).and(0).and(index.clone()).and(x.to(DType::F64)))
            .refuses("as many dimensions", given(x.clone()).and(0).and(index.with_sizes(&[3])).and(x.clone()))
            .refuses("no larger", given(x.clone()).and(1).and(index.clone()).and(x.with_sizes(&[6, 1])));
        samples
            .operator(ScatterValue, STORED, with_value, |it| {
                let values = values_of(it)?;
                scatter::samples::reference_of_each(it, &values, &|_, coming| coming[0])
            })
            .refuses_data("overflow", given(x.to(DType::U8)).and(1).and(index.clone()).and(300));
        let combined = |dtype| {
            let all = scatter::samples::inputs_with_values(dtype)
                .into_iter()
                .zip(["add", "multiply"].into_iter().cycle());
            all.map(|(sample, reduce)| sample.named("reduce", reduce)).collect()
        };
        samples
            .operator(ScatterReduce, ANY, combined, |it| {
                let name: String = it.value("reduce")?;
                let combine = scatter::samples::reduced(&name, true, it.tensor("self")?.dtype());
                scatter::samples::reference_of_each(it, it.tensor("src")?, &combine)
            })
            .tolerance(4.0)
            .refuses("add, multiply", given(x.clone()).and(0).and(index).and(x).named("reduce", "sum"));
        let value_combined = |dtype| {
            let all = with_value(dtype).into_iter().zip(["add", "multiply"].into_iter().cycle());
            all.map(|(sample, reduce)| sample.named("reduce", reduce)).collect()
        };
        samples
            .operator(ScatterValueReduce, ANY, value_combined, |it| {
                let name: String = it.value("reduce")?;
                let combine = scatter::samples::reduced(&name, true, it.tensor("self")?.dtype());
                scatter::samples::reference_of_each(it, &values_of(it)?, &combine)
            })
            .tolerance(4.0);
        samples.differs(ScatterSrc, departures::arithmetic::NUMBERS_FIT);
        samples.rounds(ScatterSrc, Roundings::all(Rounding::Sum(2)));
    }

    fn with_value(dtype: DType) -> Vec<Sample> {
        scatter::samples::inputs(dtype).into_iter().map(|sample| sample.and(2)).collect()
    }

    /// The value at every position, as the dtype has it.
    fn values_of(it: &Inputs) -> Result<Plain> {
        let (x, index) = (it.tensor("self")?, it.tensor("index")?);
        Ok(Plain::from_elements(x.dtype(), index.sizes(), &[it.value::<Scalar>("value")?]))
    }
}
