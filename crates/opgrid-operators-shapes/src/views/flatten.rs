//! `aten::flatten`, `aten::ravel`: several dimensions as one.
//!
//! - Shapes: the dimensions from `start_dim` to `end_dim`, both included, become one; a number becomes `[1]`.
//!   `ravel` makes all of them one, in row-major order, for which it copies what is not row-major.
//! - Aliasing: `self` itself where it is one dimension, otherwise as [`Reshape`].
//! - Dispatch: a composite of `reshape`.
//! - Errors: a dimension out of range, an end before the start.
//! - Source: torch.flatten, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{Contiguous, Reshape, View};
use opgrid_tensor::tensor::views::normalise_dim;

pub use opgrid_tensor::ops::views::flatten::*;

pub(super) fn register(library: &mut Library) {
    library.define(FlattenUsingInts).kind(&kind::VIEW).implicit(flatten);
    library.define(Ravel).kind(&kind::VIEW).implicit(|input| {
        let rows = Contiguous.call(input, MemoryFormat::Contiguous)?;
        View.call(&rows, &[input.numel()])
    });
}

fn flatten(input: &Tensor, start_dim: i64, end_dim: i64) -> Result<Tensor> {
    let sizes = input.spec()?.sizes();
    let (start, end) = (normalise_dim(start_dim, sizes.len())?, normalise_dim(end_dim, sizes.len())?);
    if start > end {
        let message = format!(
            "argument `end_dim` is {end_dim}, which comes before `start_dim` {start_dim} in shape {sizes:?}"
        );
        return Err(argument(message));
    }
    if sizes.is_empty() {
        return Reshape.call(input, &[1]);
    }
    if start == end {
        return Ok(input.clone());
    }
    // No more than there are elements, unless there are none.
    let flat = sizes[start..=end].iter().fold(1i64, |flat, &size| flat.saturating_mul(size));
    Reshape.call(input, &[&sizes[..start], &[flat], &sizes[end + 1..]].concat())
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            let cases: [(&[i64], i64, i64); 5] =
                [(&[2, 3, 4], 0, -1), (&[2, 3, 4], 1, 2), (&[2, 3], 1, 1), (&[], 0, 0), (&[0, 2], 0, 1)];
            cases
                .map(|(sizes, start, end)| given(generate::numbers(dtype, sizes, 0)).and(start).and(end))
                .to_vec()
        };
        samples
            .operator(FlattenUsingInts, STORED, inputs, |it| {
                let x = it.tensor("self")?;
                let [start, end] = [it.value("start_dim")?, it.value("end_dim")?]
                    .map(|dim| naive::dimension(dim, x.sizes().len()));
                let sizes = match x.sizes() {
                    [] => vec![1],
                    sizes => {
                        [&sizes[..start], &[sizes[start..=end].iter().product()], &sizes[end + 1..]].concat()
                    }
                };
                Ok(x.with_sizes(&sizes).into())
            })
            .refuses("before `start_dim`", given(generate::numbers(DType::F32, &[2, 3], 0)).and(1).and(0));
        samples.operator(Ravel, STORED, generate::unary, |it| {
            let x = it.tensor("self")?;
            Ok(x.with_sizes(&[x.elements().len() as i64]).into())
        });
    }
}
