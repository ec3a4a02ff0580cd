//! `aten::take`: elements of the tensor as one list.
//!
//! `out[i] = self.flatten()[index[i]]`
//!
//! - Shapes: that of `index`, row-major.
//! - Dtypes: that of `self`; `index` is int64.
//! - Aliasing: `take.out` writes `out`, of the dtype of `self`, and gives it its shape if it has no elements.
//! - Errors: an index out of range (negative ones count from the end); overlap of `out` with `self` or `index`.
//! - Source: torch.take, PyTorch 2.15.

use crate::kinds::scatter;
use crate::prelude::*;
use opgrid_kernels::copy;
use opgrid_kernels::indexing::{self, Indexed, Lookup};
use opgrid_kinds::indexing as check;
use opgrid_tensor::ops::Put;

pub use opgrid_tensor::ops::indexing::take::*;

/// The family of `aten::take`: its kind, shape rule and `out` rule.
pub const TAKE: Family<Take> = Family::new(Take, &kind::INDEXING, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&TAKE).cpu(cpu).derivative(|d, (input, index)| {
        let sizes = input.sizes().to_vec();
        d.by(input, [index], move |grad, [index]| {
            Put.call(&derivatives::zeros_of(&sizes, grad)?, index, grad, true)
        })
    });
}

fn shape(input: &Tensor, index: &Tensor) -> Result<TensorSpec> {
    let (spec, places) = (input.spec()?, index.spec()?);
    scatter::check_long(index)?;
    check::dimension(spec, 0, places)?;
    if spec.numel() == 0 && places.numel() > 0 {
        let message = format!(
            "argument `self` has no elements, but `index` has {}; expected an empty `index`",
            places.numel()
        );
        return Err(opgrid_array::error::out_of_range(message));
    }
    TensorSpec::contiguous(places.sizes(), spec.dtype(), spec.device())
}

fn cpu(input: &Tensor, index: &Tensor, out: &Tensor) -> Result<()> {
    indexing::check_apart(out.array()?, index.array()?)?;
    indexing::check_apart(out.array()?, input.array()?)?;
    let rows = copy::rows(input.array()?)?;
    let list = Indexed { dim: 0, size: rows.spec().numel(), stride: 1, from_end: true };
    let offsets = indexing::offsets(index.sizes(), [(list, index.array()?)])?;
    let flat = rows.view(rows.geometry().view(&[rows.spec().numel()])?)?;
    indexing::read(out.array()?, &flat, &Lookup::new(flat.geometry(), 0..1, offsets)?)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.differs(
            Take,
            Difference {
                id: "what-is-taken-lies-in-rows",
                what: "torch gives an empty output the memory format of the indices, and a new result \
                     row-major order; here both are row-major",
                why: "the functional and `out` forms agree",
                test: (
                    "opgrid-operators/tests/all/differences/layouts.rs",
                    "results_that_are_made_lie_in_rows",
                ),
                when: |seen| seen.out().is_some_and(Operand::is_empty) && seen.lies_in_rows_here(),
                directed: None,
            },
        );
        let inputs = |dtype| {
            let cases: [(&[i64], &[i64], &[i64]); 5] = [
                (&[2, 3], &[2, 2], &[5, -1, 0, -6]),
                (&[4], &[3], &[0, 0, 3]),
                (&[], &[2], &[0, -1]),
                (&[2, 3], &[], &[4]),
                (&[0], &[0], &[]),
            ];
            let one = |(sizes, shape, index): (&[i64], &[i64], &[i64])| {
                given(generate::numbers(dtype, sizes, 0)).and(Plain::from_elements(DType::I64, shape, index))
            };
            cases.map(one).to_vec()
        };
        let (x, index) =
            (generate::numbers(DType::F32, &[2, 3], 0), Plain::from_elements(DType::I64, &[1], &[6]));
        samples
            .operator(Take, STORED, inputs, |it| {
                let (x, index) = (it.tensor("self")?, it.tensor("index")?);
                let count = x.elements().len() as i64;
                let place = |position: &[i64]| number::whole(index.at(position)).rem_euclid(count) as usize;
                Ok(Plain::from_fn(x.dtype(), index.sizes(), |position| x.elements()[place(position)]).into())
            })
            .refuses_data("out of bounds", given(x.clone()).and(index.clone()))
            .refuses("expected int64", given(x).and(index.to(DType::I32)))
            .refuses("no elements", given(generate::numbers(DType::F32, &[0], 0)).and(index));
    }
}
