//! `aten::permute`: the dimensions in another order.
//!
//! `out[i[dims[0]], i[dims[1]], …] = self[i[0], i[1], …]`
//!
//! - Aliasing: a view of `self`.
//! - Errors: a list of another length, a dimension out of range or named twice.
//! - Source: torch.permute, PyTorch 2.15.

use super::prelude::*;

operator! {
    home = crate::home;
    pub Permute = "aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)";
}

pub(super) fn register(library: &mut Library) {
    library.define(Permute).everywhere(|input, dims| input.view_as(input.spec()?.geometry().permute(dims)?));
}
