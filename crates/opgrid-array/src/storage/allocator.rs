//! Where memory comes from: the interface, the default, and two that tests put in its place.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use opgrid_core::deferred_drop::Flat;
use opgrid_core::{Error, ErrorKind, Result};

use super::Allocation;
use crate::storage;

/// A source of memory: of the process, or of a device ([`Allocation::on_device`]).
///
/// # Examples
///
/// ```
/// use opgrid_core::Result;
/// use opgrid_array::Storage;
/// use opgrid_array::{Allocation, Allocator, CpuAllocator};
///
/// /// At most so many bytes at a time.
/// struct Small(usize);
///
/// impl Allocator for Small {
///     fn name(&self) -> &str {
///         "small"
///     }
///
///     fn allocate(&self, bytes: usize) -> Result<Allocation> {
///         CpuAllocator.allocate(bytes.min(self.0))
///     }
/// }
///
/// assert_eq!(Storage::new(&CpuAllocator, 16)?.bytes(), 16);
/// assert!(Storage::new(&Small(8), 16).is_err(), "fewer bytes than were asked for");
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub trait Allocator: Send + Sync {
    /// The name that messages use.
    fn name(&self) -> &str;

    /// Memory of `bytes` bytes (0 is allowed), aligned to 64 bytes, with any content.
    ///
    /// # Errors
    ///
    /// There is no such memory; the message names the number of bytes.
    fn allocate(&self, bytes: usize) -> Result<Allocation>;
}

/// The default: the memory of the process.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuAllocator;

impl Allocator for CpuAllocator {
    fn name(&self) -> &str {
        "cpu"
    }

    fn allocate(&self, bytes: usize) -> Result<Allocation> {
        Allocation::system(bytes).ok_or_else(|| refusal(self.name(), bytes))
    }
}

/// The allocator that was set for the CPU.
static OF_CPU: RwLock<Option<Arc<dyn Allocator>>> = RwLock::new(None);

/// What is held while the process forks.
pub(crate) fn hold_at_fork(held: &mut opgrid_core::fork::Held) {
    held.write(&OF_CPU);
}

