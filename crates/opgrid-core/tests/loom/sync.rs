//! `opgrid-core`'s module of this name against loom's model of memory, with switches that weaken it.
//!
//! loom has no constant constructors and the protocol wants them, so each wrapper makes its model at first use.
#![allow(unsafe_code)]

pub use loom::sync::MutexGuard;
pub use std::sync::atomic::Ordering;

use std::cell::Cell;
use std::sync::OnceLock;

use loom::sync::atomic as model;

/// What a mutant does without; each must make a model fail.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Without {
    Nothing,
    /// Calls do not keep the mark before the read.
    LightBarrier,
    /// Writers do not keep the publication before the look at marks.
    HeavyBarrier,
    /// The fences around the count of unlisted calls.
    Fence,
    /// The end of a call does not publish what it read.
    NestRelease,
    /// Writers do not acquire what ended calls have read.
    NestAcquire,
    /// A report does not publish what was read, nor the clock what was replaced.
    ClockRelease,
    /// Nor do writers and reporting threads acquire it.
    ClockAcquire,
    /// Tables are published before they are written.
    PointerRelease,
    /// Tables are read as they were before that.
    PointerAcquire,
    /// The end of a guard does not publish what was read or written.
    BorrowRelease,
    /// Who counts itself does not acquire what ended guards have done.
    BorrowAcquire,
}

impl Without {
    fn current() -> Self {
        static CURRENT: OnceLock<Without> = OnceLock::new();
        *CURRENT.get_or_init(|| match std::env::var("OPGRID_LOOM_WITHOUT").as_deref() {
            Err(_) => Self::Nothing,
            Ok("light-barrier") => Self::LightBarrier,
            Ok("heavy-barrier") => Self::HeavyBarrier,
            Ok("fence") => Self::Fence,
            Ok("nest-release") => Self::NestRelease,
            Ok("nest-acquire") => Self::NestAcquire,
            Ok("clock-release") => Self::ClockRelease,
            Ok("clock-acquire") => Self::ClockAcquire,
            Ok("pointer-release") => Self::PointerRelease,
            Ok("pointer-acquire") => Self::PointerAcquire,
            Ok("borrow-release") => Self::BorrowRelease,
            Ok("borrow-acquire") => Self::BorrowAcquire,
            Ok(other) => panic!("there is no mutant `{other}`"),
        })
    }
}

/// `order` without its acquiring or its releasing half, where the mutant says so.
pub fn weakened(order: Ordering, release: Without, acquire: Without) -> Ordering {
    let without = Without::current();
    match order {
        Ordering::Release if without == release => Ordering::Relaxed,
        Ordering::Acquire if without == acquire => Ordering::Relaxed,
        Ordering::AcqRel if without == release => Ordering::Acquire,
        Ordering::AcqRel if without == acquire => Ordering::Release,
        other => other,
    }
}

thread_local! {
    /// Whether the modelled system has the heavy barrier. loom runs all threads of a model on one thread.
    static HAS_BARRIER: Cell<bool> = const { Cell::new(true) };
}

/// Says whether the modelled system has the heavy barrier.
pub fn set_barrier(has: bool) {
    HAS_BARRIER.set(has);
}

/// The caller's half. In the model both halves are fences: loom knows no barrier that acts on other threads.
pub fn light_barrier() {
    if HAS_BARRIER.get() && Without::current() != Without::LightBarrier {
        model::fence(Ordering::SeqCst);
    }
}

/// The writer's half.
pub fn heavy_barrier() -> bool {
    if HAS_BARRIER.get() && Without::current() != Without::HeavyBarrier {
        model::fence(Ordering::SeqCst);
    }
    HAS_BARRIER.get()
}

/// The fence around the count of unlisted calls. Where the heavy barrier is there, the writer's also stands for its fence.
pub fn fence(order: Ordering) {
    if ![Without::HeavyBarrier, Without::Fence].contains(&Without::current()) {
        model::fence(order);
    }
}

