//! `aten::value_selecting_reduction_backward`: the gradient of operators that choose elements along a dimension, as `max.dim`, `sort`
//! and `topk`.
//!
//! `out[…, indices[i], …] = grad[i]`, and zeros elsewhere
//!
//! - Shapes: `sizes`; with `keepdim`, or where `sizes` are none, `grad` and `indices` have as many dimensions, otherwise they lack `dim`.
//! - Dtypes: that of `grad`; `indices` is int32 or int64.
//! - Dispatch: a composite of `scatter`.
//! - Errors: those of `scatter`.
//! - Source: torch.ops.aten.value_selecting_reduction_backward, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::sorting::value_selecting_reduction_backward::*;

pub(super) fn register(library: &mut Library) {
    library.implicit(
        ValueSelectingReductionBackward,
        &kind::INDEXING,
        |grad, dim, indices, sizes, keepdim| {
            derivatives::at_places(grad, dim, indices, sizes, keepdim || sizes.is_empty())
        },
    );
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[3], 0);
        let index = Plain::from_elements(DType::I64, &[3], &[2]);
        samples
            .operator(ValueSelectingReductionBackward, ANY, inputs, reference)
            .refuses("expected int32 or int64", {
                given(x.clone()).and(0).and(index.to(DType::F32)).and(vec![2, 3]).and(false)
            })
            .refuses_data("", given(x).and(0).and(index).and(vec![2, 3]).and(false));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        /// Sizes, those of the gradient, the dimension, and whether it is kept.
        pub type Case = (&'static [i64], &'static [i64], i64, bool);
        let cases: [Case; 6] = [
            (&[2, 3], &[3], 0, false),
            (&[2, 3], &[1, 3], 0, true),
            (&[2, 3], &[2], -1, false),
            (&[2, 4], &[2, 3], 1, true),
            (&[], &[], 0, false),
            (&[2, 0], &[0], 0, false),
        ];
        let one = |(sizes, grad, dim, keepdim): Case| {
            // Different ones of each line.
            let index = Plain::from_fn(DType::I64, grad, |position| {
                let rest = position.iter().sum::<i64>();
                Scalar::Int(rest % sizes.get(naive::dimension(dim, sizes.len())).copied().unwrap_or(1).max(1))
            });
            let sample = given(generate::numbers(dtype, grad, 1)).and(dim).and(index);
            sample.and(sizes.to_vec()).and(keepdim)
        };
        cases.map(one).to_vec()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (grad, indices, sizes): (_, _, Vec<i64>) =
            (it.tensor("grad")?, it.tensor("indices")?, it.value("sizes")?);
        let (dim, keepdim): (i64, bool) = (it.value("dim")?, it.value("keepdim")?);
        let dim = naive::dimension(dim, sizes.len());
        let mut result = Plain::from_elements::<i64>(grad.dtype(), &sizes, &[]);
        for position in naive::positions(grad.sizes()) {
            let index = number::whole(indices.at(&position));
            let place = match () {
                () if sizes.is_empty() => Vec::new(),
                () if keepdim => [&position[..dim], &[index], &position[dim + 1..]].concat(),
                () => [&position[..dim], &[index], &position[dim..]].concat(),
            };
            result.set(&place, grad.at(&position));
        }
        Ok(result.into())
    }
}
