//! `aten::index_add`: slices added at the indices of a dimension.
//!
//! `out[…, index[k], …] += alpha * source[…, k, …]`
//!
//! - Shapes: that of `self`, row-major; `source` has as many slices as there are indices.
//! - Dtypes: `source` has that of `self`, which `alpha` must fit; `index` is int32 or int64.
//! - Aliasing: `index_add_` writes `self`, `index_add.out` writes `out`, of the dtype of `self`.
//! - Errors: an index out of range (negative ones are), before anything is written; other shapes; overlap of what is
//!   written with `index` or `source`.
//! - Source: torch.index_add, PyTorch 2.15.

use crate::kinds::scatter::{self, Named};
use crate::prelude::*;
use opgrid_kernels::scatter as kernel;

pub use opgrid_tensor::ops::indexing::index_add::*;

/// The family of `aten::index_add`: its kind, shape rule and `out` rule.
pub const INDEX_ADD: Family<IndexAdd> = Family::new(IndexAdd, &kind::INDEXING, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&INDEX_ADD).cpu(cpu).derivative(|d, (input, dim, index, source, alpha)| {
        let sizes = source.sizes().to_vec();
        d.by(input, [], |grad, []| Ok(grad.clone()))?;
        d.by(source, [index], move |grad, [index]| {
            derivatives::times(&Named::Slices.read(grad, dim, index, &sizes)?, alpha)
        })
    });
}

fn shape(input: &Tensor, dim: i64, index: &Tensor, source: &Tensor, alpha: Scalar) -> Result<TensorSpec> {
    let dtype = input.spec()?.dtype();
    with_dtype!(dtype, _T: Any by itself => Ok(()))?;
    pointwise::check_factor("alpha", alpha, dtype)?;
    scatter::shape_of_joined_slices(input, dim, index, source)
}

fn cpu(input: &Tensor, dim: i64, index: &Tensor, source: &Tensor, alpha: Scalar, out: &Tensor) -> Result<()> {
    with_dtype!(out.dtype(), T: Any by itself => arithmetic::element::<T>(alpha).map(drop))?;
    let places = scatter::places_of_slices((input, out), (dim, index), &[source], false)?;
    kernel::add_scaled(out.array()?, &places, source.array()?, alpha)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| match dtype {
            // Bools have no factor but one.
            DType::Bool => scatter::samples::inputs_with_slices(dtype),
            dtype => generate::and_named(scatter::samples::inputs_with_slices(dtype), "alpha", 2),
        };
        let x = generate::numbers(DType::F32, &[2, 3], 0);
        let index = Plain::from_elements(DType::I64, &[2], &[2, 0]);
        samples
            .operator(IndexAdd, ANY, inputs, reference)
            .tolerance(4.0)
            .refuses_data("out of bounds", given(x.clone()).and(0).and(index.clone()).and(x.clone()))
            .refuses("slices", given(x.clone()).and(1).and(index.clone()).and(x.clone()))
            .refuses("a vector", given(x.clone()).and(0).and(index.with_sizes(&[1, 2])).and(x.clone()))
            .refuses(
                "integral",
                given(x.to(DType::I32)).and(0).and(index).and(x.to(DType::I32)).named("alpha", 0.5),
            );
        samples.rounds(IndexAdd, Roundings::all(Rounding::Sum(2)));
        samples.differs(IndexAdd, departures::math::NOT_FINITE);
        samples.differs(
            IndexAdd,
            Difference {
                id: "factors-that-are-truth-values",
                what: "torch accepts a bool as the factor for numbers in `index_add`, and a float, \
                     which it truncates, for integers, but not in `add`; here neither accepts them",
                why: "all sums behave alike",
                test: (
                    "opgrid-operators/tests/all/differences/refused.rs",
                    "what_torch_does_not_check_is_refused",
                ),
                when: |seen| {
                    seen.we_refuse("argument `alpha` is a bool")
                        || seen.we_refuse("argument `alpha` must not be")
                },
                directed: None,
            },
        );
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (dtype, alpha): (_, Scalar) = (it.tensor("self")?.dtype(), it.value("alpha")?);
        let add = move |own: Scalar, coming: &[Scalar]| {
            coming.iter().fold(own, |sum, value| {
                naive::convert(number::plus(sum, number::times(alpha, *value)), dtype)
            })
        };
        let plain = scatter::samples::reduced("sum", true, dtype);
        match alpha {
            Scalar::Int(1) => scatter::samples::reference_of_slices(it, it.tensor("source")?, &plain),
            _ => scatter::samples::reference_of_slices(it, it.tensor("source")?, &add),
        }
    }
}
