//! Calls on several threads while others register, override and drop, and while threads end.

mod common;

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use common::{cpu, define, implement};
use opgrid_core::{
    AnyTensor as Tensor, DispatchKey, Dispatcher, ErrorKind, Kernel, Registration, Returns, ValueRef,
    operator, quiesce, retired_tables,
};

operator! {
    pub Busy = "concurrency::busy(Tensor x) -> int";
    pub Fleeting = "concurrency::fleeting(Tensor x) -> int";
}

/// The state of one generation's kernel, which says so when it is used after it was freed.
struct Generation {
    number: i64,
    usable: AtomicBool,
    alive: Arc<AtomicI64>,
}

impl Generation {
    fn new(number: i64, alive: &Arc<AtomicI64>) -> Self {
        alive.fetch_add(1, Ordering::SeqCst);
        Self { number, usable: AtomicBool::new(true), alive: alive.clone() }
    }

    fn number(&self) -> i64 {
        assert!(self.usable.load(Ordering::Relaxed), "a kernel ran after its state was freed");
        self.number
    }
}

impl Drop for Generation {
    fn drop(&mut self) {
        self.usable.store(false, Ordering::Relaxed);
        self.alive.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A kernel of `Tensor -> int` that returns its generation; `alive` counts the states that are not freed.
fn generation(number: i64, alive: &Arc<AtomicI64>) -> Kernel {
    let state = Generation::new(number, alive);
    Kernel::closure::<fn(Tensor) -> i64>(move |_| Ok(state.number()))
}

/// Defines [`Busy`], and lets kernels replace each other without a word.
fn define_busy(dispatcher: &Dispatcher) -> Registration {
    dispatcher.on_override(|_| ());
    let mut library = dispatcher.fragment("concurrency");
    library.define(Busy);
    library.finish().unwrap()
}

/// A kernel of [`Busy`] that takes the place of the one before.
fn add_generation(dispatcher: &Dispatcher, number: i64, alive: &Arc<AtomicI64>) -> Registration {
    let mut library = dispatcher.implementations("concurrency", DispatchKey::Cpu);
    library.allow_override();
    library.implement("busy").add(generation(number, alive));
    library.finish().unwrap()
}

#[test]
fn four_threads_call_while_kernels_are_overridden_and_dropped() {
    const GENERATIONS: i64 = 5_000;
    let alive = Arc::default();
    for dispatcher in [Dispatcher::global().clone(), Dispatcher::new()] {
        let _defined = define_busy(&dispatcher);
        let add = |number| add_generation(&dispatcher, number, &alive);
        let (done, newest) = (AtomicBool::new(false), AtomicI64::new(0));
        let mut calls = 0;
        let mut live = add(0);
        thread::scope(|scope| {
            let call = |boxed: bool| {
                let (x, mut last, mut count) = (cpu(), 0, 0);
                let operator = dispatcher.find("concurrency::busy").unwrap();
                while !done.load(Ordering::Relaxed) {
                    let found = if boxed {
                        let mut returns = Returns::new();
                        operator.call_boxed(&[ValueRef::from(&x)], &mut returns).unwrap();
                        returns.into_single().unwrap().borrow().as_int().unwrap()
                    } else {
                        dispatcher.call(Busy, (&x,)).unwrap()
                    };
                    // Generations only rise, and none is seen before it is there.
                    assert!(last <= found && found <= newest.load(Ordering::SeqCst));
                    (last, count) = (found, count + 1);
                }
                count
            };
            let threads: Vec<_> = (0..4).map(|place| scope.spawn(move || call(place % 2 == 1))).collect();
            let started = Instant::now();
            for number in 1.. {
                newest.store(number, Ordering::SeqCst);
                // The newer kernel stands before the older one goes, so that there is always one.
                drop(std::mem::replace(&mut live, add(number)));
                // Memory comes back while nobody ever pauses. How many tables wait at one moment is up to the
                // scheduler: a thread that it takes the processor from within a call holds back all that follow.
                if number >= GENERATIONS && retired_tables() < GENERATIONS as usize / 10 {
                    break;
                }
                assert!(started.elapsed() < Duration::from_secs(120), "{} tables wait", retired_tables());
            }
            done.store(true, Ordering::Relaxed);
            calls = threads.into_iter().map(|thread| thread.join().unwrap()).sum::<i64>();
        });
        assert!(calls > 0);
        drop(live);
        quiesce().unwrap();
    }
    assert_eq!(alive.load(Ordering::SeqCst), 0);
}

#[test]
fn operators_come_and_go_while_threads_call_them() {
    let dispatcher = Dispatcher::global();
    let done = AtomicBool::new(false);
    let answered = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let x = cpu();
                while !done.load(Ordering::Relaxed) {
                    match Fleeting.call(&x) {
                        Ok(number) => {
                            assert_eq!(number, 9);
                            answered.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(error) => assert!(
                            matches!(error.kind(), ErrorKind::Unknown | ErrorKind::Stale),
                            "unexpected {error}"
                        ),
                    }
                }
            });
        }
        let mut rounds = 0;
        while rounds < 2_000 || answered.load(Ordering::Relaxed) < 100 {
            let mut library = dispatcher.fragment("concurrency");
            library.define(Fleeting).closure(DispatchKey::Cpu, |_| Ok(9));
            let registration = library.finish().unwrap();
            if rounds % 8 == 0 {
                thread::yield_now();
            }
            drop(registration);
            rounds += 1;
        }
        done.store(true, Ordering::Relaxed);
    });
    quiesce().unwrap();
}