macro_rules! atomic {
    ($name:ident: $value:ty, $release:ident, $acquire:ident) => {
        /// loom's atomic of this name.
        #[derive(Debug)]
        pub struct $name {
            initial: $value,
            model: OnceLock<model::$name>,
        }

        impl $name {
            pub const fn new(initial: $value) -> Self {
                Self { initial, model: OnceLock::new() }
            }

            fn model(&self) -> &model::$name {
                self.model.get_or_init(|| model::$name::new(self.initial))
            }

            pub fn load(&self, order: Ordering) -> $value {
                self.model().load(weakened(order, Without::$release, Without::$acquire))
            }

            pub fn store(&self, value: $value, order: Ordering) {
                self.model().store(value, weakened(order, Without::$release, Without::$acquire));
            }

            pub fn fetch_add(&self, value: $value, order: Ordering) -> $value {
                self.model().fetch_add(value, weakened(order, Without::$release, Without::$acquire))
            }

            pub fn fetch_sub(&self, value: $value, order: Ordering) -> $value {
                self.model().fetch_sub(value, weakened(order, Without::$release, Without::$acquire))
            }

            pub fn fetch_or(&self, value: $value, order: Ordering) -> $value {
                self.model().fetch_or(value, weakened(order, Without::$release, Without::$acquire))
            }

            pub fn fetch_and(&self, value: $value, order: Ordering) -> $value {
                self.model().fetch_and(value, weakened(order, Without::$release, Without::$acquire))
            }
        }

        impl Drop for $name {
            /// Whoever ends the memory has to be alone with it.
            fn drop(&mut self) {
                // While a failed model unwinds, loom is no longer there to ask.
                if let Some(model) = self.model.get_mut().filter(|_| !std::thread::panicking()) {
                    model.with_mut(|_| ());
                }
            }
        }
    };
}

atomic!(AtomicU32: u32, NestRelease, NestAcquire);
atomic!(AtomicU64: u64, ClockRelease, ClockAcquire);
atomic!(AtomicUsize: usize, Nothing, Nothing);

/// loom's atomic of this name, of bytes.
#[derive(Debug)]
pub struct AtomicPtr<T> {
    initial: *mut T,
    model: OnceLock<model::AtomicPtr<T>>,
}

// SAFETY: the pointers of the model are numbers.
unsafe impl<T> Send for AtomicPtr<T> {}
// SAFETY: the pointers of the model are numbers, and loom's atomics may be shared.
unsafe impl<T> Sync for AtomicPtr<T> {}

impl<T> AtomicPtr<T> {
    pub const fn new(initial: *mut T) -> Self {
        Self { initial, model: OnceLock::new() }
    }

    fn model(&self) -> &model::AtomicPtr<T> {
        self.model.get_or_init(|| model::AtomicPtr::new(self.initial))
    }

    pub fn load(&self, order: Ordering) -> *mut T {
        self.model().load(weakened(order, Without::PointerRelease, Without::PointerAcquire))
    }

    pub fn store(&self, value: *mut T, order: Ordering) {
        self.model().store(value, weakened(order, Without::PointerRelease, Without::PointerAcquire));
    }
}

/// loom's lock.
pub struct Mutex<T> {
    initial: std::sync::Mutex<Option<T>>,
    model: OnceLock<loom::sync::Mutex<T>>,
}

impl<T> Mutex<T> {
    pub const fn new(initial: T) -> Self {
        Self { initial: std::sync::Mutex::new(Some(initial)), model: OnceLock::new() }
    }
}

/// Takes a lock.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    let model = mutex.model.get_or_init(|| {
        let initial = mutex.initial.lock().expect("taking a value does not panic").take();
        loom::sync::Mutex::new(initial.expect("the model is made once"))
    });
    model.lock().expect("no model panics with a lock and goes on")
}
