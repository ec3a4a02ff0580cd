//! `aten::clone`: a new tensor with the same elements.
//!
//! - Shapes: that of `self`, in the order of `memory_format`; without one the order of `self` is kept.
//! - Dispatch: a composite of `empty_strided` and `copy_`.
//! - Source: torch.clone, PyTorch 2.15.

use crate::ops::prelude::*;
use crate::ops::{CopyInplace, EmptyStrided};

operator! {
    home = crate::home;
    pub Clone = "aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor";
}

pub(super) fn register(library: &mut Library) {
    library.define(Clone).kind(&kind::COPY).on_every_backend(clone);
}

pub(super) fn samples(samples: &mut Samples) {
    let inputs = |dtype| make::and_named(make::unary(dtype), "memory_format", MemoryFormat::Contiguous);
    samples.of(Clone, STORED, inputs, |it| Ok(it.tensor("self")?.clone().into())).refuses(
        "",
        given(make::numbers(DType::F32, &[2], 0)).named("memory_format", MemoryFormat::ChannelsLast),
    );
}

fn clone(input: &Tensor, memory_format: Option<MemoryFormat>) -> Result<Tensor> {
    let spec = input.spec()?;
    let geometry = spec.geometry().like(memory_format.unwrap_or(MemoryFormat::Preserve))?;
    let (dtype, device) = (Some(spec.dtype()), Some(spec.device()));
    let result = EmptyStrided.call(geometry.sizes(), geometry.strides(), dtype, None, device, None)?;
    CopyInplace.call(&result, input, false)?;
    Ok(result)
}
