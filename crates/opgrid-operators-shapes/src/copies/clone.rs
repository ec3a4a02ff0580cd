//! `aten::clone`: a new tensor with the same elements.
//!
//! - Shapes: that of `self`, in the order of `memory_format`; without one the order of `self` is kept.
//! - Aliasing: `clone.out` writes `out`, of the dtype of `self`, and gives it its shape if it has no elements.
//! - Dispatch: a composite of `empty_strided` and `copy_`.
//! - Source: torch.clone, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kinds::factory;
use opgrid_tensor::ops::{CopyInplace, EmptyStrided};

pub use opgrid_tensor::ops::copies::clone::*;

pub(super) fn register(library: &mut Library) {
    library
        .define_with_forms(CloneTensor, &kind::COPY)
        .on_every_backend(clone)
        .derivative(|d, (input, _)| d.by(input, [], |grad, []| Ok(grad.clone())));
    library.implement(CloneTensorOut).on_every_backend(|input, format, out| {
        factory::fill_like(out, input, format, |out| CopyInplace.call(out, input, false))
    });
}

fn clone(input: &Tensor, memory_format: Option<MemoryFormat>) -> Result<Tensor> {
    let spec = input.spec()?;
    let geometry = spec.geometry().like(memory_format.unwrap_or(MemoryFormat::Preserve))?;
    let (dtype, device) = (Some(spec.dtype()), Some(spec.device()));
    let result = EmptyStrided.call(geometry.sizes(), geometry.strides(), dtype, None, device, None)?;
    CopyInplace.call(&result, input, false)?;
    Ok(result)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs =
            |dtype| generate::and_named(generate::unary(dtype), "memory_format", MemoryFormat::Contiguous);
        samples.operator(CloneTensor, STORED, inputs, |it| Ok(it.tensor("self")?.clone().into())).refuses(
            "",
            given(generate::numbers(DType::F32, &[2], 0)).named("memory_format", MemoryFormat::ChannelsLast),
        );
    }
}
