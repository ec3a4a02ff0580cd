//! Holds the bytes of tensors, shared between views and guarded at run time.
//!
//! Tensors are shared handles, and operators write through them, so the compiler cannot tell readers from writers.
//! A [`Storage`] therefore counts them: any number of readers or one writer, anything else is an error. The count is
//! one atomic word:
//!
//! ```text
//!  0           free
//!  n > 0       n readers
//! -1           one writer
//!  isize::MIN  never-written memory is being cleared; whoever wants to read waits
//!  n < -1      a result that a kernel is making; -n is the address of its thread's token
//! ```
//!
//! The last one makes guards of fresh results free: only the thread of that token changes the word, so that it needs
//! no atomic read-modify-write, until it publishes the result. Whoever else got hold of a handle meanwhile is refused.
//!
//! A storage is one block from the cache of memory ([`cache_statistics`]): a head of one cache line, and its bytes
//! behind it. Memory from other allocators lies elsewhere, and how it is given back stands behind the head.
//!
//! ```text
//! Storage ──► count │ state │ counters │ start │ bytes │ elsewhere │ written, class ║ bytes …, or the allocation
//! ```
//!
//! Threads that read one tensor at the same time would pull that word's cache line to and fro. The first reader that
//! notices another one gives the storage a row of counters, one cache line each, and from then on readers count
//! themselves in the one of their thread. A writer first claims the word and then looks at every counter; a reader
//! first counts itself and then looks at the word. All of these are sequentially consistent, so at least one of two
//! that meet sees the other.
//!
//! Memory is not cleared when it is allocated. `written` says whether every byte has had a value; the first typed
//! access to memory without one clears it, while loops that write every element skip that (`kernels::iter`).
//!
//! Cost on one thread (`examples/measure`, two shared cores): a read guard 5 ns, a write guard 4 ns, so 14 ns for an
//! operator with two inputs and an output. Two threads that read one tensor back to back: 4 to 6 ns a guard, against
//! 36 ns with the one word.
#![allow(unsafe_code)]

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::mem::size_of;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence};

use opgrid_core::{DeviceType, Error, ErrorKind, Result};

use super::allocator::{self, Allocator};
use super::element::Element;
use crate::error::argument;

mod cache;
mod memory;
mod owned;

pub use cache::{ALIGNMENT, Statistics, cache_statistics, set_cache_limit, trim};
pub use memory::{Allocation, DeviceMemory};
pub use owned::{OwnedReadGuard, OwnedWriteGuard};

use cache::Class;

const WRITER: isize = -1;
const CLEARING: isize = isize::MIN;

/// The memory of one or several tensors. Clones share it.
///
/// # Examples
///
/// ```
/// use opgrid_tensor::Storage;
///
/// let storage = Storage::cpu(12)?;
/// storage.write()?.slice::<f32>()?.copy_from_slice(&[1.0, 2.0, 3.0]);
/// let reader = storage.read()?;
/// assert_eq!(reader.slice::<f32>()?, [1.0, 2.0, 3.0]);
/// assert!(storage.write().is_err(), "somebody is reading");
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub struct Storage {
    head: NonNull<Shared>,
    owns: PhantomData<Shared>,
}

/// The head of a block from the cache.
///
/// Invariants: `class` is that of the block; `start`, where there is one, leads to `bytes` bytes that live as long as
/// the head and that only guards use: behind it, or in `elsewhere`. That, where it is some, leads to an allocation in the same block,
/// which belongs to the head.
#[repr(C, align(64))]
struct Shared {
    count: AtomicUsize,
    state: AtomicIsize,
    /// Null until two threads were seen reading at once.
    counters: AtomicPtr<Counters>,
    /// `None` for tensors without data, as on the meta device, and for memory that the CPU cannot address.
    start: Option<NonNull<u8>>,
    bytes: usize,
    elsewhere: Option<NonNull<Allocation>>,
    /// How often somebody has written.
    version: AtomicU64,
    written: AtomicBool,
    class: Class,
}

const _: () = assert!(size_of::<Shared>() == 64, "a head is one cache line");
const _: () =
    assert!(align_of::<Allocation>() <= align_of::<Shared>(), "an allocation may lie behind a head");

// SAFETY:
// - the head is atomics and what never changes; `Allocation` is `Send` and `Sync`; guards keep threads apart.
unsafe impl Send for Storage {}
// SAFETY: as above.
unsafe impl Sync for Storage {}

