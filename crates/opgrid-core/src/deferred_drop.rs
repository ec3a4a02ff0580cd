//! Drops values that users fill without recursing deeper than a fixed bound, however long the chain that they make.
//!
//! A closure, an error or an object that a user hands over may own another such value, which owns the next: an error its
//! cause, a hook the tensor whose node owns the next hook. The compiler's destructors walk such a chain by recursion, and
//! a million links overflow the stack. No owner in between can walk it in a loop, because it cannot look into a closure.
//!
//! A [`Flat`] value counts the drops of its kind that are under way on its thread. Up to [`DEEPEST`], it is dropped at
//! once, as it would be without the wrapper; deeper, it is moved to the thread's queue, and the outermost of these drops
//! empties the queue before it returns. So at most [`DEEPEST`] of them are on the stack at a time, and what is dropped is
//! gone when the outermost drop returns, though not always when an inner one does. A queued value costs one allocation.
//!
//! Queued values are dropped in the order in which they came. A panic of one does not keep the others from being dropped:
//! it waits, too, and the outermost drop goes on with the first. The thread's queue has no destructor, so that it also serves values that
//! other thread-local destructors drop; between drops it is empty and owns no memory.
//!
//! # Examples
//!
//! ```
//! use opgrid_core::deferred_drop::Flat;
//!
//! struct Link {
//!     _next: Option<Flat<Box<dyn Fn() + Send>>>,
//! }
//!
//! let mut last = Link { _next: None };
//! for _ in 0..1_000_000 {
//!     let before = last;
//!     last = Link { _next: Some(Flat::new(Box::new(move || _ = &before))) };
//! }
//! drop(last);
//! ```

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::panics::{Panics, discard};

/// How many drops of [`Flat`] values may be nested on a thread. Deeper ones are queued.
pub const DEEPEST: u32 = 8;

struct Queue {
    /// How many drops are under way, one in another.
    depth: Cell<u32>,
    /// What the outermost of them still has to do. Invariant: empty and without memory while `depth` is 0.
    rest: RefCell<ManuallyDrop<Rest>>,
}

struct Rest {
    waiting: VecDeque<Box<dyn Any>>,
    panics: Panics,
}

impl Rest {
    const fn new() -> Self {
        Self { waiting: VecDeque::new(), panics: Panics::new() }
    }
}

// A destructor would end the queue before the thread's other destructors, which may drop values.
const _: () = assert!(!std::mem::needs_drop::<Queue>());

thread_local! {
    static QUEUE: Queue =
        const { Queue { depth: Cell::new(0), rest: RefCell::new(ManuallyDrop::new(Rest::new())) } };
}

/// Drops a value: at once, or, where [`DEEPEST`] such drops are under way on this thread, before the outermost of them
/// returns. For owners that have a destructor of their own; others wrap what they own in [`Flat`].
pub fn drop_flat<T: 'static>(value: T) {
    QUEUE.with(|queue| match queue.depth.get() {
        0 => queue.begin(value),
        depth if depth < DEEPEST => {
            queue.depth.set(depth + 1);
            queue.drop_now(value);
            queue.depth.set(depth);
        }
        _ => {
            let value: Box<dyn Any> = Box::new(value);
            queue.rest.borrow_mut().waiting.push_back(value);
        }
    });
}

/// Runs `body` as if no drop were under way on this thread, so that what it drops is gone, with all that it owned, when it
/// returns. Whoever calls this keeps it from being nested without a bound.
pub(crate) fn apart<X>(body: impl FnOnce() -> X) -> X {
    /// The drops under way outside.
    struct Outside<'q>(&'q Queue, u32, Rest);

    impl Drop for Outside<'_> {
        fn drop(&mut self) {
            // The queue is empty and without panics: nothing is under way inside any more.
            std::mem::swap(&mut **self.0.rest.borrow_mut(), &mut self.2);
            self.0.depth.set(self.1);
        }
    }

    QUEUE.with(|queue| {
        let rest = std::mem::replace(&mut **queue.rest.borrow_mut(), Rest::new());
        let _outside = Outside(queue, queue.depth.replace(0), rest);
        body()
    })
}

impl Queue {
    /// Drops a value and what comes to wait meanwhile, then goes on with the first panic.
    fn begin<T>(&self, value: T) {
        self.depth.set(1);
        self.drop_now(value);
        while let Some(value) = self.next() {
            self.drop_now(value);
        }
        let rest = std::mem::replace(&mut **self.rest.borrow_mut(), Rest::new());
        self.depth.set(0);
        rest.panics.resume();
    }

    /// Drops a value. A panic does not unwind from here: further destructors of users would run meanwhile, and a second
    /// panic would end the process.
    fn drop_now<T>(&self, value: T) {
        // Nothing is borrowed while users' destructors run, because they may queue more.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
            let later = self.rest.borrow_mut().panics.keep_first(panic);
            later.into_iter().for_each(discard);
        }
    }

    fn next(&self) -> Option<Box<dyn Any>> {
        self.rest.borrow_mut().waiting.pop_front()
    }
}

/// A value that may own another of its kind, and is dropped without deep recursion: see the [module](self).
///
/// It is as large as an `Option` of the value, which for a box, an `Arc` or a vector is no larger than the value.
#[derive(Clone)]
pub struct Flat<T: 'static>(Option<T>);

impl<T> Flat<T> {
    /// Wraps a value.
    #[inline]
    pub const fn new(value: T) -> Self {
        Self(Some(value))
    }

    /// The value without the wrapper.
    #[inline]
    pub fn into_inner(mut self) -> T {
        self.0.take().expect(FILLED)
    }
}

/// Why a [`Flat`] has its value: only its drop and `into_inner`, which consume it, take the value out.
const FILLED: &str = "the value stays until the wrapper is consumed";

