//! The locks of the dispatcher, in the order in which they are held while the process forks; see [`fork`](crate::fork).

use std::sync::{Arc, Mutex, MutexGuard, Weak};

use crate::calling::{context, inferred, observe, retirement, slow_path_counts, strict};
use crate::fork::{AtFork, Held, Holding, Locks, Order};
use crate::keys::user_keys;
use crate::place;
use crate::registration::dispatcher_state::DispatcherState;
use crate::sync::lock;
use crate::values::tensor::weak;

/// Every dispatcher.
static DISPATCHERS: Mutex<Vec<Weak<DispatcherState>>> = Mutex::new(Vec::new());

struct Registries;

impl AtFork for Registries {
    fn hold(&self, held: &mut Held) {
        let all = lock(&DISPATCHERS);
        let dispatchers: Vec<_> = all.iter().filter_map(Weak::upgrade).collect();
        held.keep(all);
        dispatchers.iter().for_each(|dispatcher| DispatcherState::hold_at_fork(dispatcher, held));
    }

    fn in_child(&self) {
        let all: Vec<_> = lock(&DISPATCHERS).iter().filter_map(Weak::upgrade).collect();
        all.iter().for_each(|dispatcher| dispatcher.forget_other_threads());
    }
}

struct Threads;

impl AtFork for Threads {
    fn hold(&self, held: &mut Held) {
        retirement::hold_at_fork(held);
    }

    fn in_child(&self) {
        retirement::forget_other_threads();
    }
}

/// Prepared before the first dispatcher is made.
pub(crate) static LOCKS: Locks = Locks::new(&[
    (Order::Registering, &Holding(|held| held.lock(&FIRST_USE))),
    (Order::Keys, &Holding(user_keys::hold_at_fork)),
    (Order::Registries, &Registries),
    (Order::Watching, &Holding(observe::hold_at_fork)),
    (Order::Leaves, &Holding(strict::hold_at_fork)),
    (Order::Leaves, &Holding(context::hold_at_fork)),
    (Order::Leaves, &Holding(inferred::hold_at_fork)),
    (Order::Leaves, &Holding(place::hold_at_fork)),
    (Order::Leaves, &Holding(weak::hold_at_fork)),
    (Order::Leaves, &Holding(slow_path_counts::hold_at_fork)),
    (Order::Threads, &Threads),
]);

/// Under what the global dispatcher is made.
static FIRST_USE: Mutex<()> = Mutex::new(());

/// Keeps other threads from making the global dispatcher, and the process from forking meanwhile.
pub(crate) fn first_use() -> MutexGuard<'static, ()> {
    LOCKS.prepare();
    lock(&FIRST_USE)
}

/// Enters a dispatcher that was just made.
pub(crate) fn enter(dispatcher: &Arc<DispatcherState>) {
    lock(&DISPATCHERS).push(Arc::downgrade(dispatcher));
}

/// Removes a dispatcher whose last handle is gone.
pub(crate) fn remove(dispatcher: &Weak<DispatcherState>) {
    let mut all = lock(&DISPATCHERS);
    if let Some(place) = all.iter().position(|known| known.ptr_eq(dispatcher)) {
        all.swap_remove(place);
    }
}
