//! Devices: how many there are, which one is current, their streams, memory and random numbers.
//!
//! A backend implements [`DeviceRuntime`] and [registers](register) it for its type of device; the CPU is one with a
//! single device that does everything at once. Programs ask here, and are the same for every device. How
//! PyTorch's interfaces map to this one, and what was rejected: `docs/design/0029-devices.md`.
//!
//! A thread has a current device of each type and a current stream of each device. Kernels of a backend queue their work
//! on the current stream of the device of their tensors. Two streams do nothing in order unless one [waits](Stream::wait)
//! for an [`Event`] of the other; whoever reads elements out waits for all work on them
//! ([`DeviceMemory::read`](crate::DeviceMemory::read)). The derivatives of a call run on the streams that are
//! current where `backward` is called.
//!
//! # Examples
//!
//! ```
//! use opgrid_core::{Device, DeviceType};
//! use opgrid_array::{Storage, devices};
//!
//! assert!(devices::is_available(DeviceType::Cpu) && devices::count(DeviceType::Cuda) == 0);
//! let device = devices::current(DeviceType::Cpu)?;
//! let stream = devices::current_stream(device)?;
//! let storage = Storage::new(&*devices::allocator(device)?, 64)?;
//! stream.synchronize()?;
//! assert_eq!(storage.bytes(), 64);
//! # Ok::<(), opgrid_core::Error>(())
//! ```

mod current;
mod registry;
mod runtime;
mod stream;

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use opgrid_core::{Device, DeviceType, Generator, Result};

use crate::error::argument;
use crate::random::{self, Random};
use crate::{Allocation, Allocator, Storage, allocator};
use registry::Entry;

pub use current::{DeviceGuard, StreamGuard, set_current, set_current_stream};
pub use registry::{DeviceRegistration, register, types};
pub use runtime::DeviceRuntime;
pub use stream::{DeviceEvent, DeviceStream, Event, Stream};

/// How many devices of a type there are; none where no runtime speaks for it.
pub fn count(kind: DeviceType) -> usize {
    registry::find(kind).map_or(0, |entry| entry.runtime().count())
}

/// Whether there is a device of that type.
pub fn is_available(kind: DeviceType) -> bool {
    count(kind) > 0
}

/// The current device of a type on this thread, with its index.
///
/// # Errors
///
/// There is no device of that type.
pub fn current(kind: DeviceType) -> Result<Device> {
    let entry = registry::expect(kind)?;
    entry.device(entry.index(Device::from_type(kind))?)
}

/// The device with its index: the current one of its type where it names none. Devices of types that have no runtime, the
/// CPU and meta are as they are.
///
/// A backend's kernels that make tensors ask it which device is meant.
///
/// # Errors
///
/// There is no such device.
pub fn resolve(device: Device) -> Result<Device> {
    if matches!(device.kind(), DeviceType::Cpu | DeviceType::Meta) {
        return Ok(device);
    }
    match registry::find(device.kind()) {
        Some(entry) => entry.device(entry.index(device)?),
        None => Ok(device),
    }
}

/// Whether a tensor on `device` is where it is `asked` for: one without an index is the current one of its type, and a fake tensor is on
/// the device that it passes for.
pub fn is_on(device: Device, asked: Device) -> bool {
    let asked = if device.is_fake() { asked.fake() } else { asked };
    device == asked
        || device.kind() == asked.kind()
            && !device.is_fake()
            && resolve(device).is_ok_and(|device| resolve(asked).is_ok_and(|asked| device == asked))
}

/// Waits for all work on a device, on every stream. A device that was not started has none.
///
/// # Errors
///
/// There is no such device; those of work that was queued and has failed, which nobody was notified of yet.
pub fn synchronize(device: Device) -> Result<()> {
    let entry = registry::expect(device.kind())?;
    let index = entry.index(device)?;
    if entry.is_started() { entry.runtime().synchronize(index) } else { Ok(()) }
}

