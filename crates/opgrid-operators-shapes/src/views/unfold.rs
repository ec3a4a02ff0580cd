//! `aten::unfold`: windows of a dimension.
//!
//! `out[…, i, …, j] = self[…, i * step + j, …]`
//!
//! - Shapes: the number of windows, `(size of dimension - size) / step + 1`, instead of the size of `dimension`, and a
//!   last dimension of `size`. A tensor without dimensions counts as one of size 1.
//! - Aliasing: a view of `self`, which repeats elements where `step` is less than `size`.
//! - Errors: windows larger than the dimension, or negative; a step that is not positive; a dimension out of range.
//! - Source: torch.Tensor.unfold, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::MovedimInt;
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
            let zeros = Tensor::zeros(&sizes, grad.dtype(), grad.device())?;
            if sizes.is_empty() {
                // One window of the one element, or of none.
                return if size == 0 { Ok(zeros) } else { grad.reshape(&sizes) };
            }
            // Elements are in several windows where these overlap.
            let dim = normalise_dim(dimension, sizes.len())?;
            let places = Tensor::arange(0, sizes[dim], 1)?.unfold(0, size, step)?.reshape(&[-1])?;
            let windows = MovedimInt.call(grad, -1, dim as i64 + 1)?;
            let windows = windows.flatten(dim as i64, dim as i64 + 1)?;
            zeros.index_add(dim as i64, &places, &windows)
        })
    });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
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
        };
        let x = generate::numbers(DType::F32, &[4], 0);
        samples
            .operator(Unfold, STORED, inputs, reference)
            .view()
            .refuses("at most 4", given(x.clone()).and(0).and(5).and(1))
            .refuses("positive", given(x.clone()).and(0).and(1).and(0))
            .refuses("0 or more", given(x).and(0).and(-1).and(1));
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (x, size, step): (_, i64, i64) = (it.tensor("self")?, it.value("size")?, it.value("step")?);
        if x.sizes().is_empty() {
            return Ok(Plain::from_elements(x.dtype(), &[size], x.elements()).into());
        }
        let dim = naive::dimension(it.value("dimension")?, x.sizes().len());
        let mut sizes = x.sizes().to_vec();
        sizes[dim] = (sizes[dim] - size) / step + 1;
        sizes.push(size);
        Ok(Plain::from_fn(x.dtype(), &sizes, |position| {
            let (&within, source) = position.split_last().unwrap_or((&0, &[]));
            let mut source = source.to_vec();
            source[dim] = source[dim] * step + within;
            x.at(&source)
        })
        .into())
    }
}