impl Clone for Storage {
    #[inline]
    fn clone(&self) -> Self {
        let before = self.shared().count.fetch_add(1, Ordering::Relaxed);
        if before > usize::MAX / 2 {
            // Only a loop of `mem::forget` gets here; going on would free memory in use.
            std::process::abort();
        }
        Self { head: self.head, owns: PhantomData }
    }
}

impl Drop for Storage {
    #[inline]
    fn drop(&mut self) {
        let count = &self.shared().count;
        // The only owner needs no read-modify-write: there is none left that could be cloned.
        if count.load(Ordering::Acquire) != 1 {
            if count.fetch_sub(1, Ordering::Release) != 1 {
                return;
            }
            fence(Ordering::Acquire);
        }
        let class = self.shared().class;
        // SAFETY: this was the last owner, so nobody uses the head after this.
        unsafe { ptr::drop_in_place(self.head.as_ptr()) };
        // SAFETY: the head lay in a block of this class, by the invariant.
        unsafe { cache::give(self.head.cast(), class) };
    }
}

thread_local! {
    /// Its address tells threads apart.
    static TOKEN: u8 = const { 0 };
}

/// The state of a storage that this thread is making.
#[inline]
fn own_token() -> isize {
    TOKEN.with(|token| -(ptr::from_ref(token).addr() as isize))
}

/// Where the bytes of a storage are.
enum BytesAt {
    /// Behind the record of the storage, in one block with it.
    Behind,
    Elsewhere(Allocation),
    Nowhere,
}

impl Storage {
    /// Memory from `allocator`, which reads as zero until it is written; that of a device reads as the allocator left
    /// it.
    ///
    /// # Errors
    ///
    /// Those of the allocator.
    pub fn new(allocator: &dyn Allocator, bytes: usize) -> Result<Self> {
        let memory = allocated(allocator, bytes)?;
        Self::at(bytes, BytesAt::Elsewhere(memory), 0).ok_or_else(|| no_memory(bytes))
    }

    /// Memory whose bytes all have values already.
    ///
    /// # Safety
    ///
    /// Every byte of `memory` is initialised.
    ///
    /// # Errors
    ///
    /// There is no memory for the head.
    pub unsafe fn of_written(memory: Allocation) -> Result<Self> {
        let bytes = memory.bytes;
        let storage = Self::at(bytes, BytesAt::Elsewhere(memory), 0);
        let storage = storage.ok_or_else(|| no_memory(size_of::<Shared>()))?;
        storage.shared().written.store(true, Ordering::Relaxed);
        Ok(storage)
    }

    /// Memory of the process, or of the allocator that was [set](crate::devices::set_allocator) for the CPU, which reads as
    /// zero until it is written.
    ///
    /// # Errors
    ///
    /// There is no such memory; the message names the number of bytes.
    #[inline]
    pub fn cpu(bytes: usize) -> Result<Self> {
        Self::at(bytes, BytesAt::Behind, 0).map_or_else(|| Self::from_set_allocator(bytes, 0), Ok)
    }

    /// The same for a result that this thread is making: guards cost nothing until it is published.
    #[inline]
    pub(crate) fn fresh(bytes: usize) -> Result<Self> {
        let state = own_token();
        Self::at(bytes, BytesAt::Behind, state).map_or_else(|| Self::from_set_allocator(bytes, state), Ok)
    }

    /// Memory of the allocator that was set for the CPU.
    ///
    /// # Errors
    ///
    /// None is set, so that there was no memory; those of the allocator; memory that tensors of the CPU cannot use.
    #[cold]
    #[inline(never)]
    fn from_set_allocator(bytes: usize, state: isize) -> Result<Self> {
        let Some(allocator) = allocator::of_cpu() else {
            // One that was set may have been taken back a moment ago.
            return Self::at(bytes, BytesAt::Behind, state).ok_or_else(|| no_memory(bytes));
        };
        let memory = allocated(&*allocator, bytes)?;
        if memory.start.is_none_or(|start| !start.addr().get().is_multiple_of(ALIGNMENT)) {
            let message = format!(
                "allocator `{}` gave memory that tensors of the cpu cannot use, expected an address that is a multiple of \
                 {ALIGNMENT}; set another one by `devices::set_allocator`",
                allocator.name()
            );
            return Err(Error::new(ErrorKind::Internal, message));
        }
        Self::at(bytes, BytesAt::Elsewhere(memory), state).ok_or_else(|| no_memory(bytes))
    }

