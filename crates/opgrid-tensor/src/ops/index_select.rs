//! `aten::index_select`: the indices of one dimension that a list names.
//!
//! `out[…, k, …] = self[…, index[k], …]`
//!
//! - Shapes: that of `self` with the number of indices for dimension `dim`; row-major.
//! - Dtypes: that of `self`; `index` is int32 or int64.
//! - Aliasing: `index_select.out` writes `out`, and gives it its shape if it has no elements.
//! - Errors: an `index` of several dimensions, an index out of range (negative ones are), overlap with `out`.
//! - Source: torch.index_select, PyTorch 2.15.

use super::prelude::*;
use super::{indexing as check, structured};
use crate::kernels::indexing::{self, Indexed, Lookup};

operator! {
    home = crate::home;
    pub IndexSelect = "aten::index_select(Tensor self, int dim, Tensor index) -> Tensor";
    pub IndexSelectOut = "aten::index_select.out(Tensor self, int dim, Tensor index, *, Tensor(a!) out) -> Tensor(a!)";
}

pub(super) fn register(library: &mut Library) {
    library.define(IndexSelect).structured(shape, cpu);
    library.define(IndexSelectOut).on_cpu_and_meta(|input, dim, index, out| {
        let spec = shape(input, dim, index)?;
        structured::same_dtype(out, &spec)?;
        structured::written(out, &spec, |out| cpu(input, dim, index, out))
    });
}

fn shape(input: &Tensor, dim: i64, index: &Tensor) -> Result<TensorSpec> {
    let (spec, index) = (input.spec()?, index.spec()?);
    let dim = check::along(spec, dim, index)?;
    if index.sizes().len() > 1 {
        let message = format!("argument `index` has shape {:?}, expected a vector", index.sizes());
        return Err(argument(message));
    }
    let mut sizes = spec.sizes().to_vec();
    match sizes.get_mut(dim) {
        Some(size) => *size = index.numel(),
        None if index.numel() != 1 => {
            let found = index.numel();
            let message =
                format!("argument `index` has {found} elements, expected 1 for `self` without dimensions");
            return Err(argument(message));
        }
        None => {}
    }
    TensorSpec::contiguous(&sizes, spec.dtype(), spec.device())
}

fn cpu(input: &Tensor, dim: i64, index: &Tensor, out: &Tensor) -> Result<()> {
    let geometry = input.geometry();
    let dim = check::along(input.spec()?, dim, index.spec()?)?;
    let (size, stride) = match geometry.sizes().get(dim) {
        Some(&size) => (size, geometry.strides()[dim]),
        None => (1, 0),
    };
    let along = Indexed { dim, size, stride, from_end: false };
    let offsets = indexing::offsets(index.sizes(), [(along, index.array()?)])?;
    let indexed = dim..(dim + 1).min(geometry.dims());
    let lookup = Lookup::new(geometry, indexed, offsets)?;
    indexing::check_apart(out.array()?, index.array()?)?;
    indexing::read(out.array()?, input.array()?, &lookup)
}
