//! The protocol between calls and those who free: threads mark their calls, writers wait for nobody.
//!
//! What was replaced is *retired*: it waits in limbo, stamped with an epoch, until every thread is known to have been
//! outside of all calls since. Writers learn that in one of two ways.
//!
//! - A heavy barrier on every running thread (`membarrier`), after which a thread whose nesting mark is 0 holds nothing
//!   that was retired: its next call reads the new pointer.
//! - A report: the writer raises a flag, and the thread answers with the epoch at its next call that is not nested.
//!
//! What is taken out of limbo is counted until its destructors have run, so that whoever waits for the end of what was
//! retired also waits for destructors on other threads ([`Limbo::is_past`]).
//!
//! The module knows neither tables nor where marks are kept, and takes atomics, locks and barriers from `crate::sync`:
//! `tests/loom.rs` compiles it as it is against a model of memory.
#![allow(unsafe_code)]

use std::ptr::NonNull;

use crate::sync::{
    AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Mutex, Ordering, fence, heavy_barrier, light_barrier, lock,
};

/// Bits of [`Mark::flags`].
pub(crate) mod flag {
    /// The thread is not on the list of threads yet.
    pub const NEW: u32 = 1;
    /// A writer waits for the thread to say that it holds no table.
    pub const REPORT: u32 = 2;
    /// The thread runs kernels of another dispatcher than the global one.
    pub const FOREIGN: u32 = 4;
    /// Somebody watches calls of every thread.
    pub const WATCHED: u32 = 8;
    /// Somebody watches calls of this thread.
    pub const RECORDED: u32 = 16;
    /// The thread has left the list of threads and counts its calls in a global.
    pub const ENDED: u32 = 32;
    /// The rules about slow paths have changed.
    pub const STRICTNESS: u32 = 64;
}

/// A pointer that calls read and writers replace; null while there is nothing.
#[derive(Debug)]
pub(crate) struct Published(AtomicPtr<u8>);

impl Published {
    pub(crate) const fn new() -> Self {
        Self(AtomicPtr::new(std::ptr::null_mut()))
    }

    /// What was published last. It may be used for as long as the thread is marked, if it was marked before.
    #[inline(always)]
    pub(crate) fn read(&self) -> *mut u8 {
        // Acquire: what the pointer leads to is read as it was written before it was published.
        self.0.load(Ordering::Acquire)
    }

    /// Replaces the pointer for every call that has not read it yet.
    pub(crate) fn publish(&self, pointer: *mut u8) {
        self.0.store(pointer, Ordering::Release);
    }
}

/// What writers may know of a thread. Only its thread writes it, but for `flags`.
pub(crate) struct Mark {
    flags: AtomicU32,
    /// How many dispatches are running. Writers read it to learn whether the thread may hold a table.
    nest: AtomicU32,
    /// The epoch up to which the thread is known to hold nothing that was retired.
    seen: AtomicU64,
}

impl Mark {
    /// The mark of a thread that is on no list.
    pub(crate) const fn new() -> Self {
        Self { flags: AtomicU32::new(flag::NEW), nest: AtomicU32::new(0), seen: AtomicU64::new(0) }
    }

    /// Whether something out of the ordinary is to be attended to.
    #[inline(always)]
    pub(crate) fn flags(&self) -> u32 {
        self.flags.load(Ordering::Relaxed)
    }

    pub(crate) fn set_flag(&self, bit: u32, on: bool) {
        if on {
            self.flags.fetch_or(bit, Ordering::Relaxed);
        } else {
            self.flags.fetch_and(!bit, Ordering::Relaxed);
        }
    }

    /// How many dispatches are running on the thread, which asks itself.
    #[inline(always)]
    pub(crate) fn depth(&self) -> u32 {
        self.nest.load(Ordering::Relaxed)
    }

    /// Says that the thread may hold tables from here on.
    #[inline(always)]
    pub(crate) fn begin(&self) -> Nested<'_> {
        self.nest.store(self.depth() + 1, Ordering::Relaxed);
        // No table is read before the mark is seen: the processor's half of that is the writer's barrier.
        light_barrier();
        Nested(self)
    }
}

/// Ends a dispatch when dropped, in whichever way the kernel is left.
pub(crate) struct Nested<'t>(&'t Mark);

impl Drop for Nested<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        // Release: a writer that sees the thread outside also sees all that the thread did with its tables.
        self.0.nest.store(self.0.depth() - 1, Ordering::Release);
    }
}

/// A mark on the list.
///
/// Invariant: the thread takes its mark off the list, under the list's lock, before the mark's memory ends. Whoever puts
/// it there promises that ([`Limbo::join`] is unsafe).
struct Listed(NonNull<Mark>);

// SAFETY: other threads only touch the atomics of the mark, and only under the list's lock.
unsafe impl Send for Listed {}

impl Listed {
    fn mark(&self) -> &Mark {
        // SAFETY: the invariant of `Listed`; every user holds the list's lock.
        unsafe { self.0.as_ref() }
    }
}

