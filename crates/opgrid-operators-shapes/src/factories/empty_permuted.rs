//! `aten::empty_permuted`: a new tensor with any content, whose dimensions lie in memory in another order.
//!
//! - `physical_layout` names the dimensions from the outermost to the innermost; there are no gaps.
//! - Dtypes: `dtype`, the default one without it.
//! - Dispatch: as [`EmptyMemoryFormat`](opgrid_tensor::ops::EmptyMemoryFormat).
//! - Aliasing: `empty_permuted.out` gives `out` its shape if it has no elements.
//! - Errors: an order that does not name each dimension once, negative numbers, pinned memory where no device copies from it.
//! - Source: torch.empty_permuted, PyTorch 2.15. Unlike there, memory that was never written reads as zero.

use opgrid_core::Error;

use crate::factories::empty;
use crate::prelude::*;
use opgrid_kinds::factory;
use opgrid_kinds::factory::Factories;

pub use opgrid_tensor::ops::factories::empty_permuted::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(EmptyPermuted, &kind::FACTORY).on_cpu_and_meta(permuted).by_options();
    library.implement(EmptyPermutedOut).on_every_backend(|size, physical_layout, out| {
        factory::give(out, geometry(size, physical_layout)?, |_| Ok(()))
    });
}

fn permuted(
    size: &[i64],
    physical_layout: &[i64],
    dtype: Option<DType>,
    layout: Option<Layout>,
    device: Option<Device>,
    pin_memory: Option<bool>,
) -> Result<Tensor> {
    empty::check_options(layout)?;
    let geometry = geometry(size, physical_layout)?;
    let (dtype, device) = (dtype.unwrap_or_else(default_dtype), device.unwrap_or_default());
    let spec = TensorSpec::new(geometry, dtype, device);
    if pin_memory == Some(true) { empty::pinned(spec) } else { Tensor::allocate(spec) }
}

/// The geometry of `size` whose dimensions lie in this order.
fn geometry(size: &[i64], physical_layout: &[i64]) -> Result<Geometry> {
    let mut places = vec![None; size.len()];
    for (place, &dim) in physical_layout.iter().enumerate() {
        let slot = usize::try_from(dim).ok().and_then(|dim| places.get_mut(dim));
        if slot.is_none_or(|slot| slot.replace(place as i64).is_some()) {
            return Err(wrong_order(size, physical_layout));
        }
    }
    let places: Option<Vec<i64>> = places.into_iter().collect();
    let places = places.ok_or_else(|| wrong_order(size, physical_layout))?;
    let lying: Vec<i64> = physical_layout.iter().map(|&dim| size[dim as usize]).collect();
    Geometry::contiguous(&lying)?.permute(&places)
}

#[cold]
fn wrong_order(size: &[i64], physical_layout: &[i64]) -> Error {
    let last = size.len().saturating_sub(1);
    argument(format!(
        "argument `physical_layout` is {physical_layout:?}, expected each dimension of {size:?}, 0 to {last}, once"
    ))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.differs(EmptyPermuted, crate::factories::empty_strided::samples::STRIDES_OF_NEW_OUTPUTS);
        let inputs = |dtype| {
            let cases: [[&[i64]; 2]; 5] = [
                [&[2, 3], &[0, 1]],
                [&[2, 3], &[1, 0]],
                [&[2, 3, 4, 5], &[0, 2, 3, 1]],
                [&[], &[]],
                [&[0, 2], &[1, 0]],
            ];
            cases.map(|[size, order]| given(size.to_vec()).and(order.to_vec()).named("dtype", dtype)).to_vec()
        };
        samples
            .operator(EmptyPermuted, STORED, inputs, |it| {
                let dtype: Option<DType> = it.value("dtype")?;
                Ok(Expected::Shape(it.value("size")?, dtype.unwrap_or(default_dtype())))
            })
            .refuses("once", given([2, 3].to_vec()).and([1].to_vec()))
            .refuses("once", given([2, 3].to_vec()).and([1, 1].to_vec()))
            .refuses("once", given([2].to_vec()).and([-1].to_vec()));
        samples.rounds(EmptyPermuted, Roundings::all(Rounding::Unset));
    }
}