/// The stream that work on a device goes to where nobody chose another one.
///
/// # Errors
///
/// There is no such device; its runtime does not start.
pub fn default_stream(device: Device) -> Result<Stream> {
    let (entry, index) = registry::started(device)?;
    entry.default_stream(index)
}

/// The stream that work of this thread on a device goes to.
///
/// # Errors
///
/// As [`default_stream`].
pub fn current_stream(device: Device) -> Result<Stream> {
    let (entry, index) = registry::started(device)?;
    match current::stream(&entry, entry.device(index)?) {
        Some(stream) => Ok(stream),
        None => entry.default_stream(index),
    }
}

/// The source of a device's memory: the one that was set, or the runtime's own.
///
/// # Errors
///
/// There is no such device; its runtime does not start.
pub fn allocator(device: Device) -> Result<Arc<dyn Allocator>> {
    let (entry, index) = registry::started(device)?;
    entry.allocator(index)
}

/// Has a device's memory come from another source from here on, for all threads; `None` brings the runtime's own back.
/// Gives what was set before. Memory that is there stays.
///
/// A backend's kernels find their memory by its type, so that the new source takes it from [the one before](allocator())
/// and counts, limits or keeps it.
///
/// # Errors
///
/// There is no such device.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
///
/// use opgrid_array::{Array, CountingAllocator, devices};
/// use opgrid_core::Device;
///
/// let counting = CountingAllocator::over(devices::allocator(Device::CPU)?);
/// let before = devices::set_allocator(Device::CPU, Some(Arc::new(counting.clone())))?;
/// let x = Array::from_slice(&[0.0f32; 8], &[8])?;
/// assert_eq!(counting.live_bytes(), 32);
/// devices::set_allocator(Device::CPU, before)?;
/// let y = Array::from_slice(&[1.0f32; 8], &[8])?;
/// assert_eq!(counting.total_allocations(), 1);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn set_allocator(
    device: Device,
    allocator: Option<Arc<dyn Allocator>>,
) -> Result<Option<Arc<dyn Allocator>>> {
    let entry = registry::expect(device.kind())?;
    let index = entry.index(device)?;
    Ok(match entry.kind() {
        DeviceType::Cpu => allocator::set_of_cpu(allocator),
        _ => entry.set_allocator(index, allocator),
    })
}

/// Whether devices of that type copy from and to pinned memory while the program goes on.
pub fn can_pin(kind: DeviceType) -> bool {
    registry::find(kind).is_some_and(|entry| entry.runtime().pinned_allocator().is_some())
}

/// The types of devices that have pinned memory.
pub fn pinning() -> Vec<DeviceType> {
    types().into_iter().filter(|kind| can_pin(*kind)).collect()
}

/// Memory of the CPU that is pinned for devices of a type, or for the only ones that have such memory.
///
/// # Errors
///
/// No devices, or several types, have pinned memory; those of the runtime.
pub fn pinned_storage(kind: Option<DeviceType>, bytes: usize) -> Result<Storage> {
    let entry = match kind {
        Some(kind) => registry::expect(kind)?,
        None => {
            let mut pinning = pinning();
            if pinning.len() > 1 {
                let found: Vec<_> = pinning.into_iter().map(DeviceType::name).collect();
                let message = format!(
                    "found pinned memory for several device types, {}, expected one; choose it with \
                     `pin_memory(device)`",
                    found.join(", ")
                );
                return Err(argument(message));
            }
            registry::expect(pinning.pop().ok_or_else(no_pinned_memory)?)?
        }
    };
    if entry.runtime().pinned_allocator().is_none() {
        return Err(no_pinned_memory());
    }
    entry.start()?;
    let source = entry.runtime().pinned_allocator().ok_or_else(no_pinned_memory)?;
    let storage = Storage::new(&Pinned { source, kind: entry.kind() }, bytes)?;
    if storage.address().is_none() {
        let kind = entry.kind();
        let message = format!(
            "the pinned-memory allocator of `{kind}` returned memory that the CPU cannot address, \
             expected memory of the process; fix the runtime's `pinned_allocator`"
        );
        return Err(argument(message));
    }
    Ok(storage)
}

