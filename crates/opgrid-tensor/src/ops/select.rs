//! `aten::select`: one index of a dimension, which disappears.
//!
//! - Aliasing: a view of `self`.
//! - Errors: a dimension or an index out of range (negative ones count from the end), no dimensions.
//! - Source: torch.select, PyTorch 2.15.

use super::prelude::*;

operator! {
    home = crate::home;
    pub SelectInt = "aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)";
}

pub(super) fn register(library: &mut Library) {
    library.define(SelectInt).everywhere(select);
}

fn select(input: &Tensor, dim: i64, index: i64) -> Result<Tensor> {
    input.view_as(input.spec()?.geometry().select(dim, index)?)
}
