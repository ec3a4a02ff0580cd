//! `aten::index_fill`: a number at the indices of a dimension.
//!
//! `out[…, index[k], …] = value`
//!
//! - Shapes: that of `self`, whose dimensions keep their order in memory; a `value` tensor has no dimensions.
//! - Dtypes: that of `self`, to which `value` is converted; `index` is int64.
//! - Aliasing: `index_fill_` writes `self`, the `out` forms `out`, of the dtype of `self`.
//! - Errors: an index out of range (negative ones count from the end), before anything is written; a number beyond the
//!   range of the dtype; overlap of what is written with `index`.
//! - Source: torch.index_fill, PyTorch 2.15.

use crate::kinds::scatter::{self, Named};
use crate::prelude::*;
use opgrid_kernels::scatter::{self as kernel, Combine};
use opgrid_tensor::ops::LocalScalarDense;

pub use opgrid_tensor::ops::indexing::index_fill::*;

/// The family of `aten::index_fill.int_Scalar`: its kind, shape rule and `out` rule.
pub const INDEX_FILL: Family<IndexFillIntScalar> =
    Family::new(IndexFillIntScalar, &kind::INDEXING, |input, dim, index, value| {
        if matches!(value, Scalar::Complex(_)) && !input.spec()?.dtype().is_complex() {
            let message = format!(
                "argument `value` is complex, expected a real number for `self` of dtype {}; give its real part",
                input.dtype()
            );
            return Err(argument(message));
        }
        shape(input, dim, index)
    })
    .same_dtype_out();

/// The family of `aten::index_fill.int_Tensor`: its kind, shape rule and `out` rule.
pub const INDEX_FILL_TENSOR: Family<IndexFillIntTensor> =
    Family::new(IndexFillIntTensor, &kind::INDEXING, |input, dim, index, value| {
        match value.spec()?.sizes() {
            [] => shape(input, dim, index),
            sizes => Err(argument(format!(
                "argument `value` has shape {sizes:?}, expected a tensor without dimensions"
            ))),
        }
    })
    .same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&INDEX_FILL).cpu(cpu).derivative(|d, (input, dim, index, _)| {
        d.by(input, [index], move |grad, [index]| Named::Slices.cleared(grad, dim, index))
    });
    library
        .family(&INDEX_FILL_TENSOR)
        .cpu(|input, dim, index, value, out| cpu(input, dim, index, LocalScalarDense.call(value)?, out))
        .derivative(|d, (input, dim, index, value)| {
            d.by(input, [index], move |grad, [index]| Named::Slices.cleared(grad, dim, index))?;
            d.by(value, [index], move |grad, [index]| {
                grad.sub(&Named::Slices.cleared(grad, dim, index)?)?.sum()
            })
        });
}

fn shape(input: &Tensor, dim: i64, index: &Tensor) -> Result<TensorSpec> {
    let spec = input.spec()?;
    scatter::check_long(index)?;
    scatter::check_vector(spec, dim, index.spec()?)?;
    TensorSpec::elementwise(&[spec.geometry()], spec.dtype(), spec.device())
}

fn cpu(input: &Tensor, dim: i64, index: &Tensor, value: Scalar, out: &Tensor) -> Result<()> {
    with_dtype!(out.dtype(), T: Stored => arithmetic::element::<T>(value).map(drop))?;
    let places = scatter::places_of_slices((input, out), (dim, index), &[], true)?;
    kernel::fill(out.array()?, &places, value, Combine::Replace)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2, 3], 0);
        let index = Plain::from_elements(DType::I64, &[1], &[2]);
        samples
            .operator(IndexFillIntScalar, STORED, |dtype| inputs(dtype, |_| Scalar::Int(2).into()), reference)
            .refuses_data("out of bounds", given(x.clone()).and(0).and(index.clone()).and(1))
            .refuses("expected int64", given(x.clone()).and(0).and(index.to(DType::I32)).and(1))
            .refuses_data("overflow", given(x.to(DType::U8)).and(1).and(index.clone()).and(300));
        samples
            .operator(
                IndexFillIntTensor,
                STORED,
                |dtype| inputs(dtype, |dtype| Plain::number(dtype, 2).into()),
                reference,
            )
            .refuses("without dimensions", given(x.clone()).and(1).and(index).and(x));
        samples.differs(IndexFillIntScalar, departures::arithmetic::NUMBERS_FIT);
        samples.differs(
            IndexFillIntTensor,
            Difference {
                id: "complex-numbers-that-are-real-are-filled-in",
                what: "torch rejects a complex number with a zero imaginary part for real tensors in \
                     `index_fill`; here it is converted, as in `fill`",
                why: "all fill values behave alike",
                test: ("opgrid-operators/tests/all/differences/computed.rs", "complex_numbers_that_are_real"),
                when: |seen| {
                    let is_real = |value: &Operand| value.elements.iter().all(|element| element.im == 0.0);
                    seen.tensor("value").is_some_and(is_real)
                        && seen.torch_refuses("Converting complex Scalar to non-complex type")
                },
                directed: None,
            },
        );
    }

    fn inputs(dtype: DType, value: fn(DType) -> Given) -> Vec<Sample> {
        let cases: [(&[i64], i64, &[i64]); 6] = [
            (&[3, 4], 0, &[2, -3]),
            (&[3, 4], -1, &[1, 1]),
            (&[5], 0, &[-1]),
            (&[], 0, &[0]),
            (&[3, 0], 0, &[1]),
            (&[2, 3, 2], 1, &[]),
        ];
        let one = |(sizes, dim, index): (&[i64], i64, &[i64])| {
            let index = Plain::from_elements(DType::I64, &[index.len() as i64], index);
            given(generate::numbers(dtype, sizes, 0)).and(dim).and(index).and(value(dtype))
        };
        cases.into_iter().map(one).collect()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let value = it.operand("value")?;
        scatter::samples::reference_of_slices(
            it,
            &Plain::from_elements(it.tensor("self")?.dtype(), &[], value.elements()),
            &|_, coming| coming[0],
        )
    }
}