    /// Ends the making of a result.
    #[inline]
    pub(crate) fn publish(&self) {
        let state = &self.shared().state;
        if state.load(Ordering::Relaxed) == own_token() {
            state.store(0, Ordering::Release);
        }
    }

    /// A size without memory.
    ///
    /// # Errors
    ///
    /// There is no memory even for the size.
    pub fn meta(bytes: usize) -> Result<Self> {
        Self::at(bytes, BytesAt::Nowhere, 0).ok_or_else(|| no_memory(size_of::<Shared>()))
    }

    #[inline]
    fn at(bytes: usize, place: BytesAt, state: isize) -> Option<Self> {
        let (block, class) = match place {
            BytesAt::Behind => cache::take_for_tensor(bytes.checked_add(size_of::<Shared>())?)?,
            BytesAt::Elsewhere(_) => cache::take(size_of::<Shared>() + size_of::<Allocation>())?,
            BytesAt::Nowhere => cache::take(size_of::<Shared>())?,
        };
        let head = block.cast::<Shared>();
        let (start, elsewhere) = match place {
            // SAFETY: the block is longer than its head.
            BytesAt::Behind => (Some(unsafe { head.add(1) }.cast()), None),
            BytesAt::Elsewhere(memory) => {
                let start = memory.start;
                // SAFETY: the block is ours, with room for both; a head is as aligned as an allocation needs it.
                let behind = unsafe { head.add(1) }.cast::<Allocation>();
                // SAFETY: as above.
                unsafe { behind.write(memory) };
                (start, Some(behind))
            }
            BytesAt::Nowhere => (None, None),
        };
        let shared = Shared {
            count: AtomicUsize::new(1),
            state: AtomicIsize::new(state),
            counters: AtomicPtr::default(),
            start,
            bytes,
            elsewhere,
            version: AtomicU64::new(0),
            written: AtomicBool::new(bytes == 0),
            class,
        };
        // SAFETY: the block is ours, long enough and aligned for a head.
        unsafe { head.write(shared) };
        Some(Self { head, owns: PhantomData })
    }

    #[inline]
    fn shared(&self) -> &Shared {
        // SAFETY: the head lives as long as one of its owners.
        unsafe { self.head.as_ref() }
    }

    /// How often the memory was written, apart from the making of a result.
    pub fn version(&self) -> u64 {
        self.shared().version.load(Ordering::Relaxed)
    }

    /// Counts a write that no guard sees, because there is no memory that the CPU could address.
    pub fn mark_written(&self) {
        self.shared().version.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of bytes.
    pub fn bytes(&self) -> usize {
        self.shared().bytes
    }

    /// Whether there is memory behind it.
    pub fn has_data(&self) -> bool {
        self.shared().start.is_some() || self.device_memory().is_some()
    }

    /// The memory that the CPU cannot address, if it is such memory. Guards do not speak of it: who may use it when is
    /// its owner's to say.
    pub fn device_memory(&self) -> Option<&dyn DeviceMemory> {
        self.shared().elsewhere().and_then(Allocation::device_memory)
    }

    /// A device's memory as a backend knows it, if it is of type `M`.
    pub fn memory<M: DeviceMemory>(&self) -> Option<&M> {
        let memory: &dyn Any = self.device_memory()?;
        memory.downcast_ref()
    }

    /// The type of device that copies from and to this memory while the program goes on: the memory is pinned for it.
    pub fn pinned_for(&self) -> Option<DeviceType> {
        self.shared().elsewhere().and_then(Allocation::is_pinned_for)
    }

    /// The same bytes where the CPU can address them: this very storage, or a copy of a device's memory.
    ///
    /// # Errors
    ///
    /// Those of the device; no memory for the copy.
    pub fn on_cpu(&self) -> Result<Self> {
        let Some(memory) = self.device_memory() else { return Ok(self.clone()) };
        let copy = Self::cpu(self.bytes())?;
        memory.read(0, copy.write()?.bytes())?;
        Ok(copy)
    }

    /// Where the memory begins, if the CPU can address it: for those who lend it to other libraries. What is done there
    /// no guard sees.
    pub fn address(&self) -> Option<NonNull<u8>> {
        self.shared().start
    }

    /// How many tensors and others hold this memory, at the moment of asking.
    pub fn owners(&self) -> usize {
        self.shared().count.load(Ordering::Relaxed)
    }

    /// What no other storage has as long as this one lives.
    pub(crate) fn identity(&self) -> usize {
        self.head.addr().get()
    }

    /// Whether both are the same memory.
    pub fn is_same(&self, other: &Self) -> bool {
        self.head == other.head
    }

    /// Announces a reader, until the guard is dropped.
    ///
    /// # Errors
    ///
    /// Somebody is writing; there is no data.
    #[inline]
    pub fn read(&self) -> Result<ReadGuard<'_>> {
        let shared = self.shared();
        if let Some(start) = shared.start
            && shared.written.load(Ordering::Relaxed)
            && let Some(counter) = shared.try_count_reader()
        {
            return Ok(ReadGuard { storage: self, start, counter });
        }
        self.read_with_patience()
    }

