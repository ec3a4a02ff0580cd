//! `aten::pin_memory`, `aten::is_pinned`: memory of the CPU from which a device copies while the program goes on.
//!
//! `out[i] = self[i]`
//!
//! - Shapes: that of `self`; `_pin_memory` gives a new tensor with the strides of `self` where they have no gaps.
//! - Dtypes: any.
//! - Aliasing: `pin_memory` gives a tensor that is pinned already itself.
//! - Derivative: that of a copy.
//! - Errors: a tensor that is not on the CPU; no device, or several types of devices, have pinned memory.
//! - Source: torch.Tensor.pin_memory, torch.Tensor.is_pinned, PyTorch 2.15. `device` names the type of device that copies;
//!   without it there has to be one that does.

use opgrid_core::DeviceType;

use opgrid_tensor::devices;
use opgrid_tensor::devices::is_pinned;
use opgrid_tensor::ops::CopyInplace;

use crate::prelude::*;

pub use opgrid_tensor::ops::copies::pin_memory::*;

pub(super) fn register(library: &mut Library) {
    library.define(IsPinned).kind(&kind::QUESTION).on_every_backend(is_pinned);
    library.define(PinMemory).kind(&kind::COPY).implicit(|input, device| {
        if is_pinned(input, device)? { Ok(input.clone()) } else { PinMemoryCopy.call(input, device) }
    });
    library
        .define(PinMemoryCopy)
        .kind(&kind::COPY)
        .on_every_backend(pinned)
        .derivative(|d, (input, _)| d.by(input, [], |grad, []| Ok(grad.clone())));
}

fn pinned(input: &Tensor, device: Option<Device>) -> Result<Tensor> {
    let spec = input.spec()?;
    if spec.device().kind() != DeviceType::Cpu {
        let found = spec.device();
        return Err(argument(format!(
            "argument `self` is on device {found}, expected a tensor on the cpu, whose memory can be pinned; copy it there"
        )));
    }
    let geometry = spec.geometry().like(MemoryFormat::Preserve)?;
    let result = devices::pinned(spec.with_geometry(geometry), device.map(Device::kind))?;
    CopyInplace.call(&result, input, false)?;
    Ok(result)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.operator(IsPinned, STORED, generate::unary, |_| Ok(Expected::Value(false.into())));
        let nothing: fn(DType) -> Vec<Sample> = |_| Vec::new();
        // No device copies from memory of the CPU where the suite runs, or its tensors lie on the device.
        let anywhere = given(generate::numbers(DType::F32, &[2], 0));
        samples
            .operator(PinMemory, STORED, nothing, |it| Ok(it.tensor("self")?.clone().into()))
            .not_on_meta()
            .refuses("", anywhere.clone());
        samples
            .operator(PinMemoryCopy, STORED, nothing, |it| Ok(it.tensor("self")?.clone().into()))
            .not_on_meta()
            .refuses("", anywhere);
    }
}
