//! What a backend says of its devices, and how the CPU says it.

use std::any::Any;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use opgrid_core::{Device, Generator, Result, compute_dispatch_key};

use super::stream::{DeviceEvent, DeviceStream};
use crate::allocator;
use crate::error::argument;
use crate::random::{self, Random};
use crate::{Allocator, CpuAllocator};

/// The devices of one type: how many there are, their memory, their queues. A backend implements it and
/// [registers](super::register) it for its type of device.
///
/// Two methods have no default: they are all that a device needs which does everything at once. Which device and which
/// stream are current on a thread is kept here and not by backends; an index that is passed is below
/// [`count`](Self::count).
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
///
/// use opgrid_core::{BackendComponent, Result};
/// use opgrid_array::devices::{self, DeviceGuard, DeviceRuntime};
/// use opgrid_array::{Allocator, CpuAllocator};
///
/// /// Three slide rules, which share the memory of the process.
/// struct SlideRules;
///
/// impl DeviceRuntime for SlideRules {
///     fn count(&self) -> usize {
///         3
///     }
///
///     fn allocator(&self, _index: usize) -> Result<Arc<dyn Allocator>> {
///         Ok(Arc::new(CpuAllocator))
///     }
/// }
///
/// let kind = BackendComponent::register("SlideRule")?.device_type().unwrap();
/// let _registration = devices::register(kind, SlideRules)?;
/// assert_eq!((devices::count(kind), devices::current(kind)?.to_string()), (3, "sliderule:0".into()));
/// let _guard = DeviceGuard::new("sliderule:2".parse()?)?;
/// assert_eq!(devices::current(kind)?.to_string(), "sliderule:2");
/// assert!(devices::current_stream("sliderule".parse()?)?.query()?);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub trait DeviceRuntime: Any + Send + Sync {
    /// How many devices there are; none where there is no driver. It does not start anything.
    fn count(&self) -> usize;

    /// The source of a device's memory, unless [another one was set](super::set_allocator).
    ///
    /// # Errors
    ///
    /// Those of the device.
    fn allocator(&self, index: usize) -> Result<Arc<dyn Allocator>>;

    /// Starts the driver. It is called before the first of the methods below and of [`allocator`](Self::allocator) is, by
    /// one thread while others wait. Where it fails the caller gets the error, and the next call tries again.
    ///
    /// # Errors
    ///
    /// Those of the driver.
    fn start(&self) -> Result<()> {
        Ok(())
    }

    /// The queue that work goes to where nobody chose another one.
    ///
    /// # Errors
    ///
    /// Those of the device.
    fn default_stream(&self, index: usize) -> Result<Arc<dyn DeviceStream>> {
        let _ = index;
        Ok(Arc::new(Immediate))
    }

    /// Another queue. Of two queues with work the one with the lower `priority` goes first, where the device has
    /// priorities.
    ///
    /// # Errors
    ///
    /// Those of the device.
    fn new_stream(&self, index: usize, priority: i32) -> Result<Arc<dyn DeviceStream>> {
        let _ = priority;
        self.default_stream(index)
    }

    /// Waits for all work on a device, on every queue. A backend with queues of its own has to say how.
    ///
    /// # Errors
    ///
    /// Those of work that was queued and has failed, which nobody was notified of yet.
    fn synchronize(&self, index: usize) -> Result<()> {
        let _ = index;
        Ok(())
    }

    /// The source of memory of the CPU from which the devices copy while the program goes on, if there is such memory.
    fn pinned_allocator(&self) -> Option<Arc<dyn Allocator>> {
        None
    }

    /// A stream of random numbers for a device, which begins with a seed.
    ///
    /// # Errors
    ///
    /// Those of the device.
    fn new_generator(&self, device: Device, seed: u64) -> Result<Generator> {
        let keys = compute_dispatch_key(None, None, Some(device))?.key_set();
        let stream = device.index().unwrap_or(0) as u64;
        Ok(Generator::new(keys, device, Mutex::new(Random::philox(seed, stream))))
    }

    /// Begins such a stream anew.
    ///
    /// # Errors
    ///
    /// A generator of somebody else.
    fn seed_generator(&self, generator: &Generator, seed: u64) -> Result<()> {
        random::reseed(generator, seed)
    }
}

/// The CPU: one device that does everything at once.
pub(super) struct Cpu;

impl DeviceRuntime for Cpu {
    fn count(&self) -> usize {
        1
    }

    fn allocator(&self, _index: usize) -> Result<Arc<dyn Allocator>> {
        Ok(allocator::of_cpu().unwrap_or_else(|| Arc::new(CpuAllocator)))
    }

    fn new_generator(&self, _device: Device, seed: u64) -> Result<Generator> {
        Ok(random::generator(seed))
    }
}

/// A queue that is always empty: what is asked of it was done before the call returned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Immediate;

/// A mark in it: when it was made, if it is timed.
struct Moment(Option<Instant>);

impl DeviceStream for Immediate {
    fn record(&self, timed: bool) -> Result<Arc<dyn DeviceEvent>> {
        Ok(Arc::new(Moment(timed.then(Instant::now))))
    }

    fn wait(&self, mark: &dyn DeviceEvent) -> Result<()> {
        mark.synchronize()
    }

    fn query(&self) -> Result<bool> {
        Ok(true)
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }
}

impl DeviceEvent for Moment {
    fn query(&self) -> Result<bool> {
        Ok(true)
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }

    fn elapsed(&self, later: &dyn DeviceEvent) -> Result<Duration> {
        let later: &dyn Any = later;
        match (self.0, later.downcast_ref::<Self>().and_then(|later| later.0)) {
            (Some(from), Some(to)) => Ok(to.saturating_duration_since(from)),
            _ => Err(argument("elapsed: found an event without a time; make both by `Event::timed`")),
        }
    }
}