    /// The same where memory may have to be cleared, another thread reads too, or somebody is in the way.
    #[inline(never)]
    fn read_with_patience(&self) -> Result<ReadGuard<'_>> {
        let start = self.start("read")?;
        self.publish();
        let shared = self.shared();
        loop {
            let guard = ReadGuard { storage: self, start, counter: shared.count_reader()? };
            if shared.written.load(Ordering::Relaxed) {
                return Ok(guard);
            }
            drop(guard);
            shared.clear_unwritten();
        }
    }

    /// Announces a writer, until the guard is dropped.
    ///
    /// # Errors
    ///
    /// Somebody is reading or writing; there is no data.
    #[inline]
    pub fn write(&self) -> Result<WriteGuard<'_>> {
        let start = self.start("write")?;
        let shared = self.shared();
        let own = own_token();
        let before = if shared.state.load(Ordering::Relaxed) == own {
            // Nobody else changes the state while it names this thread.
            shared.state.store(WRITER, Ordering::Relaxed);
            own
        } else {
            shared.claim(WRITER)?;
            // There is one writer at a time.
            shared.version.store(shared.version.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            0
        };
        Ok(WriteGuard { storage: self, start, before })
    }

    #[inline]
    fn start(&self, what: &str) -> Result<NonNull<u8>> {
        match self.shared().start {
            Some(start) => Ok(start),
            None if self.has_data() => Err(argument(format!(
                "cannot {what} the data of a tensor whose memory the CPU cannot address; copy the tensor to the cpu, or add a kernel for its backend"
            ))),
            None => Err(argument(format!(
                "cannot {what} the data of a tensor on device meta, it has only sizes and a dtype; create the tensor on a device with data"
            ))),
        }
    }
}

/// Memory of at least as many bytes.
fn allocated(allocator: &dyn Allocator, bytes: usize) -> Result<Allocation> {
    let memory = allocator.allocate(bytes)?;
    if memory.bytes < bytes {
        let found = memory.bytes;
        let message = format!("allocator `{}` gave {found} bytes, expected {bytes}", allocator.name());
        return Err(Error::new(ErrorKind::Internal, message));
    }
    Ok(memory)
}

/// Says whether tensors of the CPU take their memory from the allocator that was set.
pub(super) fn divert(elsewhere: bool) {
    cache::divert(elsewhere);
}

/// One reader count per group of threads.
struct Counters([Counter; COUNTERS]);

/// Alone on its cache line.
#[repr(align(64))]
struct Counter(AtomicIsize);

const COUNTERS: usize = 16;

impl Counters {
    fn of_this_thread(&self) -> &AtomicIsize {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        thread_local! {
            static NUMBER: usize = THREADS.fetch_add(1, Ordering::Relaxed);
        }
        // While a thread ends, its number may be gone; any counter will do.
        let number = NUMBER.try_with(|number| *number).unwrap_or(0);
        &self.0[number % COUNTERS].0
    }
}

impl Shared {
    fn elsewhere(&self) -> Option<&Allocation> {
        // SAFETY: by the invariant it lives as long as the head, and nobody changes it.
        self.elsewhere.map(|memory| unsafe { memory.as_ref() })
    }

    fn counters(&self) -> Option<&Counters> {
        // SAFETY:
        // - the pointer is null or comes from a box that only the drop of `self` frees.
        unsafe { self.counters.load(Ordering::SeqCst).as_ref() }
    }

