//! A block of memory and how to give it back: what allocators hand out.
#![allow(unsafe_code)]

use std::any::Any;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use opgrid_core::deferred_drop::drop_flat;
use opgrid_core::{DeviceType, Result};

use super::cache::{self, ALIGNMENT, Class};
use crate::devices::Stream;

/// Memory that the CPU cannot address, such as that of a device; dropping it gives it back.
///
/// Moving bytes is all that tensors ask of it: to print, to read elements out. What else can be done with it, the
/// backend's kernels know, which find it by [`Storage::memory`](super::Storage::memory).
///
/// # Examples
///
/// ```
/// use std::sync::Mutex;
///
/// use opgrid_core::{DType, Result};
/// use opgrid_array::{Allocation, Allocator, DeviceMemory};
/// use opgrid_array::{Array, Storage, TensorSpec};
///
/// /// Bytes that nobody reaches but by moving them.
/// struct Far(Mutex<Vec<u8>>);
///
/// impl DeviceMemory for Far {
///     fn read(&self, start: usize, out: &mut [u8]) -> Result<()> {
///         out.copy_from_slice(&self.0.lock().unwrap()[start..start + out.len()]);
///         Ok(())
///     }
///
///     fn write(&self, start: usize, bytes: &[u8]) -> Result<()> {
///         self.0.lock().unwrap()[start..start + bytes.len()].copy_from_slice(bytes);
///         Ok(())
///     }
/// }
///
/// struct FarAway;
///
/// impl Allocator for FarAway {
///     fn name(&self) -> &str {
///         "far away"
///     }
///
///     fn allocate(&self, bytes: usize) -> Result<Allocation> {
///         Ok(Allocation::on_device(Far(vec![0; bytes].into()), bytes))
///     }
/// }
///
/// let spec = TensorSpec::contiguous(&[2], DType::U8, "cuda:0".parse()?)?;
/// let array = Array::new(spec, Storage::new(&FarAway, 2)?)?;
/// array.storage().device_memory().unwrap().write(0, &[3, 4])?;
/// assert_eq!(array.to_vec::<u8>()?, [3, 4]);
/// assert!(array.storage().read().is_err());
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub trait DeviceMemory: Any + Send + Sync {
    /// Fills `out` with the bytes from position `start` on, as they are once all work before has ended: work that was
    /// queued on any stream, by any thread, and uses this memory. Whoever implements it waits; printing and reading out
    /// rely on it.
    ///
    /// # Errors
    ///
    /// Bytes beyond the end; those of the device.
    fn read(&self, start: usize, out: &mut [u8]) -> Result<()>;

    /// Writes `bytes` from position `start` on, after all work before has ended that uses this memory.
    ///
    /// # Errors
    ///
    /// Bytes beyond the end; those of the device.
    fn write(&self, start: usize, bytes: &[u8]) -> Result<()>;

    /// Notes that work on `stream` uses this memory which the backend does not know of: when the memory is dropped, its
    /// bytes are nobody else's until all that was queued there has ended. What the backend's own kernels queue they
    /// note themselves. A device that does everything at once has nothing to note.
    ///
    /// # Errors
    ///
    /// A stream of another backend.
    fn record_stream(&self, stream: &Stream) -> Result<()> {
        let _ = stream;
        Ok(())
    }
}

/// A block of memory and how to give it back.
///
/// Invariant: where there is a `start`, `bytes` bytes from it are valid for reads and writes until it is dropped, and
/// nobody else uses them. They may be uninitialised.
///
/// # Examples
///
/// ```
/// use opgrid_array::Storage;
/// use opgrid_array::{Allocator, CpuAllocator};
///
/// let block = CpuAllocator.allocate(64)?.when_released(|bytes| assert_eq!(bytes, 64));
/// drop(block);
/// assert_eq!(Storage::new(&CpuAllocator, 64)?.bytes(), 64);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub struct Allocation {
    pub(super) start: Option<NonNull<u8>>,
    pub(super) bytes: usize,
    owner: Owner,
    /// Who is told that the memory was given back, in that order. In a box, because there is seldom anybody.
    #[allow(clippy::box_collection, reason = "a vector would make every allocation larger")]
    released: Option<Box<Vec<Released>>>,
    pinned_for: Option<DeviceType>,
}

