//! `aten::as_strided`: a view with any sizes and strides.
//!
//! `out[i, j, …] = storage[storage_offset + i * stride[0] + j * stride[1] + …]`
//!
//! - Strides and offset count elements; without `storage_offset` it is that of `self`.
//! - Aliasing: a view of the storage of `self`.
//! - Errors: negative strides, lists of different lengths, elements beyond the storage.
//! - Source: torch.as_strided, PyTorch 2.15.

use super::prelude::*;

operator! {
    home = crate::home;
    pub AsStrided = "aten::as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)";
}

pub(super) fn register(library: &mut Library) {
    library.define(AsStrided).on_cpu_and_meta(as_strided);
}

fn as_strided(input: &Tensor, size: &[i64], stride: &[i64], storage_offset: Option<i64>) -> Result<Tensor> {
    let offset = match storage_offset {
        Some(offset) => offset,
        None => input.spec()?.geometry().offset(),
    };
    input.view_as(Geometry::strided(size, stride, offset)?)
}
