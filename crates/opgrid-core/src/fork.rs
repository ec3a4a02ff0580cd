//! Holds the process's locks while it forks, so that the child finds none of them taken and nothing half-changed.
//!
//! The child of a fork has one thread: the one that forked. A lock that another thread held at that moment stays taken
//! forever, and what it guards is in the middle of a change. So before a fork the forking thread takes the locks of every
//! [`Locks`] that is in use, waits for those who have them, and releases them afterwards in both processes. The child then
//! forgets the threads that it does not have ([`AtFork::in_child`]).
//!
//! Locks are taken in the [`Order`] in which code takes them that holds several. No code of users runs while one of them
//! is held, so that a fork waits for short work only.
//!
//! The standard library has locks that cannot be taken from outside. A thread that it started takes one as it starts and as it
//! ends, so that a fork at that moment leaves a child that can start no such threads. The same holds for a `OnceLock` that
//! another thread is filling.
//!
//! `posix_spawn` and `vfork` do not share memory with a process that goes on, and do none of this.
#![allow(unsafe_code)]

use std::any::Any;
use std::cell::RefCell;
use std::mem::ManuallyDrop;
#[cfg(target_os = "linux")]
use std::sync::atomic::AtomicU32;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crate::sync::lock;

/// When a lock is taken before a fork: those that are held while others are taken come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Order {
    /// Locks under which registrations happen, such as those of first uses.
    Registering,
    /// The allocation of keys.
    Keys,
    /// The registries of dispatchers.
    Registries,
    /// Locks under which only threads are told something.
    Watching,
    /// Locks under which no other one is taken.
    Leaves,
    /// The list of threads and what waits to be freed.
    Threads,
}

/// Somebody with locks that are held while the process forks.
pub trait AtFork: Sync {
    /// Takes the locks.
    fn hold(&self, held: &mut Held);

    /// Forgets what the child does not have, such as threads. It is called in the child after all locks were released.
    fn in_child(&self) {}
}

/// What is held during a fork. Locks are released in the order opposite to that in which they were taken.
#[derive(Default)]
pub struct Held {
    guards: Vec<Box<dyn Any>>,
    /// What has the locks, dropped after all of them were released: its destructors may take locks.
    owners: Vec<Box<dyn Any>>,
}

impl Held {
    /// Keeps a guard.
    pub fn keep(&mut self, guard: impl Any) {
        self.guards.push(Box::new(guard));
    }

    /// Takes a lock, however its last holder ended.
    pub fn lock<T: 'static>(&mut self, mutex: &'static Mutex<T>) {
        self.keep(lock(mutex));
    }

    /// Takes a lock that readers share, however its last holder ended.
    pub fn write<T: 'static>(&mut self, shared: &'static RwLock<T>) {
        self.keep(shared.write().unwrap_or_else(PoisonError::into_inner));
    }

    /// Takes a lock that something shared has, and keeps its owner.
    pub(crate) fn lock_of<S: 'static, T: 'static>(&mut self, owner: &Arc<S>, find: impl Fn(&S) -> &Mutex<T>) {
        let kept = Arc::clone(owner);
        // SAFETY: the lock lies in what `kept` leads to, or in something of any longer lifetime; `owners` keeps `kept` until
        // every guard was dropped (`Drop`).
        let mutex: &'static Mutex<T> = unsafe { &*std::ptr::from_ref(find(&kept)) };
        self.owners.push(Box::new(kept));
        self.lock(mutex);
    }

    /// As [`lock_of`](Self::lock_of), of a lock that readers share.
    pub(crate) fn write_of<S: 'static, T: 'static>(
        &mut self,
        owner: &Arc<S>,
        find: impl Fn(&S) -> &RwLock<T>,
    ) {
        let kept = Arc::clone(owner);
        // SAFETY: the lock lies in what `kept` leads to, or in something of any longer lifetime; `owners` keeps `kept`
        // until every guard was dropped (`Drop`).
        let shared: &'static RwLock<T> = unsafe { &*std::ptr::from_ref(find(&kept)) };
        self.owners.push(Box::new(kept));
        self.write(shared);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        while let Some(guard) = self.guards.pop() {
            drop(guard);
        }
        self.owners.clear();
    }
}

