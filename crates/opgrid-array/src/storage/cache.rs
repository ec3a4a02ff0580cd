//! Keeps blocks of memory that were given back, so that most tensors are made without the system's allocator.
//!
//! Sizes are rounded up to classes, four for each power of two. Blocks up to 64 KiB go to a list of the
//! thread that gives them back and are taken from it without a lock or an atomic operation; larger ones go to one set
//! of lists for all threads, which is limited ([`set_cache_limit`]). A thread that ends gives its blocks to the system.
//!
//! ```text
//! class   4·log2 + quarter      ⋯ 128, 160, 192, 224, 256, 320, 384, 448, 512, 640 ⋯ bytes
//! free block                    next free block of its class │ whatever was there
//! ```
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc};
use std::cell::Cell;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The alignment of every block in bytes: a cache line, and the widest vector register.
pub const ALIGNMENT: usize = 64;
/// How many bytes a thread keeps.
const PER_THREAD: usize = 4 << 20;
/// What all threads together keep in larger blocks, unless it was set.
const DEFAULT_LIMIT: usize = 256 << 20;
/// Classes of blocks that a thread keeps for itself, up to 64 KiB, and of all.
const SMALL_CLASSES: usize = 64;
const CLASSES: usize = 256;

/// Which blocks can stand for one another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Class(u8);

impl Class {
    /// The class of the smallest blocks that hold `bytes`, 128 at least.
    #[inline]
    fn for_size(bytes: usize) -> Self {
        /// By steps of 32 bytes, which no small class is finer than.
        const STEP: usize = 32;
        static SMALL: [Class; 32] = {
            let mut classes = [Class(0); 32];
            let mut step = 0;
            while step < 32 {
                classes[step] = Class::computed((step + 1) * STEP);
                step += 1;
            }
            classes
        };
        let last = bytes.saturating_sub(1);
        SMALL.get(last / STEP).copied().unwrap_or_else(|| Self::computed(bytes))
    }

    /// As [`for_size`](Self::for_size), without a table.
    #[inline]
    const fn computed(bytes: usize) -> Self {
        let last = if bytes < 128 { 128 - 1 } else { bytes - 1 };
        let log = last.ilog2();
        Self((log * 4 + ((last >> (log - 2)) & 3) as u32) as u8)
    }

    /// The size of its blocks in bytes; `None` where a pointer cannot count them.
    #[inline]
    fn bytes(self) -> Option<usize> {
        let (log, quarter) = (u32::from(self.0) / 4, usize::from(self.0) % 4);
        let bytes = (quarter + 5).checked_mul(1 << (log - 2))?;
        (bytes <= isize::MAX as usize - ALIGNMENT).then_some(bytes)
    }

    #[inline]
    fn is_small(self) -> bool {
        usize::from(self.0) < SMALL_CLASSES
    }

    /// The place of a small class in the lists of a thread.
    #[inline]
    fn small_index(self) -> usize {
        usize::from(self.0) % SMALL_CLASSES
    }

    /// The size of the blocks of a small class in bytes.
    #[inline]
    fn small_bytes(self) -> usize {
        static BYTES: [u32; SMALL_CLASSES] = {
            let mut bytes = [0; SMALL_CLASSES];
            // No block is smaller than 128 bytes.
            let mut class = 27;
            while class < SMALL_CLASSES {
                bytes[class] = (class as u32 % 4 + 5) << (class / 4 - 2);
                class += 1;
            }
            bytes
        };
        BYTES[self.small_index()] as usize
    }

    fn layout(self) -> Option<Layout> {
        Layout::from_size_align(self.bytes()?, ALIGNMENT).ok()
    }
}

/// A block that nobody uses.
struct Free {
    next: *mut Free,
}

/// What a thread keeps and has counted.
struct Local {
    lists: [Cell<*mut Free>; SMALL_CLASSES],
    kept: Cell<usize>,
    /// The number of the last [`trim`] that this thread knows of.
    trimmed: Cell<usize>,
    counts: Cell<*const Counts>,
}

