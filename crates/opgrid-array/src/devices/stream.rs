//! Streams and events: queues of a device's work, and the marks by which one waits for another.

use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use opgrid_core::deferred_drop::Flat;
use opgrid_core::{Device, Result};

use super::registry;
use crate::error::argument;

/// A queue of a device, as its backend implements it: work runs in the order in which it was queued.
///
/// Kernels find the backend's own type by [`Stream::backend`] and queue their work there. Marks are for the front end:
/// [`Event`] and [`Stream::wait`] are made of them.
pub trait DeviceStream: Any + Send + Sync {
    /// Makes a mark behind all that was queued so far; a `timed` one knows later when it was reached.
    ///
    /// # Errors
    ///
    /// Those of the device.
    fn record(&self, timed: bool) -> Result<Arc<dyn DeviceEvent>>;

    /// Lets what is queued from here on wait until a mark, of this queue or another of the same backend, was reached. The
    /// calling thread goes on.
    ///
    /// # Errors
    ///
    /// A mark of another backend; those of the device.
    fn wait(&self, mark: &dyn DeviceEvent) -> Result<()>;

    /// Whether all that was queued so far has ended.
    ///
    /// # Errors
    ///
    /// Those of the device.
    fn query(&self) -> Result<bool>;

    /// Waits until all that was queued so far has ended.
    ///
    /// # Errors
    ///
    /// Those of work that was queued and has failed, which nobody was notified of yet.
    fn synchronize(&self) -> Result<()>;
}

/// A mark in a queue, as its backend implements it.
pub trait DeviceEvent: Any + Send + Sync {
    /// Whether the queue has reached it.
    ///
    /// # Errors
    ///
    /// Those of the device.
    fn query(&self) -> Result<bool>;

    /// Waits until the queue has reached it.
    ///
    /// # Errors
    ///
    /// Those of the device.
    fn synchronize(&self) -> Result<()>;

    /// The time from this mark to a later one. Both are timed and were reached.
    ///
    /// # Errors
    ///
    /// A mark of another backend; those of the device.
    fn elapsed(&self, later: &dyn DeviceEvent) -> Result<Duration>;
}

/// A queue of a device's work: a device and a number. Clones are the same stream.
///
/// # Examples
///
/// ```
/// use opgrid_core::Device;
/// use opgrid_array::devices::{Event, Stream, current_stream};
///
/// let (first, second) = (current_stream(Device::CPU)?, Stream::new(Device::CPU)?);
/// let done = Event::new();
/// done.record(&first)?;
/// second.wait(&done)?;
/// assert!(second.query()? && first != second);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Stream {
    device: Device,
    number: u64,
    /// The number of the registration of the runtime that owns the queue.
    registration: u64,
    queue: Flat<Arc<dyn DeviceStream>>,
}

impl Stream {
    /// A stream of its own on that device, of no special priority.
    ///
    /// # Errors
    ///
    /// There is no such device; those of its backend.
    pub fn new(device: Device) -> Result<Self> {
        Self::with_priority(device, 0)
    }

    /// Creates a stream with a priority: of two streams with work, the one with the lower number goes first if the
    /// device supports priorities.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn with_priority(device: Device, priority: i32) -> Result<Self> {
        let (entry, index) = registry::started(device)?;
        let queue = entry.runtime().new_stream(index, priority)?;
        Ok(Self::of_queue(entry.device(index)?, entry.number(), queue))
    }

    /// A stream of a backend's queue, with the next number.
    pub(super) fn of_queue(device: Device, registration: u64, queue: Arc<dyn DeviceStream>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let (number, queue) = (NEXT.fetch_add(1, Ordering::Relaxed), Flat::new(queue));
        Self { device, number, registration, queue }
    }

    /// The device, with its index.
    pub fn device(&self) -> Device {
        self.device
    }

    /// A number that no other stream of the process has.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the number of the registration of the runtime that owns the queue.
    pub(super) fn registration(&self) -> u64 {
        self.registration
    }

    /// The queue as the backend knows it, if it is of type `S`.
    pub fn backend<S: DeviceStream>(&self) -> Option<&S> {
        let queue: &dyn Any = &**self.queue;
        queue.downcast_ref()
    }

    /// Lets what is queued here from now on wait until `event` was reached. The calling thread goes on. An event that
    /// was never recorded is no reason to wait.
    ///
    /// # Errors
    ///
    /// An event of another type of device; those of the device.
    pub fn wait(&self, event: &Event) -> Result<()> {
        let Some(recorded) = event.latest() else { return Ok(()) };
        if (recorded.device.kind(), recorded.registration) != (self.device.kind(), self.registration) {
            return Err(argument(format!(
                "stream of {}: found an event of {}, expected one of the same type of device and the same runtime; wait \
                 for it on this thread by `Event::synchronize`",
                self.device, recorded.device
            )));
        }
        self.queue.wait(&**recorded.mark)
    }

    /// Whether all that was queued so far has ended.
    ///
    /// # Errors
    ///
    /// Those of the device.
    pub fn query(&self) -> Result<bool> {
        self.queue.query()
    }

    /// Waits until all that was queued so far has ended.
    ///
    /// # Errors
    ///
    /// Those of work that was queued and has failed, which nobody was notified of yet.
    pub fn synchronize(&self) -> Result<()> {
        self.queue.synchronize()
    }
}

