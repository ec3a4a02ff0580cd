//! `aten::transpose`, `aten::t`: two dimensions exchanged.
//!
//! `out[…, j, …, i, …] = self[…, i, …, j, …]`
//!
//! - Shapes: `t` takes a matrix; a vector or a number stays what it is.
//! - Aliasing: views of `self`.
//! - Errors: a dimension out of range; `t` of more than two dimensions.
//! - Source: torch.transpose, torch.t, PyTorch 2.15.

use super::prelude::*;

operator! {
    home = crate::home;
    pub TransposeInt = "aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)";
    pub T = "aten::t(Tensor(a) self) -> Tensor(a)";
}

pub(super) fn register(library: &mut Library) {
    library.define(TransposeInt).everywhere(transpose);
    library.define(T).everywhere(t);
}

fn transpose(input: &Tensor, dim0: i64, dim1: i64) -> Result<Tensor> {
    input.view_as(input.spec()?.geometry().transpose(dim0, dim1)?)
}

fn t(input: &Tensor) -> Result<Tensor> {
    match input.spec()?.geometry().dims() {
        2 => TransposeInt.call(input, 0, 1),
        0 | 1 => input.view_as(input.geometry().clone()),
        dims => {
            let message = format!(
                "t() expects a tensor with at most 2 dimensions, found {dims} in {:?}; use transpose or permute",
                input.sizes()
            );
            Err(argument(message))
        }
    }
}