/// What one thread has done. Only that thread writes, so that counting needs no atomic read-modify-write.
struct Counts {
    /// Blocks of each class that came from the thread's lists, and that went there: what most tensors take and give.
    local: [Turnover; SMALL_CLASSES],
    /// Blocks that came from elsewhere or went there.
    taken: AtomicUsize,
    taken_bytes: AtomicUsize,
    reused: AtomicUsize,
    given: AtomicUsize,
    given_bytes: AtomicUsize,
    /// Bytes of the thread's lists that went to the system.
    cleared_bytes: AtomicUsize,
}

struct Turnover {
    taken: AtomicUsize,
    given: AtomicUsize,
}

impl Counts {
    fn new() -> Self {
        let none = || AtomicUsize::new(0);
        Self {
            local: std::array::from_fn(|_| Turnover { taken: none(), given: none() }),
            taken: none(),
            taken_bytes: none(),
            reused: none(),
            given: none(),
            given_bytes: none(),
            cleared_bytes: none(),
        }
    }

    #[inline]
    fn add(counter: &AtomicUsize, more: usize) {
        counter.store(counter.load(Relaxed).wrapping_add(more), Relaxed);
    }
}

/// What all threads share.
struct Shared {
    lists: [*mut Free; CLASSES],
    kept: usize,
    limit: usize,
    threads: Vec<Arc<Counts>>,
    /// The sum of the counts of threads that have ended.
    ended: Statistics,
}

// SAFETY: the lists lead to blocks that nobody else knows of.
unsafe impl Send for Shared {}

static SHARED: Mutex<Shared> = Mutex::new(Shared {
    lists: [ptr::null_mut(); CLASSES],
    kept: 0,
    limit: DEFAULT_LIMIT,
    threads: Vec::new(),
    ended: Statistics { live: 0, live_bytes: 0, total: 0, reused: 0, kept_bytes: 0 },
});
/// How often [`trim`] was called.
static TRIMS: AtomicUsize = AtomicUsize::new(0);
/// Tensors take blocks of classes below this from the list of their thread: all small ones, or none while their memory
/// comes from another allocator. The comparison is there anyway, so that asking costs a load.
static LISTED: AtomicUsize = AtomicUsize::new(SMALL_CLASSES);

thread_local! {
    static LOCAL: Local = const {
        Local {
            lists: [const { Cell::new(ptr::null_mut()) }; SMALL_CLASSES],
            kept: Cell::new(0),
            trimmed: Cell::new(0),
            counts: Cell::new(ptr::null()),
        }
    };
}

fn shared() -> MutexGuard<'static, Shared> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is held while the process forks.
pub(super) fn hold_at_fork(held: &mut opgrid_core::fork::Held) {
    held.lock(&SHARED);
}

/// A block of at least `bytes` bytes with any content, aligned to [`ALIGNMENT`].
#[inline]
pub(super) fn take(bytes: usize) -> Option<(NonNull<u8>, Class)> {
    let class = Class::for_size(bytes);
    if class.is_small()
        && let Ok(Some(block)) = LOCAL.try_with(|local| local.take(class))
    {
        #[cfg(opgrid_asan)]
        sanitizer::hand_out(block, bytes, class);
        return Some((block, class));
    }
    let block = take_slowly(class)?;
    #[cfg(opgrid_asan)]
    sanitizer::hand_out(block, bytes, class);
    Some((block, class))
}

/// Takes a block for the memory of a CPU tensor; `None` also while another allocator provides that ([`divert`]).
#[inline]
pub(super) fn take_for_tensor(bytes: usize) -> Option<(NonNull<u8>, Class)> {
    let class = Class::for_size(bytes);
    if usize::from(class.0) < LISTED.load(Relaxed)
        && let Ok(Some(block)) = LOCAL.try_with(|local| local.take(class))
    {
        #[cfg(opgrid_asan)]
        sanitizer::hand_out(block, bytes, class);
        return Some((block, class));
    }
    if LISTED.load(Relaxed) == 0 {
        return None;
    }
    let block = take_slowly(class)?;
    #[cfg(opgrid_asan)]
    sanitizer::hand_out(block, bytes, class);
    Some((block, class))
}

/// Says whether the memory of tensors comes from another allocator.
pub(super) fn divert(elsewhere: bool) {
    LISTED.store(if elsewhere { 0 } else { SMALL_CLASSES }, Relaxed);
}