/// What was retired and not yet freed, and the threads that may still hold some of it.
pub(crate) struct Limbo<T> {
    /// The clock of retirement.
    epoch: AtomicU64,
    /// Calls running on threads that have left the list already: in destructors of other thread-locals, and those that
    /// never end because their thread left the list inside of them.
    unlisted_calls: AtomicUsize,
    /// The flags that every thread starts with, and that a thread joining the list takes over.
    common_flags: AtomicU32,
    threads: Mutex<Vec<Listed>>,
    retired: Mutex<Retired<T>>,
}

/// What waits, and what is on its way out.
struct Retired<T> {
    /// Each with the epoch in which it was retired, in that order.
    waiting: Vec<(u64, T)>,
    /// The earliest epoch of each [`Garbage`] that has not been freed to the end.
    leaving: Vec<u64>,
    /// Calls that never end.
    endless: usize,
}

impl<T> Limbo<T> {
    pub(crate) const fn new() -> Self {
        Self {
            epoch: AtomicU64::new(1),
            unlisted_calls: AtomicUsize::new(0),
            common_flags: AtomicU32::new(0),
            threads: Mutex::new(Vec::new()),
            retired: Mutex::new(Retired { waiting: Vec::new(), leaving: Vec::new(), endless: 0 }),
        }
    }

    /// Puts a thread on the list; it runs no call now.
    ///
    /// # Safety
    ///
    /// The thread calls [`leave`](Self::leave) before the mark's memory ends.
    pub(crate) unsafe fn join(&self, mark: &Mark) {
        let mut threads = lock(&self.threads);
        threads.push(Listed(NonNull::from(mark)));
        mark.seen.store(self.epoch.load(Ordering::Acquire), Ordering::Release);
        self.give_common_flags(mark);
    }

    /// Lets a thread call that is past being listed: its calls count themselves.
    pub(crate) fn join_unlisted(&self, mark: &Mark) {
        let _threads = lock(&self.threads);
        mark.set_flag(flag::ENDED, true);
        self.give_common_flags(mark);
    }

    /// Hands the common flags to a thread. The caller holds the list's lock, so that no change of them is missed.
    fn give_common_flags(&self, mark: &Mark) {
        mark.set_flag(self.common_flags.load(Ordering::Relaxed), true);
        mark.set_flag(flag::NEW, false);
    }

    /// Takes a thread off the list. Its later calls go the slow way and count themselves.
    ///
    /// A thread may leave inside of a call: one that ends the process from a kernel runs its destructors there, on top of
    /// the kernel, whose frames stay. That call is counted forever, and nothing is freed any more.
    pub(crate) fn leave(&self, mark: &Mark) {
        let mut threads = lock(&self.threads);
        if mark.depth() != 0 {
            // Writers look at the count under the list's lock, so they find the mark or the count.
            self.unlisted_calls.fetch_add(1, Ordering::SeqCst);
            lock(&self.retired).endless += 1;
        }
        threads.retain(|listed| listed.0 != NonNull::from(mark));
        mark.set_flag(flag::ENDED, true);
    }

    /// Answers a writer that wants to know whether the thread, which runs no call now, holds anything.
    pub(crate) fn report(&self, mark: &Mark) {
        if mark.flags() & flag::REPORT != 0 && mark.depth() == 0 {
            mark.set_flag(flag::REPORT, false);
            mark.seen.store(self.epoch.load(Ordering::Acquire), Ordering::Release);
        }
    }

