//! `aten::expand`: stretched to other sizes by repeating elements.
//!
//! `out[…, i, …] = self[…, 0, …]` where `self` has size 1
//!
//! - Shapes: `size`, in which -1 keeps a size; new dimensions come first.
//! - Aliasing: a view of `self`; repeated elements have stride 0 and must not be written.
//! - Errors: fewer dimensions than there are, a size that does not fit.
//! - Source: torch.Tensor.expand, PyTorch 2.15. `implicit` is for tracers and makes no difference.

use super::prelude::*;

operator! {
    home = crate::home;
    pub Expand = "aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)";
}

pub(super) fn register(library: &mut Library) {
    library.define(Expand).everywhere(expand);
}

fn expand(input: &Tensor, size: &[i64], _implicit: bool) -> Result<Tensor> {
    input.view_as(input.spec()?.geometry().expand(size)?)
}
