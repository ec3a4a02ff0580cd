//! `aten::contiguous`: the same elements in the order of a memory format.
//!
//! - Aliasing: a tensor that is in this order already is the result itself.
//! - Dispatch: a composite of `empty` and `copy_`, or of `clone` inside of transforms.
//! - Errors: `preserve_format` for what is not row-major; a format for another number of dimensions.
//! - Source: torch.Tensor.contiguous, PyTorch 2.15; there a copy is made by `clone`.

use crate::prelude::*;
use opgrid_tensor::layers::levels::Leveled;
use opgrid_tensor::ops::{CloneTensor, CopyInplace, EmptyMemoryFormat};

pub use opgrid_tensor::ops::copies::contiguous::*;

pub(super) fn register(library: &mut Library) {
    library.define(Contiguous).kind(&kind::COPY).kernel(DispatchKey::CompositeImplicitAutograd, contiguous);
}

fn contiguous(input: &Tensor, memory_format: MemoryFormat) -> Result<Tensor> {
    let spec = input.spec()?;
    let geometry = spec.geometry();
    if geometry.is_contiguous() && memory_format == MemoryFormat::Preserve
        || memory_format != MemoryFormat::Preserve && geometry.is_in_format(memory_format)
    {
        return Ok(input.clone());
    }
    if memory_format == MemoryFormat::Preserve {
        let message = "aten::contiguous: argument `memory_format` is preserve_format, expected a \
             definite format";
        return Err(argument(message));
    }
    // What stands for others is written by nobody but its level.
    if input.wrapper::<Leveled>().is_some() {
        return CloneTensor.call(input, Some(memory_format));
    }
    let (dtype, device) = (Some(spec.dtype()), Some(spec.device()));
    let result = EmptyMemoryFormat.call(spec.sizes(), dtype, None, device, None, Some(memory_format))?;
    CopyInplace.call(&result, input, false)?;
    Ok(result)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(Contiguous, STORED, generate::unary, |it| Ok(it.tensor("self")?.clone().into()))
            .refuses(
                "channels_last",
                given(generate::numbers(DType::F32, &[2], 0))
                    .named("memory_format", MemoryFormat::ChannelsLast),
            );
    }
}
