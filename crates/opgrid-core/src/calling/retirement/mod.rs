//! Freeing tables and kernels that calls may still use.
//!
//! `retire/protocol.rs` says how; here are the process's threads and its one limbo. Only writers and [`quiesce`] free,
//! and they drop what they free after every lock is released.
//!
//! Whoever holds a kernel without a count that outlives the call (a slot of a table), or with a count of its own (a call
//! for one key), marks its thread before it looks for the kernel. So the last count of a kernel that was registered is
//! limbo's, and no caller runs its destructor.
#![allow(unsafe_code)]

mod protocol;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::time::Duration;

use crate::calling::kernel::KernelRecord;
use crate::calling::name_index::Slots;
use crate::calling::operator::OperatorHandle;
use crate::calling::slow_path_counts::Lines;
use crate::calling::table::Table;
use crate::calling::thread::{ThreadState, with_thread};
use crate::deferred_drop::apart;
use crate::error::{Error, ErrorKind, Result};
use crate::fork::Held;
use crate::panics::Panics;

pub(crate) use protocol::{CountedCall, Mark, Nested, Published, flag};

/// What waits until no call can hold it any more.
pub(crate) enum Retired {
    /// A table that another one took the place of.
    #[expect(dead_code, reason = "kept until it is dropped")]
    Table(Table),
    /// A kernel that is no longer registered. Calls for one key hold it apart from tables.
    #[expect(dead_code, reason = "kept until it is dropped")]
    Kernel(Arc<KernelRecord>),
    /// An operator that is no longer registered and had no table, which look-ups may have found.
    #[expect(dead_code, reason = "kept until it is dropped")]
    Operator(OperatorHandle),
    /// Slots of names that larger ones took the place of.
    #[expect(dead_code, reason = "kept until it is dropped")]
    Names(Arc<Slots>),
    /// Marks a moment, for those who wait for the calls before it.
    Nothing,
}

static LIMBO: protocol::Limbo<Retired> = protocol::Limbo::new();

/// Takes the thread off the list when the thread ends.
struct Membership(Cell<bool>);

impl Drop for Membership {
    fn drop(&mut self) {
        if self.0.get() {
            with_thread(|thread| LIMBO.leave(&thread.mark));
        }
    }
}

thread_local! {
    static MEMBERSHIP: Membership = const { Membership(Cell::new(false)) };
}

/// Attends to what writers want from this thread. Called before a call that is not nested begins.
#[cold]
pub(crate) fn enlist(thread: &ThreadState) {
    if thread.mark.flags() & flag::NEW != 0 {
        thread.measure_stack();
        join(thread);
    }
    LIMBO.report(&thread.mark);
    if thread.mark.flags() & flag::STRICTNESS != 0 {
        thread.mark.set_flag(flag::STRICTNESS, false);
        thread.lines.set(Lines::none());
    }
}

fn join(thread: &ThreadState) {
    if MEMBERSHIP.try_with(|membership| membership.0.set(true)).is_ok() {
        // SAFETY: the line above has set the membership, whose destructor calls `leave`, on this thread. `try_with` found it
        // before its destructor ran, and `ThreadState` has none: its memory ends with the thread, after all destructors.
        unsafe { LIMBO.join(&thread.mark) };
    } else {
        LIMBO.join_unlisted(&thread.mark);
    }
}

/// Runs `body` while the thread is marked, as in a call: what `body` holds, limbo keeps and [`quiesce`] waits for.
pub(crate) fn marked<X>(body: impl FnOnce() -> X) -> X {
    with_thread(|thread| {
        if thread.flags() != 0 {
            enlist(thread);
        }
        let _counted = count_if_ended(thread);
        let _nested = thread.mark();
        body()
    })
}

/// Counts a call of a thread that is on no list; the others count themselves by their nesting mark.
pub(crate) fn count_if_ended(thread: &ThreadState) -> Option<CountedCall<'static>> {
    LIMBO.count_if_ended(&thread.mark)
}

/// Raises or lowers a flag on every thread, and on those to come.
pub(crate) fn set_common_flag(bit: u32, on: bool) {
    LIMBO.set_common_flag(bit, on);
}

/// Raises a flag on every thread that is on the list, for each to lower when it has attended to it.
pub(crate) fn raise_flag(bit: u32) {
    LIMBO.raise_flag(bit);
}

/// Puts what `replace` takes away from calls into limbo; see [`protocol::Limbo::retire`].
pub(crate) fn retire(replace: impl FnOnce() -> Vec<Retired>) {
    LIMBO.retire(replace);
}

