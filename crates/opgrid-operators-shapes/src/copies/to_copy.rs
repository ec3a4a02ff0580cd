//! `aten::_to_copy`: a new tensor with the same elements, of another dtype or on another device.
//!
//! `out[i] = self[i]`
//!
//! - Shapes: that of `self`, in the order of `memory_format`; without one the order of `self` is kept.
//! - Dtypes: any to any, as [`CopyInplace`] converts.
//! - Aliasing: `_to_copy.out` writes `out`, in its dtype, and gives it its shape if it has no elements.
//! - Dispatch: a composite of `empty_strided` and `copy_`.
//! - `non_blocking`: from a device that copies to pinned memory the result is pinned, as in torch; whoever reads it before
//!   the copy has ended gets an error. Where several types of devices have pinned memory, the copy waits.
//! - Source: torch.ops.aten._to_copy, PyTorch 2.15.

use opgrid_core::DeviceType;

use crate::prelude::*;
use opgrid_kinds::factory;
use opgrid_tensor::devices;
use opgrid_tensor::ops::{CopyInplace, EmptyStrided};

pub use opgrid_tensor::ops::copies::to_copy::*;

pub(super) fn register(library: &mut Library) {
    library
        .define_with_forms(ToCopy, &kind::COPY)
        .on_every_backend(to_copy)
        .derivative(|d, (input, ..)| d.by(input, [], |grad, []| Ok(grad.clone())));
    library.implement(ToCopyOut).on_every_backend(|input, non_blocking, format, out| {
        factory::give_like(out, input, format, |out| CopyInplace.call(out, input, non_blocking))
    });
}

fn to_copy(
    input: &Tensor,
    dtype: Option<DType>,
    layout: Option<Layout>,
    device: Option<Device>,
    pin_memory: Option<bool>,
    non_blocking: bool,
    memory_format: Option<MemoryFormat>,
) -> Result<Tensor> {
    let spec = input.spec()?;
    let geometry = spec.geometry().like(memory_format.unwrap_or(MemoryFormat::Preserve))?;
    let (dtype, device) = (dtype.unwrap_or(spec.dtype()), device.unwrap_or(spec.device()));
    let (sizes, strides) = (geometry.sizes(), geometry.strides());
    let pin_memory = pin_memory.or_else(|| {
        // Only to pinned memory can a device copy while the program goes on.
        let from = spec.device().kind();
        let leaves = non_blocking && device.kind() == DeviceType::Cpu && from != DeviceType::Cpu;
        (leaves && devices::pinning() == [from]).then_some(true)
    });
    let result = EmptyStrided.call(sizes, strides, Some(dtype), layout, Some(device), pin_memory)?;
    CopyInplace.call(&result, input, non_blocking)?;
    Ok(result)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            let converted = |to| given(generate::numbers(dtype, &[2, 3], 1)).named("dtype", to);
            // What becomes of negative numbers is nothing that a wider output tells.
            ANY.iter().filter(|to| to.is_signed() || **to == DType::Bool).map(|to| converted(*to)).collect()
        };
        samples
            .operator(ToCopy, STORED, generate::unary, |it| Ok(it.tensor("self")?.clone().into()))
            .output_decides();
        let converted = |it: &Inputs| {
            let (x, dtype) = (it.tensor("self")?, it.value::<Option<DType>>("dtype")?);
            Ok(x.to(dtype.unwrap_or(x.dtype())).into())
        };
        samples.operator(ToCopy, STORED, inputs, converted).output_decides();
    }
}