    /// Counts a reader at the first attempt.
    #[inline]
    fn try_count_reader(&self) -> Option<&AtomicIsize> {
        if let Some(counters) = self.counters() {
            let counter = counters.of_this_thread();
            counter.fetch_add(1, Ordering::SeqCst);
            if self.state.load(Ordering::SeqCst) >= 0 {
                return Some(counter);
            }
            counter.fetch_sub(1, Ordering::Release);
            return None;
        }
        let state = self.state.load(Ordering::Relaxed);
        let next = (state >= 0).then_some(state + 1)?;
        let counted = self.state.compare_exchange(state, next, Ordering::Acquire, Ordering::Relaxed);
        counted.ok().map(|_| &self.state)
    }

    /// Counts a reader; the result is the counter to take it from again.
    fn count_reader(&self) -> Result<&AtomicIsize> {
        loop {
            if let Some(counter) = self.try_count_reader() {
                return Ok(counter);
            }
            match self.state.load(Ordering::Relaxed) {
                // Another reader came in between.
                0.. => self.add_counters(),
                state => wait_or_refuse("read", state)?,
            }
        }
    }

    /// Gives the storage a row of counters unless it has one.
    #[cold]
    fn add_counters(&self) {
        if self.counters().is_some() {
            return;
        }
        let fresh = Box::new(Counters([const { Counter(AtomicIsize::new(0)) }; COUNTERS]));
        let fresh = Box::into_raw(fresh);
        let none = std::ptr::null_mut();
        if self.counters.compare_exchange(none, fresh, Ordering::SeqCst, Ordering::Relaxed).is_err() {
            // SAFETY:
            // - `fresh` came from a box and was not published: another thread was first.
            drop(unsafe { Box::from_raw(fresh) });
        }
    }

    /// Claims the storage as [`WRITER`] or [`CLEARING`], if nobody reads or writes.
    fn claim(&self, state: isize) -> Result<()> {
        loop {
            match self.state.compare_exchange(0, state, Ordering::SeqCst, Ordering::Relaxed) {
                Ok(_) => break,
                Err(found) => wait_or_refuse("written", found)?,
            }
        }
        let Some(counters) = self.counters() else { return Ok(()) };
        let readers = counters.0.iter().map(|counter| counter.0.load(Ordering::SeqCst)).sum();
        if readers == 0 {
            return Ok(());
        }
        self.state.store(0, Ordering::Release);
        Err(busy("written", readers))
    }

    /// Clears memory that nobody has written, unless somebody else reads, writes or clears it just now.
    #[cold]
    fn clear_unwritten(&self) {
        let Some(start) = self.start.filter(|_| self.claim(CLEARING).is_ok()) else {
            std::hint::spin_loop();
            return;
        };
        if !self.written.load(Ordering::Relaxed) {
            // SAFETY:
            // - by the invariant there are `bytes` bytes.
            // - the claim says that nobody reads or writes.
            unsafe { start.write_bytes(0, self.bytes) };
            self.written.store(true, Ordering::Relaxed);
        }
        self.state.store(0, Ordering::Release);
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let counters = *self.counters.get_mut();
        if !counters.is_null() {
            // SAFETY:
            // - the pointer came from a box and is freed here only; `&mut self` says that nobody uses it.
            drop(unsafe { Box::from_raw(counters) });
        }
        if let Some(memory) = self.elsewhere.take() {
            // SAFETY: by the invariant the head's; nobody uses a head that is dropped.
            unsafe { memory.drop_in_place() };
        }
    }
}

/// Somebody is in the way: for a moment, or for as long as they like.
#[cold]
fn wait_or_refuse(wanted: &str, state: isize) -> Result<()> {
    if state == CLEARING {
        std::hint::spin_loop();
        return Ok(());
    }
    Err(busy(wanted, state))
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let data = if self.has_data() { "" } else { " without data" };
        write!(f, "Storage of {} bytes{data}", self.bytes())
    }
}

#[cold]
#[inline(never)]
fn no_memory(bytes: usize) -> Error {
    let message =
        format!("no memory for {bytes} bytes; free tensors, work in smaller pieces or `trim` what is kept");
    Error::new(ErrorKind::Kernel, message)
}

#[cold]
#[inline(never)]
fn busy(wanted: &str, state: isize) -> Error {
    let found = match state {
        ..=WRITER => "is being written".to_owned(),
        1 => "has a reader".to_owned(),
        readers => format!("has {readers} readers"),
    };
    argument(format!(
        "this tensor's memory cannot be {wanted} now because it {found}; let the other operator finish or guard be dropped first, synchronize the stream of a copy that does not wait, or work on a clone"
    ))
}

