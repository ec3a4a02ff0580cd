//! Autocast: while it is on, operators compute in the dtype that torch's list for the device says.
//!
//! Products and convolutions are cast to the lower precision, losses and norms to float32, joined tensors to the widest of them.
//! Which operator has which policy says a list ([`CPU`], [`ACCELERATORS`]), by name: installing the layer gives each a kernel at
//! the device's autocast key. Calls of all others step over that key at no cost. Operators of users state a policy in their file
//! ([`DefineCastPolicy`]).
//!
//! [`within`] and [`Region`] turn it on for code on a thread. Tensors that are cast are those of floating-point dtypes other than
//! float64 on the device; what an operator calls while it has a policy is left alone.
//!
//! # Examples
//!
//! ```
//! use opgrid_core::{DType, Device, Dispatcher};
//! use opgrid::{Tensor, layers::autocast};
//!
//! let dispatcher = Dispatcher::new();
//! let _operators = opgrid::ops::register(&dispatcher)?;
//! let _layer = autocast::install(&dispatcher)?;
//! let x = Tensor::ones(&[2, 2], DType::F32, Device::CPU)?;
//! let (product, loss) = dispatcher.within(|| {
//!     autocast::within(DType::BF16, || -> opgrid_core::Result<_> {
//!         let product = x.mm(&x)?;
//!         Ok((product.clone(), opgrid::ops::MseLoss.call(&product, &x, 1)?))
//!     })
//! })?;
//! assert_eq!((product.dtype(), loss.dtype()), (DType::BF16, DType::F32));
//! # Ok::<(), opgrid_core::Error>(())
//! ```

mod cast;
mod lists;
mod region;
mod rule;
mod weights;

use opgrid_core::{
    BoxedCall, DeviceType, DispatchKey, DispatchKeySet, Dispatcher, Kernel, Reason, Registration, Result,
    autocast_key, device_key, excluding, register_context_part,
};

pub use lists::{ACCELERATORS, CPU};
pub use region::{
    Entered, Region, RegionId, decrement_nesting, dtype, increment_nesting, is_cache_enabled, is_enabled,
    set_cache_enabled, set_dtype, set_enabled, within,
};
pub use rule::{CastPolicy, DefineCastPolicy};
pub use weights::clear as clear_cache;

use crate::error::argument;

/// Puts the layer for tensors on the CPU under the operators of a dispatcher; dropping the registration takes it out.
///
/// # Errors
///
/// The dispatcher has it already.
pub fn install(dispatcher: &Dispatcher) -> Result<Registration> {
    install_for(dispatcher, DeviceType::Cpu)
}

/// Puts the layer for tensors on a kind of device under the operators of a dispatcher: with [`CPU`] on the CPU, with
/// [`ACCELERATORS`] elsewhere.
///
/// # Errors
///
/// As [`install`]; a device without an autocast key.
pub fn install_for(dispatcher: &Dispatcher, device: DeviceType) -> Result<Registration> {
    register_context_part(&region::Carried);
    let key = key_of(device)?;
    let mut others = dispatcher.implementations("_", key);
    others.fallback(Kernel::fallthrough().describe("autocast leaves it as it is"));
    let mut listed = dispatcher.implementations("aten", key);
    for (policy, names) in if device == DeviceType::Cpu { CPU } else { ACCELERATORS } {
        for name in *names {
            listed.implement(format!("aten::{name}").as_str()).add(policy.kernel());
        }
    }
    let mut registration = others.finish()?;
    registration.join(listed.finish()?);
    Ok(registration)
}

/// Installs the layer for a kind of device and keeps it, where the dispatcher does not have it.
///
/// # Errors
///
/// As [`install_for`].
pub fn ensure_installed(dispatcher: &Dispatcher, device: DeviceType) -> Result<()> {
    if !is_installed(dispatcher, key_of(device)?)? {
        match install_for(dispatcher, device) {
            Ok(layer) => layer.keep(),
            // Another thread has done it meanwhile.
            Err(error) if error.kind() == opgrid_core::ErrorKind::Duplicate => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn is_installed(dispatcher: &Dispatcher, key: DispatchKey) -> Result<bool> {
    Ok(dispatcher.default_slot(key)?.reason == Reason::Fallback)
}

/// The autocast key of tensors on a kind of device.
///
/// # Errors
///
/// Autocast knows no such device.
pub fn key_of(device: DeviceType) -> Result<DispatchKey> {
    device_key(device)?.backend().and_then(autocast_key).ok_or_else(|| {
        argument(format!(
            "autocast: found the device type `{device}`, expected one that has autocast, such as `cpu`"
        ))
    })
}

/// The keys of a set by which autocast sees a call.
fn autocast_keys(keys: DispatchKeySet) -> DispatchKeySet {
    DispatchKeySet::from_parts(keys.layers() & DispatchKeySet::AUTOCAST.layers(), keys.backends())
}

/// What autocast does to a call with tensors of a transform before the transform runs it: it decides by the operator that was
/// called, not by those that the transform makes of it.
///
/// # Errors
///
/// Those of the call.
pub(super) fn before_levels(
    call: &mut BoxedCall<'_>,
    run: impl FnOnce(&mut BoxedCall<'_>) -> Result<()>,
) -> Result<()> {
    let on = autocast_keys(call.keys());
    if on.layers() == 0 {
        return run(call);
    }
    let mut with_policy = DispatchKeySet::EMPTY;
    for key in on.iter().filter(|key| DispatchKeySet::AUTOCAST.layers() & key.key_set().layers() != 0) {
        if call.operator().slot(key)?.reason == Reason::Direct {
            with_policy = with_policy.add(key);
        }
    }
    if with_policy.layers() != 0 {
        // The call comes back when its arguments are cast, with autocast off.
        return call.redispatch(with_policy);
    }
    let backend = call.keys().highest_backend_type();
    if call.operator().slot(backend)?.reason == Reason::Alias(DispatchKey::CompositeImplicitAutograd) {
        return run(call);
    }
    excluding(DispatchKeySet::from_parts(on.layers(), 0), || run(call))
}