#[cold]
#[inline(never)]
fn take_slowly(class: Class) -> Option<NonNull<u8>> {
    crate::forking::prepare();
    let bytes = class.bytes()?;
    let reused = if class.is_small() { None } else { shared().take(class, bytes) };
    let _ = LOCAL.try_with(|local| {
        let counts = local.counts();
        Counts::add(&counts.taken, 1);
        Counts::add(&counts.taken_bytes, bytes);
        Counts::add(&counts.reused, usize::from(reused.is_some()));
    });
    reused.or_else(|| system(class)).or_else(|| {
        trim();
        system(class)
    })
}

fn system(class: Class) -> Option<NonNull<u8>> {
    // SAFETY: no class has blocks without bytes.
    NonNull::new(unsafe { alloc(class.layout()?) })
}

/// Gives a block back.
///
/// # Safety
///
/// The block came from [`take`] with this class, and nobody uses it any more.
#[inline]
pub(super) unsafe fn give(block: NonNull<u8>, class: Class) {
    #[cfg(opgrid_asan)]
    sanitizer::take_back(block, class);
    // SAFETY: passed on, for a small class.
    if class.is_small() && LOCAL.try_with(|local| unsafe { local.give(block, class) }).is_ok_and(|kept| kept)
    {
        return;
    }
    // SAFETY: passed on; the thread has not kept it.
    unsafe { give_slowly(block, class) };
}

/// # Safety
///
/// As [`give`].
#[cold]
#[inline(never)]
unsafe fn give_slowly(block: NonNull<u8>, class: Class) {
    let Some(bytes) = class.bytes() else { return };
    let counted = LOCAL.try_with(|local| {
        let counts = local.counts();
        Counts::add(&counts.given, 1);
        Counts::add(&counts.given_bytes, bytes);
    });
    if counted.is_err() {
        let mut shared = shared();
        shared.ended.live = shared.ended.live.wrapping_sub(1);
        shared.ended.live_bytes = shared.ended.live_bytes.wrapping_sub(bytes);
    }
    // SAFETY: passed on.
    if class.is_small() || !unsafe { shared().give(block, class, bytes) } {
        // SAFETY: passed on; nobody has kept it.
        unsafe { release(block, class) };
    }
}

/// Gives a block to the system.
///
/// # Safety
///
/// As [`give`]; the block is in no list.
unsafe fn release(block: NonNull<u8>, class: Class) {
    if let Some(layout) = class.layout() {
        // SAFETY: `system`, where all blocks come from, allocated it with the layout of its class.
        unsafe { dealloc(block.as_ptr(), layout) }
    }
}

impl Local {
    #[inline]
    fn take(&self, class: Class) -> Option<NonNull<u8>> {
        let list = &self.lists[class.small_index()];
        let block = NonNull::new(list.get())?;
        // SAFETY: the lists hold blocks that `give` has written and nobody else knows of.
        list.set(unsafe { block.as_ref() }.next);
        self.kept.set(self.kept.get() - class.small_bytes());
        Counts::add(&self.counts().local[class.small_index()].taken, 1);
        Some(block.cast())
    }

    /// Keeps a block, unless there are enough.
    ///
    /// # Safety
    ///
    /// As [`give`], for a small class.
    #[inline]
    unsafe fn give(&self, block: NonNull<u8>, class: Class) -> bool {
        let kept = self.kept.get() + class.small_bytes();
        if kept > PER_THREAD || self.trimmed.get() != TRIMS.load(Relaxed) {
            return self.give_after_trim();
        }
        let list = &self.lists[class.small_index()];
        let block = block.cast::<Free>();
        // SAFETY: the caller gives the block up; `Class::for_size` makes none of less than 128 bytes, and `layout` aligns to 64.
        unsafe { block.write(Free { next: list.get() }) };
        #[cfg(opgrid_asan)]
        sanitizer::keep(block, class);
        list.set(block.as_ptr());
        self.kept.set(kept);
        Counts::add(&self.counts().local[class.small_index()].given, 1);
        true
    }

    /// Follows a [`trim`] of another thread; the block at hand goes to the system too.
    #[cold]
    fn give_after_trim(&self) -> bool {
        let trims = TRIMS.load(Relaxed);
        if self.trimmed.get() != trims {
            self.trimmed.set(trims);
            self.clear();
        }
        false
    }