/// Proof that nobody writes a storage. Gives its elements as slices.
pub struct ReadGuard<'a> {
    storage: &'a Storage,
    start: NonNull<u8>,
    /// Where this reader is counted.
    counter: &'a AtomicIsize,
}

/// Proof that nobody else reads or writes a storage. Gives its elements as slices.
pub struct WriteGuard<'a> {
    storage: &'a Storage,
    start: NonNull<u8>,
    /// The state before, which comes back.
    before: isize,
}

impl ReadGuard<'_> {
    /// All bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY:
        // - the storage has `bytes` bytes from `start`, all initialised: `read` made sure of `written`.
        // - the state counts this reader, so nobody writes while the guard lives.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.storage.bytes()) }
    }

    /// All elements; bytes after the last whole one are left out.
    ///
    /// # Errors
    ///
    /// Memory from elsewhere that is not aligned for `T`.
    pub fn slice<T: Element>(&self) -> Result<&[T]> {
        let (start, len) = typed::<T>(self.start, self.storage.bytes())?;
        // SAFETY:
        // - as in `bytes`, of which these are the first `len * size_of::<T>()`; `typed` checked the alignment.
        // - `Element` promises that every pattern of bytes is a `T`.
        Ok(unsafe { std::slice::from_raw_parts(start.as_ptr(), len) })
    }

    /// The first byte, for reads up to the storage's size while the guard lives.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// The storage that is read.
    pub fn storage(&self) -> &Storage {
        self.storage
    }
}

impl WriteGuard<'_> {
    /// All bytes.
    pub fn bytes(&mut self) -> &mut [u8] {
        self.clear_unwritten();
        // SAFETY:
        // - the storage has `bytes` bytes from `start`, all initialised by the line above or earlier.
        // - the state says that this is the only access, and the guard is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.storage.bytes()) }
    }

    /// All elements; bytes after the last whole one are left out.
    ///
    /// # Errors
    ///
    /// Memory from elsewhere that is not aligned for `T`.
    pub fn slice<T: Element>(&mut self) -> Result<&mut [T]> {
        self.clear_unwritten();
        let (start, len) = typed::<T>(self.start, self.storage.bytes())?;
        // SAFETY:
        // - as in `bytes`, of which these are the first `len * size_of::<T>()`; `typed` checked the alignment.
        // - `Element` promises that every pattern of bytes is a `T`, and that a `T` has no uninitialised bytes.
        Ok(unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), len) })
    }

    /// Clears memory that nobody has written, so that it may be read.
    pub(crate) fn clear_unwritten(&self) {
        if !self.is_written() {
            // SAFETY:
            // - the storage has `bytes` writable bytes from `start`; the state says that this is the only access.
            unsafe { self.start.write_bytes(0, self.storage.bytes()) };
            // SAFETY:
            // - the line above wrote every byte.
            unsafe { self.assume_written() };
        }
    }

    /// Whether every byte has had a value.
    pub(crate) fn is_written(&self) -> bool {
        self.storage.shared().written.load(Ordering::Relaxed)
    }

    /// Notes that every byte has a value.
    ///
    /// # Safety
    ///
    /// Every byte of the storage has been written.
    pub(crate) unsafe fn assume_written(&self) {
        self.storage.shared().written.store(true, Ordering::Relaxed);
    }

    /// The first byte. Access up to the storage's size is allowed while the guard lives; reads only of bytes that
    /// have been written.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// The storage that is written.
    pub fn storage(&self) -> &Storage {
        self.storage
    }
}

impl Drop for ReadGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        self.counter.fetch_sub(1, Ordering::Release);
    }
}

impl Drop for WriteGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        self.storage.shared().state.store(self.before, Ordering::Release);
    }
}

impl fmt::Debug for ReadGuard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "reader of {:?}", self.storage)
    }
}

impl fmt::Debug for WriteGuard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "writer of {:?}", self.storage)
    }
}

/// The address as elements of `T` and how many of them there are.
fn typed<T: Element>(start: NonNull<u8>, bytes: usize) -> Result<(NonNull<T>, usize)> {
    let start = start.cast::<T>();
    if !start.is_aligned() {
        let message = format!(
            "memory at an address that is not a multiple of {} cannot be read as {}; copy it first",
            align_of::<T>(),
            T::DTYPE
        );
        return Err(argument(message));
    }
    Ok((start, bytes / size_of::<T>()))
}
