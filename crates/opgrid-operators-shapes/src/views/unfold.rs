//! `aten::unfold`, `aten::unfold_backward`: windows of a dimension, and the gradient.
//!
//! `out[…, i, …, j] = self[…, i * step + j, …]`
//!
//! - Shapes: the number of windows, `(size of dimension - size) / step + 1`, instead of the size of `dimension`, and a
//!   last dimension of `size`. A tensor without dimensions counts as one of size 1.
//! - Aliasing: a view of `self`, which repeats elements where `step` is less than `size`; `unfold_copy` copies it, `unfold_backward.out` writes `out`.
//! - Dispatch: the gradient is a composite of `index_add`.
//! - Errors: windows larger than the dimension, or negative; a step that is not positive; a dimension out of range; a gradient
//!   that does not broadcast to the view.
//! - Source: torch.Tensor.unfold, PyTorch 2.15.

use crate::kinds::views;
use crate::prelude::*;
use opgrid_tensor::ops::{Arange, MovedimInt};
use opgrid_tensor::tensor::views::normalise_dim;

pub use opgrid_tensor::ops::views::unfold::*;

/// The view family of `aten::unfold`: its place in the base.
pub const UNFOLD: ViewFamily<Unfold> = ViewFamily::new(Unfold, |input, dimension, size, step| {
    input.spec()?.geometry().unfold(dimension, size, step)
});

pub(super) fn register(library: &mut Library) {
    library.view(Unfold, &UNFOLD).derivative(|d, (input, dimension, size, step)| {
        let sizes = input.sizes().to_vec();
        d.by(input, [], move |grad, []| {
            gradient(grad, Tensor::zeros(&sizes, grad.dtype(), grad.device())?, dimension, size, step)
        })
    });
    library.copy_of_view(UnfoldCopy, Unfold);
    library.implicit(UnfoldBackward, &kind::INDEXING, |grad, sizes, dim, size, step| {
        let view = |zeros: &Tensor| Unfold.call(zeros, dim, size, step);
        let (zeros, grad) = views::zeros_for(("grad_in", grad), sizes, view)?;
        gradient(&grad, zeros, dim, size, step)
    });
}

/// The gradient of windows added to zeros that lie as what they are windows of.
fn gradient(grad: &Tensor, zeros: Tensor, dimension: i64, size: i64, step: i64) -> Result<Tensor> {
    let sizes = zeros.sizes();
    if sizes.is_empty() {
        // One window of the one element, or of none.
        return if size == 0 { Ok(zeros) } else { zeros.add(&grad.reshape(sizes)?) };
    }
    // Elements are in several windows where these overlap.
    let dim = normalise_dim(dimension, sizes.len())?;
    let device = Some(grad.device());
    let places = Arange.call(sizes[dim].into(), Some(DType::I64), None, device, None)?;
    let places = places.unfold(0, size, step)?.reshape(&[-1])?;
    let windows = MovedimInt.call(grad, -1, dim as i64 + 1)?;
    let windows = windows.flatten(dim as i64, dim as i64 + 1)?;
    zeros.index_add(dim as i64, &places, &windows)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[4], 0);
        samples
            .operator(Unfold, STORED, inputs, |it| {
                let dim = it.value("dimension")?;
                Ok(unfolded(it.tensor("self")?, dim, it.value("size")?, it.value("step")?).into())
            })
            .view()
            .refuses("at most 4", given(x.clone()).and(0).and(5).and(1))
            .refuses("positive", given(x.clone()).and(0).and(1).and(0))
            .refuses("0 or more", given(x.clone()).and(0).and(-1).and(1));
        let gradients = |dtype| {
            views::samples::gradients(inputs(dtype), |x, others| {
                let [dim, size, step] = [0, 1, 2].map(|at| views::samples::whole(&others[at]));
                unfolded(x, dim, size, step).sizes().to_vec()
            })
        };
        samples
            .operator(UnfoldBackward, ANY, gradients, |it| {
                let (sizes, dim): (Vec<i64>, i64) = (it.value("input_sizes")?, it.value("dim")?);
                let (size, step) = (it.value("size")?, it.value("step")?);
                let view = |one: &Plain| Ok(unfolded(one, dim, size, step));
                naive::transposed(it.tensor("grad_in")?, &sizes, view).map(Into::into)
            })
            .tolerance(4.0)
            .refuses("`grad_in` has shape", given(x).and(vec![4]).and(0).and(2).and(1));
        samples.rounds(UnfoldBackward, Roundings::all(Rounding::Sum(4)));
        samples.copy_of_view(UnfoldCopy, Unfold);
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let cases: [(&[i64], [i64; 3]); 7] = [
            (&[7], [0, 3, 2]),
            (&[2, 5], [-1, 2, 1]),
            (&[4, 3], [0, 2, 2]),
            (&[3], [0, 0, 1]),
            (&[], [0, 1, 1]),
            (&[], [0, 0, 1]),
            (&[2, 0], [0, 1, 1]),
        ];
        let one = |(sizes, [dim, size, step]): (&[i64], [i64; 3])| {
            given(generate::numbers(dtype, sizes, 0)).and(dim).and(size).and(step)
        };
        cases.map(one).to_vec()
    }

    fn unfolded(x: &Plain, dim: i64, size: i64, step: i64) -> Plain {
        if x.sizes().is_empty() {
            return Plain::from_elements(x.dtype(), &[size], x.elements());
        }
        let dim = naive::dimension(dim, x.sizes().len());
        let mut sizes = x.sizes().to_vec();
        sizes[dim] = (sizes[dim] - size) / step + 1;
        sizes.push(size);
        Plain::from_fn(x.dtype(), &sizes, |position| {
            let (&within, source) = position.split_last().unwrap_or((&0, &[]));
            let mut source = source.to_vec();
            source[dim] = source[dim] * step + within;
            x.at(&source)
        })
    }
}
