//! Forks while other threads register, call and drop: the child finds every lock free, and can do all of it itself.
#![cfg(target_os = "linux")]
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use opgrid_core::{
    DispatchKey, Dispatcher, ErrorKind, Listener, OperatorHandle, Registration, Value, observe, quiesce,
};
use opgrid_schema::FunctionSchema;

/// How long a child may take before it counts as hanging.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs `body` in a fork of this process; whether it returned `true` in time.
fn in_child(body: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child runs `body` on its one thread, and ends without running destructors of what it shares.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "the process cannot be forked");
    if child == 0 {
        let is_right = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).unwrap_or(false);
        // SAFETY: it ends the process.
        unsafe { libc::_exit(if is_right { 0 } else { 1 }) }
    }
    let end = Instant::now() + PATIENCE;
    loop {
        let mut status = 0;
        // SAFETY: the child is this process's own, and `status` is here.
        match unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } {
            0 if Instant::now() > end => {
                // SAFETY: the child is this process's own, and was not waited for yet.
                unsafe { libc::kill(child, libc::SIGKILL) };
                // SAFETY: the child is this process's own, and `status` is here.
                unsafe { libc::waitpid(child, &raw mut status, 0) };
                return false;
            }
            0 => thread::sleep(Duration::from_millis(1)),
            _ => return libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0,
        }
    }
}

fn register(dispatcher: &Dispatcher, name: &str) -> Registration {
    let mut library = dispatcher.fragment("forks");
    let text = String::from("owned by the kernel");
    library.define(&*format!("{name}(int x) -> int")).boxed(
        DispatchKey::CompositeExplicitAutograd,
        move |call| {
            call.push(text.len() as i64);
            Ok(())
        },
    );
    library.finish().unwrap()
}

fn call(dispatcher: &Dispatcher, name: &str) -> Vec<Value> {
    dispatcher.find(&format!("forks::{name}")).unwrap().call_values(vec![1.into()]).unwrap()
}

/// A call on a thread of its own that the standard library did not start. Its threads take a private lock as they start and
/// end, to handle overflows of the stack, and a fork at that moment leaves it taken forever in the child.
fn in_thread(dispatcher: &Dispatcher) -> Vec<Value> {
    extern "C" fn body(data: *mut c_void) -> *mut c_void {
        // SAFETY: `in_thread` passes a pointer to what it keeps until this thread has ended.
        let (dispatcher, result) = unsafe { &mut *data.cast::<(&Dispatcher, Vec<Value>)>() };
        *result = call(dispatcher, "stays");
        null_mut()
    }
    let mut both = (dispatcher, Vec::new());
    let mut thread = 0;
    // SAFETY: `both` stays until the thread was joined, and is not used here before.
    unsafe {
        let code = libc::pthread_create(&raw mut thread, null(), body, (&raw mut both).cast());
        assert_eq!(code, 0, "a thread cannot be started");
        assert_eq!(libc::pthread_join(thread, null_mut()), 0);
    }
    both.1
}

/// Counts nothing and hears everything.
struct Quiet;

impl Listener for Quiet {
    fn defined(&self, _: &OperatorHandle, _: &FunctionSchema) {
        thread::yield_now();
    }

    fn dropped(&self, _: &OperatorHandle, _: &FunctionSchema) {}
}

impl observe::Observer for Quiet {
    fn before(&self, _: &observe::Step) {}

    fn after(&self, _: &observe::Step, _: Option<&opgrid_core::Error>) {}
}

/// What a thread does again and again while the process forks.
type Work = fn(&Dispatcher, usize);

const WORKS: [(&str, Work); 6] = [
    ("registering", |dispatcher, number| {
        let name = format!("r{number}");
        let registration = register(dispatcher, &name);
        assert_eq!(call(dispatcher, &name), [Value::from(19)]);
        drop(registration);
    }),
    ("calling", |dispatcher, _| {
        assert_eq!(call(dispatcher, "stays"), [Value::from(19)]);
        let _ = dispatcher.stats();
    }),
    ("looking", |dispatcher, _| {
        assert!(!dispatcher.names().is_empty());
        assert_eq!(dispatcher.find("forks::missing").unwrap_err().kind(), ErrorKind::Unknown);
    }),
    ("watching", |dispatcher, _| {
        let observation = observe::observe(Arc::new(Quiet));
        let listening = dispatcher.listen(Arc::new(Quiet));
        dispatcher.on_override(|_| ());
        let _ = call(dispatcher, "stays");
        drop((observation, listening));
    }),
    ("starting threads", |dispatcher, _| {
        assert_eq!(in_thread(dispatcher), [Value::from(19)]);
    }),
    ("making dispatchers", |_, number| {
        let other = Dispatcher::new();
        let registration = register(&other, &format!("o{number}"));
        drop(other);
        drop(registration);
    }),
];

#[test]
fn a_fork_while_other_threads_work_leaves_no_lock_taken() {
    let dispatchers = [Dispatcher::global().clone(), Dispatcher::new()];
    let _stays = dispatchers.each_ref().map(|dispatcher| register(dispatcher, "stays"));
    for dispatcher in &dispatchers {
        for (name, work) in WORKS {
            let is_over = AtomicBool::new(false);
            thread::scope(|scope| {
                for thread in 0..2 {
                    let is_over = &is_over;
                    scope.spawn(move || {
                        let mut number = thread;
                        while !is_over.load(Ordering::Relaxed) {
                            work(dispatcher, number);
                            number += 2;
                        }
                    });
                }
                for fork in 0..20 {
                    let is_right = in_child(|| {
                        for (number, (_, work)) in WORKS.iter().enumerate() {
                            work(dispatcher, 1_000_000 + number);
                        }
                        quiesce().is_ok()
                    });
                    if !is_right {
                        is_over.store(true, Ordering::Relaxed);
                        panic!("child {fork} while other threads are {name} hangs or is wrong");
                    }
                }
                is_over.store(true, Ordering::Relaxed);
            });
        }
    }
    quiesce().unwrap();
}

#[test]
fn a_kernel_may_fork() {
    let dispatcher = Dispatcher::new();
    let mut library = dispatcher.library("forking");
    library.define("f(int x) -> int").boxed(DispatchKey::CompositeExplicitAutograd, |call| {
        let is_right = in_child(|| {
            let other = Dispatcher::new();
            let registration = register(&other, "inside");
            let result = super_call(&other);
            drop(registration);
            result
        });
        call.push(i64::from(is_right));
        Ok(())
    });
    let _registration = library.finish().unwrap();
    assert_eq!(dispatcher.find("forking::f").unwrap().call_values(vec![1.into()]).unwrap(), [Value::from(1)]);
}

fn super_call(dispatcher: &Dispatcher) -> bool {
    call(dispatcher, "inside") == [Value::from(19)]
}