impl<T> Drop for Flat<T> {
    #[inline]
    fn drop(&mut self) {
        if let Some(value) = self.0.take() {
            drop_flat(value);
        }
    }
}

impl<T> Deref for Flat<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.0.as_ref().expect(FILLED)
    }
}

impl<T> DerefMut for Flat<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect(FILLED)
    }
}

impl<T> From<T> for Flat<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: fmt::Debug> fmt::Debug for Flat<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    const LINKS: usize = 1_000_000;

    /// Counts its drop.
    struct Counted(Arc<AtomicUsize>);

    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    type Closure = Flat<Box<dyn Fn() + Send + Sync>>;

    /// Closures of which each owns the one before.
    fn chain(links: usize, dropped: &Arc<AtomicUsize>) -> Closure {
        let mut last: Closure = Flat::new(Box::new(|| ()));
        for _ in 0..links {
            let (before, counted) = (last, Counted(Arc::clone(dropped)));
            last = Flat::new(Box::new(move || {
                let _ = (&before, &counted);
            }));
        }
        last
    }

    /// How many values are dropped while `body` runs, on a thread with a small stack.
    fn dropped_by(body: impl FnOnce(&Arc<AtomicUsize>) + Send + 'static) -> usize {
        let dropped = Arc::<AtomicUsize>::default();
        let count = Arc::clone(&dropped);
        let thread = std::thread::Builder::new().stack_size(64 << 10).spawn(move || body(&count)).unwrap();
        thread.join().unwrap();
        dropped.load(Ordering::Relaxed)
    }

    #[test]
    fn a_long_chain_of_closures_is_gone_when_its_drop_returns() {
        let dropped = dropped_by(|dropped| {
            drop(chain(LINKS, dropped));
            assert_eq!(dropped.load(Ordering::Relaxed), LINKS);
        });
        assert_eq!(dropped, LINKS);
    }

    #[test]
    fn shared_values_end_with_their_last_owner() {
        struct Node(
            #[expect(dead_code, reason = "it is owned")] Option<Flat<Arc<Node>>>,
            #[expect(dead_code)] Counted,
        );

        let dropped = dropped_by(|dropped| {
            let mut last = Flat::new(Arc::new(Node(None, Counted(Arc::clone(dropped)))));
            for _ in 1..LINKS {
                last = Flat::new(Arc::new(Node(Some(last), Counted(Arc::clone(dropped)))));
            }
            let other = last.clone();
            drop(last);
            assert_eq!(dropped.load(Ordering::Relaxed), 0);
            drop(other);
        });
        assert_eq!(dropped, LINKS);
    }

    #[test]
    fn a_chain_that_a_thread_local_owns_ends_with_its_thread() {
        thread_local! {
            static KEPT: RefCell<Option<Closure>> = const { RefCell::new(None) };
        }
        assert_eq!(dropped_by(|dropped| KEPT.set(Some(chain(LINKS, dropped)))), LINKS);
    }

    #[test]
    fn what_is_dropped_apart_is_gone_at_once() {
        /// Drops a chain apart.
        struct Apart(Option<Closure>, Arc<AtomicUsize>);

        impl Drop for Apart {
            fn drop(&mut self) {
                let before = self.1.load(Ordering::Relaxed);
                apart(|| drop(self.0.take()));
                assert_eq!(self.1.load(Ordering::Relaxed), before + 100);
            }
        }

        let dropped = dropped_by(|dropped| {
            let mut last = chain(20, dropped);
            for _ in 0..3 {
                let (before, own) = (last, Apart(Some(chain(100, dropped)), Arc::clone(dropped)));
                let end = chain(20, dropped);
                last = Flat::new(Box::new(move || {
                    let _ = (&before, &own, &end);
                }));
            }
            drop(last);
        });
        assert_eq!(dropped, 20 + 3 * 120);
    }

    #[test]
    fn a_panic_keeps_nothing_from_being_dropped() {
        /// Panics when it is dropped, at two places of the chain: below the bound and beyond it.
        struct Panics;

        impl Drop for Panics {
            fn drop(&mut self) {
                panic!("a destructor's own");
            }
        }

        let dropped = dropped_by(|dropped| {
            let mut last = chain(100, dropped);
            for _ in 0..2 {
                let (before, panics) = (last, Panics);
                last = Flat::new(Box::new(move || {
                    let _ = (&before, &panics);
                }));
                let before = last;
                last = chain(20, dropped);
                let end = std::mem::replace(&mut *last, Box::new(|| ()));
                last = Flat::new(Box::new(move || {
                    let _ = (&before, &end);
                }));
            }
            let panic = catch_unwind(AssertUnwindSafe(|| drop(last))).unwrap_err();
            assert_eq!(panic.downcast_ref(), Some(&"a destructor's own"));
            // The thread counts from nothing again.
            QUEUE.with(|queue| {
                assert_eq!(queue.depth.get(), 0);
                assert_eq!(queue.rest.borrow().waiting.capacity(), 0);
            });
        });
        assert_eq!(dropped, 140);
    }

    #[test]
    fn values_come_out_whole() {
        let dropped = Arc::<AtomicUsize>::default();
        let mut value = Flat::from(Counted(Arc::clone(&dropped)));
        value.0 = Some(Counted(Arc::clone(&dropped)));
        assert_eq!(dropped.load(Ordering::Relaxed), 1);
        drop(value.into_inner());
        assert_eq!(dropped.load(Ordering::Relaxed), 2);
        assert_eq!(size_of::<Closure>(), size_of::<Box<dyn Fn()>>());
        assert_eq!(format!("{:?}", Flat::new(3)), "3");
    }
}
