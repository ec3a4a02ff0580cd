//! `aten::unsqueeze`: with a dimension of size 1 more.
//!
//! - Shapes: the new dimension stands before `dim`, which may also be one past the last.
//! - Aliasing: a view of `self`; `unsqueeze_` makes `self` that view of itself, `unsqueeze_copy` copies it.
//! - Errors: a dimension out of range.
//! - Source: torch.unsqueeze, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::views::unsqueeze::*;

/// The view family of `aten::unsqueeze`: its place in the base.
pub const UNSQUEEZE: ViewFamily<Unsqueeze> =
    ViewFamily::new(Unsqueeze, |input, dim| input.spec()?.geometry().unsqueeze(dim));

pub(super) fn register(library: &mut Library) {
    library
        .view(Unsqueeze, &UNSQUEEZE)
        .derivative(|d, (input, dim)| d.by(input, [], move |grad, []| grad.squeeze(dim)));
    library.view_in_place(UnsqueezeInplace, &UNSQUEEZE);
    library.copy_of_view(UnsqueezeCopy, Unsqueeze);
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            let cases: [(&[i64], i64); 4] = [(&[2, 3], 1), (&[2, 3], -1), (&[], 0), (&[0], 0)];
            cases.map(|(sizes, dim)| given(generate::numbers(dtype, sizes, 0)).and(dim)).to_vec()
        };
        samples
            .operator(Unsqueeze, STORED, inputs, reference)
            .view()
            .refuses("range", given(generate::numbers(DType::F32, &[2], 0)).and(2));
        samples.operator(UnsqueezeInplace, STORED, inputs, reference);
        samples.copy_of_view(UnsqueezeCopy, Unsqueeze);
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (x, dim) = (it.tensor("self")?, it.value("dim")?);
        let mut sizes = x.sizes().to_vec();
        sizes.insert(naive::dimension(dim, sizes.len() + 1), 1);
        Ok(x.with_sizes(&sizes).into())
    }
}