/// One that only has locks, which this function takes.
pub struct Holding(pub fn(&mut Held));

impl AtFork for Holding {
    fn hold(&self, held: &mut Held) {
        (self.0)(held);
    }
}

type Part = (Order, &'static dyn AtFork);

/// The locks of one crate, held while the process forks from [`prepare`](Self::prepare) on.
pub struct Locks {
    parts: &'static [Part],
    is_known: AtomicBool,
}

impl Locks {
    /// Names the locks; those of one order are taken from first to last.
    pub const fn new(parts: &'static [Part]) -> Self {
        Self { parts, is_known: AtomicBool::new(false) }
    }

    /// Has the locks held at forks from here on. Called before the first of them is taken, by a thread that holds none.
    #[inline]
    pub fn prepare(&'static self) {
        if !self.is_known.load(Ordering::Acquire) {
            self.make_known();
        }
    }

    #[cold]
    fn make_known(&'static self) {
        // First, so that no fork comes between the changes below.
        register_handlers();
        let mut parts = lock(&PARTS);
        if self.is_known.load(Ordering::Acquire) {
            return;
        }
        for part in self.parts {
            let place = parts.partition_point(|(known, _)| *known <= part.0);
            parts.insert(place, *part);
        }
        self.is_known.store(true, Ordering::Release);
    }
}

/// In the order in which they take their locks.
static PARTS: Mutex<Vec<Part>> = Mutex::new(Vec::new());

thread_local! {
    /// What this thread holds while it forks, one for each time that the handlers are registered. Never dropped, so that
    /// destructors of thread-locals may fork; it is empty otherwise.
    static HELD: ManuallyDrop<RefCell<Vec<Held>>> = const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

/// Registers the handlers of forks. A `Once` would do if no fork could come meanwhile: its child would wait forever for a
/// thread that it does not have. Here it registers them itself, perhaps for a second time, which does nothing.
#[cfg(target_os = "linux")]
fn register_handlers() {
    /// The process that registers them, or one of these.
    static STATE: AtomicU32 = AtomicU32::new(NOBODY);
    const NOBODY: u32 = 0;
    const DONE: u32 = u32::MAX;
    let own = std::process::id();
    loop {
        match STATE.load(Ordering::Acquire) {
            DONE => return,
            state if state == own => std::thread::yield_now(),
            state => {
                if STATE.compare_exchange(state, own, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                    break;
                }
            }
        }
    }
    // Where there is no memory for handlers, forks are as they are without them.
    // SAFETY: the three are functions of this program that unwind nowhere. They stay as long as the process: a library that
    // brings a dispatcher is not unloaded, because its threads have destructors in it.
    unsafe { libc::pthread_atfork(Some(before), Some(after_in_parent), Some(after_in_child)) };
    STATE.store(DONE, Ordering::Release);
}

#[cfg(not(target_os = "linux"))]
fn register_handlers() {}

#[cfg(target_os = "linux")]
extern "C" fn before() {
    let mut held = Held::default();
    if HELD.with(|all| all.borrow().is_empty()) {
        let parts = lock(&PARTS);
        let list = parts.clone();
        held.keep(parts);
        for (_, part) in list {
            part.hold(&mut held);
        }
    }
    HELD.with(|all| all.borrow_mut().push(held));
}

/// Releases what [`before`] took; whether nothing is held any longer.
#[cfg(target_os = "linux")]
fn release() -> bool {
    let last = HELD.with(|all| all.borrow_mut().pop());
    drop(last);
    HELD.with(|all| all.borrow().is_empty())
}

#[cfg(target_os = "linux")]
extern "C" fn after_in_parent() {
    release();
}

#[cfg(target_os = "linux")]
extern "C" fn after_in_child() {
    if !release() {
        return;
    }
    let parts = lock(&PARTS).clone();
    for (_, part) in parts {
        part.in_child();
    }
}
