//! The tensor library's module of this name against loom's model of memory.

pub use loom::thread::yield_now;
pub use std::sync::atomic::Ordering;

use loom::sync::atomic as model;

use crate::sync::{Without, weakened};
pub use crate::sync::{heavy_barrier, light_barrier};

fn order(order: Ordering) -> Ordering {
    weakened(order, Without::BorrowRelease, Without::BorrowAcquire)
}

/// An operation that writes an atomic. loom has no order of all sequentially consistent ones, but one of fences; where two
/// meet, each writes one of them before it reads the other's.
fn written<R>(ordering: Ordering, operation: impl FnOnce(Ordering) -> R) -> R {
    let result = operation(order(ordering));
    if ordering == Ordering::SeqCst {
        model::fence(ordering);
    }
    result
}

macro_rules! atomic {
    ($name:ident $(<$generic:ident>)?: $value:ty) => {
        /// loom's atomic of this name. It remembers one access of each, so that of several loads it tries a store before the
        /// last one only; what every load changes beside the atomic makes it try all.
        pub struct $name $(<$generic>)?(model::$name $(<$generic>)?, model::AtomicUsize);

        impl $(<$generic>)? $name $(<$generic>)? {
            pub fn new(value: $value) -> Self {
                Self(model::$name::new(value), model::AtomicUsize::new(0))
            }

            pub fn load(&self, ordering: Ordering) -> $value {
                self.1.fetch_add(1, Ordering::Relaxed);
                self.0.load(order(ordering))
            }

            pub fn store(&self, value: $value, ordering: Ordering) {
                self.1.fetch_add(1, Ordering::Relaxed);
                written(ordering, |ordering| self.0.store(value, ordering));
            }

            pub fn compare_exchange(
                &self,
                before: $value,
                after: $value,
                ordering: Ordering,
                failed: Ordering,
            ) -> Result<$value, $value> {
                self.1.fetch_add(1, Ordering::Relaxed);
                written(ordering, |ordering| self.0.compare_exchange(before, after, ordering, failed))
            }
        }
    };
}

atomic!(AtomicIsize: isize);
atomic!(AtomicPtr<T>: *mut T);

impl AtomicIsize {
    pub fn fetch_add(&self, value: isize, ordering: Ordering) -> isize {
        written(ordering, |ordering| self.0.fetch_add(value, ordering))
    }

    pub fn fetch_sub(&self, value: isize, ordering: Ordering) -> isize {
        written(ordering, |ordering| self.0.fetch_sub(value, ordering))
    }
}