/// Is told the number of bytes that were given back.
type Released = Box<dyn FnOnce(usize) + Send + Sync>;

enum Owner {
    Nobody,
    Cache(Class),
    Foreign(Release),
    Device(Box<dyn DeviceMemory>),
}

/// What gives memory of somebody else back: a closure that is `Send` and `Sync`. One that is no larger than a word, such as
/// one that holds a handle, lies in place.
///
/// Invariant: `word` is what `run` takes, and `run` was not called: the drop of the allocation does it.
struct Release {
    word: Word,
    run: unsafe fn(Word),
}

/// A closure, or the address of its box.
type Word = MaybeUninit<*mut ()>;

impl Release {
    fn new<F: FnOnce() + Send + Sync + 'static>(release: F) -> Self {
        /// # Safety
        ///
        /// The word begins with an `F`, which nobody uses again.
        unsafe fn in_place<F: FnOnce()>(word: Word) {
            // SAFETY: guaranteed by the caller, see `# Safety`.
            let release = unsafe { word.as_ptr().cast::<F>().read() };
            release();
        }

        /// # Safety
        ///
        /// The word is the address of a box of an `F`, which nobody uses again.
        unsafe fn in_a_box<F: FnOnce()>(word: Word) {
            // SAFETY: guaranteed by the caller, see `# Safety`.
            let release = unsafe { Box::from_raw(word.assume_init().cast::<F>()) };
            release();
        }

        let fits = size_of::<F>() <= size_of::<Word>() && align_of::<F>() <= align_of::<Word>();
        if !fits {
            let word = MaybeUninit::new(Box::into_raw(Box::new(release)).cast());
            return Self { word, run: in_a_box::<F> };
        }
        let mut word = Word::uninit();
        // SAFETY: the word has room for an `F`, at an address that suits it: `fits`.
        unsafe { word.as_mut_ptr().cast::<F>().write(release) };
        Self { word, run: in_place::<F> }
    }

    fn run(self) {
        // SAFETY: the invariant; `self` is gone after this.
        unsafe { (self.run)(self.word) }
    }
}

// SAFETY:
// - the memory belongs to the allocation alone (its invariant), and all closures are `Send` and `Sync`.
unsafe impl Send for Allocation {}
// SAFETY:
// - a shared reference gives out nothing but the address and the length.
unsafe impl Sync for Allocation {}

impl Allocation {
    /// Memory of the process with any content, aligned to [`ALIGNMENT`]; `None` where there is none.
    pub fn system(bytes: usize) -> Option<Self> {
        let (start, owner) = match bytes {
            // An aligned address that is never read.
            0 => (NonNull::without_provenance(std::num::NonZero::new(ALIGNMENT)?), Owner::Nobody),
            _ => cache::take(bytes).map(|(start, class)| (start, Owner::Cache(class)))?,
        };
        Some(Self { start: Some(start), bytes, owner, released: None, pinned_for: None })
    }

    /// Memory that somebody else allocated; `release` gives it back.
    ///
    /// # Safety
    ///
    /// `bytes` bytes from `start` are valid for reads and writes, and used by nobody else, until `release` is called.
    /// They may be uninitialised. `release` may be called on any thread.
    pub unsafe fn foreign(
        start: NonNull<u8>,
        bytes: usize,
        release: impl FnOnce() + Send + Sync + 'static,
    ) -> Self {
        let owner = Owner::Foreign(Release::new(release));
        Self { start: Some(start), bytes, owner, released: None, pinned_for: None }
    }

    /// Memory that the CPU cannot address.
    pub fn on_device(memory: impl DeviceMemory, bytes: usize) -> Self {
        Self { start: None, bytes, owner: Owner::Device(Box::new(memory)), released: None, pinned_for: None }
    }