/// Some operators stay while others come and go, more and more of them, and libraries fail.
#[test]
fn names_are_found_while_others_come_and_go() {
    const KEPT: usize = 40;
    let dispatcher = Dispatcher::new();
    let define = |names: &[String]| {
        let mut library = dispatcher.fragment("names");
        for name in names {
            library.define(format!("{name}() -> ()").as_str());
        }
        library.finish()
    };
    let kept: Vec<_> = (0..KEPT).map(|number| format!("kept_{number}")).collect();
    let _kept = define(&kept).unwrap();
    let done = AtomicBool::new(false);
    let found = AtomicUsize::new(0);
    let look = |first: usize| {
        let first_handles: Vec<_> =
            kept.iter().map(|name| dispatcher.find(&format!("names::{name}")).unwrap()).collect();
        for round in first.. {
            if done.load(Ordering::Relaxed) {
                return;
            }
            let at = round % KEPT;
            let handle = dispatcher.find(&format!("names::kept_{at}")).unwrap();
            assert_eq!(handle, first_handles[at]);
            let name = format!("names::fleeting_{}", round % 300);
            match dispatcher.find(&name) {
                Ok(operator) => {
                    assert_eq!(operator.name().to_string(), name);
                    found.fetch_add(1, Ordering::Relaxed);
                    // It may be gone by now.
                    if let Ok(schema) = operator.schema() {
                        assert_eq!(schema.name, *operator.name());
                    }
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::Unknown, "{error}"),
            }
            // Its library fails each time, after it was entered.
            assert!(dispatcher.find("names::failing").is_err());
        }
    };
    thread::scope(|scope| {
        for first in 0..3 {
            scope.spawn(move || look(first));
        }
        let mut rounds = 0;
        while rounds < 300 || found.load(Ordering::Relaxed) < 100 {
            let count = 1 + rounds;
            let fleeting: Vec<_> = (0..count).map(|number| format!("fleeting_{number}")).collect();
            let registration = define(&fleeting).unwrap();
            let error = define(&["failing".into(), "kept_0".into()]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Duplicate);
            drop(registration);
            rounds += 1;
        }
        done.store(true, Ordering::Relaxed);
    });
    dispatcher.check_invariants().unwrap();
    assert_eq!(dispatcher.names().len(), KEPT);
    quiesce().unwrap();
}

/// No table is there before the first call, so that every thread finds none, and one of them makes it.
#[test]
fn first_calls_come_together_while_a_kernel_is_overridden_and_comes_back() {
    let alive = Arc::default();
    for _ in 0..300 {
        let dispatcher = Dispatcher::new();
        let _defined = define_busy(&dispatcher);
        let add = |number| add_generation(&dispatcher, number, &alive);
        let first = add(1);
        let begin = Barrier::new(4);
        thread::scope(|scope| {
            for boxed in [false, true, true] {
                let (dispatcher, begin) = (&dispatcher, &begin);
                scope.spawn(move || {
                    let x = cpu();
                    let operator = dispatcher.find("concurrency::busy").unwrap();
                    begin.wait();
                    let found = if boxed {
                        operator.call_values(vec![x.into()]).unwrap()[0].borrow().as_int().unwrap()
                    } else {
                        dispatcher.call(Busy, (&x,)).unwrap()
                    };
                    assert!([1, 2].contains(&found), "{found}");
                });
            }
            begin.wait();
            drop(add(2));
        });
        let operator = dispatcher.find("concurrency::busy").unwrap();
        operator.check_invariants().unwrap();
        drop(first);
        let error = dispatcher.call(Busy, (&cpu(),)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MissingKernel, "{error}");
    }
    quiesce().unwrap();
    assert_eq!(alive.load(Ordering::SeqCst), 0);
}

