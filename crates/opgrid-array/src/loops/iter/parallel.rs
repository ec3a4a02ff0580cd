//! Splits a range between threads. The caller never waits for a thread that has not started.
//!
//! Helpers are asked for, and the caller begins at once. Everybody takes the next piece until there is none. Then the
//! caller closes the job: a helper that comes later finds it closed and goes away without having looked at it.
//!
//! ```text
//! helpers    CLOSED │ how many work on the job now
//! ```
#![allow(unsafe_code)]

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use opgrid_core::ThreadContext;
use opgrid_core::panics::discard;

use super::pool::{self, Amount};

/// The bit that says that the job is closed.
const CLOSED: usize = 1 << (usize::BITS - 1);

/// What a panic carries.
type Payload = Box<dyn Any + Send>;

struct Job {
    next: AtomicUsize,
    pieces: usize,
    helpers: AtomicUsize,
    /// The closure of the caller, whose frame holds a [`Closing`]: it is alive until the job is closed and has no
    /// helpers.
    work: *const (dyn Fn(usize) + Sync),
    /// Payloads of panics in pieces. The caller drops them after all threads have stopped: dropping a payload may
    /// panic, too.
    panics: Mutex<Vec<Payload>>,
    /// The state of the caller's thread, alive as long as the closure.
    context: *const ThreadContext,
}

// SAFETY: `work` and `context` are `Sync`, and a helper uses them only if the job was open when it was counted, as `help` asks; then the
// caller's `Closing` waits for it.
unsafe impl Send for Job {}
// SAFETY: `work` and `context` lead to what is `Sync`, and live as long as the caller's `Closing` waits; everything else in it
// is `Sync`.
unsafe impl Sync for Job {}

impl Job {
    /// Takes pieces until none is left. Does not unwind.
    ///
    /// # Safety
    ///
    /// The closure is alive.
    unsafe fn work(&self) {
        while let Some(piece) = self.take() {
            // SAFETY: the caller's promise.
            let work = unsafe { &*self.work };
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| work(piece))) {
                self.next.store(self.pieces, Ordering::Relaxed);
                self.panics.lock().unwrap_or_else(PoisonError::into_inner).push(payload);
            }
        }
    }

    /// The next piece. The count stops at the number of pieces, which may be the largest there is.
    fn take(&self) -> Option<usize> {
        let next = |next| (next < self.pieces).then(|| next + 1);
        self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok()
    }

    /// The address that tells jobs apart.
    fn address(&self) -> *const () {
        std::ptr::from_ref(self).cast()
    }
}

impl pool::Work for Job {
    fn help(&self) {
        // From here on the caller waits, unless it has closed the job already.
        if self.helpers.fetch_add(1, Ordering::Acquire) & CLOSED == 0 {
            // SAFETY: the job was open when this helper was counted, so that `Closing` waits for it.
            let context = unsafe { &*self.context };
            // SAFETY: the job was open when this helper was counted, so that `Closing` waits for it.
            let help = || context.within(|| unsafe { self.work() });
            // Layers' parts of the context may panic.
            if let Err(payload) = catch_unwind(AssertUnwindSafe(help)) {
                self.panics.lock().unwrap_or_else(PoisonError::into_inner).push(payload);
            }
        }
        self.helpers.fetch_sub(1, Ordering::Release);
    }
}

/// Keeps a frame whose closure helpers use: when it is dropped, also by a panic, it waits until none of them does.
struct Closing<'a>(&'a Job);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        pool::withdraw(self.0.address());
        let helpers = &self.0.helpers;
        let mut working = helpers.fetch_or(CLOSED, Ordering::AcqRel) & !CLOSED;
        let mut turns = 0u32;
        while working != 0 {
            // They are at their last piece. One that came too late is counted for a moment, too.
            if turns < 1000 {
                turns += 1;
                std::hint::spin_loop()
            } else {
                std::thread::yield_now()
            }
            working = helpers.load(Ordering::Acquire) & !CLOSED;
        }
    }
}

/// Calls `work` for each number below `pieces`, on several threads where there are some.
///
/// A panic in it goes on in the caller, after all threads have stopped; of several the first one.
pub fn for_each_piece(pieces: usize, work: &(dyn Fn(usize) + Sync)) {
    for_pieces_of(Amount::Much, pieces, work);
}

/// Calls `work` for each number below `pieces`, on several threads if the amount of work is worth it.
fn for_pieces_of(amount: Amount, pieces: usize, work: &(dyn Fn(usize) + Sync)) {
    let helpers = match pieces {
        0 | 1 => 0,
        _ => pool::helpers(num_threads().min(pieces) - 1, amount),
    };
    if helpers == 0 {
        return (0..pieces).for_each(work);
    }
    // SAFETY: only the lifetime is forgotten. `closing` is dropped before this function returns or unwinds, so that
    // nobody uses the closure after its borrow; a helper that starts later finds the job closed.
    let work = unsafe {
        std::mem::transmute::<*const (dyn Fn(usize) + Sync + '_), *const (dyn Fn(usize) + Sync + 'static)>(
            work,
        )
    };
    let context = ThreadContext::capture();
    let job = Arc::new(Job {
        next: AtomicUsize::new(0),
        pieces,
        helpers: AtomicUsize::new(0),
        work,
        panics: Mutex::default(),
        context: &raw const context,
    });
    let closing = Closing(&job);
    pool::ask(&(Arc::clone(&job) as Arc<dyn pool::Work>), helpers);
    // SAFETY: the closure is borrowed until this function returns.
    unsafe { job.work() };
    drop(closing);
    let panics = std::mem::take(&mut *job.panics.lock().unwrap_or_else(PoisonError::into_inner));
    let mut panics = panics.into_iter();
    if let Some(first) = panics.next() {
        panics.for_each(discard);
        resume_unwind(first);
    }
}

