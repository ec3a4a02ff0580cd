//! Which device and which streams are current on a thread, and guards that change them for a scope.

use std::any::Any;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::Once;

use opgrid_core::{ContextPart, Device, DeviceType, Result, register_context_part};

use super::registry::{self, Entry};
use super::stream::Stream;
use crate::error::argument;

/// What is current of one type of device; what is not said is the first device, and its default stream.
#[derive(Clone)]
struct OfType {
    kind: DeviceType,
    /// The number of the runtime's registration; a choice made for an earlier runtime is ignored.
    registration: u64,
    index: usize,
    streams: Vec<Stream>,
}

thread_local! {
    static CURRENT: RefCell<Vec<OfType>> = const { RefCell::new(Vec::new()) };
}

/// Reads what is current of a type of device on this thread, if anything was said.
fn look<X>(entry: &Entry, read: impl FnOnce(&OfType) -> X) -> Option<X> {
    let read = |current: &RefCell<Vec<OfType>>| {
        let current = current.borrow();
        let of_type = current.iter().find(|of_type| of_type.registration == entry.number())?;
        Some(read(of_type))
    };
    // A thread that ends has the defaults.
    CURRENT.try_with(read).ok().flatten()
}

/// Changes what is current of a type of device on this thread. What `change` gives is dropped by the caller, when
/// nothing is borrowed: streams are the backend's.
fn change<X>(kind: DeviceType, registration: u64, change: impl FnOnce(&mut OfType) -> X) -> Option<X> {
    // Who changes nothing pays for no part of contexts.
    static CARRIED: Once = Once::new();
    CARRIED.call_once(|| register_context_part(&PART));
    let mut stale = Vec::new();
    let changed = CURRENT.try_with(|current| {
        let mut current = current.borrow_mut();
        let is_stale = |of_type: &mut OfType| of_type.kind == kind && of_type.registration != registration;
        stale.extend(current.extract_if(.., is_stale));
        let place = current.iter().position(|of_type| of_type.registration == registration);
        let place = place.unwrap_or_else(|| {
            current.push(OfType { kind, registration, index: 0, streams: Vec::new() });
            current.len() - 1
        });
        change(&mut current[place])
    });
    drop(stale);
    changed.ok()
}

/// The number of the current device of this thread.
pub(super) fn index(entry: &Entry) -> usize {
    look(entry, |of_type| of_type.index).unwrap_or(0)
}

/// The stream that was made current for a device on this thread.
pub(super) fn stream(entry: &Entry, device: Device) -> Option<Stream> {
    look(entry, |of_type| of_type.streams.iter().find(|stream| stream.device() == device).cloned()).flatten()
}

fn replace_index(kind: DeviceType, registration: u64, index: usize) -> usize {
    change(kind, registration, |of_type| std::mem::replace(&mut of_type.index, index)).unwrap_or(0)
}

/// Makes a stream the current one of its device, or the default one; gives the one before.
fn replace_stream(device: Device, registration: u64, stream: Option<Stream>) -> Option<Stream> {
    change(device.kind(), registration, |of_type| {
        let place = of_type.streams.iter().position(|stream| stream.device() == device);
        let before = place.map(|place| of_type.streams.swap_remove(place));
        of_type.streams.extend(stream);
        before
    })
    .flatten()
}

/// Makes a device the current one of its type on this thread, until somebody makes another one; [`DeviceGuard`] does so
/// for a scope. Gives the one before.
///
/// # Errors
///
/// There is no such device.
pub fn set_current(device: Device) -> Result<Device> {
    let entry = registry::expect(device.kind())?;
    let index = entry.index(device)?;
    entry.device(replace_index(entry.kind(), entry.number(), index))
}

/// Makes a stream the current one of its device on this thread, until somebody makes another one; [`StreamGuard`] does
/// so for a scope.
///
/// # Errors
///
/// A stream of a runtime that was taken back.
pub fn set_current_stream(stream: &Stream) -> Result<()> {
    is_registered(stream)?;
    let before = replace_stream(stream.device(), stream.registration(), Some(stream.clone()));
    drop(before);
    Ok(())
}

fn is_registered(stream: &Stream) -> Result<()> {
    let kind = stream.device().kind();
    if registry::find(kind).is_some_and(|entry| entry.number() == stream.registration()) {
        Ok(())
    } else {
        Err(argument(format!(
            "{stream:?}: found a stream of an unregistered runtime, expected one of the runtime of \
             `{kind}` that is registered now; create a new stream"
        )))
    }
}

