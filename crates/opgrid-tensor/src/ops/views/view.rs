//! `aten::view`: the same elements in the same order under other sizes.
//!
//! - Shapes: `size`, of which one may be -1; as many elements as `self`.
//! - Aliasing: a view of `self`.
//! - Errors: sizes that do not fit, or that strides cannot express.
//! - Source: torch.Tensor.view, PyTorch 2.15.

use crate::ops::prelude::*;

operator! {
    home = crate::home;
    /// The same elements under other sizes, of which one may be -1.
    pub View = "aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)", method;
}

/// Where the view lies, for everybody.
pub const VIEW: ViewFamily<View> = ViewFamily::new(View, |input, size| input.spec()?.geometry().view(size));

pub(super) fn register(library: &mut Library) {
    library.view(View, &VIEW);
}

pub(super) fn samples(samples: &mut Samples) {
    samples
        .of(View, STORED, make::other_sizes, |it| make::same_elements(it, "size"))
        .view()
        .needs_contiguous()
        .refuses("", given(make::numbers(DType::F32, &[2, 3], 0)).and([4].to_vec()));
}
