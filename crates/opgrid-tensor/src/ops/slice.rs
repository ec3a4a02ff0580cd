//! `aten::slice`: every `step`-th index of a dimension from `start` to before `end`.
//!
//! - Bounds: negative ones count from the end, those beyond the ends are moved to them.
//! - Aliasing: a view of `self`.
//! - Errors: a dimension out of range, a step that is not positive, no dimensions.
//! - Source: torch's `x[start:end:step]`, PyTorch 2.15.

use super::prelude::*;

operator! {
    home = crate::home;
    pub SliceTensor = "aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)";
}

pub(super) fn register(library: &mut Library) {
    library.define(SliceTensor).everywhere(slice);
}

fn slice(input: &Tensor, dim: i64, start: Option<i64>, end: Option<i64>, step: i64) -> Result<Tensor> {
    let geometry = input.spec()?.geometry();
    input.view_as(geometry.slice(dim, start.unwrap_or(0), end.unwrap_or(i64::MAX), step)?)
}
