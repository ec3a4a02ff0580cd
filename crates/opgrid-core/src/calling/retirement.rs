//! Freeing tables that calls may still read.
//!
//! `retire/protocol.rs` says how; here are the process's threads and its one limbo. Only writers and [`quiesce`] free,
//! and they drop what they free after every lock is released.
#![allow(unsafe_code)]

mod protocol;

use std::cell::Cell;
use std::time::Duration;

use crate::calling::slow_path_counts::Lines;
use crate::calling::table::Table;
use crate::calling::thread::{ThreadState, with_thread};
use crate::error::{Error, ErrorKind, Result};
use crate::panics::Panics;

pub(crate) use protocol::{Mark, Nested, Orphan, Published, flag};

static LIMBO: protocol::Limbo<Table> = protocol::Limbo::new();

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
pub(crate) fn attend(thread: &ThreadState) {
    if thread.mark.flags() & flag::NEW != 0 {
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
        // SAFETY: the membership takes the mark off the list when the thread ends, before its memory goes.
        unsafe { LIMBO.join(&thread.mark) };
    } else {
        LIMBO.join_as_orphan(&thread.mark);
    }
}

/// Counts a call of a thread that is on no list; the others count themselves by their nesting mark.
pub(crate) fn orphan(thread: &ThreadState) -> Option<Orphan<'static>> {
    LIMBO.orphan(&thread.mark)
}

/// Raises or lowers a flag on every thread, and on those to come.
pub(crate) fn set_common_flag(bit: u32, on: bool) {
    LIMBO.set_common_flag(bit, on);
}

/// Raises a flag on every thread that is on the list, for each to lower when it has attended to it.
pub(crate) fn raise_flag(bit: u32) {
    LIMBO.raise_flag(bit);
}

/// Puts tables into limbo that no new call can reach any more.
pub(crate) fn retire(tables: Vec<Table>) {
    LIMBO.retire(tables);
}

/// Whether enough waits for the price of a barrier on every thread.
pub(crate) fn is_collection_due() -> bool {
    const ENOUGH: usize = 32;
    retired_tables() >= ENOUGH
}

/// Frees what no thread can hold any more. The caller holds no lock.
pub(crate) fn collect() {
    let mut panics = Panics::default();
    panics.drop_each(with_thread(|thread| LIMBO.take_garbage(&thread.mark)));
    panics.resume();
}

/// How many tables wait for calls to end.
pub fn retired_tables() -> usize {
    LIMBO.len()
}

/// Waits until everything that was retired is freed, as before code that kernels live in is unloaded.
///
/// # Errors
///
/// [`ErrorKind::Registration`] inside a kernel, which would wait for itself.
pub fn quiesce() -> Result<()> {
    if with_thread(|thread| thread.mark.depth()) != 0 {
        let message =
            "quiesce() inside a kernel would wait for that kernel to end; call it outside of operators";
        return Err(Error::new(ErrorKind::Registration, message));
    }
    loop {
        collect();
        if retired_tables() == 0 {
            return Ok(());
        }
        std::thread::sleep(Duration::from_micros(50));
    }
}
