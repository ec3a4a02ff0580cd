//! Holds the bytes of tensors, shared between views and guarded at run time.
//!
//! Tensors are shared handles, and operators write through them, so the compiler cannot tell readers from writers.
//! A [`Storage`] therefore counts them: any number of readers or one writer, anything else is an error. The thread that made a
//! storage counts by plain loads and stores until another one comes along (`borrows`).
//!
//! A storage is one block from the cache of memory ([`cache_statistics`]): a head of one cache line, and its bytes
//! behind it. Memory from other allocators lies elsewhere, and how it is given back stands behind the head.
//!
//! ```text
//! Storage ──► count, written, adopted, class │ borrows │ start │ bytes │ elsewhere │ version ║ bytes …, or the allocation
//! ```
//!
//! An alias (`Storage::alias`) is the same memory with a count of writes of its own. It has another head, and the storage
//! whose memory it is stands behind that; everything but the count is asked of that storage.
//!
//! Memory is not cleared when it is allocated. `written` says whether every byte has had a value; the first typed
//! access to memory without one clears it, while loops that write every element skip that ([`loops::iter`](crate::loops::iter)).
#![allow(unsafe_code)]

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::mem::size_of;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicU32, AtomicU64, Ordering, fence};

use opgrid_core::{DType, DeviceType, Error, ErrorKind, Result};

use self::allocator::Allocator;
use super::element::Element;
use crate::error::argument;

pub mod allocator;
mod arena;
mod borrows;
mod cache;
pub mod fake;
pub(crate) mod known;
mod maker;
mod memory;
mod owned;
mod sync;

pub use arena::{Arena, Offered, SMALLEST as SMALLEST_IN_ARENA};
pub use cache::{ALIGNMENT, Statistics, cache_statistics, set_cache_limit, trim};
pub use memory::{Allocation, DeviceMemory};
pub use owned::{OwnedReadGuard, OwnedWriteGuard};

pub(crate) use borrows::Thread;
use borrows::{Borrows, Refusal, WRITER};
use cache::Class;

/// The memory of one or several tensors. Clones share it.
///
/// # Examples
///
/// ```
/// use opgrid_array::Storage;
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
/// the head and that only guards use: behind it, or in `elsewhere`. That, where it is some, leads to a value in the same block,
/// which belongs to the head. `is_alias` says that this value is a storage; that one is no alias. The `written` of an alias stays
/// false and its `borrows` are those of one that is written, so that guards take the ways with patience.
#[repr(C, align(64))]
struct Shared {
    count: AtomicU32,
    /// Whether every byte has had a value.
    written: AtomicBool,
    is_alias: bool,
    /// Whether the memory was not allocated for the storage, so that others may know its address.
    is_adopted: bool,
    class: Class,
    borrows: Borrows,
    /// `None` for tensors without data, as on the meta device, and for memory that the CPU cannot address.
    start: Option<NonNull<u8>>,
    bytes: usize,
    elsewhere: Option<NonNull<Elsewhere>>,
    /// How often somebody has written.
    version: AtomicU64,
}

/// Where the memory of a storage is that is not behind its head.
enum Elsewhere {
    Allocation(Allocation),
    Storage(Storage),
}

const _: () = assert!(size_of::<Shared>() == 64, "a head is one cache line");
const _: () = assert!(align_of::<Elsewhere>() <= align_of::<Shared>(), "an allocation may lie behind a head");

// SAFETY:
// - the head is atomics and what never changes; `Allocation` is `Send` and `Sync`; guards keep threads apart.
unsafe impl Send for Storage {}
// SAFETY: the head is atomics and what never changes; `Allocation` is `Sync`; guards keep threads apart.
unsafe impl Sync for Storage {}

impl Clone for Storage {
    #[inline]
    fn clone(&self) -> Self {
        let before = self.shared().count.fetch_add(1, Ordering::Relaxed);
        if before & (known::KNOWN - 1) > known::KNOWN / 2 {
            // Only a loop of `mem::forget` gets here; going on would count into the bit, and free memory in use.
            std::process::abort();
        }
        Self { head: self.head, owns: PhantomData }
    }
}

/// The count of a known storage with one owner.
const LAST_OF_KNOWN: u32 = known::KNOWN | 1;

