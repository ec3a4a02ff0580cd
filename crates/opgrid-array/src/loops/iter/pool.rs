//! The threads that help with large loops.
//!
//! They are started when a loop first wants them, as many as it wants, and are never waited for. One that has nothing to do
//! stays awake for a moment, because loops often follow each other; then it sleeps. To wake one takes longer than a short
//! loop, which therefore asks those that are awake, and wakes others only when such loops follow each other.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How long a helper without work stays awake.
const AWAKE: Duration = Duration::from_micros(50);
/// Short loops that begin within this time after the one before follow each other.
const BURST: Duration = Duration::from_micros(100);
/// Looks for work between two looks at the clock.
const LOOKS: u32 = 32;

/// What helpers can be asked to help with.
pub(super) trait Work: Send + Sync {
    /// Takes part until nothing is left. Does not unwind.
    fn help(&self);
}

/// How much work there is for helpers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Amount {
    /// Enough to wake them.
    Much,
    /// About as much as waking them would take.
    Little,
}

struct Pool {
    queue: Mutex<Queue>,
    /// Entries of the queue, which those that are awake look at without locking it.
    entries: AtomicUsize,
    /// Helpers that are awake and without work.
    awake: AtomicUsize,
    wake: Condvar,
    /// Helpers that have begun to run.
    begun: AtomicUsize,
    /// When the last short loop began, in nanoseconds from [`now`]'s start.
    short: AtomicU64,
}

struct Queue {
    /// An entry for each helper that is asked.
    entries: VecDeque<Arc<dyn Work>>,
    /// Threads that were started.
    started: usize,
    asleep: usize,
}

static POOL: Pool = Pool {
    queue: Mutex::new(Queue { entries: VecDeque::new(), started: 0, asleep: 0 }),
    entries: AtomicUsize::new(0),
    awake: AtomicUsize::new(0),
    wake: Condvar::new(),
    begun: AtomicUsize::new(0),
    short: AtomicU64::new(0),
};

/// Time since the first call.
fn now() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

/// How many helpers to ask of those that are wanted.
pub(super) fn helpers(wanted: usize, amount: Amount) -> usize {
    if wanted == 0 || amount == Amount::Much {
        return wanted;
    }
    let now = now().as_nanos() as u64;
    let last = POOL.short.swap(now, Ordering::Relaxed);
    let follows = last > 0 && now.saturating_sub(last) < BURST.as_nanos() as u64;
    if follows { wanted } else { wanted.min(POOL.awake.load(Ordering::Relaxed)) }
}

/// Asks so many helpers, and returns at once. Where threads cannot be started there are fewer.
pub(super) fn ask(work: &Arc<dyn Work>, count: usize) {
    crate::forking::prepare();
    let mut queue = POOL.lock();
    while queue.started < count {
        let name = format!("opgrid-helper-{}", queue.started);
        if std::thread::Builder::new().name(name).spawn(helper).is_err() {
            break;
        }
        queue.started += 1;
    }
    for _ in 0..count {
        queue.entries.push_back(Arc::clone(work));
    }
    POOL.count(&queue);
    // One that stops to be awake looks at the queue once more before it sleeps.
    let asleep = count.saturating_sub(POOL.awake.load(Ordering::Relaxed)).min(queue.asleep);
    drop(queue);
    for _ in 0..asleep {
        POOL.wake.notify_one();
    }
}

/// What is held while the process forks. A thread that is just starting holds locks of the standard library that cannot be
/// taken here, so that this waits until every helper has begun.
pub(crate) fn hold_helpers_at_fork(held: &mut opgrid_core::fork::Held) {
    let queue = POOL.lock();
    while POOL.begun.load(Ordering::Acquire) < queue.started {
        std::thread::yield_now();
    }
    held.keep(queue);
}

/// Forgets the helpers, which the child of a fork does not have: it starts its own. Loops of other threads never end there,
/// and what they asked is not done.
pub(crate) fn forget_helpers() {
    let mut queue = POOL.lock();
    // The entries lead to stacks of threads that are gone.
    queue.entries.drain(..).for_each(std::mem::forget);
    (queue.started, queue.asleep) = (0, 0);
    POOL.begun.store(0, Ordering::Relaxed);
    POOL.count(&queue);
    POOL.awake.store(0, Ordering::Relaxed);
}

/// Asks those no longer that have not come.
pub(super) fn withdraw(work: *const ()) {
    if POOL.entries.load(Ordering::Relaxed) == 0 {
        return;
    }
    let mut left = Vec::new();
    let mut queue = POOL.lock();
    let mut at = 0;
    while at < queue.entries.len() {
        if std::ptr::eq(Arc::as_ptr(&queue.entries[at]).cast::<()>(), work) {
            left.extend(queue.entries.remove(at));
        } else {
            at += 1;
        }
    }
    POOL.count(&queue);
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, queue: &Queue) {
        self.entries.store(queue.entries.len(), Ordering::Release);
    }

    fn next(&self, queue: &mut Queue) -> Option<Arc<dyn Work>> {
        let next = queue.entries.pop_front();
        self.count(queue);
        next
    }

    /// What there is to do within the time that a helper stays awake.
    fn look(&self) -> Option<Arc<dyn Work>> {
        let start = Instant::now();
        while start.elapsed() < AWAKE {
            for _ in 0..LOOKS {
                if self.entries.load(Ordering::Acquire) > 0
                    && let Some(next) = self.next(&mut self.lock())
                {
                    return Some(next);
                }
                std::hint::spin_loop();
            }
        }
        None
    }

    fn sleep(&self) -> Arc<dyn Work> {
        let mut queue = self.lock();
        loop {
            if let Some(next) = self.next(&mut queue) {
                return next;
            }
            queue.asleep += 1;
            queue = self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.asleep -= 1;
        }
    }
}

/// What a thread of the pool does.
fn helper() {
    POOL.begun.fetch_add(1, Ordering::Release);
    loop {
        POOL.awake.fetch_add(1, Ordering::Relaxed);
        let found = POOL.look();
        POOL.awake.fetch_sub(1, Ordering::Relaxed);
        found.unwrap_or_else(|| POOL.sleep()).help();
    }
}
