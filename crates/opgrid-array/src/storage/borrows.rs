//! Counts who uses the memory of a storage: any number of readers or one writer.
//!
//! Most memory is used by the thread that made it and by nobody else. A storage belongs to its maker first, who counts
//! readers and writers in `own` by plain loads and stores. A thread that comes along takes it away, once and forever:
//! it changes `state`, runs a barrier on every thread, and from then on all count themselves in `state`, and look at
//! `own` as well, for what its maker began before.
//!
//! ```text
//! state                                                       own
//!  0            everybody's, free                              0   its maker does nothing
//!  n > 0        everybody's, n readers                         n   its maker has n readers
//! -1            everybody's, one writer                       -1   its maker writes
//!  isize::MIN   being cleared or taken away; who comes waits
//!  another n    belongs to the thread of that number
//! ```
//!
//! Why one of two sees the other: the maker stores to `own`, passes the barrier's light half and reads `state`; who takes
//! a storage away changes `state`, passes the heavy half and reads `own`.
//!
//! Threads that read one tensor at the same time would pull the cache line of `state` to and fro. The first reader that
//! notices another one gives the storage a row of counters, one cache line each, and from then on readers count
//! themselves in the one of their thread. A writer first claims `state` and then looks at every counter; a reader
//! first counts itself and then looks at `state`. All of these are sequentially consistent, so at least one of two
//! that meet sees the other.
//!
//! The module names nothing but the module `sync` beside it, so that a model compiles it as it is: `cargo xtask loom`.
#![allow(unsafe_code)]

use std::num::NonZeroIsize;
use std::ptr;
use std::sync::atomic::AtomicUsize;

use super::sync::{AtomicIsize, AtomicPtr, Ordering, heavy_barrier, light_barrier, yield_now};

/// Everybody's, and nobody is counted in the word.
pub const FREE: isize = 0;
/// Everybody's, and somebody writes.
pub const WRITER: isize = -1;
const CHANGING: isize = isize::MIN;

/// Words that count readers and writers.
///
/// Invariants: only the maker writes `own`. `counters` is null or leads to a box, which lives as long as this.
pub struct Borrows {
    state: AtomicIsize,
    own: AtomicIsize,
    counters: AtomicPtr<Counters>,
}

/// Why somebody may not read or write now.
#[derive(Debug, PartialEq)]
pub enum Refusal {
    Written,
    Read(isize),
    /// The storage is another thread's, and the system refuses the barrier that takes it away.
    NoBarrier,
}

/// The number of a thread as makers are counted: the state of a storage that belongs to it. It is none that means
/// something else.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thread(NonZeroIsize);

impl Thread {
    /// The thread of that number, from 0 on. There are fewer than an address has bits for.
    pub fn new(number: isize) -> Self {
        const FIRST: NonZeroIsize = NonZeroIsize::new(WRITER - 1).expect("none of the states with a meaning");
        Self(NonZeroIsize::new(FIRST.get() - number).unwrap_or(FIRST))
    }

    /// What its storages begin with.
    #[inline]
    pub fn state(self) -> isize {
        self.0.get()
    }
}

/// How often a storage was taken away from its maker. No part of the protocol.
pub static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// One reader count per group of threads.
struct Counters([Counter; COUNTERS]);

/// Alone on its cache line.
#[repr(align(64))]
struct Counter(AtomicIsize);

/// A model has few, because it tries every order of looking at them.
const COUNTERS: usize = if cfg!(loom) { 2 } else { 16 };

impl Counters {
    fn for_thread(&self, me: Thread) -> &AtomicIsize {
        &self.0[me.state().unsigned_abs() % COUNTERS].0
    }

    fn sum(&self) -> isize {
        self.0.iter().map(|counter| counter.0.load(Ordering::SeqCst)).sum()
    }
}

