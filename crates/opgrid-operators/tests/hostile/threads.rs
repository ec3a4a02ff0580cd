//! Loops on threads: every number once, whatever the range, and no thread that goes on after the caller.

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use opgrid_core::{DType, Device, Result};
use opgrid_kernels::{num_threads, parallel_for, set_num_threads};
use opgrid_tensor::Tensor;

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

/// Runs a test of this file again, alone in a process that has four threads. There is one per processor, unless the process
/// is told otherwise.
fn with_four_threads(name: &str) {
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", &format!("threads::{name}")]).env("OPGRID_NUM_THREADS", "4").env(ALONE, "1");
    let output = again.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

/// Says to a test that it is alone in its process.
const ALONE: &str = "OPGRID_TEST_ALONE";

fn is_alone() -> bool {
    std::env::var_os(ALONE).is_some()
}

fn rand(sizes: &[i64]) -> Result<Tensor> {
    Tensor::rand(sizes, DType::F32, Device::CPU)
}

/// Threads that were started to help.
#[cfg(target_os = "linux")]
fn helpers() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).ok());
    names.filter(|name| name.starts_with("opgrid-helper")).count()
}

#[cfg(target_os = "linux")]
#[test]
fn threads_are_started_by_large_loops_only() {
    if !is_alone() {
        return with_four_threads("threads_are_started_by_large_loops_only");
    }
    assert_eq!((num_threads(), helpers()), (4, 0), "the answer starts none");
    let small = rand(&[100, 100]).unwrap();
    let index = Tensor::from_slice(&[3i64, 1, 2], &[3]).unwrap();
    let calls = |input: &Tensor| {
        input.add(input).unwrap();
        input.exp().unwrap();
        input.sum_dim(&[0], false).unwrap();
        input.sort(-1, false).unwrap();
        input.t().unwrap().contiguous().unwrap();
        input.index_select(0, &index).unwrap();
    };
    calls(&small);
    small.mm(&small).unwrap();
    assert_eq!(helpers(), 0, "small loops start none");
    let large = rand(&[1000, 1000]).unwrap();
    set_num_threads(1);
    calls(&large);
    large.mm(&large).unwrap();
    assert_eq!(helpers(), 0, "one thread needs no others");
    set_num_threads(3);
    calls(&large);
    assert_eq!((num_threads(), helpers()), (3, 2), "the caller is one of them");
    set_num_threads(usize::MAX);
    large.mm(&large).unwrap();
    assert_eq!((num_threads(), helpers()), (4, 3), "there are no more than the process was told");
}

#[test]
fn nobody_waits_for_helpers_that_are_busy() {
    if !is_alone() {
        return with_four_threads("nobody_waits_for_helpers_that_are_busy");
    }
    let (arrived, is_done) = (AtomicUsize::new(0), AtomicBool::new(false));
    let in_time = std::thread::scope(|scope| {
        // All four threads are kept until this one is done.
        scope.spawn(|| {
            parallel_for(4, 1, &|_range| {
                arrived.fetch_add(1, SeqCst);
                let end = Instant::now() + Duration::from_secs(20);
                while !is_done.load(SeqCst) && Instant::now() < end {
                    std::thread::yield_now();
                }
            });
        });
        while arrived.load(SeqCst) < 4 {
            std::thread::yield_now();
        }
        let start = Instant::now();
        let visited = AtomicUsize::new(0);
        for _ in 0..10 {
            parallel_for(100, 1, &|range| {
                visited.fetch_add(range.len(), SeqCst);
            });
        }
        assert_eq!(visited.into_inner(), 1000);
        let large = rand(&[500, 1000]).unwrap();
        large.exp().unwrap().sum().unwrap();
        let in_time = start.elapsed() < Duration::from_secs(10);
        is_done.store(true, SeqCst);
        in_time
    });
    assert!(in_time, "the caller does all of its work");
}

/// Whatever the number of threads, and for loops of all kinds that are split.
#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    if !is_alone() {
        return with_four_threads("results_do_not_depend_on_the_number_of_threads");
    }
    let matrix = rand(&[700, 300]).unwrap();
    let whole = |numbers: Tensor, end: i64| -> Tensor {
        numbers.mul(end).unwrap().floor().unwrap().to_dtype(DType::I64).unwrap()
    };
    let (rows, columns) = (whole(rand(&[900]).unwrap(), 700), whole(rand(&[200]).unwrap(), 300));
    let row_of_each = whole(rand(&[700, 300]).unwrap(), 700);
    let places = whole(rand(&[70_000]).unwrap(), 210_000);
    let flat = matrix.reshape(&[-1]).unwrap();
    let transposed = matrix.t().unwrap();
    let calls: [&dyn Fn() -> Result<Tensor>; 10] = [
        &|| matrix.index_select(0, &rows),
        &|| matrix.index_select(1, &columns),
        &|| transposed.index_select(0, &columns),
        &|| matrix.gather(0, &row_of_each),
        &|| flat.index(&[Some(places.clone())]),
        &|| transposed.contiguous(),
        &|| matrix.add(&transposed.contiguous()?.t()?),
        &|| matrix.exp(),
        &|| Ok(matrix.sort(0, false)?.1),
        &|| matrix.sum_dim(&[1], false),
    ];
    for (number, call) in calls.iter().enumerate() {
        let mut results = Vec::new();
        for threads in [1, 2, 3, 4] {
            set_num_threads(threads);
            // Again and again, so that helpers are awake.
            results.extend((0..20).map(|_| call().unwrap()));
        }
        assert!(results.iter().all(|result| result.equal(&results[0]).unwrap()), "call {number}");
    }
}

/// What a panic carries that panics itself when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // What this carries is leaked, because it might panic in turn; of nothing there is no memory to leak.
            resume_unwind(Box::new(()));
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
        return with_four_threads("payloads_that_panic_leave_no_helper_behind");
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
