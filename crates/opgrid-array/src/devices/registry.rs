//! Which runtime speaks for which type of device, and what is kept of its devices.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::ThreadId;

use opgrid_core::{Device, DeviceType, Error, ErrorKind, Generator, Place, Result};

use super::current;
use super::runtime::{Cpu, DeviceRuntime};
use super::stream::Stream;
use crate::Allocator;
use crate::error::argument;

/// A runtime with what is kept for it.
pub(super) struct Entry {
    kind: DeviceType,
    /// No other registration of the process has it.
    number: u64,
    place: Place,
    runtime: Box<dyn DeviceRuntime>,
    start: Start,
    devices: Mutex<Vec<Kept>>,
}

/// What is kept of one device.
#[derive(Default)]
pub struct Kept {
    allocator: Option<Arc<dyn Allocator>>,
    stream: Option<Stream>,
    generator: Option<Generator>,
}

/// Whether the runtime was started.
#[derive(Default)]
struct Start {
    done: AtomicBool,
    /// The thread that is starting it.
    by: Mutex<Option<ThreadId>>,
    ended: Condvar,
}

static ENTRIES: RwLock<Vec<Arc<Entry>>> = RwLock::new(Vec::new());

/// What is held while the process forks.
pub(crate) fn hold_at_fork(held: &mut opgrid_core::fork::Held) {
    held.write(&ENTRIES);
}

static CPU: LazyLock<Arc<Entry>> =
    LazyLock::new(|| Arc::new(Entry::new(DeviceType::Cpu, Place::here(), Box::new(Cpu))));

/// Lets a runtime speak for a type of device, until the registration is dropped. Streams and memory that were handed
/// out live on.
///
/// # Errors
///
/// [`ErrorKind::Duplicate`] where another one does, naming both places; [`ErrorKind::Registration`] for the CPU and
/// meta, which need none.
#[track_caller]
pub fn register(kind: DeviceType, runtime: impl DeviceRuntime) -> Result<DeviceRegistration> {
    let place = Place::here();
    if matches!(kind, DeviceType::Cpu | DeviceType::Meta) {
        let message = format!(
            "runtime at {place}: device type `{kind}` is built in; register a runtime for your \
             backend's own device type"
        );
        return Err(Error::new(ErrorKind::Registration, message));
    }
    let entry = Arc::new(Entry::new(kind, place, Box::new(runtime)));
    let mut entries = ENTRIES.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = entries.iter().find(|known| known.kind == kind) {
        let known = known.place;
        // The new runtime is dropped without the lock: it is the backend's.
        drop(entries);
        let message = format!(
            "runtime at {place}: device type `{kind}` already has a runtime, registered at {known}; \
             drop that registration first"
        );
        return Err(Error::new(ErrorKind::Duplicate, message));
    }
    entries.push(Arc::clone(&entry));
    Ok(DeviceRegistration(Some(entry)))
}

/// A runtime that speaks for a type of device; dropping this takes it back.
#[must_use = "the runtime is unregistered when this is dropped"]
pub struct DeviceRegistration(Option<Arc<Entry>>);

impl DeviceRegistration {
    /// Keeps the runtime for as long as the process runs.
    pub fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for DeviceRegistration {
    fn drop(&mut self) {
        let Some(own) = self.0.take() else { return };
        let mut entries = ENTRIES.write().unwrap_or_else(PoisonError::into_inner);
        let place = entries.iter().position(|entry| entry.number == own.number);
        let taken = place.map(|place| entries.remove(place));
        // Dropped after the lock: what the runtime does then is the backend's.
        drop(entries);
        drop((taken, own));
    }
}

impl fmt::Debug for DeviceRegistration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(entry) => write!(f, "runtime of `{}` devices, registered at {}", entry.kind, entry.place),
            None => f.write_str("runtime that is kept"),
        }
    }
}

/// Every type of device that has a runtime, the CPU first.
pub fn types() -> Vec<DeviceType> {
    all().iter().map(|entry| entry.kind).collect()
}

pub(super) fn all() -> Vec<Arc<Entry>> {
    let entries = ENTRIES.read().unwrap_or_else(PoisonError::into_inner);
    std::iter::once(&*CPU).chain(entries.iter()).cloned().collect()
}

/// The runtime of a type of device, if there is one.
pub(super) fn find(kind: DeviceType) -> Option<Arc<Entry>> {
    if kind == DeviceType::Cpu {
        return Some(CPU.clone());
    }
    let entries = ENTRIES.read().unwrap_or_else(PoisonError::into_inner);
    entries.iter().find(|entry| entry.kind == kind).cloned()
}

/// The runtime of a type of device.
///
/// # Errors
///
/// There is none.
pub(super) fn expect(kind: DeviceType) -> Result<Arc<Entry>> {
    find(kind).ok_or_else(|| {
        let known: Vec<_> = types().into_iter().map(DeviceType::name).collect();
        let message = format!(
            "device type `{kind}` has no runtime, expected one of {}; register one by `devices::register`",
            known.join(", ")
        );
        Error::new(ErrorKind::Unknown, message)
    })
}

/// The runtime of a device, started, and the device's index: the current one where it names none.
///
/// # Errors
///
/// There is no runtime, or no such device; the runtime does not start.
pub(super) fn started(device: Device) -> Result<(Arc<Entry>, usize)> {
    let entry = expect(device.kind())?;
    let index = entry.index(device)?;
    entry.start()?;
    Ok((entry, index))
}