impl Borrows {
    /// Creates the counters of a storage that is [`FREE`], or owned by a [`Thread`].
    #[inline]
    pub fn new(state: isize) -> Self {
        Self {
            state: AtomicIsize::new(state),
            own: AtomicIsize::new(0),
            counters: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Counts a reader at the first attempt. The result is the word to take it from again.
    #[inline]
    pub fn try_read(&self, me: Thread) -> Option<&AtomicIsize> {
        if self.state.load(Ordering::Relaxed) != me.state() {
            return self.try_read_shared(me);
        }
        let own = self.own.load(Ordering::Relaxed);
        (own >= 0 && self.count_own(me, own, own + 1)).then_some(&self.own)
    }

    /// Counts a reader. The result is the word to take it from again.
    ///
    /// # Errors
    ///
    /// Somebody is writing.
    pub fn read(&self, me: Thread) -> Result<&AtomicIsize, Refusal> {
        loop {
            if let Some(word) = self.try_read(me) {
                return Ok(word);
            }
            match self.state.load(Ordering::Relaxed) {
                CHANGING => yield_now(),
                WRITER => return Err(Refusal::Written),
                FREE.. if self.own.load(Ordering::Acquire) < 0 => return Err(Refusal::Written),
                // Another reader came in between.
                FREE.. => self.add_counters(),
                state if state == me.state() => {
                    if self.own.load(Ordering::Relaxed) < 0 {
                        return Err(Refusal::Written);
                    }
                    // It was about to be taken away, and was given back.
                }
                maker => self.take_from(maker)?,
            }
        }
    }

    /// Counts a writer of what is this thread's. The result is the word to take it from again.
    #[inline]
    pub fn try_write(&self, me: Thread) -> Option<&AtomicIsize> {
        let is_free =
            self.state.load(Ordering::Relaxed) == me.state() && self.own.load(Ordering::Relaxed) == 0;
        (is_free && self.count_own(me, 0, WRITER)).then_some(&self.own)
    }

    /// Counts a writer. The result is the word to take it from again.
    ///
    /// # Errors
    ///
    /// Somebody is reading or writing.
    pub fn write(&self, me: Thread) -> Result<&AtomicIsize, Refusal> {
        match self.try_write(me) {
            Some(word) => Ok(word),
            None => self.claim(me, WRITER).map(|()| &self.state),
        }
    }

    /// Claims what belongs to nobody for clearing: readers wait for its end and are not refused.
    ///
    /// # Errors
    ///
    /// Somebody is reading or writing.
    pub fn clear(&self, me: Thread) -> Result<&AtomicIsize, Refusal> {
        self.share(me);
        self.claim(me, CHANGING).map(|()| &self.state)
    }

    /// Gives what is this thread's to everybody: from here on guards are counted where every thread may end them. It needs no
    /// barrier, because what `own` counts was counted by this thread.
    pub fn share(&self, me: Thread) {
        // Who takes it away may have to give it back.
        while let Err(CHANGING) =
            self.state.compare_exchange(me.state(), FREE, Ordering::SeqCst, Ordering::Relaxed)
        {
            yield_now();
        }
    }

    /// Takes a reader away.
    #[inline]
    pub fn end_read(&self, word: &AtomicIsize) {
        if ptr::eq(word, &self.own) {
            self.own.store(self.own.load(Ordering::Relaxed) - 1, Ordering::Release);
        } else {
            word.fetch_sub(1, Ordering::Release);
        }
    }

    /// Takes a writer away.
    #[inline]
    pub fn end_write(&self, word: &AtomicIsize) {
        word.store(FREE, Ordering::Release);
    }

    /// Counts by the maker, whose storage this was a moment ago, unless it was taken away.
    #[inline]
    fn count_own(&self, me: Thread, before: isize, after: isize) -> bool {
        self.own.store(after, Ordering::Relaxed);
        light_barrier();
        let is_own = self.state.load(Ordering::Relaxed) == me.state();
        if !is_own {
            self.own.store(before, Ordering::Release);
        }
        is_own
    }

    #[inline(never)]
    fn try_read_shared(&self, me: Thread) -> Option<&AtomicIsize> {
        let word = match self.counters() {
            Some(counters) => {
                let counter = counters.for_thread(me);
                counter.fetch_add(1, Ordering::SeqCst);
                if self.state.load(Ordering::SeqCst) < FREE {
                    counter.fetch_sub(1, Ordering::Release);
                    return None;
                }
                counter
            }
            None => {
                let state = self.state.load(Ordering::Relaxed);
                let next = (state >= FREE).then_some(state + 1)?;
                self.state.compare_exchange(state, next, Ordering::Acquire, Ordering::Relaxed).ok()?;
                &self.state
            }
        };
        if self.own.load(Ordering::Acquire) < 0 {
            word.fetch_sub(1, Ordering::Release);
            return None;
        }
        Some(word)
    }

    /// Claims the storage as [`WRITER`] or [`CHANGING`], if nobody reads or writes.
    #[inline(never)]
    fn claim(&self, me: Thread, state: isize) -> Result<(), Refusal> {
        let readers_of = |own: isize| if own < 0 { Refusal::Written } else { Refusal::Read(own) };
        loop {
            match self.state.compare_exchange(FREE, state, Ordering::SeqCst, Ordering::Relaxed) {
                Ok(_) => break,
                Err(CHANGING) => yield_now(),
                Err(WRITER) => return Err(Refusal::Written),
                Err(found @ FREE..) => {
                    return Err(readers_of(found + self.own.load(Ordering::Acquire).max(0)));
                }
                Err(found) if found == me.state() => match self.own.load(Ordering::Relaxed) {
                    // As in `read`.
                    0 => self.share(me),
                    own => return Err(readers_of(own)),
                },
                Err(maker) => self.take_from(maker)?,
            }
        }
        let own = self.own.load(Ordering::Acquire);
        let others = self.counters().map_or(0, Counters::sum);
        if own == 0 && others == 0 {
            return Ok(());
        }
        self.state.store(FREE, Ordering::Release);
        Err(readers_of(if own < 0 { own } else { own + others }))
    }

    /// Takes the storage away from its maker, unless somebody else does.
    #[cold]
    #[inline(never)]
    fn take_from(&self, maker: isize) -> Result<(), Refusal> {
        if self.state.compare_exchange(maker, CHANGING, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return Ok(());
        }
        TAKEN.fetch_add(1, Ordering::Relaxed);
        let is_taken = heavy_barrier();
        self.state.store(if is_taken { FREE } else { maker }, Ordering::Release);
        if is_taken { Ok(()) } else { Err(Refusal::NoBarrier) }
    }

    #[inline]
    fn counters(&self) -> Option<&Counters> {
        // SAFETY: by the invariant null or alive as long as `self`.
        unsafe { self.counters.load(Ordering::SeqCst).as_ref() }
    }

    /// Gives the storage a row of counters unless it has one.
    #[cold]
    fn add_counters(&self) {
        if self.counters().is_some() {
            return;
        }
        let fresh = Box::into_raw(Box::new(Counters(std::array::from_fn(|_| Counter(AtomicIsize::new(0))))));
        let none = ptr::null_mut();
        if self.counters.compare_exchange(none, fresh, Ordering::SeqCst, Ordering::Relaxed).is_err() {
            // SAFETY: `fresh` came from a box and was not published: another thread was first.
            drop(unsafe { Box::from_raw(fresh) });
        }
    }
}

impl Drop for Borrows {
    #[inline]
    fn drop(&mut self) {
        let counters = self.counters.load(Ordering::Relaxed);
        if !counters.is_null() {
            // SAFETY: by the invariant a box's, freed here only; `&mut self` says that nobody uses it.
            drop(unsafe { Box::from_raw(counters) });
        }
    }
}