/// Memory that says for which devices it is pinned.
struct Pinned {
    source: Arc<dyn Allocator>,
    kind: DeviceType,
}

impl Allocator for Pinned {
    fn name(&self) -> &str {
        self.source.name()
    }

    fn allocate(&self, bytes: usize) -> Result<Allocation> {
        Ok(self.source.allocate(bytes)?.pinned_for(self.kind))
    }
}

#[cold]
fn no_pinned_memory() -> opgrid_core::Error {
    argument(
        "the call asks for pinned memory, but no runtime has a `pinned_allocator`; leave `pin_memory` out, \
         or register such a runtime",
    )
}

/// What is held while the process forks.
pub(crate) fn hold_at_fork(held: &mut opgrid_core::fork::Held) {
    held.lock(&SEED);
    registry::hold_at_fork(held);
}

/// What [`manual_seed`] said last.
static SEED: Mutex<Option<u64>> = Mutex::new(None);

/// The stream of random numbers that operators on a device draw from when no generator is given.
///
/// # Errors
///
/// There is no such device; its runtime does not start.
pub fn default_generator(device: Device) -> Result<Generator> {
    if device.kind() == DeviceType::Cpu {
        return Ok(random::default_generator());
    }
    let (entry, index) = registry::started(device)?;
    generator_of(&entry, index)
}

fn generator_of(entry: &Entry, index: usize) -> Result<Generator> {
    entry.generator(index, || {
        let said = *SEED.lock().unwrap_or_else(PoisonError::into_inner);
        let seed = said.unwrap_or_else(|| RandomState::new().hash_one(0));
        entry.runtime().new_generator(entry.device(index)?, seed)
    })
}

/// A stream of random numbers of its own for a device, for the `generator` argument of operators.
///
/// # Errors
///
/// As [`default_generator`].
///
/// # Examples
///
/// ```
/// use opgrid_array::{devices, random};
/// use opgrid_core::Device;
///
/// let draw = || {
///     let generator = devices::generator(Device::CPU, 7)?;
///     random::draw(Some(&generator), |random| random.bits32())
/// };
/// assert_eq!(draw()?, draw()?);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn generator(device: Device, seed: u64) -> Result<Generator> {
    let (entry, index) = registry::started(device)?;
    let device = if device.kind() == DeviceType::Cpu { Device::CPU } else { entry.device(index)? };
    entry.runtime().new_generator(device, seed)
}

/// Starts the streams that operators draw from when no generator is given anew, of the CPU and of every device, for all
/// threads; devices whose streams nobody has used yet begin with the same seed. Without it the streams are others in
/// each process.
///
/// # Examples
///
/// ```
/// use opgrid_array::{manual_seed, random};
///
/// manual_seed(5489);
/// assert_eq!(random::draw(None, |random| random.bits32())?, 3_499_211_612);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn manual_seed(seed: u64) {
    random::manual_seed(seed);
    *SEED.lock().unwrap_or_else(PoisonError::into_inner) = Some(seed);
    for entry in registry::all() {
        for (index, generator) in entry.generators() {
            // A generator that does not begin anew is replaced by one that begins with the seed.
            if entry.runtime().seed_generator(&generator, seed).is_err() {
                entry.forget_generator(index);
            }
        }
    }
}

/// Where the default streams of random numbers are: of the CPU, and of the devices that were started and whose
/// generators are those of [`random`].
pub fn random_states() -> Vec<(Generator, Random)> {
    let started = registry::all().into_iter().filter(|entry| entry.is_started());
    let of_devices = started.flat_map(|entry| {
        // A device whose stream nobody has used gets it here, or its first numbers could not be drawn again.
        (0..entry.runtime().count()).filter_map(|index| generator_of(&entry, index).ok()).collect::<Vec<_>>()
    });
    let generators = std::iter::once(random::default_generator()).chain(of_devices);
    let state = |generator: Generator| random::state(Some(&generator)).ok().map(|state| (generator, state));
    generators.filter_map(state).collect()
}
