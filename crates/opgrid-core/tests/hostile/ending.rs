//! Processes and dispatchers that end while kernels run.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::{Duration, Instant};

use opgrid_core::{DispatchKey, Dispatcher, ErrorKind, Kernel, Registration, quiesce};

use crate::child::printed_by;
use crate::common::{define, implement};

static STEP: AtomicU32 = AtomicU32::new(0);
static FREED: AtomicBool = AtomicBool::new(false);

/// Waits for a step, but not forever: what is tested may keep it from coming.
fn wait_for(step: u32) {
    let end = Instant::now() + Duration::from_secs(20);
    while STEP.load(Ordering::SeqCst) < step && Instant::now() < end {
        thread::sleep(Duration::from_millis(1));
    }
}

fn reach(step: u32) {
    STEP.store(step, Ordering::SeqCst);
}

/// Runs when its thread ends, or the process on its thread: after the dispatcher's own thread-local is gone.
struct Late;

impl Drop for Late {
    fn drop(&mut self) {
        reach(2);
        wait_for(4);
    }
}

thread_local! {
    static LATE: Late = const { Late };
}

struct Captured(Box<[u64; 64]>);

impl Drop for Captured {
    fn drop(&mut self) {
        FREED.store(true, Ordering::SeqCst);
    }
}

/// Ends the process in a kernel that has lent what it captured to another thread.
fn end_inside_a_kernel() {
    LATE.with(|_| ());
    let dispatcher = Dispatcher::global().clone();
    let captured = Captured(Box::new([7; 64]));
    let mut library = dispatcher.library("ending");
    let kernel = Kernel::boxed(move |call| {
        let (data, operator) = (&captured.0, call.operator());
        thread::scope(|scope| {
            scope.spawn(move || {
                wait_for(3);
                let whole = !FREED.load(Ordering::SeqCst) && **data == [7; 64];
                println!("{} {}", operator.name(), if whole { "is whole" } else { "was freed" });
                reach(4);
            });
            reach(1);
            std::process::exit(0)
        })
    });
    library.define("f(int x) -> int").add(kernel.at(DispatchKey::CompositeExplicitAutograd));
    let registration = library.finish().unwrap();
    thread::spawn(move || {
        wait_for(2);
        drop(registration);
        match quiesce() {
            Err(error) => println!("{error}"),
            Ok(()) => println!("quiesce() returned"),
        }
        reach(3);
    });
    let _ = dispatcher.find("ending::f").unwrap().call_values(vec![1.into()]);
}

#[test]
fn a_process_that_ends_inside_a_kernel_keeps_the_kernel() {
    let printed =
        printed_by("ending::a_process_that_ends_inside_a_kernel_keeps_the_kernel", end_inside_a_kernel);
    assert!(printed.contains("ending::f is whole"), "{printed}");
    assert!(
        printed.contains("while a thread ends the process inside a kernel would wait forever"),
        "{printed}"
    );
}

/// The handle that a kernel keeps of its own dispatcher.
type Own = Arc<Mutex<Option<Dispatcher>>>;

/// A dispatcher with a kernel that keeps a handle of it; whether the kernel's state is alive.
fn cyclic() -> (Dispatcher, Registration, Own, Weak<()>) {
    let dispatcher = Dispatcher::new();
    let (own, alive) = (Own::new(Mutex::new(Some(dispatcher.clone()))), Arc::new(()));
    let (kept, state) = (own.clone(), Arc::downgrade(&alive));
    define(&dispatcher, "f() -> ()").unwrap().keep();
    let kernel = Kernel::boxed(move |_| {
        let _ = (&kept, &alive);
        Ok(())
    });
    let registration = implement(&dispatcher, "f", DispatchKey::Cpu, kernel).unwrap();
    (dispatcher, registration, own, state)
}

#[test]
fn a_dispatcher_that_its_kernel_owns_ends_with_the_registration() {
    let (dispatcher, registration, own, state) = cyclic();
    let operator = dispatcher.find("test::f").unwrap();
    drop((dispatcher, own));
    quiesce().unwrap();
    assert!(state.upgrade().is_some() && operator.has_schema());
    drop(registration);
    quiesce().unwrap();
    assert!(state.upgrade().is_none() && !operator.has_schema());

    // A kept registration keeps such a dispatcher, as said there, until the kernel gives its handle away.
    let (dispatcher, registration, own, state) = cyclic();
    let operator = dispatcher.find("test::f").unwrap();
    registration.keep();
    drop(dispatcher);
    quiesce().unwrap();
    assert!(state.upgrade().is_some() && operator.has_schema());
    let last = own.lock().unwrap().take();
    drop(last);
    quiesce().unwrap();
    assert!(state.upgrade().is_none() && !operator.has_schema());
}

#[test]
fn a_registration_that_outlives_its_dispatcher_is_dropped_quietly() {
    let dispatcher = Dispatcher::new();
    let mut library = dispatcher.library("test");
    library.define("f() -> ()");
    let registration = library.finish().unwrap();
    let operator = dispatcher.find("test::f").unwrap();
    drop(dispatcher);
    assert_eq!(operator.schema().unwrap_err().kind(), ErrorKind::Stale);
    drop(registration);
}