impl Drop for Storage {
    #[inline]
    fn drop(&mut self) {
        let count = &self.shared().count;
        // The only owner needs no read-modify-write: there is none left that could be cloned.
        if count.load(Ordering::Acquire) != 1 {
            match count.fetch_sub(1, Ordering::Release) {
                1 => {}
                LAST_OF_KNOWN => known::forget(self.head, self.shared().start),
                _ => return,
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

/// What is held while the process forks.
pub(super) fn hold_at_fork(held: &mut opgrid_core::fork::Held) {
    known::hold_at_fork(held);
    cache::hold_at_fork(held);
}

/// Where the bytes of a storage are.
enum BytesAt {
    /// Behind the record of the storage, in one block with it.
    Behind,
    Elsewhere(Allocation),
    Alias(Storage),
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
        Self::at(bytes, BytesAt::Elsewhere(memory)).ok_or_else(|| no_memory(bytes))
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
        let storage = Self::at(bytes, BytesAt::Elsewhere(memory));
        let storage = storage.ok_or_else(|| no_memory(size_of::<Shared>()))?;
        storage.shared().written.store(true, Ordering::Relaxed);
        // SAFETY: nobody else has the storage yet.
        unsafe { (*storage.head.as_ptr()).is_adopted = true };
        Ok(storage)
    }

    /// Memory of the process, or of the allocator that was [set](crate::devices::set_allocator) for the CPU, which reads as
    /// zero until it is written. A place that an [`Arena`] offers comes first.
    ///
    /// # Errors
    ///
    /// There is no such memory; the message names the number of bytes.
    #[inline]
    pub fn cpu(bytes: usize) -> Result<Self> {
        if bytes > arena::SMALLEST
            && let Some(memory) = arena::claim(bytes)
        {
            return Self::at(bytes, BytesAt::Elsewhere(memory)).ok_or_else(|| no_memory(bytes));
        }
        Self::at(bytes, BytesAt::Behind).map_or_else(|| Self::from_set_allocator(bytes), Ok)
    }

    /// Memory of the allocator that was set for the CPU.
    ///
    /// # Errors
    ///
    /// None is set, so that there was no memory; those of the allocator; memory that tensors of the CPU cannot use.
    #[cold]
    #[inline(never)]
    fn from_set_allocator(bytes: usize) -> Result<Self> {
        let Some(allocator) = allocator::of_cpu() else {
            // One that was set may have been taken back a moment ago.
            return Self::at(bytes, BytesAt::Behind).ok_or_else(|| no_memory(bytes));
        };
        let memory = allocated_for_cpu(&*allocator, bytes)?;
        Self::at(bytes, BytesAt::Elsewhere(memory)).ok_or_else(|| no_memory(bytes))
    }

    /// A size without memory.
    ///
    /// # Errors
    ///
    /// There is no memory even for the size.
    pub fn meta(bytes: usize) -> Result<Self> {
        Self::at(bytes, BytesAt::Nowhere).ok_or_else(|| no_memory(size_of::<Shared>()))
    }

    #[inline]
    fn at(bytes: usize, place: BytesAt) -> Option<Self> {
        let (block, class) = match place {
            BytesAt::Behind => cache::take_for_tensor(bytes.checked_add(size_of::<Shared>())?)?,
            BytesAt::Elsewhere(_) | BytesAt::Alias(_) => {
                cache::take(size_of::<Shared>() + size_of::<Elsewhere>())?
            }
            BytesAt::Nowhere => cache::take(size_of::<Shared>())?,
        };
        let head = block.cast::<Shared>();
        let is_alias = matches!(place, BytesAt::Alias(_));
        let (start, elsewhere) = match place {
            // SAFETY: the block is longer than its head.
            BytesAt::Behind => (Some(unsafe { head.add(1) }.cast()), None),
            BytesAt::Elsewhere(memory) => (memory.start, Some(Elsewhere::Allocation(memory))),
            BytesAt::Alias(storage) => (storage.shared().start, Some(Elsewhere::Storage(storage))),
            BytesAt::Nowhere => (None, None),
        };
        let elsewhere = elsewhere.map(|elsewhere| {
            // SAFETY: the block is ours, with room for both; a head is as aligned as what lies behind it needs it.
            let behind = unsafe { head.add(1) }.cast::<Elsewhere>();
            // SAFETY: the block is ours, with room for both, and aligned for what lies behind a head, as is
            // asserted for `Elsewhere`.
            unsafe { behind.write(elsewhere) };
            behind
        });
        let shared = Shared {
            count: AtomicU32::new(1),
            written: AtomicBool::new(bytes == 0 && !is_alias),
            is_alias,
            is_adopted: false,
            class,
            borrows: Borrows::new(if is_alias { WRITER } else { maker::first_state() }),
            start,
            bytes,
            elsewhere,
            version: AtomicU64::new(0),
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

    /// Returns a storage on this memory with its own version counter, which starts at `version`: writes to one do not
    /// change the version of the other. Guards of both still exclude each other.
    ///
    /// # Errors
    ///
    /// There is no memory for the head.
    pub fn alias(&self, version: u64) -> Result<Self> {
        let root = match self.shared().original() {
            Some(original) => original.clone(),
            None => self.clone(),
        };
        let alias = Self::at(self.bytes(), BytesAt::Alias(root));
        let alias = alias.ok_or_else(|| no_memory(size_of::<Shared>()))?;
        alias.set_version(version);
        Ok(alias)
    }

    /// The storage whose memory it is: itself, unless it is an alias.
    #[inline]
    fn original(&self) -> &Self {
        if self.shared().is_alias { self.shared().original().unwrap_or(self) } else { self }
    }

    /// Says how often the memory was written.
    pub fn set_version(&self, version: u64) {
        self.shared().version.store(version, Ordering::Relaxed);
    }

    /// How often the memory was written, apart from the making of a result.
    pub fn version(&self) -> u64 {
        self.shared().version.load(Ordering::Relaxed)
    }

    /// Begins to count from here: what was written until now has made the memory what it is.
    #[inline]
    pub fn restart_version(&self) {
        self.shared().version.store(0, Ordering::Relaxed);
    }

    /// Counts a write that no guard sees, because there is no memory that the CPU could address.
    pub fn mark_written(&self) {
        self.shared().version.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of bytes.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.shared().bytes
    }

    /// Whether there is memory behind it.
    #[inline]
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

    /// Returns a storage with these bytes that the CPU can address: this storage, or a copy of a device's memory.
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
        let count =
            |storage: &Self| (storage.shared().count.load(Ordering::Relaxed) & !known::KNOWN) as usize;
        // An alias is one of those who hold what it is an alias of.
        if self.shared().is_alias { count(self.original()) - 1 + count(self) } else { count(self) }
    }

    /// Whether nobody but the caller can see the memory: the storage has one owner, and its memory was allocated for it and is not
    /// looked up by address.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_array::Storage;
    ///
    /// let storage = Storage::cpu(16)?;
    /// assert!(storage.is_private());
    /// let other = storage.clone();
    /// assert!(!storage.is_private() && !other.is_private());
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn is_private(&self) -> bool {
        let shared = self.shared();
        // Acquire, so that what the last other owner did is over.
        shared.count.load(Ordering::Acquire) == 1 && !shared.is_alias && !shared.is_adopted
    }

    /// What no other storage has as long as this one lives.
    #[inline]
    pub fn identity(&self) -> usize {
        self.original().head.addr().get()
    }

    /// Whether both are the same memory.
    #[inline]
    pub fn is_same(&self, other: &Self) -> bool {
        self.head == other.head || self.original().head == other.original().head
    }

    /// Announces a reader, until the guard is dropped.
    ///
    /// # Errors
    ///
    /// Somebody is writing; there is no data.
    #[inline]
    pub fn read(&self) -> Result<ReadGuard<'_>> {
        self.read_by(maker::me())
    }

    /// Borrows the storage for reading by thread `me`, for callers that need several guards.
    #[inline]
    pub(crate) fn read_by(&self, me: Thread) -> Result<ReadGuard<'_>> {
        let shared = self.shared();
        if let Some(start) = shared.start
            && shared.written.load(Ordering::Relaxed)
            && let Some(word) = shared.borrows.try_read(me)
        {
            return Ok(ReadGuard { storage: self, start, word });
        }
        self.read_with_patience(me)
    }

    /// Borrows the storage for reading when memory may have to be cleared, another thread reads too, or another guard
    /// is in the way.
    #[inline(never)]
    fn read_with_patience(&self, me: Thread) -> Result<ReadGuard<'_>> {
        let start = self.start("read")?;
        let shared = self.patient(me);
        loop {
            let word = shared.borrows.read(me).map_err(|refusal| refused("read", refusal))?;
            let guard = ReadGuard { storage: self, start, word };
            if shared.written.load(Ordering::Relaxed) {
                return Ok(guard);
            }
            drop(guard);
            // Unless somebody else reads, writes or clears it just now.
            if let Ok(word) = shared.borrows.clear(me) {
                drop(WriteGuard { storage: self, start, word }.cleared());
            }
        }
    }

    /// Announces a writer, until the guard is dropped.
    ///
    /// # Errors
    ///
    /// Somebody is reading or writing; there is no data.
    #[inline]
    pub fn write(&self) -> Result<WriteGuard<'_>> {
        self.write_by(maker::me())
    }

