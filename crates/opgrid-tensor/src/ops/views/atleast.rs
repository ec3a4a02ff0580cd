//! `aten::atleast_1d`, `aten::atleast_2d`, `aten::atleast_3d`: with a number of dimensions at least.
//!
//! - Shapes: those of `self` where there are enough; otherwise with dimensions of size 1: in front, and for
//!   `atleast_3d` of a matrix behind.
//! - Aliasing: `self` itself where there are enough, otherwise a view.
//! - Dispatch: composites of `reshape` and `unsqueeze`.
//! - Source: torch.atleast_1d, torch.atleast_2d, torch.atleast_3d, PyTorch 2.15.

use crate::ops::prelude::*;
use crate::ops::{Reshape, Unsqueeze};

operator! {
    home = crate::home;
    pub Atleast1d = "aten::atleast_1d(Tensor self) -> Tensor";
    pub Atleast2d = "aten::atleast_2d(Tensor self) -> Tensor";
    pub Atleast3d = "aten::atleast_3d(Tensor self) -> Tensor";
}

pub(super) fn register(library: &mut Library) {
    library.define(Atleast1d).kind(&kind::VIEW).implicit(|input| match input.spec()?.sizes() {
        [] => Reshape.call(input, &[1]),
        _ => Ok(input.clone()),
    });
    library.define(Atleast2d).kind(&kind::VIEW).implicit(|input| match input.spec()?.sizes() {
        [] => Reshape.call(input, &[1, 1]),
        [_] => Unsqueeze.call(input, 0),
        _ => Ok(input.clone()),
    });
    library.define(Atleast3d).kind(&kind::VIEW).implicit(|input| match input.spec()?.sizes() {
        [] => Reshape.call(input, &[1, 1, 1]),
        [_] => Unsqueeze.call(&Unsqueeze.call(input, 0)?, -1),
        [_, _] => Unsqueeze.call(input, -1),
        _ => Ok(input.clone()),
    });
}

pub(super) fn samples(samples: &mut Samples) {
    samples.of(Atleast1d, STORED, make::unary, |it| reference(it, |_| vec![1])).view();
    let rows = |it: &Inputs| reference(it, |sizes| [&vec![1; 2 - sizes.len()], sizes].concat());
    samples.of(Atleast2d, STORED, make::unary, rows).view();
    let stacks = |it: &Inputs| {
        reference(it, |sizes| match sizes {
            [] => vec![1, 1, 1],
            [n] => vec![1, *n, 1],
            other => [other, &[1]].concat(),
        })
    };
    samples.of(Atleast3d, STORED, make::unary, stacks).view();
}

/// The same elements under the sizes that `more` makes, unless it makes no more dimensions.
fn reference(it: &Inputs, more: fn(&[i64]) -> Vec<i64>) -> Result<Expected> {
    let x = it.tensor("self")?;
    let wanted = more(&[]).len();
    if x.sizes().len() >= wanted {
        return Ok(x.clone().into());
    }
    Ok(x.with_sizes(&more(x.sizes())).into())
}
