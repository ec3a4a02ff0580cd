//! `aten::cummaxmin_backward`: the gradient of `cummax` and of `cummin`.
//!
//! `out[…, indices[i], …] += grad[i]`
//!
//! - Shapes: that of `input`, which all have.
//! - Dtypes: one for `grad` and `input`; `indices` is int32 or int64.
//! - Dispatch: a composite of `scatter_add`.
//! - Errors: those of `scatter_add`; two dtypes.
//! - Source: torch.ops.aten.cummaxmin_backward, PyTorch 2.15.

use crate::kinds::scans;
use crate::prelude::*;

pub use opgrid_tensor::ops::scans::cummaxmin_backward::*;

pub(super) fn register(library: &mut Library) {
    library.implicit(CummaxminBackward, &kind::SCAN, |grad, input, indices, dim| {
        pointwise::check_one_dtype(("input", input), ("grad", grad))?;
        scans::gradient_of_extremes(grad, input.sizes(), indices, dim)
    });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[3], 0);
        let index = Plain::from_elements(DType::I64, &[3], &[2]);
        samples
            .operator(CummaxminBackward, ANY, inputs, |it| {
                let (grad, indices, dim) = (it.tensor("grad")?, it.tensor("indices")?, it.value("dim")?);
                let chosen = |lines: &[Vec<Scalar>]| {
                    let mut sums = vec![None; lines[0].len()];
                    for (element, index) in lines[0].iter().zip(&lines[1]) {
                        let sum: &mut Option<Scalar> = &mut sums[number::whole(*index) as usize];
                        *sum = Some(sum.map_or(*element, |sum| number::plus(sum, *element)));
                    }
                    sums.into_iter().map(|sum| sum.unwrap_or(Scalar::Int(0))).collect()
                };
                Ok(Plain::of_lines(&[grad, indices], dim, grad.dtype(), chosen).into())
            })
            .tolerance(4.0)
            .refuses("expected float64 as `input`", {
                given(x.clone()).and(x.to(DType::F64)).and(index.clone()).and(0)
            })
            .refuses("range", given(x.clone()).and(x).and(index).and(1));
        samples.rounds(CummaxminBackward, Roundings::all(Rounding::Sum(2)));
    }

    /// Gradients with indices that do not descend.
    fn inputs(dtype: DType) -> Vec<Sample> {
        let cases: [(&[i64], i64); 5] = [(&[5], 0), (&[2, 4], 1), (&[3, 2], -2), (&[], 0), (&[0, 2], 1)];
        let one = |(sizes, dim): (&[i64], i64)| {
            let along = naive::dimension(dim, sizes.len());
            let index = Plain::from_fn(DType::I64, sizes, |position| {
                Scalar::Int(position.get(along).map_or(0, |at| at / 2 * 2))
            });
            given(generate::numbers(dtype, sizes, 1))
                .and(generate::numbers(dtype, sizes, 2))
                .and(index)
                .and(dim)
        };
        cases.map(one).to_vec()
    }
}