/// How many threads may work at once; 0 until somebody asked.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// How many threads there can be: as many as the variable `OPGRID_NUM_THREADS` says, else as the machine runs at once.
fn most_threads() -> usize {
    static MOST: OnceLock<usize> = OnceLock::new();
    *MOST.get_or_init(|| {
        let machine = || std::thread::available_parallelism().map_or(1, usize::from);
        let Ok(asked) = std::env::var("OPGRID_NUM_THREADS") else { return machine() };
        match asked.parse() {
            Ok(threads) if (1..=MOST_ASKED).contains(&threads) => threads,
            _ => {
                let threads = machine();
                eprintln!(
                    "OPGRID_NUM_THREADS: found `{asked}`, expected a number from 1 to {MOST_ASKED}; {threads} are used"
                );
                threads
            }
        }
    })
}

/// More threads than any machine runs at once.
const MOST_ASKED: usize = 4096;

/// How many threads a large loop may take, with the one that calls it. No thread is started for the answer.
pub fn num_threads() -> usize {
    match THREADS.load(Ordering::Relaxed) {
        0 => {
            let most = most_threads();
            // Somebody may have said another number since.
            let _ = THREADS.compare_exchange(0, most, Ordering::Relaxed, Ordering::Relaxed);
            THREADS.load(Ordering::Relaxed)
        }
        threads => threads,
    }
}

/// Lets large loops take as many threads, with the one that calls them: 1 at least, and no more than the environment variable
/// `OPGRID_NUM_THREADS` says, or without it than the machine runs at once. It is for the whole process, from the next loop
/// on. Threads are started by the first loop that is large enough for them.
///
/// # Examples
///
/// ```
/// use opgrid_array::loops::{num_threads, set_num_threads};
///
/// set_num_threads(1);
/// assert_eq!(num_threads(), 1);
/// ```
pub fn set_num_threads(threads: usize) {
    THREADS.store(threads.clamp(1, most_threads()), Ordering::Relaxed);
}

/// Calls `work` for ranges that together are `0..n`, each of `grain` numbers except for the last one, on several
/// threads where there are some. What this thread includes, excludes, prefers and calls on is the same in all of them.
///
/// The caller takes ranges itself until none is left, and never waits for a thread that has not started. A panic goes
/// on in the caller, after all threads have stopped; of several the first one.
///
/// # Examples
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// let sum = AtomicUsize::new(0);
/// opgrid_array::loops::parallel_for(1000, 64, &|range| {
///     sum.fetch_add(range.sum(), Ordering::Relaxed);
/// });
/// assert_eq!(sum.into_inner(), 499_500);
/// ```
pub fn parallel_for(n: usize, grain: usize, work: &(dyn Fn(std::ops::Range<usize>) + Sync)) {
    parallel_for_of(Amount::Much, n, grain, work);
}

/// Calls `work` for ranges that together are `0..n`, on several threads if the amount of work is worth it.
pub(crate) fn parallel_for_of(
    amount: Amount,
    n: usize,
    grain: usize,
    work: &(dyn Fn(std::ops::Range<usize>) + Sync),
) {
    let grain = grain.max(1);
    for_pieces_of(amount, n.div_ceil(grain), &|piece| {
        // Below `n`, which may be the largest number there is.
        let start = piece * grain;
        work(start..start + grain.min(n - start));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_visited_once() {
        let visits: Vec<AtomicUsize> = (0..10_000).map(|_| AtomicUsize::new(0)).collect();
        for _ in 0..50 {
            parallel_for(visits.len(), 7, &|range| {
                range.for_each(|at| {
                    visits[at].fetch_add(1, Ordering::Relaxed);
                });
            });
        }
        assert!(visits.iter().all(|visits| visits.load(Ordering::Relaxed) == 50));
        parallel_for(0, 7, &|_| unreachable!("there is nothing to do"));
    }

    #[test]
    fn a_panic_goes_on_in_the_caller() {
        let run = || parallel_for(100, 1, &|range| assert!(range.start != 50, "stop"));
        assert!(catch_unwind(run).is_err());
        parallel_for(100, 1, &|range| assert!(range.start < 100));
    }

    #[test]
    fn loops_nest() {
        let sum = AtomicUsize::new(0);
        parallel_for(10, 1, &|_| {
            parallel_for(100, 10, &|range| {
                sum.fetch_add(range.len(), Ordering::Relaxed);
            });
        });
        assert_eq!(sum.into_inner(), 1000);
    }
}
