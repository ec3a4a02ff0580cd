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
use std::sync::{Arc, Mutex, PoisonError};

/// The bit that says that the job is closed.
const CLOSED: usize = 1 << (usize::BITS - 1);

struct Job {
    next: AtomicUsize,
    pieces: usize,
    helpers: AtomicUsize,
    /// The closure of the caller, which is alive until the job is closed and has no helpers.
    work: *const (dyn Fn(usize) + Sync),
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

// SAFETY: `work` is `Sync`, and helpers use it only while the caller waits for them.
unsafe impl Send for Job {}
// SAFETY: as above.
unsafe impl Sync for Job {}

impl Job {
    /// Takes pieces until none is left.
    ///
    /// # Safety
    ///
    /// The closure is alive.
    unsafe fn work(&self) {
        loop {
            let piece = self.next.fetch_add(1, Ordering::Relaxed);
            if piece >= self.pieces {
                return;
            }
            // SAFETY: the caller's promise.
            let work = unsafe { &*self.work };
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(piece))) {
                self.next.store(self.pieces, Ordering::Relaxed);
                *self.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
            }
        }
    }

    fn help(&self) {
        // From here on the caller waits, unless it has closed the job already.
        if self.helpers.fetch_add(1, Ordering::Acquire) & CLOSED == 0 {
            // SAFETY: the job was open when this helper was counted, so the caller waits for it.
            unsafe { self.work() };
        }
        self.helpers.fetch_sub(1, Ordering::Release);
    }
}

/// Calls `work` for each number below `pieces`, on several threads where there are some.
///
/// A panic in it goes on in the caller, after all threads have stopped.
pub(crate) fn for_each_piece(pieces: usize, work: &(dyn Fn(usize) + Sync)) {
    let threads = threads().min(pieces);
    if threads <= 1 {
        return (0..pieces).for_each(work);
    }
    // SAFETY: only the lifetime is forgotten; the job is closed and without helpers before this function returns.
    let work = unsafe {
        std::mem::transmute::<*const (dyn Fn(usize) + Sync + '_), *const (dyn Fn(usize) + Sync + 'static)>(
            work,
        )
    };
    let next = AtomicUsize::new(0);
    let job = Arc::new(Job { next, pieces, helpers: AtomicUsize::new(0), work, panic: Mutex::new(None) });
    for _ in 1..threads {
        let job = Arc::clone(&job);
        rayon::spawn(move || job.help());
    }
    // SAFETY: the closure is borrowed until this function returns; panics are caught.
    unsafe { job.work() };
    let mut helpers = job.helpers.fetch_or(CLOSED, Ordering::AcqRel) & !CLOSED;
    let mut turns = 0u32;
    while helpers != 0 {
        // They are at their last piece. One that came too late is counted for a moment, too.
        if turns < 1000 {
            std::hint::spin_loop()
        } else {
            std::thread::yield_now()
        }
        turns += 1;
        helpers = job.helpers.load(Ordering::Acquire) & !CLOSED;
    }
    let panic = job.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
}

/// How many threads may work at once.
pub(crate) fn threads() -> usize {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    match THREADS.load(Ordering::Relaxed) {
        0 => {
            let threads = rayon::current_num_threads();
            THREADS.store(threads, Ordering::Relaxed);
            threads
        }
        threads => threads,
    }
}

/// Calls `work` for ranges that together are `0..n`, each of `grain` numbers except for the last one, on several
/// threads where there are some.
///
/// The caller takes ranges itself until none is left, and never waits for a thread that has not started. A panic goes
/// on in the caller.
///
/// # Examples
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// let sum = AtomicUsize::new(0);
/// opgrid_tensor::kernels::parallel_for(1000, 64, &|range| {
///     sum.fetch_add(range.sum(), Ordering::Relaxed);
/// });
/// assert_eq!(sum.into_inner(), 499_500);
/// ```
pub fn parallel_for(n: usize, grain: usize, work: &(dyn Fn(std::ops::Range<usize>) + Sync)) {
    let grain = grain.max(1);
    for_each_piece(n.div_ceil(grain), &|piece| {
        let start = piece * grain;
        work(start..n.min(start + grain));
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
