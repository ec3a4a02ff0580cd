//! Freeing tables that calls may still read: threads mark their calls, writers wait for nobody.
//!
//! A table that was replaced is *retired*: it waits in limbo, stamped with an epoch, until every thread is known to
//! have been outside of all calls since. Writers learn that in one of two ways.
//!
//! - A heavy barrier on every running thread (`membarrier`), after which a thread whose nesting mark is 0 holds no
//!   retired table: its next call reads the new pointer.
//! - A report: the writer raises a flag, and the thread answers with the epoch at its next call that is not nested.
//!
//! Only writers and [`quiesce`] free, and they drop what they free after every lock is released.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use rustix::thread::{MembarrierCommand, membarrier};

use crate::local::{ThreadState, flag, with_thread};
use crate::panics::Panics;
use crate::table::Table;
use crate::{Error, ErrorKind, Result};

/// The clock of retirement.
static EPOCH: AtomicU64 = AtomicU64::new(1);
/// Calls running on threads that have left the list already (in destructors of other thread-locals).
static ORPHANS: AtomicUsize = AtomicUsize::new(0);
/// The flags that every thread starts with, and that a thread joining the list takes over.
static COMMON_FLAGS: AtomicU32 = AtomicU32::new(0);
static THREADS: Mutex<Vec<Listed>> = Mutex::new(Vec::new());
static LIMBO: Mutex<Vec<(u64, Table)>> = Mutex::new(Vec::new());

/// The state of a thread on the list.
///
/// Invariant: the thread takes its state off the list, under the list's lock, before the state's memory ends.
struct Listed(NonNull<ThreadState>);

// SAFETY: other threads only touch the atomics of the state, and only under the list's lock.
unsafe impl Send for Listed {}

impl Listed {
    fn state(&self) -> &ThreadState {
        // SAFETY: the invariant of `Listed`; every user holds the list's lock.
        unsafe { self.0.as_ref() }
    }
}

/// A lock whose holder cannot leave it half-changed, so that a panic elsewhere does not matter.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the thread off the list when the thread ends.
struct Membership(Cell<bool>);

impl Drop for Membership {
    fn drop(&mut self) {
        if !self.0.get() {
            return;
        }
        with_thread(|thread| {
            lock(&THREADS).retain(|listed| listed.0 != NonNull::from(thread));
            // Calls from destructors that run later go the slow way and count themselves.
            thread.set_flag(flag::ORPHAN, true);
        });
    }
}

thread_local! {
    static MEMBERSHIP: Membership = const { Membership(Cell::new(false)) };
}

/// Attends to what writers want from this thread. Called before a call that is not nested begins.
#[cold]
pub(crate) fn attend(thread: &ThreadState) {
    let flags = thread.flags();
    if flags & flag::NEW != 0 {
        join(thread);
    }
    if flags & flag::REPORT != 0 && thread.nest.load(Ordering::Relaxed) == 0 {
        thread.set_flag(flag::REPORT, false);
        thread.seen.store(EPOCH.load(Ordering::Acquire), Ordering::Release);
    }
}

fn join(thread: &ThreadState) {
    let joined = MEMBERSHIP.try_with(|membership| membership.0.set(true)).is_ok();
    let mut threads = lock(&THREADS);
    if joined {
        threads.push(Listed(NonNull::from(thread)));
        thread.seen.store(EPOCH.load(Ordering::Acquire), Ordering::Release);
    } else {
        thread.set_flag(flag::ORPHAN, true);
    }
    thread.set_flag(COMMON_FLAGS.load(Ordering::Relaxed), true);
    thread.set_flag(flag::NEW, false);
}

/// Counts a call of a thread that is on no list; the others count themselves by their nesting mark.
pub(crate) struct Orphan(());

impl Orphan {
    pub(crate) fn enter(thread: &ThreadState) -> Option<Self> {
        let orphan = thread.flags() & flag::ORPHAN != 0;
        orphan.then(|| {
            ORPHANS.fetch_add(1, Ordering::SeqCst);
            // The count comes before every pointer that the call reads, as a writer that sees none assumes.
            fence(Ordering::SeqCst);
            Self(())
        })
    }
}

impl Drop for Orphan {
    fn drop(&mut self) {
        ORPHANS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Raises or lowers a flag on every thread, and on those to come.
pub(crate) fn set_common_flag(bit: u32, on: bool) {
    let threads = lock(&THREADS);
    if on {
        COMMON_FLAGS.fetch_or(bit, Ordering::Relaxed);
    } else {
        COMMON_FLAGS.fetch_and(!bit, Ordering::Relaxed);
    }
    for listed in threads.iter() {
        listed.state().set_flag(bit, on);
    }
}

/// Puts tables into limbo that no new call can reach any more.
pub(crate) fn retire(tables: Vec<Table>) {
    if tables.is_empty() {
        return;
    }
    let epoch = EPOCH.fetch_add(1, Ordering::AcqRel) + 1;
    lock(&LIMBO).extend(tables.into_iter().map(|table| (epoch, table)));
}

/// Whether enough waits for the price of a barrier on every thread.
pub(crate) fn is_collection_due() -> bool {
    const ENOUGH: usize = 32;
    retired_tables() >= ENOUGH
}

/// Whether the kernel can run a barrier on every thread of the process.
fn has_barrier() -> bool {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    *REGISTERED.get_or_init(|| membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok())
}

/// Frees what no thread can hold any more. The caller holds no lock.
pub(crate) fn collect() {
    let mut panics = Panics::default();
    panics.drop_each(take_garbage());
    panics.resume();
}

fn take_garbage() -> Vec<Table> {
    let threads = lock(&THREADS);
    let mut limbo = lock(&LIMBO);
    if limbo.is_empty() {
        return Vec::new();
    }
    let barrier = has_barrier() && membarrier(MembarrierCommand::PrivateExpedited).is_ok();
    fence(Ordering::SeqCst);
    if ORPHANS.load(Ordering::SeqCst) != 0 {
        return Vec::new();
    }
    let own = with_thread(|thread| NonNull::from(thread));
    let mut safe = u64::MAX;
    for listed in threads.iter() {
        let state = listed.state();
        let outside = state.nest.load(Ordering::Acquire) == 0;
        if outside && (barrier || listed.0 == own) {
            continue;
        }
        let seen = state.seen.load(Ordering::Acquire);
        if limbo.iter().any(|(epoch, _)| *epoch > seen) {
            state.set_flag(flag::REPORT, true);
            safe = safe.min(seen);
        }
    }
    let (garbage, kept) =
        std::mem::take(&mut *limbo).into_iter().partition::<Vec<_>, _>(|(epoch, _)| *epoch <= safe);
    *limbo = kept;
    garbage.into_iter().map(|(_, table)| table).collect()
}

/// How many tables wait for calls to end.
pub fn retired_tables() -> usize {
    lock(&LIMBO).len()
}

/// Waits until everything that was retired is freed, as before code that kernels live in is unloaded.
///
/// # Errors
///
/// [`ErrorKind::Registration`] inside a kernel, which would wait for itself.
pub fn quiesce() -> Result<()> {
    if with_thread(|thread| thread.nest.load(Ordering::Relaxed)) != 0 {
        let message =
            "quiesce() inside a kernel would wait for that kernel to end; call it outside of operators";
        return Err(Error::new(ErrorKind::Registration, message));
    }
    loop {
        collect();
        if retired_tables() == 0 {
            return Ok(());
        }
        std::thread::sleep(Duration::from_micros(50));
    }
}