impl Entry {
    fn new(kind: DeviceType, place: Place, runtime: Box<dyn DeviceRuntime>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { kind, number, place, runtime, start: Start::default(), devices: Mutex::default() }
    }

    pub(super) fn kind(&self) -> DeviceType {
        self.kind
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn runtime(&self) -> &dyn DeviceRuntime {
        &*self.runtime
    }

    /// The device of that number.
    pub(super) fn device(&self, index: usize) -> Result<Device> {
        Device::numbered(self.kind, index)
    }

    /// The number of a device, by which it is the current one where it has none.
    ///
    /// # Errors
    ///
    /// There is no such device.
    pub(super) fn index(&self, device: Device) -> Result<usize> {
        let count = self.runtime.count();
        let index = device.index().unwrap_or_else(|| current::index(self));
        if index < count {
            return Ok(index);
        }
        let found = Device::numbered(self.kind, index)?;
        Err(argument(match count {
            0 => format!("there is no device {found}, `{}` has none; check its driver", self.kind),
            1 => format!("there is no device {found}, expected {}:0, the only one", self.kind),
            _ => format!("there is no device {found}, expected {0}:0 to {0}:{1}", self.kind, count - 1),
        }))
    }

    /// Whether the runtime was started.
    pub(super) fn is_started(&self) -> bool {
        self.start.done.load(Ordering::Acquire)
    }

    /// Starts the runtime, unless that was done.
    ///
    /// # Errors
    ///
    /// Its own; it asks for itself while it starts.
    pub(super) fn start(&self) -> Result<()> {
        if self.is_started() {
            return Ok(());
        }
        let this = std::thread::current().id();
        let mut by = lock(&self.start.by);
        while let Some(other) = *by {
            if other == this {
                let message = format!(
                    "the runtime of `{}` at {} uses its own devices while it starts; call no function \
                     of `devices` for this type in `start`",
                    self.kind, self.place
                );
                return Err(Error::new(ErrorKind::Registration, message));
            }
            by = self.start.ended.wait(by).unwrap_or_else(PoisonError::into_inner);
        }
        if self.is_started() {
            return Ok(());
        }
        *by = Some(this);
        drop(by);
        // A panic of the backend is no end either: the next caller tries again.
        let _ended = Ended(&self.start);
        self.runtime
            .start()
            .map_err(|error| error.within(format_args!("devices of type `{}`", self.kind)))?;
        self.start.done.store(true, Ordering::Release);
        Ok(())
    }

    /// What is kept of a device.
    fn kept<X>(&self, index: usize, body: impl FnOnce(&mut Kept) -> X) -> X {
        let mut devices = lock(&self.devices);
        if devices.len() <= index {
            devices.resize_with(index + 1, Kept::default);
        }
        body(&mut devices[index])
    }

    pub(super) fn set_allocator(
        &self,
        index: usize,
        allocator: Option<Arc<dyn Allocator>>,
    ) -> Option<Arc<dyn Allocator>> {
        self.kept(index, |kept| std::mem::replace(&mut kept.allocator, allocator))
    }

    /// The source of a device's memory.
    ///
    /// # Errors
    ///
    /// Those of the runtime.
    pub(super) fn allocator(&self, index: usize) -> Result<Arc<dyn Allocator>> {
        match self.kept(index, |kept| kept.allocator.clone()) {
            Some(allocator) => Ok(allocator),
            None => self.runtime.allocator(index),
        }
    }

    /// The stream that work goes to where nobody chose another one; the same each time.
    ///
    /// # Errors
    ///
    /// Those of the runtime.
    pub(super) fn default_stream(&self, index: usize) -> Result<Stream> {
        if let Some(stream) = self.kept(index, |kept| kept.stream.clone()) {
            return Ok(stream);
        }
        let stream = Stream::of_queue(self.device(index)?, self.number, self.runtime.default_stream(index)?);
        // Another thread may have been first; then this one's is dropped, without the lock.
        Ok(self.kept(index, |kept| kept.stream.get_or_insert_with(|| stream.clone()).clone()))
    }

    /// The generator of a device, which `make` makes when it is first asked for.
    ///
    /// # Errors
    ///
    /// Those of the runtime.
    pub(super) fn generator(
        &self,
        index: usize,
        make: impl FnOnce() -> Result<Generator>,
    ) -> Result<Generator> {
        if let Some(generator) = self.kept(index, |kept| kept.generator.clone()) {
            return Ok(generator);
        }
        let generator = make()?;
        Ok(self.kept(index, |kept| kept.generator.get_or_insert_with(|| generator.clone()).clone()))
    }

    /// The generators that were asked for so far, with their devices' numbers.
    pub(super) fn generators(&self) -> Vec<(usize, Generator)> {
        let devices = lock(&self.devices);
        let made = devices.iter().enumerate();
        made.filter_map(|(index, kept)| Some((index, kept.generator.clone()?))).collect()
    }

    /// Has the next who asks for a device's generator get a new one.
    pub(super) fn forget_generator(&self, index: usize) {
        let before = self.kept(index, |kept| kept.generator.take());
        drop(before);
    }
}

/// The end of a start, however it ended.
struct Ended<'a>(&'a Start);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        *lock(&self.0.by) = None;
        self.0.ended.notify_all();
    }
}

fn lock<X>(mutex: &Mutex<X>) -> MutexGuard<'_, X> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
