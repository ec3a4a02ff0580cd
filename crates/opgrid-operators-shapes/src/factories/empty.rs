//! `aten::empty`: a new tensor with any content.
//!
//! - Shapes: `size`, in the order of `memory_format`.
//! - Dtypes: `dtype`, the default one without it.
//! - Dispatch: no argument is a tensor, so the kernel for `BackendSelect` computes the key from dtype, layout and
//!   device and calls on with it alone. What has no kernel fails with the error of that key.
//! - Aliasing: `empty.out` gives `out` its shape if it has no elements.
//! - Errors: pinned memory where no device copies from it; a `memory_format` beside an output, which has its
//!   own strides.
//! - Source: torch.empty, PyTorch 2.15. Unlike there, memory that was never written reads as zero.

use opgrid_core::{DeviceType, Operator};

use crate::prelude::*;
use opgrid_kinds::factory::selected;
use opgrid_tensor::devices;

pub use opgrid_tensor::ops::factories::empty::*;

pub(super) fn register(library: &mut Library) {
    library
        .define_with_forms(EmptyMemoryFormat, &kind::FACTORY)
        .kernel(DispatchKey::Cpu, empty)
        .kernel(DispatchKey::Meta, empty)
        .selecting(DispatchKey::BackendSelect, |_, dtype, layout, device, _, _| {
            selected(dtype, layout, device)
        });
    library.implement(EmptyOut).on_every_backend(|size, memory_format, out| {
        if let Some(format) = memory_format {
            let message =
                format!("argument `memory_format` is {format}, but `out` has its own strides; leave it out");
            return Err(argument(message));
        }
        result::give_shape(out, &out.spec()?.with_geometry(Geometry::contiguous(size)?))
    });
}

/// A plain function, which takes its arguments in registers, and names the operator in its errors itself.
fn empty(
    size: &[i64],
    dtype: Option<DType>,
    layout: Option<Layout>,
    device: Option<Device>,
    pin_memory: Option<bool>,
    memory_format: Option<MemoryFormat>,
) -> Result<Tensor> {
    let made = || {
        check_options(layout)?;
        let (dtype, device) = (dtype.unwrap_or_else(default_dtype), device.unwrap_or_default());
        if memory_format.is_none() && pin_memory != Some(true) {
            return Tensor::allocate_contiguous(size, dtype, device);
        }
        let geometry = Geometry::in_format(size, memory_format.unwrap_or(MemoryFormat::Contiguous))?;
        let spec = TensorSpec::new(geometry, dtype, device);
        if pin_memory == Some(true) { pinned(spec) } else { Tensor::allocate(spec) }
    };
    made().map_err(|error| error.within(EmptyMemoryFormat::name()))
}

/// A new tensor in memory from which a device copies while the program goes on.
///
/// # Errors
///
/// A meta tensor; no device has such memory.
#[cold]
pub(super) fn pinned(spec: TensorSpec) -> Result<Tensor> {
    if spec.device().kind() != DeviceType::Cpu {
        let found = spec.device();
        return Err(argument(format!(
            "argument `pin_memory` asks for pinned memory on device {found}, expected the cpu; leave it out"
        )));
    }
    devices::pinned(spec, None)
}

/// # Errors
///
/// What memory of the CPU cannot be.
pub(super) fn check_options(layout: Option<Layout>) -> Result<()> {
    match layout {
        None | Some(Layout::Strided) => Ok(()),
        Some(layout) => Err(argument(format!("argument `layout` is {layout}, expected strided"))),
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(EmptyMemoryFormat, STORED, generate::shapes, |it| {
                let dtype: Option<DType> = it.value("dtype")?;
                Ok(Expected::Shape(it.value("size")?, dtype.unwrap_or(default_dtype())))
            })
            .refuses("", given([2, -1].to_vec()))
            .refuses("", given([2].to_vec()).named("pin_memory", true));
        samples.rounds(EmptyMemoryFormat, Roundings::all(Rounding::Unset));
    }
}
