//! A backend in a crate of its own: the device `toy:0`, whose memory the host cannot address.
//!
//! [`register`] gives a dispatcher what the device can do: make tensors, copy both ways, add and multiply contiguous
//! floats, and an operator of its own that is fused where nobody wants gradients. Every other call goes through the
//! CPU, which is counted and an error in strict mode. Nothing in opgrid knows of this crate.
#![forbid(unsafe_code)]

pub mod arena;
pub mod kernels;

use std::sync::LazyLock;

use opgrid::families::{Backend, DefineFamily, through_cpu};
use opgrid::prelude::*;
use opgrid::{BackendComponent, Functionality, ops};

pub use arena::Arena;
pub use kernels::{MultiplyAdd, to};

/// The memory of `toy:0`: 1 MiB.
pub static ARENA: LazyLock<Arena> = LazyLock::new(|| Arena::new(1 << 20));

/// The backend, allocated when it is first asked for: the keys `Toy`, `AutogradToy` and so on, the device `toy`.
///
/// # Errors
///
/// Sixteen other backends are there already.
pub fn backend() -> Result<BackendComponent> {
    BackendComponent::register("Toy")
}

/// The one device that there is, `toy:0`.
///
/// # Errors
///
/// As [`backend`].
pub fn device() -> Result<Device> {
    backend()?;
    "toy:0".parse()
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
    let backend = backend()?;
    let toy = backend.key();
    let autograd = DispatchKey::runtime(Functionality::AutogradFunctionality, backend);

    let mut operators = dispatcher.implementations("aten", toy);
    operators.implement(ops::EmptyMemoryFormat).kernel(toy, kernels::empty);
    operators.implement(ops::EmptyStrided).kernel(toy, kernels::empty_strided);
    operators.implement(ops::CopyInplace).kernel(toy, kernels::copy_);
    let loops = Backend::new(toy, kernels::allocate);
    let add = loops.kernels(&ops::ADD, kernels::add).named("toy").when(
        "all are contiguous floats of one shape on toy:0 and alpha is real",
        |input, other, alpha| Ok(kernels::fits([input, other]) && !matches!(alpha, Scalar::Complex(_))),
        fits_as_output,
    );
    let mul = loops.kernels(&ops::MUL, kernels::mul).named("toy").when(
        "all are contiguous floats of one shape on toy:0",
        |input, other| Ok(kernels::fits([input, other])),
        fits_as_output,
    );
    let relu = loops.kernels(&ops::RELU, kernels::relu).named("toy").when(
        "all are contiguous floats on toy:0",
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
