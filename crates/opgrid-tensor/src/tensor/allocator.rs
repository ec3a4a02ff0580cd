//! Where memory comes from: the interface, the default, and two that tests put in its place.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use opgrid_core::{Error, ErrorKind, Result};

use super::storage::Allocation;

/// A source of memory: of the process, or of a device ([`Allocation::on_device`]).
///
/// # Examples
///
/// ```
/// use opgrid_core::Result;
/// use opgrid_tensor::Storage;
/// use opgrid_tensor::tensor::{Allocation, Allocator, CpuAllocator};
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

/// Memory of the process, counted.
///
/// # Examples
///
/// ```
/// use opgrid_tensor::Storage;
/// use opgrid_tensor::tensor::CountingAllocator;
///
/// let allocator = CountingAllocator::default();
/// let storage = Storage::new(&allocator, 100)?;
/// assert_eq!((allocator.live_allocations(), allocator.live_bytes()), (1, 100));
/// drop(storage);
/// assert_eq!((allocator.live_allocations(), allocator.total_allocations()), (0, 1));
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct CountingAllocator(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    total: AtomicUsize,
    live: AtomicUsize,
    bytes: AtomicUsize,
}

impl CountingAllocator {
    /// Allocations so far.
    pub fn total_allocations(&self) -> usize {
        self.0.total.load(Ordering::SeqCst)
    }

    /// Allocations that were not released yet.
    pub fn live_allocations(&self) -> usize {
        self.0.live.load(Ordering::SeqCst)
    }

    /// Bytes of these.
    pub fn live_bytes(&self) -> usize {
        self.0.bytes.load(Ordering::SeqCst)
    }
}

impl Allocator for CountingAllocator {
    fn name(&self) -> &str {
        "counting"
    }

    fn allocate(&self, bytes: usize) -> Result<Allocation> {
        let allocation = CpuAllocator.allocate(bytes)?;
        self.0.total.fetch_add(1, Ordering::SeqCst);
        self.0.live.fetch_add(1, Ordering::SeqCst);
        self.0.bytes.fetch_add(bytes, Ordering::SeqCst);
        let counts = Arc::clone(&self.0);
        Ok(allocation.when_released(move |bytes| {
            counts.live.fetch_sub(1, Ordering::SeqCst);
            counts.bytes.fetch_sub(bytes, Ordering::SeqCst);
        }))
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