    #[inline]
    fn counts(&self) -> &Counts {
        let counts = self.counts.get();
        if counts.is_null() {
            return self.register();
        }
        // SAFETY: `register` made the pointer from an `Arc` that the drop of `self` gives up.
        unsafe { &*counts }
    }

    #[cold]
    fn register(&self) -> &Counts {
        let counts = Arc::new(Counts::new());
        shared().threads.push(Arc::clone(&counts));
        let counts = Arc::into_raw(counts);
        self.counts.set(counts);
        // SAFETY: the pointer is that of the `Arc` made here, which the drop of `self` gives up.
        unsafe { &*counts }
    }

    /// Gives every block to the system.
    fn clear(&self) {
        for (class, list) in self.lists.iter().enumerate() {
            // SAFETY: the list was taken out of its place, so its blocks are known here alone.
            unsafe { release_list(list.replace(ptr::null_mut()), Class(class as u8)) };
        }
        Counts::add(&self.counts().cleared_bytes, self.kept.replace(0));
    }
}

/// Gives the blocks of a list to the system.
///
/// # Safety
///
/// The list holds blocks of this class that nobody else knows of.
unsafe fn release_list(mut list: *mut Free, class: Class) {
    while let Some(block) = NonNull::new(list) {
        // SAFETY: by the caller's promise the block is alive.
        list = unsafe { block.as_ref() }.next;
        // SAFETY: by the caller's promise it is in no other list, and this one has moved on.
        unsafe { release(block.cast(), class) };
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        if self.counts.get().is_null() {
            return;
        }
        self.clear();
        // SAFETY: `register` made the pointer by `Arc::into_raw`, and nobody reads it after this.
        let counts = unsafe { Arc::from_raw(self.counts.replace(ptr::null())) };
        let mut shared = shared();
        shared.ended.add(&counts);
        shared.threads.retain(|other| !Arc::ptr_eq(other, &counts));
    }
}

impl Shared {
    fn take(&mut self, class: Class, bytes: usize) -> Option<NonNull<u8>> {
        let list = &mut self.lists[usize::from(class.0)];
        let block = NonNull::new(*list)?;
        // SAFETY: the lists hold blocks that `give` has written and nobody else knows of.
        *list = unsafe { block.as_ref() }.next;
        self.kept -= bytes;
        Some(block.cast())
    }

    /// Keeps a block, unless there are enough.
    ///
    /// # Safety
    ///
    /// As [`give`], for the `bytes` of its class.
    unsafe fn give(&mut self, block: NonNull<u8>, class: Class, bytes: usize) -> bool {
        let fits = self.kept.checked_add(bytes).is_some_and(|kept| kept <= self.limit);
        if fits {
            let list = &mut self.lists[usize::from(class.0)];
            let block = block.cast::<Free>();
            // SAFETY: the caller gives the block up; it is longer than a pointer and aligned to 64, as above.
            unsafe { block.write(Free { next: *list }) };
            #[cfg(opgrid_asan)]
            sanitizer::keep(block, class);
            *list = block.as_ptr();
            self.kept += bytes;
        }
        fits
    }

    /// Takes all blocks out, for the caller to release without the lock.
    fn clear(&mut self) -> [*mut Free; CLASSES] {
        self.kept = 0;
        std::mem::replace(&mut self.lists, [ptr::null_mut(); CLASSES])
    }
}

/// What the cache has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Blocks that tensors use now.
    pub live: usize,
    /// Their bytes, with what sizes were rounded up by.
    pub live_bytes: usize,
    /// Blocks that were asked for.
    pub total: usize,
    /// How many of these had been used before.
    pub reused: usize,
    /// Bytes that are kept for later.
    pub kept_bytes: usize,
}

