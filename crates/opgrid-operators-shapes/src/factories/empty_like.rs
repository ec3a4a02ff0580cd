//! `aten::empty_like`: a new tensor like another one, with any content.
//!
//! - Shapes: that of `self`, in the order of `memory_format`; without one the order of `self` is kept.
//! - Dtypes, devices: those of `self` unless given.
//! - Aliasing: `empty_like.out` gives `out`, in its dtype, its shape if it has no elements.
//! - Dispatch: a composite of `empty_strided`.
//! - Source: torch.empty_like, PyTorch 2.15. Unlike there, memory that was never written reads as zero.

use crate::prelude::*;
use opgrid_kinds::factory;
use opgrid_tensor::ops::EmptyStrided;

pub use opgrid_tensor::ops::factories::empty_like::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(EmptyLike, &kind::FACTORY).on_every_backend(empty_like);
    library
        .implement(EmptyLikeOut)
        .on_every_backend(|input, format, out| factory::give_like(out, input, format, |_| Ok(())));
}

fn empty_like(
    input: &Tensor,
    dtype: Option<DType>,
    layout: Option<Layout>,
    device: Option<Device>,
    pin_memory: Option<bool>,
    memory_format: Option<MemoryFormat>,
) -> Result<Tensor> {
    let spec = input.spec()?;
    let geometry = spec.geometry().like(memory_format.unwrap_or(MemoryFormat::Preserve))?;
    let (dtype, device) = (dtype.unwrap_or(spec.dtype()), device.unwrap_or(spec.device()));
    let (sizes, strides) = (geometry.sizes(), geometry.strides());
    EmptyStrided.call(sizes, strides, Some(dtype), layout, Some(device), pin_memory)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| generate::and_named(generate::unary(dtype), "dtype", DType::F64);
        samples.operator(EmptyLike, STORED, inputs, |it| {
            let (x, dtype) = (it.tensor("self")?, it.value::<Option<DType>>("dtype")?);
            Ok(Expected::Shape(x.sizes().to_vec(), dtype.unwrap_or(x.dtype())))
        });
        samples.rounds(EmptyLike, Roundings::all(Rounding::Unset));
    }
}
