//! What plugins tell people, in Python's way: warnings, and notes for the logger `opgrid`.
//!
//! A plugin may say something on a thread of the pool, which the thread that has the interpreter's lock waits for. So nobody
//! waits for that lock here: messages lie ready until the interpreter's main thread comes to them, which it does between two
//! instructions.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::panic::catch_unwind;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use opgrid::dispatch::fork::{Holding, Locks, Order};
use opgrid::plugin::{Level, Message, on_message};
use pyo3::ffi;
use pyo3::prelude::*;

/// What the interpreter has not come to.
static WAITING: Mutex<Vec<Message>> = Mutex::new(Vec::new());

static LOCKS: Locks = Locks::new(&[(Order::Leaves, &Holding(|held| held.lock(&WAITING)))]);

/// Lets Python hear what plugins say.
pub(crate) fn tell_python() {
    LOCKS.prepare();
    on_message(|message| {
        // SAFETY: the function may be called at any time.
        if unsafe { ffi::Py_IsInitialized() } == 0 {
            // What frees itself when the process ends may have something to say.
            eprintln!("{}: {message}", message.level);
            return;
        }
        WAITING.lock().unwrap_or_else(PoisonError::into_inner).push(message.clone());
        // SAFETY: the interpreter is there, see above. The function may be called from any thread, with or without the interpreter's lock; `deliver` is of its type and
        // takes no argument. Where the interpreter's list is full, what waits is delivered with what comes next.
        unsafe { ffi::Py_AddPendingCall(Some(deliver), ptr::null_mut()) };
    });
}

/// Tells Python everything that waits; the interpreter calls it.
extern "C" fn deliver(_: *mut c_void) -> c_int {
    // No panic may leave it. One has printed its message by then.
    let _ = catch_unwind(|| {
        crate::collector::attached(|py| {
            let waiting = std::mem::take(&mut *WAITING.lock().unwrap_or_else(PoisonError::into_inner));
            for message in waiting {
                if let Err(raised) = tell(py, &message) {
                    // What the message is about has taken place: an exception would say that it has not.
                    raised.write_unraisable(py, None);
                }
            }
        });
    });
    0
}

fn tell(py: Python<'_>, message: &Message) -> PyResult<()> {
    let text = message.to_string();
    match message.level {
        Level::Note => {
            let logger = py.import("logging")?.call_method1("getLogger", ("opgrid",))?;
            // The text is no format.
            logger.call_method1("info", ("%s", text)).map(drop)
        }
        _ => {
            let class = py.import("opgrid.errors")?.getattr("PluginWarning")?;
            py.import("warnings")?.call_method1("warn", (text, class, 1)).map(drop)
        }
    }
}
