//! Pieces of trouble of their own: stale handles, kernels that drop themselves, threads that end, a kernel that blocks.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use opgrid_core::{
    AnyTensor as Tensor, DispatchKey, Dispatcher, ErrorKind, Kernel, OperatorHandle, Registration, Returns,
    ValueRef, quiesce, retired_tables,
};

use crate::Scale;
use crate::load::{Answer, tensor};
use crate::verdict::Verdict;

/// What was seen, or what was wrong.
type Outcome = Result<String, String>;
type Signature = fn(Tensor) -> i64;

pub fn run(scale: Scale, verdict: &mut Verdict) {
    let rounds = (scale.calls / 1_000).clamp(100, 20_000);
    verdict.piece("stale handles", stale_handles(rounds));
    verdict.piece("kernels that drop themselves", kernels_that_drop_themselves(rounds));
    verdict.piece("threads that end", threads_that_end(rounds / 10));
    verdict.piece("a kernel that blocks", a_kernel_that_blocks(Duration::from_millis(scale.block)));
    verdict.piece("threads that never pause", threads_that_never_pause(rounds));
}

fn define(dispatcher: &Dispatcher, name: &str) -> Registration {
    let mut library = dispatcher.fragment("scenario");
    library.define(format!("{name}(Tensor x) -> int").as_str());
    library.finish().expect("the operator is new")
}

fn implement(dispatcher: &Dispatcher, name: &str, answer: Answer) -> Registration {
    let mut library = dispatcher.implementations("scenario", DispatchKey::Cpu);
    library.allow_override();
    library.implement(name).add(Kernel::closure::<Signature>(move |_| Ok(answer.give())));
    library.finish().expect("the kernel fits")
}

fn dispatcher() -> Dispatcher {
    let dispatcher = Dispatcher::new();
    dispatcher.on_override(|_| ());
    dispatcher
}

/// `holds`, or the reason in words.
fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

fn wait_until(done: impl Fn() -> bool) {
    while !done() {
        thread::yield_now();
    }
}

fn nothing_left(alive: &AtomicI64) -> Result<(), String> {
    quiesce().expect("no kernel runs here");
    let left = alive.load(Ordering::SeqCst);
    ensure(left == 0, || format!("{left} kernels are left"))
}

/// Handles outlive their operators and the dispatcher; a new operator of the name does not revive them.
fn stale_handles(rounds: u64) -> Outcome {
    let alive = Arc::default();
    for round in 0..rounds {
        let dispatcher = dispatcher();
        let registrations = (define(&dispatcher, "f"), implement(&dispatcher, "f", Answer::new(1, &alive)));
        let handle = dispatcher.find("scenario::f").expect("the operator is defined");
        thread::scope(|scope| {
            let thread = scope.spawn(|| call_until_stale(&handle));
            if round % 2 == 0 {
                drop(registrations);
                let _again = (define(&dispatcher, "f"), implement(&dispatcher, "f", Answer::new(2, &alive)));
            }
            drop(dispatcher);
            thread.join().expect("stale handles do not panic")
        })?;
    }
    nothing_left(&alive)?;
    Ok(format!("{rounds} rounds"))
}

fn call_until_stale(handle: &OperatorHandle) -> Result<(), String> {
    let x = tensor();
    loop {
        let mut returns = Returns::new();
        match handle.call_boxed(&[ValueRef::from(&x)], &mut returns) {
            Ok(()) => {
                let found = returns.into_single().map_err(|error| error.to_string())?;
                ensure(found == 1.into(), || format!("a handle answered {found:?} for another operator"))?;
            }
            Err(error) if error.kind() == ErrorKind::MissingKernel => {}
            Err(error) => {
                ensure(error.kind() == ErrorKind::Stale, || error.to_string())?;
                ensure(handle.schema().is_err(), || "a stale handle has a schema".into())?;
                return ensure(handle.typed::<Signature>().is_err(), || "a stale handle became typed".into());
            }
        }
    }
}

/// Each call drops the registration of the kernel that runs, and looks at the kernel's state afterwards.
fn kernels_that_drop_themselves(rounds: u64) -> Outcome {
    let (alive, dispatcher) = (Arc::default(), dispatcher());
    let _defined = define(&dispatcher, "f");
    let handle = dispatcher.find("scenario::f").expect("the operator is defined");
    let own = Arc::new(Mutex::new(None::<Registration>));
    for round in 1..=rounds {
        let (answer, place) = (Answer::new(round as u32, &alive), own.clone());
        let kernel = Kernel::closure::<Signature>(move |_| {
            let registration = place.lock().expect("nobody panics with the lock").take();
            drop(registration);
            Ok(answer.give())
        });
        let mut library = dispatcher.implementations("scenario", DispatchKey::Cpu);
        library.implement("f").add(kernel);
        *own.lock().expect("nobody panics with the lock") =
            Some(library.finish().expect("the cell is empty"));
        let found = handle.call_values(vec![tensor().into()]).map_err(|error| error.to_string())?;
        ensure(found == [(round as i64).into()], || format!("round {round} answered {found:?}"))?;
        let after = handle.call_values(vec![tensor().into()]);
        ensure(after.is_err(), || "the kernel is there after it was dropped".into())?;
    }
    nothing_left(&alive)?;
    Ok(format!("{rounds} rounds"))
}