    /// Borrows the storage for writing by thread `me`, for callers that need several guards.
    #[inline]
    pub(crate) fn write_by(&self, me: Thread) -> Result<WriteGuard<'_>> {
        let shared = self.shared();
        if let Some(start) = shared.start
            && let Some(word) = shared.borrows.try_write(me)
        {
            return Ok(self.writer(start, word));
        }
        self.write_with_patience(me)
    }

    /// Borrows the storage for writing when it belongs to another thread, or another guard is in the way.
    #[inline(never)]
    fn write_with_patience(&self, me: Thread) -> Result<WriteGuard<'_>> {
        let start = self.start("write")?;
        let word = self.patient(me).borrows.write(me).map_err(|refusal| refused("written", refusal))?;
        Ok(self.writer(start, word))
    }

    /// Where guards are counted. Those of an alias end at another head than their storage's, and so must not be counted where only
    /// the maker may count.
    fn patient(&self, me: Thread) -> &Shared {
        let shared = self.original().shared();
        if self.shared().is_alias {
            shared.borrows.share(me);
        }
        shared
    }

    /// The guard of a writer that was counted.
    #[inline]
    fn writer<'a>(&'a self, start: NonNull<u8>, word: &'a AtomicIsize) -> WriteGuard<'a> {
        let version = &self.shared().version;
        // There is one writer at a time.
        version.store(version.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        WriteGuard { storage: self, start, word }
    }

    /// This thread, for guards.
    #[inline]
    pub(crate) fn me() -> Thread {
        maker::me()
    }

    #[inline]
    fn start(&self, what: &str) -> Result<NonNull<u8>> {
        match self.shared().start {
            Some(start) => Ok(start),
            None if self.has_data() => Err(argument(format!(
                "cannot {what} the data of a tensor whose memory the CPU cannot address; copy the tensor to the cpu, or add a kernel for its backend"
            ))),
            None => Err(argument(format!(
                "cannot {what} the data of a tensor on device meta, or of a fake tensor, which has only sizes and a dtype; create it on a device with data"
            ))),
        }
    }
}

