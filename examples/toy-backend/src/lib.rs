//! A backend in a crate of its own: the devices `toy:0` and `toy:1`, whose memory the host cannot address and which have
//! two queues each.
//!
//! [`register`] gives a dispatcher what the devices can do: make tensors, copy both ways, add and multiply contiguous
//! floats, and an operator of its own that is fused where nobody wants gradients. Every other call goes through the
//! CPU, which is counted and an error in strict mode. [`Toy`] says how many devices there are, and has their memory and
//! queues. Nothing in opgrid knows of this crate.
#![forbid(unsafe_code)]

pub mod arena;
pub mod kernels;
pub mod queue;
pub mod runtime;

use std::sync::{LazyLock, Mutex, PoisonError};

use opgrid::dispatch::{BackendComponent, DeviceType, Functionality};
use opgrid::families::{Backend, DefineFamily, through_cpu};
use opgrid::prelude::*;
use opgrid::{devices, ops};

pub use arena::Arena;
pub use kernels::{MultiplyAdd, to};
pub use runtime::{Toy, queue};

/// The devices: two, each with 1 MiB.
pub static TOY: LazyLock<Toy> = LazyLock::new(|| {
    let kind = backend().ok().and_then(BackendComponent::device_type);
    Toy::new(kind.unwrap_or(DeviceType::PrivateUse1), 2, 1 << 20)
});

/// The backend, allocated when it is first asked for: the keys `Toy`, `AutogradToy` and so on, the device `toy`.
///
/// # Errors
///
/// Sixteen other backends are there already.
pub fn backend() -> Result<BackendComponent> {
    BackendComponent::register("Toy")
}

/// The first device, `toy:0`. From here on its type has a [runtime](devices::DeviceRuntime), for as long as the process runs: keys
/// and types of devices are never taken back either.
///
/// # Errors
///
/// As [`backend`].
pub fn device() -> Result<Device> {
    static IS_REGISTERED: Mutex<bool> = Mutex::new(false);
    let device: Device = backend().and_then(|_| "toy:0".parse())?;
    let mut is_registered = IS_REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    if !*is_registered {
        devices::register(device.kind(), TOY.clone())?.keep();
        *is_registered = true;
    }
    Ok(device)
}

fn fits_as_output(out: &Tensor) -> Result<bool> {
    Ok(kernels::fits([out]))
}

/// Gives a dispatcher the backend; dropping the registration takes it back.
///
/// # Errors
///
/// The dispatcher has a backend of that name, or lacks the operators of `opgrid`.
pub fn register(dispatcher: &Dispatcher) -> Result<Registration> {
    device()?;
    let backend = backend()?;
    let toy = backend.key();
    let autograd = DispatchKey::runtime(Functionality::AutogradFunctionality, backend);

    let mut operators = dispatcher.implementations("aten", toy);
    operators.implement(ops::EmptyMemoryFormat).kernel(toy, kernels::empty);
    operators.implement(ops::EmptyStrided).kernel(toy, kernels::empty_strided);
    operators.implement(ops::CopyInplace).kernel(toy, kernels::copy_);
    let loops = Backend::new(toy, kernels::allocate);
    let add = loops.kernels(&ops::ADD, kernels::add).named("toy").when(
        "all are contiguous floats of one shape on one device and alpha is real",
        |input, other, alpha| Ok(kernels::fits([input, other]) && !matches!(alpha, Scalar::Complex(_))),
        fits_as_output,
    );
    let mul = loops.kernels(&ops::MUL, kernels::mul).named("toy").when(
        "all are contiguous floats of one shape on one device",
        |input, other| Ok(kernels::fits([input, other])),
        fits_as_output,
    );
    let relu = loops.kernels(&ops::RELU, kernels::relu).named("toy").when(
        "all are contiguous floats on one device",
        |input| Ok(kernels::fits([input])),
        fits_as_output,
    );
    operators.implement_family(add).implement_family(mul).implement_family(relu);

    let mut own = dispatcher.library("toy");
    own.define(MultiplyAdd).kernel(toy, kernels::multiply_add).kernel(autograd, kernels::multiply_then_add);

    let mut everything = dispatcher.implementations("_", toy);
    everything.fallback(Kernel::boxed(through_cpu));

    let mut registration = operators.finish()?;
    registration.join(own.finish()?);
    registration.join(everything.finish()?);
    Ok(registration)
}
