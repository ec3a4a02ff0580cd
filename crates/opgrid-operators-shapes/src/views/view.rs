//! `aten::view`, `aten::view_as`, `aten::_unsafe_view`: the same elements in the same order under other sizes.
//!
//! - Shapes: `size`, of which one may be -1; as many elements as `self`.
//! - Aliasing: a view of `self`. `_unsafe_view` is one too, but its schema keeps that from layers: it is for tensors that
//!   nobody else has. `view_copy` copies the elements, whatever the strides of `self` are.
//! - Dispatch: `view_as` is `view`; `view_copy` is a composite of `reshape`.
//! - Errors: sizes that do not fit, or that strides cannot express.
//! - Source: torch.Tensor.view, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::Reshape;

pub use opgrid_tensor::ops::views::view::*;

/// The view family of `aten::view`: its place in the base.
pub const VIEW: ViewFamily<View> = ViewFamily::new(View, |input, size| input.spec()?.geometry().view(size));

pub(super) fn register(library: &mut Library) {
    library.view(View, &VIEW).derivative(|d, (input, _)| {
        let sizes = input.sizes().to_vec();
        d.by(input, [], move |grad, []| grad.reshape(&sizes))
    });
    library.define(ViewAs).kind(&kind::VIEW).implicit(|input, other| View.call(input, other.spec()?.sizes()));
    let seen = |input: &Tensor, size: &[i64]| input.bare_view(input.spec()?.geometry().view(size)?);
    library.define_with_forms(UnsafeView, &kind::COPY).on_every_backend(seen).derivative(|d, (input, _)| {
        let sizes = input.sizes().to_vec();
        d.by(input, [], move |grad, []| grad.reshape(&sizes))
    });
    library
        .implement(UnsafeViewOut)
        .on_every_backend(|input, size, out| result::copied(out, &View.call(input, size)?.contiguous()?));
    library.copy_of_view(ViewCopy, Reshape);
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2, 3], 0);
        samples
            .operator(View, STORED, generate::other_sizes, |it| generate::same_elements(it, "size"))
            .view()
            .needs_contiguous()
            .refuses("", given(x.clone()).and([4].to_vec()));
        samples
            .operator(UnsafeView, STORED, generate::other_sizes, |it| generate::same_elements(it, "size"))
            .view()
            .needs_contiguous()
            .refuses("", given(x.clone()).and([4].to_vec()));
        samples
            .operator(ViewCopy, STORED, generate::other_sizes, |it| generate::same_elements(it, "size"))
            .refuses("", given(x.clone()).and([4].to_vec()));
        samples.differs(ViewCopy, READ_AFTER_WRITTEN);
        samples
            .operator(ViewAs, STORED, generate::beside_as_many, generate::as_the_other)
            .view()
            .needs_contiguous()
            .refuses("", given(x.clone()).and(x.with_sizes(&[4])));
    }
}