/// Memory of at least as many bytes.
fn allocated(allocator: &dyn Allocator, bytes: usize) -> Result<Allocation> {
    let memory = allocator.allocate(bytes)?;
    if memory.bytes < bytes {
        let found = memory.bytes;
        let message = format!("allocator `{}` returned {found} bytes, expected {bytes}", allocator.name());
        return Err(Error::new(ErrorKind::Internal, message));
    }
    Ok(memory)
}

/// Memory of an allocator that was set for the CPU.
///
/// # Errors
///
/// Those of the allocator; memory that tensors of the CPU cannot use.
fn allocated_for_cpu(allocator: &dyn Allocator, bytes: usize) -> Result<Allocation> {
    let memory = allocated(allocator, bytes)?;
    if memory.start.is_none_or(|start| !start.addr().get().is_multiple_of(ALIGNMENT)) {
        let message = format!(
            "allocator `{}` returned memory that CPU tensors cannot use, expected an address that is a \
             multiple of {ALIGNMENT}; set another allocator by `devices::set_allocator`",
            allocator.name()
        );
        return Err(Error::new(ErrorKind::Internal, message));
    }
    Ok(memory)
}

/// Says whether tensors of the CPU take their memory from the allocator that was set.
pub(super) fn divert(elsewhere: bool) {
    cache::divert(elsewhere);
}

impl Shared {
    fn elsewhere(&self) -> Option<&Allocation> {
        // SAFETY: by the invariant it lives as long as the head, and nobody changes it.
        match self.elsewhere.map(|memory| unsafe { memory.as_ref() })? {
            Elsewhere::Allocation(memory) => Some(memory),
            Elsewhere::Storage(original) => original.shared().elsewhere(),
        }
    }