/// A scope on this thread in which a device is the current one of its type; the one before is so again when this is
/// dropped, also by a panic. Work that the thread hands to others by a [`ThreadContext`](opgrid_core::ThreadContext)
/// finds it too.
///
/// # Examples
///
/// ```
/// use opgrid_core::{Device, DeviceType};
/// use opgrid_array::devices::{DeviceGuard, current};
///
/// let _guard = DeviceGuard::new(Device::CPU)?;
/// assert_eq!(current(DeviceType::Cpu)?.index(), Some(0));
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[must_use = "the scope ends when this is dropped"]
#[derive(Debug)]
pub struct DeviceGuard {
    kind: DeviceType,
    registration: u64,
    before: usize,
    /// The scope ends on the thread on which it began.
    _of_this_thread: PhantomData<*const ()>,
}

impl DeviceGuard {
    /// Begins the scope.
    ///
    /// # Errors
    ///
    /// There is no such device.
    pub fn new(device: Device) -> Result<Self> {
        let entry = registry::expect(device.kind())?;
        let index = entry.index(device)?;
        Ok(Self::for_index(entry.kind(), entry.number(), index))
    }

    fn for_index(kind: DeviceType, registration: u64, index: usize) -> Self {
        let before = replace_index(kind, registration, index);
        Self { kind, registration, before, _of_this_thread: PhantomData }
    }
}

impl Drop for DeviceGuard {
    fn drop(&mut self) {
        if registry::find(self.kind).is_some_and(|entry| entry.number() == self.registration) {
            replace_index(self.kind, self.registration, self.before);
        }
    }
}

/// A scope on this thread in which a stream is the current one of its device, and its device the current one of its
/// type; those before are so again when this is dropped, also by a panic.
///
/// # Examples
///
/// ```
/// use opgrid_core::Device;
/// use opgrid_array::devices::{Stream, StreamGuard, current_stream};
///
/// let (before, other) = (current_stream(Device::CPU)?, Stream::new(Device::CPU)?);
/// let guard = StreamGuard::new(&other)?;
/// assert_eq!(current_stream(Device::CPU)?, other);
/// drop(guard);
/// assert_eq!(current_stream(Device::CPU)?, before);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[must_use = "the scope ends when this is dropped"]
#[derive(Debug)]
pub struct StreamGuard {
    of_device: Device,
    before: Option<Stream>,
    device: DeviceGuard,
}

impl StreamGuard {
    /// Begins the scope.
    ///
    /// # Errors
    ///
    /// As [`set_current_stream`].
    pub fn new(stream: &Stream) -> Result<Self> {
        is_registered(stream)?;
        let (of_device, registration) = (stream.device(), stream.registration());
        let device = DeviceGuard::for_index(of_device.kind(), registration, of_device.index().unwrap_or(0));
        let before = replace_stream(of_device, registration, Some(stream.clone()));
        Ok(Self { of_device, before, device })
    }
}

impl Drop for StreamGuard {
    fn drop(&mut self) {
        let registration = self.device.registration;
        if registry::find(self.of_device.kind()).is_some_and(|entry| entry.number() == registration) {
            let within = replace_stream(self.of_device, registration, self.before.take());
            drop(within);
        }
    }
}

/// What is current goes along where work goes to other threads.
struct Part;

/// The one that contexts carry.
static PART: Part = Part;

/// Puts back what was current before.
struct Before(Vec<OfType>);

impl Drop for Before {
    fn drop(&mut self) {
        let before = std::mem::take(&mut self.0);
        let _ = CURRENT.try_with(|current| current.replace(before));
    }
}

impl ContextPart for Part {
    fn capture(&self) -> Option<Box<dyn Any + Send + Sync>> {
        let current = CURRENT.try_with(|current| current.borrow().clone()).ok()?;
        if current.is_empty() { None } else { Some(Box::new(current)) }
    }

    fn within(&self, state: &(dyn Any + Send + Sync), body: &mut dyn FnMut()) {
        let state: Vec<OfType> = state.downcast_ref().cloned().unwrap_or_default();
        let _before = CURRENT.try_with(|current| Before(current.replace(state)));
        body();
    }
}
