//! What operators share that make tensors from nothing: no argument is a tensor, so options choose the backend.
//!
//! The kernel for `BackendSelect` computes the key from dtype, layout and device, and calls on with it alone. What has
//! no kernel there fails with the error of that key.

use opgrid_core::operator::KernelOf;
use opgrid_core::{
    Argument, DType, Device, DispatchKey, DispatchKeySet, Layout, Operator, OperatorBuilder, Result, Return,
    Scalar, Signature, compute_dispatch_key, operator,
};

use crate::families::DefineKind;
use crate::samples::{Difference, Directed, Operand};

/// The signature of an operator whose last arguments are dtype, layout, device and whether memory is pinned.
pub trait Factory: Signature {
    /// The arguments that choose the backend.
    fn options(args: Self::Args<'_>) -> (Option<DType>, Option<Layout>, Option<Device>);
}

macro_rules! factory {
    ($(($($name:ident $value:ident),*))*) => {
        $(impl<Ret: Return, $($name: Argument),*> Factory
            for fn($($name,)* Option<DType>, Option<Layout>, Option<Device>, Option<bool>) -> Ret
        {
            #[inline]
            fn options(args: Self::Args<'_>) -> (Option<DType>, Option<Layout>, Option<Device>) {
                let ($($value,)* dtype, layout, device, _pin_memory) = args;
                (dtype, layout, device)
            }
        })*
    };
}

factory! {
    (A _a)
    (A _a, B _b)
    (A _a, B _b, C _c)
}

/// Adds the kernels of a factory to an operator.
pub(super) trait Factories<O: Operator>: Sized {
    /// The same function for every backend, and the choice of the backend in front of it.
    fn factory(self, operator: O, kernel: KernelOf<O>) -> Self
    where
        O::Signature: Factory;
}

impl<O: Operator> Factories<O> for OperatorBuilder<'_, O> {
    #[track_caller]
    fn factory(self, operator: O, kernel: KernelOf<O>) -> Self
    where
        O::Signature: Factory,
    {
        let selected = self.closure(DispatchKey::BackendSelect, move |args| {
            let (dtype, layout, device) = O::Signature::options(args);
            operator::redispatch(operator, selected(dtype, layout, device)?, args)
        });
        selected.on_every_backend(kernel)
    }
}

/// The keys that such a call goes on with.
///
/// # Errors
///
/// There is no key for such data.
#[inline]
pub(super) fn selected(
    dtype: Option<DType>,
    layout: Option<Layout>,
    device: Option<Device>,
) -> Result<DispatchKeySet> {
    const CPU: DispatchKeySet = DispatchKeySet::from_key(DispatchKey::Cpu);
    match compute_dispatch_key(dtype, layout, device)? {
        DispatchKey::Cpu => Ok(CPU),
        key => Ok(key.key_set()),
    }
}

/// The differences from torch that come of what stands here.
pub(crate) const DIFFERENCES: &[Difference] = &[Difference {
    id: "no-pinned-memory",
    what: "torch pins memory for a device that is not there, or does not look; here it is refused",
    why: "there is no device that copies from it",
    test: ("opgrid-tensor/tests/differences.rs", "pinned_memory_is_refused"),
    when: |seen| seen.we_refuse("asks for pinned memory"),
    directed: Some(Directed {
        operator: "aten::_to_copy",
        arguments: || {
            vec![
                ("self", Operand::rows(0, DType::F32, &[1], &[1.0]).into()),
                ("pin_memory", Scalar::Bool(true).into()),
            ]
        },
    }),
}];