    /// What it is an alias of, if it is one.
    fn original(&self) -> Option<&Storage> {
        // SAFETY: by the invariant it lives as long as the head, and nobody changes it.
        match self.elsewhere.map(|memory| unsafe { memory.as_ref() })? {
            Elsewhere::Allocation(_) => None,
            Elsewhere::Storage(original) => Some(original),
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(memory) = self.elsewhere.take() {
            // SAFETY: by the invariant the head's; nobody uses a head that is dropped.
            unsafe { memory.drop_in_place() };
        }
    }
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
        format!("no memory for {bytes} bytes; free tensors, work in smaller pieces or `trim` the cache");
    Error::new(ErrorKind::Kernel, message)
}

#[cold]
#[inline(never)]
fn refused(wanted: &str, refusal: Refusal) -> Error {
    let found = match refusal {
        Refusal::Written => "it is being written".to_owned(),
        Refusal::Read(1) => "it has a reader".to_owned(),
        Refusal::Read(readers) => format!("it has {readers} readers"),
        Refusal::NoBarrier => {
            return argument(format!(
                "this tensor's memory cannot be {wanted} by this thread because another thread owns it \
                 and the system refuses `membarrier`, which transfers it; allow that system call, or \
                 use the tensor on the thread that created it"
            ));
        }
    };
    argument(format!(
        "this tensor's memory cannot be {wanted} now because {found}; wait for the other operator, \
         drop the guard, synchronize the stream of an asynchronous copy, or work on a clone"
    ))
}

/// Proof that nobody writes a storage. Gives its elements as slices.
///
/// It stays on its thread, where it may be counted without an atomic operation; [`Storage::read_owned`] gives one that may go.
///
/// ```compile_fail,E0277
/// # use opgrid_array::Storage;
/// let storage = Storage::cpu(4).unwrap();
/// let guard = storage.read().unwrap();
/// std::thread::scope(|scope| {
///     scope.spawn(move || drop(guard));
/// });
/// ```
pub struct ReadGuard<'a> {
    storage: &'a Storage,
    /// A pointer, which keeps the guard on its thread.
    start: NonNull<u8>,
    /// Where this reader is counted.
    word: &'a AtomicIsize,
}

/// Proof that nobody else reads or writes a storage. Gives its elements as slices.
///
/// It stays on its thread, as a [`ReadGuard`] does; [`Storage::write_owned`] gives one that may go.
///
/// ```compile_fail,E0277
/// # use opgrid_array::Storage;
/// let storage = Storage::cpu(4).unwrap();
/// let guard = storage.write().unwrap();
/// std::thread::scope(|scope| {
///     scope.spawn(move || drop(guard));
/// });
/// ```
pub struct WriteGuard<'a> {
    storage: &'a Storage,
    /// A pointer, which keeps the guard on its thread.
    start: NonNull<u8>,
    /// Where this writer is counted.
    word: &'a AtomicIsize,
}

impl ReadGuard<'_> {
    /// All bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY:
        // - the storage has `bytes` bytes from `start`, all initialised: `read` made sure of `written`.
        // - `borrows` counts this reader, so nobody writes while the guard lives.
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
    #[inline]
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// The storage that is read.
    #[inline]
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
        // - `borrows` says that this is the only access, and the guard is borrowed mutably.
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

    fn cleared(self) -> Self {
        self.clear_unwritten();
        self
    }

    /// Clears memory that nobody has written, so that it may be read.
    pub(crate) fn clear_unwritten(&self) {
        if !self.is_written() {
            // SAFETY:
            // - the storage has `bytes` writable bytes from `start`; `borrows` says that this is the only access.
            unsafe { self.start.write_bytes(0, self.storage.bytes()) };
            // SAFETY:
            // - the line above wrote every byte.
            unsafe { self.assume_written() };
        }
    }

    /// Whether every byte has had a value.
    #[inline]
    pub(crate) fn is_written(&self) -> bool {
        self.storage.original().shared().written.load(Ordering::Relaxed)
    }

    /// Notes that every byte has a value.
    ///
    /// # Safety
    ///
    /// Every byte of the storage has been written.
    pub(crate) unsafe fn assume_written(&self) {
        self.storage.original().shared().written.store(true, Ordering::Relaxed);
    }

    /// The first byte. Access up to the storage's size is allowed while the guard lives; reads only of bytes that
    /// have been written.
    #[inline]
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// The storage that is written.
    #[inline]
    pub fn storage(&self) -> &Storage {
        self.storage
    }
}

impl Drop for ReadGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        self.storage.shared().borrows.end_read(self.word);
    }
}

impl Drop for WriteGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        self.storage.shared().borrows.end_write(self.word);
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
        return Err(unaligned(T::DTYPE, align_of::<T>()));
    }
    Ok((start, bytes / size_of::<T>()))
}

#[cold]
#[inline(never)]
fn unaligned(dtype: DType, align: usize) -> Error {
    argument(format!(
        "memory at an address that is not a multiple of {align} cannot be read as {dtype}; copy it first"
    ))
}
