//! A kernel of its own for each operator.
//!
//! torch calls a kernel with its arguments and nothing that would tell for which operator. So there is a pool of functions,
//! the same one compiled with different numbers, each of which looks up what it stands for under its number. A function is
//! given away once and never again: torch may be about to call it on some thread at any time.
//!
//! An error leaves a kernel as a C++ exception, which torch's own function throws (`aoti_torch_check`): the interface has no
//! other way. It goes through one frame of ours, that of the function of the pool, which has nothing to drop then and is of
//! the ABI "C-unwind", for which Rust allows that. Panics are caught before.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use opgrid::{Error, ErrorKind, Result};

use crate::abi::{Kernel, Torch};
use crate::exported::Exported;

/// Rows and columns of the pool.
const SIDE: usize = 32;

/// How many operators can be exported in one process.
pub(crate) const SIZE: usize = SIDE * SIDE;

/// What each function stands for.
///
/// Invariant: null, or an `Exported` that lives for as long as the process.
static OPERATORS: [AtomicPtr<Exported>; SIZE] = [const { AtomicPtr::new(ptr::null_mut()) }; SIZE];

/// How many functions are given away.
static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// A place in the pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot(usize);

impl Slot {
    /// The next function of the pool.
    ///
    /// # Errors
    ///
    /// All are given away.
    pub(crate) fn take() -> Result<Self> {
        let taken = TAKEN
            .try_update(Ordering::Relaxed, Ordering::Relaxed, |taken| (taken < SIZE).then_some(taken + 1));
        taken.map(Self).map_err(|_| {
            let message = format!(
                "{SIZE} operators are exported to torch, and there is no kernel left; export fewer of them"
            );
            Error::new(ErrorKind::Registration, message)
        })
    }

    /// The function.
    pub(crate) fn kernel(self) -> Kernel {
        KERNELS[self.0 / SIDE][self.0 % SIDE]
    }

    /// Has the function stand for an operator, from its next call on.
    ///
    /// What it stood for before is leaked: a call may be under way.
    pub(crate) fn stand_for(self, exported: Exported) {
        OPERATORS[self.0].store(Box::into_raw(Box::new(exported)), Ordering::Release);
    }
}

/// A function of the pool.
///
/// # Safety
///
/// It is called by torch: `words` are the arguments of the operator that it was registered for, encoded for its schema, with
/// room for the results.
unsafe extern "C-unwind" fn kernel<const ROW: usize, const COLUMN: usize>(
    words: *mut u64,
    arguments: u64,
    results: u64,
) {
    // SAFETY: guaranteed by the caller, see `# Safety`.
    if let Some((torch, text)) = unsafe { call(&OPERATORS[ROW * SIDE + COLUMN], words, arguments, results) } {
        // SAFETY: the text is the thread's, which ends no call before the next one; this frame has nothing to drop, and the
        // next one is torch's.
        unsafe { torch.raise(text) }
    }
}

thread_local! {
    /// The text of the error that is under way.
    static FAILURE: RefCell<CString> = RefCell::default();
}

/// Runs an operator. What goes wrong comes back as a text that lives until the thread's next failure.
///
/// # Safety
///
/// As of [`kernel`].
unsafe fn call(
    operator: &AtomicPtr<Exported>,
    words: *mut u64,
    arguments: u64,
    results: u64,
) -> Option<(&'static Torch, *const c_char)> {
    // SAFETY: the invariant of `OPERATORS`; torch got the function after `stand_for` was called.
    let exported: &'static Exported = unsafe { operator.load(Ordering::Acquire).as_ref() }?;
    let count = arguments.max(results) as usize;
    // SAFETY: guaranteed by the caller, see `# Safety`.
    let words = unsafe { std::slice::from_raw_parts_mut(words, count) };
    // SAFETY: torch keeps to the schema under which `exported` was registered for this function, so that the words are
    // what it takes.
    let outcome = catch_unwind(AssertUnwindSafe(|| unsafe { exported.run(words) }));
    let message = match outcome {
        Ok(Ok(())) => return None,
        Ok(Err(error)) => error.to_string(),
        Err(payload) => {
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message");
            let message = format!("{}: the kernel panicked: {text}", exported.name());
            // What a panic carries is users' code too. Where dropping it panics in turn, that is leaked.
            if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
                std::mem::forget(again);
            }
            message
        }
    };
    let text = CString::new(message.replace('\0', "\\0")).unwrap_or_default();
    let text = FAILURE.try_with(|failure| {
        let mut failure = failure.borrow_mut();
        *failure = text;
        failure.as_ptr()
    });
    // A thread that ends has no place for a text any more.
    Some((exported.torch(), text.unwrap_or(c"an operator of opgrid failed".as_ptr())))
}

/// The functions, row by row.
static KERNELS: [[Kernel; SIDE]; SIDE] = {
    macro_rules! numbers {
        ($take:ident $($before:tt)*) => {
            $take!($($before)* 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31)
        };
    }
    macro_rules! row {
        ($row:tt $($column:tt)*) => { [$(kernel::<$row, $column> as Kernel),*] };
    }
    macro_rules! rows {
        ($($row:tt)*) => { [$(numbers!(row $row)),*] };
    }
    numbers!(rows)
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_is_another_one() {
        let mut all: Vec<usize> = KERNELS.iter().flatten().map(|kernel| *kernel as usize).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), SIZE);
    }

    #[test]
    fn the_pool_ends_with_an_error() {
        let taken = std::iter::from_fn(|| Slot::take().ok()).count();
        assert_eq!(taken, SIZE);
        assert!(Slot::take().unwrap_err().to_string().contains("1024 operators are exported"));
    }
}