impl PartialEq for Stream {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Stream {}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stream {} of {}", self.number, self.device)
    }
}

/// A mark that streams and threads wait for. It belongs to the device of the stream on which it was first recorded;
/// recorded again it stands for the new place.
///
/// # Examples
///
/// ```
/// use opgrid_core::Device;
/// use opgrid_array::devices::{Event, current_stream};
///
/// let stream = current_stream(Device::CPU)?;
/// let (begin, end) = (Event::timed(), Event::timed());
/// begin.record(&stream)?;
/// end.record(&stream)?;
/// end.synchronize()?;
/// assert!(begin.elapsed(&end)?.as_secs() < 60);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Default)]
pub struct Event {
    timed: bool,
    recorded: Mutex<Option<Recorded>>,
}

#[derive(Clone)]
struct Recorded {
    device: Device,
    registration: u64,
    mark: Flat<Arc<dyn DeviceEvent>>,
}

impl Event {
    /// An event that was recorded nowhere yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// One that knows when it was reached.
    pub fn timed() -> Self {
        Self { timed: true, ..Self::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Recorded>> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn latest(&self) -> Option<Recorded> {
        self.lock().clone()
    }

    /// The device on whose stream it was recorded, if it was.
    pub fn device(&self) -> Option<Device> {
        self.latest().map(|recorded| recorded.device)
    }

    /// Marks the place behind all that was queued on `stream` so far.
    ///
    /// # Errors
    ///
    /// A stream of another device than the first one; those of the device.
    pub fn record(&self, stream: &Stream) -> Result<()> {
        if let Some(first) = self.device().filter(|first| *first != stream.device) {
            return Err(argument(format!(
                "event of {first}: found a stream of {}, expected one of {first}, where it was recorded first; make an \
                 event for each device",
                stream.device
            )));
        }
        let mark = Flat::new(stream.queue.record(self.timed)?);
        let recorded = Recorded { device: stream.device, registration: stream.registration, mark };
        // What was there before is dropped without the lock: it is the backend's.
        let before = self.lock().replace(recorded);
        drop(before);
        Ok(())
    }

    /// Whether the stream has reached it; an event that was never recorded has nothing before it.
    ///
    /// # Errors
    ///
    /// Those of the device.
    pub fn query(&self) -> Result<bool> {
        self.latest().map_or(Ok(true), |recorded| recorded.mark.query())
    }

    /// Waits until the stream has reached it.
    ///
    /// # Errors
    ///
    /// Those of the device.
    pub fn synchronize(&self) -> Result<()> {
        self.latest().map_or(Ok(()), |recorded| recorded.mark.synchronize())
    }

    /// The time from this event to a later one of the same device.
    ///
    /// # Errors
    ///
    /// One of them is not timed, was not recorded, was not reached, or belongs to another device.
    pub fn elapsed(&self, later: &Self) -> Result<Duration> {
        let (Some(from), Some(to)) = (self.latest(), later.latest()) else {
            return Err(argument("elapsed: an event was not recorded; record both on a stream"));
        };
        if !(self.timed && later.timed) {
            return Err(argument("elapsed: an event has no time; make both by `Event::timed`"));
        }
        if (from.device, from.registration) != (to.device, to.registration) {
            return Err(argument(format!(
                "elapsed: found events of {} and {}, expected two of one device; record both on streams of one device",
                from.device, to.device
            )));
        }
        if !(from.mark.query()? && to.mark.query()?) {
            return Err(argument("elapsed: an event has not completed yet; call `Event::synchronize` first"));
        }
        from.mark.elapsed(&**to.mark)
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.device() {
            Some(device) => write!(f, "event of {device}"),
            None => f.write_str("event that was not recorded"),
        }
    }
}
