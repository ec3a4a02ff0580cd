//! `aten::atleast_1d`, `aten::atleast_2d`, `aten::atleast_3d`: with a number of dimensions at least.
//!
//! - Shapes: those of `self` where there are enough; otherwise with dimensions of size 1: in front, and for
//!   `atleast_3d` of a matrix behind.
//! - Aliasing: `self` itself where there are enough, otherwise a view.
//! - Dispatch: composites of `reshape` and `unsqueeze`; the overloads `Sequence` do so with each tensor of a list.
//! - Source: torch.atleast_1d, torch.atleast_2d, torch.atleast_3d, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{Reshape, Unsqueeze};

pub use opgrid_tensor::ops::views::atleast::*;

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
    library
        .define(Atleast1dSequence)
        .kind(&kind::VIEW)
        .column(VariadicTensors)
        .implicit(|tensors| each(tensors, |x| Atleast1d.call(x)));
    library
        .define(Atleast2dSequence)
        .kind(&kind::VIEW)
        .column(VariadicTensors)
        .implicit(|tensors| each(tensors, |x| Atleast2d.call(x)));
    library
        .define(Atleast3dSequence)
        .kind(&kind::VIEW)
        .column(VariadicTensors)
        .implicit(|tensors| each(tensors, |x| Atleast3d.call(x)));
}

fn each(tensors: &[Tensor], more: fn(&Tensor) -> Result<Tensor>) -> Result<Vec<Tensor>> {
    tensors.iter().map(more).collect()
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.operator(Atleast1d, STORED, generate::unary, |it| reference(it, |_| vec![1])).view();
        samples.operator(Atleast2d, STORED, generate::unary, |it| reference(it, row_sizes)).view();
        samples.operator(Atleast3d, STORED, generate::unary, |it| reference(it, stack_sizes)).view();
        let lists = |dtype| {
            let list = |sizes: &[&[i64]]| {
                given(sizes.iter().map(|sizes| generate::numbers(dtype, sizes, 1)).collect::<Vec<_>>())
            };
            vec![list(&[&[], &[3], &[2, 3], &[2, 1, 2]]), list(&[&[0]])]
        };
        samples.operator_with(Atleast1dSequence, STORED, lists, |it| of_lists(it, |_| vec![1]));
        samples.operator_with(Atleast2dSequence, STORED, lists, move |it| of_lists(it, row_sizes));
        samples.operator_with(Atleast3dSequence, STORED, lists, move |it| of_lists(it, stack_sizes));
    }

    fn row_sizes(sizes: &[i64]) -> Vec<i64> {
        [&vec![1; 2 - sizes.len()], sizes].concat()
    }

    fn stack_sizes(sizes: &[i64]) -> Vec<i64> {
        match sizes {
            [] => vec![1, 1, 1],
            [n] => vec![1, *n, 1],
            other => [other, &[1]].concat(),
        }
    }

    /// Computes the elements under the sizes that `more` returns, unless it adds no dimension.
    fn reference(it: &Inputs, more: fn(&[i64]) -> Vec<i64>) -> Result<Expected> {
        Ok(with_more(it.tensor("self")?, more).into())
    }

    /// Computes the result for each tensor of a list.
    fn of_lists(it: &Inputs, more: fn(&[i64]) -> Vec<i64>) -> Result<Expected> {
        Ok(Expected::Several(it.tensors("tensors")?.iter().map(|x| with_more(x, more).into()).collect()))
    }

    fn with_more(x: &Plain, more: fn(&[i64]) -> Vec<i64>) -> Plain {
        if x.sizes().len() >= more(&[]).len() { x.clone() } else { x.with_sizes(&more(x.sizes())) }
    }
}