    /// Counts a call of a thread that is on no list; the others count themselves by their nesting mark.
    pub(crate) fn count_if_ended(&self, mark: &Mark) -> Option<CountedCall<'_>> {
        let is_ended = mark.flags() & flag::ENDED != 0;
        is_ended.then(|| {
            self.unlisted_calls.fetch_add(1, Ordering::SeqCst);
            // The count comes before every pointer that the call reads, as a writer that sees none assumes.
            fence(Ordering::SeqCst);
            CountedCall(&self.unlisted_calls)
        })
    }

    /// Raises or lowers a flag on every thread, and on those to come.
    pub(crate) fn set_common_flag(&self, bit: u32, on: bool) {
        let threads = lock(&self.threads);
        if on {
            self.common_flags.fetch_or(bit, Ordering::Relaxed);
        } else {
            self.common_flags.fetch_and(!bit, Ordering::Relaxed);
        }
        for listed in threads.iter() {
            listed.mark().set_flag(bit, on);
        }
    }

    /// Raises a flag on every thread that is on the list, for each to lower when it has attended to it.
    pub(crate) fn raise_flag(&self, bit: u32) {
        lock(&self.threads).iter().for_each(|listed| listed.mark().set_flag(bit, true));
    }

    /// Keeps the list of threads and what is retired as they are.
    pub(crate) fn lock_all(&self) -> impl Sized + use<'_, T> {
        (lock(&self.threads), lock(&self.retired))
    }

    /// Forgets all threads but that of the mark `own`: the child of a fork does not have them, and their memory is used
    /// again. They hold nothing, and what they were freeing stays as it is.
    pub(crate) fn forget_other_threads(&self, own: &Mark) {
        let mut threads = lock(&self.threads);
        threads.retain(|listed| listed.0 == NonNull::from(own));
        let is_unlisted = own.flags() & flag::ENDED != 0 && own.depth() != 0;
        self.unlisted_calls.store(usize::from(is_unlisted), Ordering::SeqCst);
        let mut retired = lock(&self.retired);
        retired.endless = 0;
        retired.leaving.clear();
    }

    /// Puts things into limbo that `replace` takes away from calls that have not begun.
    ///
    /// Limbo is locked meanwhile: whoever finds that something is gone, and then asks limbo, finds it there. `replace`
    /// waits for nothing.
    pub(crate) fn retire(&self, replace: impl FnOnce() -> Vec<T>) {
        let mut retired = lock(&self.retired);
        let things = replace();
        if !things.is_empty() {
            let epoch = self.epoch.fetch_add(1, Ordering::AcqRel) + 1;
            retired.waiting.extend(things.into_iter().map(|thing| (epoch, thing)));
        }
    }

    /// The clock now: whatever was retired before has been stamped with this epoch or an earlier one.
    pub(crate) fn current_epoch(&self) -> u64 {
        let _retired = lock(&self.retired);
        self.epoch.load(Ordering::Acquire)
    }

    /// Whether everything that was retired up to `epoch` is freed, its destructors have ended, and those who ask see
    /// what they did.
    pub(crate) fn is_past(&self, epoch: u64) -> bool {
        let retired = lock(&self.retired);
        let mut stamps = retired.waiting.iter().map(|(stamp, _)| stamp).chain(&retired.leaving);
        stamps.all(|stamp| *stamp > epoch)
    }

    /// Whether a thread has left inside of a call, which never ends.
    pub(crate) fn has_endless_call(&self) -> bool {
        lock(&self.retired).endless != 0
    }

    /// Whether a call runs on another thread than that of the mark `own`.
    pub(crate) fn has_calls_beside(&self, own: &Mark) -> bool {
        let threads = lock(&self.threads);
        heavy_barrier();
        fence(Ordering::SeqCst);
        let is_inside = |listed: &Listed| {
            listed.0 != NonNull::from(own) && listed.mark().nest.load(Ordering::Acquire) != 0
        };
        self.unlisted_calls.load(Ordering::SeqCst) != 0 || threads.iter().any(is_inside)
    }

    /// How many of the things that wait for calls to end are such.
    pub(crate) fn count(&self, is_such: impl Fn(&T) -> bool) -> usize {
        lock(&self.retired).waiting.iter().filter(|(_, thing)| is_such(thing)).count()
    }

    /// Takes out what no thread can hold any more; the threads in the way are asked to report. `own` is the mark of
    /// the thread that asks.
    pub(crate) fn take_garbage(&self, own: &Mark) -> Garbage<'_, T> {
        let threads = lock(&self.threads);
        let mut retired = lock(&self.retired);
        let nothing = Garbage { limbo: self, things: Vec::new(), since: None };
        if retired.waiting.is_empty() {
            return nothing;
        }
        let barrier = heavy_barrier();
        fence(Ordering::SeqCst);
        if self.unlisted_calls.load(Ordering::SeqCst) != 0 {
            return nothing;
        }
        let mut safe = u64::MAX;
        for listed in threads.iter() {
            let mark = listed.mark();
            let outside = mark.nest.load(Ordering::Acquire) == 0;
            if outside && (barrier || listed.0 == NonNull::from(own)) {
                continue;
            }
            let seen = mark.seen.load(Ordering::Acquire);
            if retired.waiting.iter().any(|(epoch, _)| *epoch > seen) {
                mark.set_flag(flag::REPORT, true);
                safe = safe.min(seen);
            }
        }
        let waiting = std::mem::take(&mut retired.waiting);
        let (garbage, kept) = waiting.into_iter().partition::<Vec<_>, _>(|(epoch, _)| *epoch <= safe);
        retired.waiting = kept;
        let since = garbage.iter().map(|(epoch, _)| *epoch).min();
        retired.leaving.extend(since);
        Garbage { limbo: self, things: garbage.into_iter().map(|(_, thing)| thing).collect(), since }
    }
}

/// Things that nobody can hold any more, for their taker to free before this goes.
pub(crate) struct Garbage<'l, T> {
    limbo: &'l Limbo<T>,
    things: Vec<T>,
    /// Their earliest epoch, while limbo counts them.
    since: Option<u64>,
}

impl<T> Garbage<'_, T> {
    /// The things, of which none is left afterwards.
    pub(crate) fn take(&mut self) -> Vec<T> {
        std::mem::take(&mut self.things)
    }
}

impl<T> Drop for Garbage<'_, T> {
    /// What was not taken is freed after this, uncounted.
    fn drop(&mut self) {
        let Some(since) = self.since else { return };
        let leaving = &mut lock(&self.limbo.retired).leaving;
        // Whoever takes garbage enters it; the child of a fork has forgotten it.
        if let Some(own) = leaving.iter().position(|stamp| *stamp == since) {
            leaving.swap_remove(own);
        }
    }
}

/// A call of a thread that is on no list.
pub(crate) struct CountedCall<'l>(&'l AtomicUsize);

impl Drop for CountedCall<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