/// Short threads call and end, in crowds, while kernels are replaced.
fn threads_that_end(rounds: u64) -> Outcome {
    let (alive, dispatcher) = (Arc::default(), dispatcher());
    let _defined = define(&dispatcher, "f");
    let handle = dispatcher.find("scenario::f").expect("the operator is defined");
    let mut kernel = implement(&dispatcher, "f", Answer::new(1, &alive));
    for round in 0..rounds {
        thread::scope(|scope| {
            for calls in 0..6 {
                let handle = &handle;
                scope.spawn(move || {
                    (0..calls).try_for_each(|_| handle.call_values(vec![tensor().into()]).map(drop))
                });
            }
            for _ in 0..3 {
                let newer = implement(&dispatcher, "f", Answer::new(round as u32, &alive));
                drop(std::mem::replace(&mut kernel, newer));
            }
        });
    }
    drop(kernel);
    nothing_left(&alive)?;
    Ok(format!("{} threads", rounds * 6))
}

/// One kernel blocks; registrations and calls elsewhere go on, and all is freed once it returns.
fn a_kernel_that_blocks(time: Duration) -> Outcome {
    let (alive, dispatcher) = (Arc::default(), dispatcher());
    let _defined = (define(&dispatcher, "blocks"), define(&dispatcher, "f"));
    let (runs, ends) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (running, ending) = (runs.clone(), ends.clone());
    let state = Answer::new(7, &alive);
    let mut library = dispatcher.implementations("scenario", DispatchKey::Cpu);
    library.implement("blocks").add(Kernel::closure::<Signature>(move |_| {
        running.store(true, Ordering::SeqCst);
        while !ending.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(1));
        }
        Ok(state.give())
    }));
    let blocking = library.finish().expect("the cell is empty");
    let find = |name: &str| dispatcher.find(name).expect("the operator is defined");
    let (blocks, f) = (find("scenario::blocks"), find("scenario::f"));
    let thread = thread::spawn(move || blocks.call_values(vec![tensor().into()]));
    wait_until(|| runs.load(Ordering::SeqCst));
    drop(blocking);
    let (start, mut changes, mut longest) = (Instant::now(), 0_u32, Duration::ZERO);
    while start.elapsed() < time || changes == 0 {
        let began = Instant::now();
        let kernel = implement(&dispatcher, "f", Answer::new(changes, &alive));
        let found = f.call_values(vec![tensor().into()]).map_err(|error| error.to_string())?;
        drop(kernel);
        longest = longest.max(began.elapsed());
        ensure(found == [i64::from(changes).into()], || format!("change {changes} answered {found:?}"))?;
        changes += 1;
        // What waits for the kernel is not freed, so that a run of minutes would only measure memory.
        if changes % 64 == 0 {
            thread::sleep(Duration::from_millis(5));
        }
    }
    let waited = retired_tables();
    ensure(waited > changes as usize, || format!("only {waited} tables waited for the kernel"))?;
    ends.store(true, Ordering::SeqCst);
    let found = thread.join().expect("the kernel does not panic").map_err(|error| error.to_string())?;
    ensure(found == [7.into()], || format!("the kernel that blocked answered {found:?}"))?;
    nothing_left(&alive)?;
    Ok(format!("{changes} changes beside it, the longest {} µs", longest.as_micros()))
}

/// Threads call back to back: what is retired is freed although none is ever seen outside of a call for long.
fn threads_that_never_pause(rounds: u64) -> Outcome {
    let (alive, dispatcher) = (Arc::default(), dispatcher());
    let _defined = define(&dispatcher, "f");
    let handle = dispatcher.find("scenario::f").expect("the operator is defined");
    let mut kernel = implement(&dispatcher, "f", Answer::new(0, &alive));
    let done = AtomicBool::new(false);
    let most = thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let x = tensor();
                while !done.load(Ordering::Relaxed) {
                    handle
                        .call_boxed(&[ValueRef::from(&x)], &mut Returns::new())
                        .expect("there is always a kernel");
                }
            });
        }
        let mut most = 0;
        for round in 1..=rounds {
            let newer = implement(&dispatcher, "f", Answer::new(round as u32, &alive));
            drop(std::mem::replace(&mut kernel, newer));
            most = most.max(alive.load(Ordering::SeqCst));
        }
        done.store(true, Ordering::Relaxed);
        most
    });
    drop(kernel);
    nothing_left(&alive)?;
    Ok(format!("{rounds} kernels replaced, at most {most} waited"))
}
