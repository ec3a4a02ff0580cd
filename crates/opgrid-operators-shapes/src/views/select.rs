//! `aten::select`, `aten::select_backward`: one index of a dimension, which disappears, and the gradient.
//!
//! - Aliasing: a view of `self`; `select_copy` copies it, `select_backward.out` writes `out`.
//! - Dispatch: the gradient is a composite of `select_scatter`.
//! - Errors: a dimension or an index out of range (negative ones count from the end), no dimensions;
//!   a gradient of another shape than the view.
//! - Source: torch.select, PyTorch 2.15.

use crate::kinds::views;
use crate::prelude::*;
use opgrid_tensor::ops::SelectScatter;

pub use opgrid_tensor::ops::views::select::*;

/// The view family of `aten::select.int`: its place in the base.
pub const SELECT: ViewFamily<SelectInt> =
    ViewFamily::new(SelectInt, |input, dim, index| input.spec()?.geometry().select(dim, index));

pub(super) fn register(library: &mut Library) {
    library.view(SelectInt, &SELECT);
    library.copy_of_view(SelectCopyInt, SelectInt);
    library.implicit(SelectBackward, &kind::INDEXING, |grad, sizes, dim, index| {
        let view = |zeros: &Tensor| SelectInt.call(zeros, dim, index);
        let (zeros, grad) = views::zeros_for(("grad_output", grad), sizes, view)?;
        SelectScatter.call(&zeros, &grad, dim, index)
    });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = || generate::numbers(DType::F32, &[2, 3], 0);
        samples
            .operator(SelectInt, STORED, inputs, |it| Ok(selected(it.tensor("self")?, it)?.into()))
            .view()
            .refuses("", given(x()).and(0).and(2))
            .refuses("", given(Plain::number(DType::F32, 1)).and(0).and(0));
        let gradients = |dtype| {
            views::samples::gradients(inputs(dtype), |x, others| {
                let mut sizes = x.sizes().to_vec();
                sizes.remove(naive::dimension(views::samples::whole(&others[0]), sizes.len()));
                sizes
            })
        };
        samples
            .operator(SelectBackward, ANY, gradients, |it| {
                let sizes: Vec<i64> = it.value("input_sizes")?;
                naive::transposed(it.tensor("grad_output")?, &sizes, |one| selected(one, it)).map(Into::into)
            })
            .refuses("`grad_output` has shape", given(x()).and(vec![2, 3]).and(0).and(1));
        samples.copy_of_view(SelectCopyInt, SelectInt);
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let cases: [(&[i64], i64, i64); 4] =
            [(&[2, 3], 0, 1), (&[2, 3], -1, -3), (&[4], 0, 2), (&[2, 0], 0, 1)];
        cases
            .map(|(sizes, dim, index)| given(generate::numbers(dtype, sizes, 0)).and(dim).and(index))
            .to_vec()
    }

    fn selected(x: &Plain, it: &Inputs) -> Result<Plain> {
        let (dim, index): (i64, i64) = (it.value("dim")?, it.value("index")?);
        let dim = naive::dimension(dim, x.sizes().len());
        let index = if index < 0 { index + x.sizes()[dim] } else { index };
        let mut sizes = x.sizes().to_vec();
        sizes.remove(dim);
        let inserted = |position: &[i64]| [&position[..dim], &[index], &position[dim..]].concat();
        Ok(Plain::from_fn(x.dtype(), &sizes, |position| x.at(&inserted(position))))
    }
}