    /// A size without memory; `release` runs where it is given back.
    pub(crate) fn nowhere(bytes: usize, release: impl FnOnce() + Send + Sync + 'static) -> Self {
        let owner = Owner::Foreign(Release::new(release));
        Self { start: None, bytes, owner, released: None, pinned_for: None }
    }

    /// The memory, if the CPU cannot address it.
    pub(super) fn device_memory(&self) -> Option<&dyn DeviceMemory> {
        if let Owner::Device(memory) = &self.owner { Some(memory.as_ref()) } else { None }
    }

    /// Registers a callback that gets the number of bytes after the memory was released. Several callbacks run in the
    /// order in which they were added.
    #[must_use]
    pub fn when_released(mut self, released: impl FnOnce(usize) + Send + Sync + 'static) -> Self {
        self.released.get_or_insert_default().push(Box::new(released));
        self
    }

    /// Marks the memory as pinned: devices of that type can copy from and to it asynchronously.
    pub(crate) fn pinned_for(mut self, device: DeviceType) -> Self {
        self.pinned_for = Some(device);
        self
    }

    /// The type of device for which the memory is pinned.
    pub(super) fn is_pinned_for(&self) -> Option<DeviceType> {
        self.pinned_for
    }

    /// The number of bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        let mut giving = GivingBack { owner: None, released: self.released.take(), bytes: self.bytes };
        match (std::mem::replace(&mut self.owner, Owner::Nobody), self.start) {
            (Owner::Cache(class), Some(start)) => {
                // SAFETY:
                // - the block came from `take` with this class, and this is the only owner.
                unsafe { cache::give(start, class) }
            }
            (Owner::Nobody | Owner::Cache(_), _) => {}
            (owner @ (Owner::Foreign(_) | Owner::Device(_)), _) => giving.owner = Some(owner),
        }
        if giving.owner.is_some() || giving.released.is_some() {
            drop_flat(giving);
        }
    }
}

/// What users do when memory is given back. It may own another allocation, which owns the next.
struct GivingBack {
    owner: Option<Owner>,
    #[allow(clippy::box_collection, reason = "as in `Allocation`")]
    released: Option<Box<Vec<Released>>>,
    bytes: usize,
}

impl Drop for GivingBack {
    fn drop(&mut self) {
        match self.owner.take() {
            Some(Owner::Foreign(release)) => release.run(),
            // A device's memory gives itself back.
            other => drop(other),
        }
        for released in self.released.take().into_iter().flat_map(|all| *all) {
            released(self.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Memory that is given back by the closure.
    fn released_by(release: impl FnOnce() + Send + Sync + 'static) -> Allocation {
        // SAFETY: nobody uses the memory, of which there is none.
        unsafe { Allocation::foreign(NonNull::dangling(), 0, release) }
    }

    #[test]
    fn what_gives_memory_back_runs_once_whatever_it_holds() {
        let count = Arc::new(AtomicUsize::new(0));
        let add = |count: &AtomicUsize, number: usize| {
            count.fetch_add(number, Ordering::Relaxed);
        };
        // A word, less than one, more than one, and more than a word's alignment.
        let word = count.clone();
        drop(released_by(move || add(&word, 1)));
        assert_eq!((count.load(Ordering::Relaxed), Arc::strong_count(&count)), (1, 1));
        static SMALL: AtomicUsize = AtomicUsize::new(0);
        let byte = 7u8;
        drop(released_by(move || add(&SMALL, byte.into())));
        assert_eq!(SMALL.load(Ordering::Relaxed), 7);
        let (more, numbers) = (count.clone(), [1usize, 2, 3]);
        let memory =
            released_by(move || add(&more, numbers.iter().sum())).when_released(|bytes| assert_eq!(bytes, 0));
        assert_eq!(count.load(Ordering::Relaxed), 1);
        drop(memory);
        #[repr(align(32))]
        struct Aligned(usize);
        let (more, aligned) = (count.clone(), Aligned(5));
        drop(released_by(move || add(&more, { &aligned }.0)));
        assert_eq!((count.load(Ordering::Relaxed), Arc::strong_count(&count)), (12, 1));
    }
}
