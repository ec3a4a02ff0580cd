//! Runs code of users step by step, where a panic in one step must not keep the others from running.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// The first panic of several steps, until all of them have run.
#[derive(Default)]
pub(crate) struct Panics(Option<Box<dyn Any + Send>>);

impl Panics {
    /// No panic so far.
    pub(crate) const fn new() -> Self {
        Self(None)
    }

    /// Runs one step. What it leaves behind when it panics has to be whole.
    pub(crate) fn catch(&mut self, step: impl FnOnce()) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(step)) {
            self.keep_first(panic).into_iter().for_each(discard);
        }
    }

    /// Keeps a panic if it is the first, and returns it otherwise, to be [discarded](discard).
    pub(crate) fn keep_first(&mut self, panic: Box<dyn Any + Send>) -> Option<Box<dyn Any + Send>> {
        match self.0 {
            None => {
                self.0 = Some(panic);
                None
            }
            Some(_) => Some(panic),
        }
    }

    /// Drops every item.
    pub(crate) fn drop_each<T>(&mut self, items: impl IntoIterator<Item = T>) {
        items.into_iter().for_each(|item| self.catch(|| drop(item)));
    }

    /// Goes on with the first panic, if there was one. Where the thread unwinds already, a second panic would end the
    /// process, and the one under way stands for both.
    pub(crate) fn resume(self) {
        match self.0 {
            Some(panic) if std::thread::panicking() => discard(panic),
            Some(panic) => resume_unwind(panic),
            None => {}
        }
    }
}

/// Drops what a panic carried. That is code of users too: where it panics in turn, what that panic carries is leaked,
/// because it may do so forever.
///
/// ```
/// let panic = std::panic::catch_unwind(|| panic!("a kernel's own")).unwrap_err();
/// opgrid_core::panics::discard(panic);
/// ```
pub fn discard(panic: Box<dyn Any + Send>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        std::mem::forget(again);
    }
}
