//! Loops on threads: every number once, whatever the range, and no thread that goes on after the caller.

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use opgrid_tensor::kernels::{num_threads, parallel_for};

#[test]
fn ranges_of_any_size_are_cut_without_a_gap() {
    const MAX: usize = usize::MAX;
    for (n, grain) in [
        (MAX, 1 << 63),
        (MAX, (1 << 63) - 1),
        (MAX, MAX),
        (MAX, MAX / 3),
        (MAX - 1, MAX / 7 + 1),
        (1 << 63, 1 << 62),
        (10, MAX),
        (1, 0),
        (0, 0),
        (0, MAX),
        (1000, 7),
    ] {
        let seen = Mutex::new(Vec::new());
        parallel_for(n, grain, &|range| seen.lock().unwrap().push(range));
        let mut seen = seen.into_inner().unwrap();
        seen.sort_by_key(|range| range.start);
        let mut end = 0;
        for (at, range) in seen.iter().enumerate() {
            assert_eq!(range.start, end, "{n} in ranges of {grain}");
            let whole = range.end - range.start == grain.max(1);
            assert!(whole || at + 1 == seen.len(), "{n} in ranges of {grain}: {range:?}");
            end = range.end;
        }
        assert_eq!(end, n, "in ranges of {grain}");
    }
}

#[test]
fn a_panic_ends_ranges_that_cannot_be_counted_to_the_end() {
    let calls = AtomicUsize::new(0);
    let work = |_range: std::ops::Range<usize>| {
        calls.fetch_add(1, SeqCst);
        panic_any("stop");
    };
    let payload = catch_unwind(AssertUnwindSafe(|| parallel_for(usize::MAX, 1, &work))).unwrap_err();
    assert_eq!(payload.downcast_ref(), Some(&"stop"));
    assert!(calls.into_inner() <= num_threads(), "each thread stops at its first piece");
}

/// What a panic carries that panics itself when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic_any("dropped");
        }
    }
}

/// What the loop borrows.
struct Borrowed<'a>(&'a AtomicBool);

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

/// Two pieces panic, the caller's second, with payloads that panic when they are dropped, while the third one still
/// uses what the caller's frame owns.
#[test]
fn payloads_that_panic_leave_no_helper_behind() {
    if num_threads() < 3 {
        // The pool has a thread per processor, unless the process is told otherwise.
        let name = "threads::payloads_that_panic_leave_no_helper_behind";
        let mut again = Command::new(std::env::current_exe().unwrap());
        let output = again.args(["--exact", name]).env("RAYON_NUM_THREADS", "4").output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
        return;
    }
    let (gone, gone_too_soon) = (AtomicBool::new(false), AtomicBool::new(false));
    let (started, panicked) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let wait = |until: &dyn Fn() -> bool| {
        let end = Instant::now() + Duration::from_secs(5);
        while !until() && Instant::now() < end {
            std::thread::yield_now();
        }
    };
    let caller = std::thread::current().id();
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let borrowed = Borrowed(&gone);
        parallel_for(3, 1, &|_range| {
            started.fetch_add(1, SeqCst);
            wait(&|| started.load(SeqCst) == 3);
            if std::thread::current().id() == caller {
                wait(&|| panicked.load(SeqCst) > 0);
                std::thread::sleep(Duration::from_millis(50));
                panic_any(Bomb);
            }
            if panicked.fetch_add(1, SeqCst) == 0 {
                panic_any(Bomb);
            }
            let end = Instant::now() + Duration::from_millis(300);
            while Instant::now() < end {
                gone_too_soon.fetch_or(borrowed.0.load(SeqCst), SeqCst);
                std::thread::yield_now();
            }
        });
    }));
    assert_eq!(started.load(SeqCst), 3, "three threads took part");
    assert!(!gone_too_soon.load(SeqCst), "the caller's frame was gone while a helper used it");
    let payload = outcome.unwrap_err();
    assert!(payload.is::<Bomb>(), "the first panic goes on");
    std::mem::forget(payload);
}