impl Statistics {
    fn add(&mut self, counts: &Counts) {
        let read = |counter: &AtomicUsize| counter.load(Relaxed);
        self.live = self.live.wrapping_add(read(&counts.taken)).wrapping_sub(read(&counts.given));
        let bytes = read(&counts.taken_bytes).wrapping_sub(read(&counts.given_bytes));
        self.live_bytes = self.live_bytes.wrapping_add(bytes);
        self.total += read(&counts.taken);
        self.reused += read(&counts.reused);
        self.kept_bytes = self.kept_bytes.wrapping_sub(read(&counts.cleared_bytes));
        for (class, turnover) in counts.local.iter().enumerate() {
            let (taken, given) = (read(&turnover.taken), read(&turnover.given));
            let kept_bytes = given.wrapping_sub(taken).wrapping_mul(Class(class as u8).small_bytes());
            self.live = self.live.wrapping_add(taken).wrapping_sub(given);
            self.live_bytes = self.live_bytes.wrapping_sub(kept_bytes);
            self.kept_bytes = self.kept_bytes.wrapping_add(kept_bytes);
            self.total += taken;
            self.reused += taken;
        }
    }
}

/// What the cache has done so far, on all threads. Exact where no other thread makes or drops tensors meanwhile.
pub fn cache_statistics() -> Statistics {
    let shared = shared();
    let mut sum = shared.ended;
    shared.threads.iter().for_each(|counts| sum.add(counts));
    sum.kept_bytes += shared.kept;
    sum
}

/// Limits how many bytes are kept in blocks of more than 64 KiB, and gives what is above to the system. Each thread
/// keeps up to 4 MiB in smaller blocks besides.
pub fn set_cache_limit(bytes: usize) {
    let over = {
        let mut shared = shared();
        shared.limit = bytes;
        shared.kept > bytes
    };
    if over {
        release_shared();
    }
}

/// Gives kept memory to the system: that of this thread and the common one at once, that of other threads when they
/// next give a block back.
pub fn trim() {
    let trims = TRIMS.fetch_add(1, Relaxed) + 1;
    let _ = LOCAL.try_with(|local| {
        local.trimmed.set(trims);
        local.clear();
    });
    release_shared();
}

fn release_shared() {
    let lists = shared().clear();
    for (class, list) in lists.into_iter().enumerate() {
        // SAFETY: the lists were taken out of their place, so their blocks are known here alone.
        unsafe { release_list(list, Class(class as u8)) };
    }
}

/// Tells AddressSanitizer which bytes of a block are in use: as many as were asked for, and of a block that is kept only
/// the link. Without it a block is in use as a whole, and for as long as the cache keeps it.
#[cfg(opgrid_asan)]
mod sanitizer {
    use super::{Class, Free, NonNull};

    unsafe extern "C" {
        fn __asan_poison_memory_region(start: *const u8, bytes: usize);
        fn __asan_unpoison_memory_region(start: *const u8, bytes: usize);
    }

    fn use_only(block: NonNull<u8>, used: usize, class: Class) {
        let bytes = class.bytes().expect("a block has a size");
        assert!(used <= bytes, "a class has room for what it was chosen for");
        // SAFETY: both ranges lie within the block; only the sanitizer's notes on them change.
        unsafe {
            __asan_unpoison_memory_region(block.as_ptr(), used);
            __asan_poison_memory_region(block.as_ptr().add(used), bytes - used);
        }
    }

    pub(super) fn hand_out(block: NonNull<u8>, bytes: usize, class: Class) {
        use_only(block, bytes, class);
    }

    pub(super) fn take_back(block: NonNull<u8>, class: Class) {
        use_only(block, class.bytes().expect("a block has a size"), class);
    }

    pub(super) fn keep(block: NonNull<Free>, class: Class) {
        use_only(block.cast(), size_of::<Free>(), class);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_hold_what_is_asked_for() {
        for bytes in (0..5000).chain([1 << 16, (1 << 16) + 1, 1 << 40, (1 << 62) + 1]) {
            let class = Class::for_size(bytes);
            let size = class.bytes().unwrap();
            assert!(size >= bytes && (bytes <= 128 || size - bytes <= bytes / 4 + 1), "{bytes} in {size}");
            assert_eq!(class.is_small(), size <= 1 << 16, "{bytes}");
            assert!(!class.is_small() || class.small_bytes() == size, "{bytes}");
        }
        assert_eq!(Class::for_size(usize::MAX).bytes(), None);
        assert!(take(usize::MAX).is_none() && take(isize::MAX as usize).is_none());
    }
}
