//! The device of new tensors where a call names none.

use std::cell::RefCell;

use opgrid::Device;

thread_local! {
    /// Those that were set and entered on this thread, the innermost last; the first is that of `set_default_device`.
    static DEVICES: RefCell<Vec<Option<Device>>> = const { RefCell::new(Vec::new()) };
}

/// The device of new tensors on this thread, if one was chosen.
#[inline]
pub(crate) fn chosen() -> Option<Device> {
    DEVICES.with_borrow(|devices| devices.last().copied().flatten())
}

/// Begins a block with a device.
pub(super) fn enter(device: Device) {
    DEVICES.with_borrow_mut(|devices| {
        if devices.is_empty() {
            devices.push(None);
        }
        devices.push(Some(device));
    });
}

/// Ends the block that was begun last.
pub(super) fn leave() {
    DEVICES.with_borrow_mut(|devices| {
        if devices.len() > 1 {
            devices.pop();
        }
    });
}

/// Sets the device where no block of one is open; `None` for the CPU.
pub(crate) fn set(device: Option<Device>) {
    DEVICES.with_borrow_mut(|devices| match devices.first_mut() {
        Some(first) => *first = device,
        None => devices.push(device),
    });
}
