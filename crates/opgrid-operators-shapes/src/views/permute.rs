//! `aten::permute`: the dimensions in another order.
//!
//! `out[i[dims[0]], i[dims[1]], …] = self[i[0], i[1], …]`
//!
//! - Aliasing: a view of `self`; `permute_copy` copies it.
//! - Errors: a list of another length, a dimension out of range or named twice.
//! - Source: torch.permute, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::tensor::views::normalise_dim;

pub use opgrid_tensor::ops::views::permute::*;

/// The view family of `aten::permute`: its place in the base.
pub const PERMUTE: ViewFamily<Permute> =
    ViewFamily::new(Permute, |input, dims| input.spec()?.geometry().permute(dims));

pub(super) fn register(library: &mut Library) {
    library.view(Permute, &PERMUTE).derivative(|d, (input, dims)| {
        let mut inverse = vec![0; dims.len()];
        for (at, dim) in dims.iter().enumerate() {
            inverse[normalise_dim(*dim, dims.len())?] = at as i64;
        }
        d.by(input, [], move |grad, []| grad.permute(&inverse))
    });
    library.copy_of_view(PermuteCopy, Permute);
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            let cases: [(&[i64], &[i64]); 4] =
                [(&[2, 3, 4], &[2, 0, 1]), (&[2, 3], &[-1, 0]), (&[], &[]), (&[2, 0], &[1, 0])];
            cases.map(|(sizes, dims)| given(generate::numbers(dtype, sizes, 0)).and(dims.to_vec())).to_vec()
        };
        samples
            .operator(Permute, STORED, inputs, |it| {
                let (x, dims) = (it.tensor("self")?, it.value::<Vec<i64>>("dims")?);
                let order: Vec<usize> =
                    dims.iter().map(|&dim| naive::dimension(dim, x.sizes().len())).collect();
                Ok(x.permuted(&order).into())
            })
            .view()
            .refuses("", given(generate::numbers(DType::F32, &[2, 3], 0)).and([0].to_vec()))
            .refuses("", given(generate::numbers(DType::F32, &[2, 3], 0)).and([0, 0].to_vec()));
        samples.copy_of_view(PermuteCopy, Permute);
    }
}