/// The allocator that was set for the CPU, if one was.
pub(crate) fn of_cpu() -> Option<Arc<dyn Allocator>> {
    OF_CPU.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Sets the allocator of CPU tensors from now on; `None` restores the caching allocator. Returns the previous one.
pub(crate) fn set_of_cpu(allocator: Option<Arc<dyn Allocator>>) -> Option<Arc<dyn Allocator>> {
    let mut place = OF_CPU.write().unwrap_or_else(PoisonError::into_inner);
    storage::divert(allocator.is_some());
    std::mem::replace(&mut *place, allocator)
}

/// Memory of the process, or of another allocator, counted.
///
/// # Examples
///
/// ```
/// use opgrid_array::Storage;
/// use opgrid_array::CountingAllocator;
///
/// let allocator = CountingAllocator::default();
/// let storage = Storage::new(&allocator, 100)?;
/// assert_eq!((allocator.live_allocations(), allocator.live_bytes()), (1, 100));
/// drop(storage);
/// assert_eq!((allocator.live_allocations(), allocator.total_allocations()), (0, 1));
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CountingAllocator {
    counts: Arc<Counts>,
    source: Flat<Arc<dyn Allocator>>,
}

impl Default for CountingAllocator {
    fn default() -> Self {
        Self::over(Arc::new(CpuAllocator))
    }
}

#[derive(Debug, Default)]
struct Counts {
    total: AtomicUsize,
    live: AtomicUsize,
    bytes: AtomicUsize,
}

impl CountingAllocator {
    /// One that counts what it takes from `source`.
    pub fn over(source: Arc<dyn Allocator>) -> Self {
        Self { counts: Arc::default(), source: Flat::new(source) }
    }

    /// Allocations so far.
    pub fn total_allocations(&self) -> usize {
        self.counts.total.load(Ordering::SeqCst)
    }

    /// Allocations that were not released yet.
    pub fn live_allocations(&self) -> usize {
        self.counts.live.load(Ordering::SeqCst)
    }

    /// Bytes of these.
    pub fn live_bytes(&self) -> usize {
        self.counts.bytes.load(Ordering::SeqCst)
    }
}

impl Allocator for CountingAllocator {
    fn name(&self) -> &str {
        "counting"
    }

    fn allocate(&self, bytes: usize) -> Result<Allocation> {
        let allocation = self.source.allocate(bytes)?;
        self.counts.total.fetch_add(1, Ordering::SeqCst);
        self.counts.live.fetch_add(1, Ordering::SeqCst);
        self.counts.bytes.fetch_add(allocation.bytes(), Ordering::SeqCst);
        let counts = Arc::clone(&self.counts);
        Ok(allocation.when_released(move |bytes| {
            counts.live.fetch_sub(1, Ordering::SeqCst);
            counts.bytes.fetch_sub(bytes, Ordering::SeqCst);
        }))
    }
}

/// Memory of the process, or of another allocator, up to a limit: what would go beyond is an error, so that a program that nobody trusts
/// cannot take all memory of the machine.
///
/// Memory that is used counts, and none is kept for later, as the caching allocator keeps it.
///
/// # Examples
///
/// ```
/// use opgrid_array::{LimitedAllocator, Storage};
///
/// let allocator = LimitedAllocator::new(100);
/// let storage = Storage::new(&allocator, 80)?;
/// let error = Storage::new(&allocator, 40).unwrap_err();
/// assert!(error.message().contains("40 bytes: 80 of the limit of 100 bytes are in use"), "{error}");
/// drop(storage);
/// assert!(Storage::new(&allocator, 40).is_ok());
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct LimitedAllocator {
    limit: usize,
    used: Arc<AtomicUsize>,
    source: Flat<Arc<dyn Allocator>>,
}

impl LimitedAllocator {
    /// At most so many bytes of the process's memory at a time.
    pub fn new(limit_bytes: usize) -> Self {
        Self::over(Arc::new(CpuAllocator), limit_bytes)
    }

    /// At most so many bytes of `source` at a time.
    pub fn over(source: Arc<dyn Allocator>, limit_bytes: usize) -> Self {
        Self { limit: limit_bytes, used: Arc::default(), source: Flat::new(source) }
    }

    /// Bytes that are used.
    pub fn used_bytes(&self) -> usize {
        self.used.load(Ordering::SeqCst)
    }
}

impl Allocator for LimitedAllocator {
    fn name(&self) -> &str {
        "limited"
    }

    fn allocate(&self, bytes: usize) -> Result<Allocation> {
        let within = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= self.limit);
        // Counted first, so that threads do not get more together than each could alone.
        self.used.fetch_update(Ordering::SeqCst, Ordering::SeqCst, within).map_err(|used| {
            let message = format!(
                "cannot allocate {bytes} bytes: {used} of the limit of {} bytes are in use; raise the limit or work in smaller \
                 pieces",
                self.limit
            );
            Error::new(ErrorKind::Kernel, message)
        })?;
        let used = Arc::clone(&self.used);
        // What was asked for is counted, whatever the source says of what it gave.
        let release = move |_| {
            used.fetch_sub(bytes, Ordering::SeqCst);
        };
        match self.source.allocate(bytes) {
            Ok(allocation) => Ok(allocation.when_released(release)),
            Err(error) => {
                release(bytes);
                Err(error)
            }
        }
    }
}

/// Refuses every request: for tests of what happens when memory runs out.
#[derive(Clone, Copy, Debug, Default)]
pub struct FailingAllocator;

impl Allocator for FailingAllocator {
    fn name(&self) -> &str {
        "failing"
    }

    fn allocate(&self, bytes: usize) -> Result<Allocation> {
        Err(refusal(self.name(), bytes))
    }
}

#[cold]
fn refusal(allocator: &str, bytes: usize) -> Error {
    let message = format!(
        "allocator `{allocator}` has no memory for {bytes} bytes; free tensors or work in smaller pieces"
    );
    Error::new(ErrorKind::Kernel, message)
}

impl fmt::Debug for dyn Allocator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "allocator `{}`", self.name())
    }
}
