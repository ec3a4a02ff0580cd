//! Forks at the moment at which another thread starts helpers.
#![cfg(target_os = "linux")]
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use opgrid_array::loops::{parallel_for, set_num_threads};

const COUNT: usize = 1 << 12;

/// A loop that wants helpers, which the first one of a process starts.
fn run_loop() -> bool {
    let done = AtomicUsize::new(0);
    parallel_for(COUNT, 1 << 9, &|range| {
        done.fetch_add(range.len(), Ordering::Relaxed);
    });
    done.into_inner() == COUNT
}

/// Runs `body` in a fork of this process; whether it returned `true` within so many seconds.
fn in_child(seconds: u32, body: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child runs `body` on its one thread, and ends without running destructors of what it shares.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "the process cannot be forked");
    if child == 0 {
        // SAFETY: the signal ends the process if it hangs.
        unsafe { libc::alarm(seconds) };
        let is_right = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).unwrap_or(false);
        // SAFETY: it ends the process.
        unsafe { libc::_exit(if is_right { 0 } else { 1 }) }
    }
    let mut status = 0;
    // SAFETY: the child is this process's own, and `status` is here.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    waited == child && libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
}

#[test]
fn a_fork_while_helpers_start() {
    set_num_threads(8);
    for round in 0..300 {
        let is_right = in_child(30, || {
            let (tell, hear) = mpsc::channel();
            let thread = thread::spawn(move || {
                tell.send(()).unwrap();
                run_loop()
            });
            hear.recv().unwrap();
            for _ in 0..round * 20 {
                std::hint::spin_loop();
            }
            in_child(10, run_loop) && thread.join().unwrap()
        });
        assert!(is_right, "round {round}: a child hangs or is wrong");
    }
}
