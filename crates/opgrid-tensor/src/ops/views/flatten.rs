//! `aten::flatten`: several dimensions as one.
//!
//! - Shapes: the dimensions from `start_dim` to `end_dim`, both included, become one; a number becomes `[1]`.
//! - Aliasing: `self` itself where it is one dimension, otherwise as [`Reshape`].
//! - Dispatch: a composite of `reshape`.
//! - Errors: a dimension out of range, an end before the start.
//! - Source: torch.flatten, PyTorch 2.15.

use crate::ops::Reshape;
use crate::ops::prelude::*;
use crate::tensor::views::normalise_dim;

operator! {
    home = crate::home;
    /// The dimensions from `start_dim` to `end_dim`, both included, as one.
    pub FlattenUsingInts = "aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)", method;
}

pub(super) fn register(library: &mut Library) {
    library.define(FlattenUsingInts).kind(&kind::VIEW).implicit(flatten);
}

pub(super) fn samples(samples: &mut Samples) {
    let inputs = |dtype| {
        let cases: [(&[i64], i64, i64); 5] =
            [(&[2, 3, 4], 0, -1), (&[2, 3, 4], 1, 2), (&[2, 3], 1, 1), (&[], 0, 0), (&[0, 2], 0, 1)];
        cases.map(|(sizes, start, end)| given(make::numbers(dtype, sizes, 0)).and(start).and(end)).to_vec()
    };
    samples
        .of(FlattenUsingInts, STORED, inputs, |it| {
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
        .refuses("before `start_dim`", given(make::numbers(DType::F32, &[2, 3], 0)).and(1).and(0));
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
    let flat: i64 = sizes[start..=end].iter().product();
    Reshape.call(input, &[&sizes[..start], &[flat], &sizes[end + 1..]].concat())
}