#[test]
fn dispatchers_end_while_threads_call_on_them() {
    for _ in 0..100 {
        let dispatcher = Dispatcher::new();
        define(&dispatcher, "f(Tensor x) -> int").unwrap().keep();
        let kernel = Kernel::closure::<fn(Tensor) -> i64>(|_| Ok(3));
        implement(&dispatcher, "f", DispatchKey::Cpu, kernel).unwrap().keep();
        let typed = dispatcher.find("test::f").unwrap().typed::<fn(Tensor) -> i64>().unwrap();
        thread::scope(|scope| {
            for _ in 0..2 {
                let typed = typed.clone();
                scope.spawn(move || {
                    let x = cpu();
                    loop {
                        match typed.call((&x,)) {
                            Ok(number) => assert_eq!(number, 3),
                            Err(error) => break assert_eq!(error.kind(), ErrorKind::Stale),
                        }
                        let _ = typed.operator().schema();
                    }
                });
            }
            thread::yield_now();
            drop(dispatcher);
        });
    }
    quiesce().unwrap();
}

/// Calls when its thread ends.
struct Last(Option<Box<dyn FnOnce()>>);

impl Drop for Last {
    fn drop(&mut self) {
        if let Some(last) = self.0.take() {
            last();
        }
    }
}

thread_local! {
    static BEFORE: RefCell<Last> = const { RefCell::new(Last(None)) };
    static AFTER: RefCell<Last> = const { RefCell::new(Last(None)) };
}

#[test]
fn threads_that_end_may_call_and_register_to_the_last() {
    let dispatcher = Dispatcher::new();
    dispatcher.on_override(|_| ());
    let _defined = define(&dispatcher, "f(Tensor x) -> int").unwrap();
    let _kernel = implement(&dispatcher, "f", DispatchKey::Cpu, generation(1, &Arc::default())).unwrap();
    let operator = dispatcher.find("test::f").unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let call = {
        let (operator, dispatcher, count) = (operator.clone(), dispatcher.clone(), count.clone());
        move || {
            let x = cpu();
            operator.call_boxed(&[ValueRef::from(&x)], &mut Returns::new()).unwrap();
            drop(implement(&dispatcher, "f", DispatchKey::Cpu, generation(2, &Arc::default())).unwrap());
            operator.call_boxed(&[ValueRef::from(&x)], &mut Returns::new()).unwrap();
            quiesce().unwrap();
            count.fetch_add(1, Ordering::Relaxed);
        }
    };
    for round in 0..30 {
        let call = call.clone();
        thread::spawn(move || {
            let (before, after) = (call.clone(), call.clone());
            BEFORE.with_borrow_mut(|last| last.0 = Some(Box::new(before)));
            if round % 3 != 0 {
                call();
            }
            AFTER.with_borrow_mut(|last| last.0 = Some(Box::new(after)));
        })
        .join()
        .unwrap();
    }
    assert_eq!(count.load(Ordering::Relaxed), 30 * 2 + 20);
    quiesce().unwrap();
}

#[test]
fn a_kernel_that_blocks_holds_tables_back_and_nobody_waits_for_it() {
    let dispatcher = Dispatcher::new();
    dispatcher.on_override(|_| ());
    let _defined = define(&dispatcher, "f(Tensor x) -> int").unwrap();
    let gate = Arc::new((AtomicBool::new(false), AtomicBool::new(false)));
    let own = gate.clone();
    let state = Arc::new(());
    let held = state.clone();
    let kernel = Kernel::closure::<fn(Tensor) -> i64>(move |_| {
        own.0.store(true, Ordering::SeqCst);
        while !own.1.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        Ok(Arc::strong_count(&held) as i64)
    });
    let registration = implement(&dispatcher, "f", DispatchKey::Cpu, kernel).unwrap();
    let operator = dispatcher.find("test::f").unwrap();
    let thread = thread::spawn(move || operator.call_values(vec![cpu().into()]).unwrap());
    while !gate.0.load(Ordering::SeqCst) {
        thread::yield_now();
    }
    drop(registration);
    drop(implement(&dispatcher, "f", DispatchKey::Cpu, generation(3, &Arc::default())).unwrap());
    assert_eq!(Arc::strong_count(&state), 2, "the running kernel keeps its state");
    assert!(retired_tables() >= 1);
    gate.1.store(true, Ordering::SeqCst);
    assert_eq!(thread.join().unwrap(), [2.into()]);
    quiesce().unwrap();
    assert_eq!(Arc::strong_count(&state), 1);
}
