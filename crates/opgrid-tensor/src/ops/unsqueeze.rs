//! `aten::unsqueeze`: with a dimension of size 1 more.
//!
//! - Shapes: the new dimension stands before `dim`, which may also be one past the last.
//! - Aliasing: a view of `self`.
//! - Errors: a dimension out of range.
//! - Source: torch.unsqueeze, PyTorch 2.15.

use super::prelude::*;

operator! {
    home = crate::home;
    pub Unsqueeze = "aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)";
}

pub(super) fn register(library: &mut Library) {
    library.define(Unsqueeze).everywhere(|input, dim| input.view_as(input.spec()?.geometry().unsqueeze(dim)?));
}