/// Whether enough waits for the price of a barrier on every thread.
pub(crate) fn is_collection_due() -> bool {
    const ENOUGH: usize = 32;
    LIMBO.count(|_| true) >= ENOUGH
}

/// Says, on its thread, that garbage is being freed.
struct Freeing<'t>(&'t ThreadState);

impl<'t> Freeing<'t> {
    fn on(thread: &'t ThreadState) -> Self {
        thread.freeing.set(thread.freeing.get() + 1);
        Self(thread)
    }
}

impl Drop for Freeing<'_> {
    fn drop(&mut self) {
        self.0.freeing.set(self.0.freeing.get() - 1);
    }
}

/// Frees what no thread can hold any more. The caller holds no lock.
pub(crate) fn collect() {
    let mut panics = Panics::default();
    with_thread(|thread| {
        let garbage = LIMBO.take_garbage(&thread.mark);
        if thread.freeing.get() != 0 {
            // A destructor dropped a registration, whose kernels' destructors may drop the next one.
            LATER.with(|later| later.borrow_mut().push_back(garbage));
            return;
        }
        let _freeing = Freeing::on(thread);
        apart(|| {
            let mut next = Some(garbage);
            while let Some(mut garbage) = next {
                panics.drop_each(garbage.take());
                // Here the garbage is counted out: everything of it is freed.
                drop(garbage);
                next = LATER.with(|later| later.borrow_mut().pop_front());
            }
        });
        drop(LATER.with(|later| later.take()));
    });
    panics.resume();
}

thread_local! {
    /// What destructors of garbage came upon, for the outermost [`collect`] to free. Never dropped, so that destructors of
    /// thread-locals may drop registrations, too; it is empty and owns no memory while nothing is being freed.
    static LATER: Later = const { ManuallyDrop::new(RefCell::new(VecDeque::new())) };
}

type Later = ManuallyDrop<RefCell<VecDeque<protocol::Garbage<'static, Retired>>>>;

/// What is held while the process forks.
pub(crate) fn hold_at_fork(held: &mut Held) {
    held.keep(LIMBO.lock_all());
}

/// Forgets the threads that the child of a fork does not have.
pub(crate) fn forget_other_threads() {
    with_thread(|thread| LIMBO.forget_other_threads(&thread.mark));
}

/// How many tables wait for calls to end.
pub fn retired_tables() -> usize {
    LIMBO.count(|retired| matches!(retired, Retired::Table(_)))
}

/// Waits until everything that was dropped before has ended, as before code that kernels live in is unloaded: on every
/// thread the calls of kernels whose registration or dispatcher was dropped, and the destructors of those kernels and of
/// their conditions.
///
/// What is kept is not waited for: the state of a kernel in a [`Registration`](crate::Registration) that outlived its
/// dispatcher, listeners, observers, and a call that has begun afterwards. A call or a destructor that itself waits for
/// the thread that is here waits forever.
///
/// # Errors
///
/// [`ErrorKind::Registration`]
///
/// - inside a kernel, which would wait for itself;
/// - inside the destructor of a kernel, for the same reason;
/// - where a thread ends the process (`std::process::exit`) inside a kernel: that call never ends.
pub fn quiesce() -> Result<()> {
    let refuse = |message| Err(Error::new(ErrorKind::Registration, message));
    let (depth, freeing) = with_thread(|thread| (thread.mark.depth(), thread.freeing.get()));
    if depth != 0 {
        return refuse(
            "quiesce() inside a kernel would wait for that kernel to end; call it outside of operators",
        );
    }
    if freeing != 0 {
        return refuse(
            "quiesce() inside a destructor of a kernel would wait for that destructor to end; call it after the \
             registration was dropped",
        );
    }
    // A call of a dispatcher whose last handle was dropped meanwhile keeps the dispatcher until it ends, and retires
    // its kernels then.
    if with_thread(|thread| LIMBO.has_calls_beside(&thread.mark)) {
        LIMBO.retire(|| vec![Retired::Nothing]);
        wait_until_past(LIMBO.current_epoch())?;
    }
    wait_until_past(LIMBO.current_epoch())
}

fn wait_until_past(epoch: u64) -> Result<()> {
    loop {
        if LIMBO.is_past(epoch) {
            return Ok(());
        }
        if LIMBO.has_endless_call() {
            let message = "quiesce() while a thread ends the process inside a kernel would wait \
                 forever; let kernels return before the process ends";
            return Err(Error::new(ErrorKind::Registration, message));
        }
        collect();
        if !LIMBO.is_past(epoch) {
            std::thread::sleep(Duration::from_micros(50));
        }
    }
}
