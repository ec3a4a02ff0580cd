//! What lives how long: registrations, handles, kernels' state, dispatchers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use opgrid_core::schema::FunctionSchema;
use opgrid_core::{
    AnyTensor as Tensor, DispatchKey, Dispatcher, ErrorKind, Kernel, Library, Listener, OperatorHandle,
    Registration, Returns, Value, ValueRef, operator, quiesce,
};

use crate::common::{cpu, define, implement, nothing};

const KEY: DispatchKey = DispatchKey::CompositeExplicitAutograd;

/// A kernel of `() -> int`.
fn number(number: i64) -> Kernel {
    Kernel::closure::<fn() -> i64>(move |()| Ok(number))
}

/// Everything that can be seen of a dispatcher.
fn picture(dispatcher: &Dispatcher) -> String {
    let one = |operator: &OperatorHandle| {
        operator.dump_state().unwrap()
            + &operator.dump_computed_table().unwrap()
            + &format!("{:?}", operator.tags())
    };
    dispatcher.registrations_for(None).iter().map(one).collect()
}

#[test]
fn a_failed_library_leaves_no_trace() {
    /// What a library asks for, and part of its error.
    type Case = (&'static str, fn(&Dispatcher) -> Library, &'static str);
    let cases: &[Case] = &[
        ("namespace", |d| d.library("taken"), "only a single library"),
        (
            "definition after kernels and definitions",
            |d| {
                let mut library = d.fragment("taken");
                library.define("new() -> int").add(number(1));
                library.define("other() -> int").tag("tag");
                library.define("there() -> int");
                library
            },
            "multiple times",
        ),
        (
            "second signature of a new operator",
            |d| {
                let mut library = d.fragment("taken");
                library.implement("new").add(number(1).at(DispatchKey::Cpu));
                library.implement("new").add(Kernel::function::<fn(i64) -> i64>(Ok).at(DispatchKey::Cuda));
                library
            },
            "mismatch in kernel signatures",
        ),
        (
            "signature that does not fit, after the first kernel pinned one",
            |d| {
                let mut library = d.fragment("taken");
                library.implement("bare").add(Kernel::function::<fn(i64) -> i64>(Ok).at(DispatchKey::Cuda));
                library.implement("there").add(number(3).at(DispatchKey::Cuda));
                library.implement("there").add(Kernel::function::<fn(i64) -> i64>(Ok).at(DispatchKey::Xpu));
                library
            },
            "doesn't match the expected function schema",
        ),
        (
            "cell that is taken",
            |d| {
                let mut library = d.implementations("taken", DispatchKey::Cpu);
                library.implement("new").add(number(1));
                library.implement("there").add(number(1));
                library
            },
            "already has a kernel",
        ),
        (
            "fallback that is taken, in the middle of an alias",
            |d| {
                let mut library = d.implementations("_", None);
                library.fallback(nothing().at(DispatchKey::Cuda));
                library.fallback(nothing().at(DispatchKey::Autograd));
                library
            },
            "multiple backend fallbacks",
        ),
        (
            "key that never runs",
            |d| {
                let mut library = d.fragment("taken");
                library.define("new() -> int").add(number(1).at(DispatchKey::Dense));
                library
            },
            "would never run",
        ),
    ];
    let dispatcher = Dispatcher::bare();
    let mut library = dispatcher.library("taken");
    library.define("there() -> int").add(number(1).at(DispatchKey::Cpu));
    library.implement("bare").add(nothing().at(DispatchKey::Cpu));
    let _there = library.finish().unwrap();
    let mut library = dispatcher.implementations("_", DispatchKey::AutogradXpu);
    library.fallback(nothing());
    let _fallback = library.finish().unwrap();
    let before = picture(&dispatcher);
    for (name, library, message) in cases {
        let error = library(&dispatcher).finish().unwrap_err();
        assert!(error.to_string().contains(message), "{name}: {error}");
        assert_eq!(picture(&dispatcher), before, "{name}");
        dispatcher.check_invariants().unwrap();
        assert!(dispatcher.find_with_or_without_schema("taken::new").is_err(), "{name}");
    }
    // No failed kernel has pinned its signature.
    let _free = {
        let mut library = dispatcher.fragment("taken");
        library.implement("bare").add(Kernel::function::<fn(f64) -> f64>(Ok).at(DispatchKey::Cuda));
        library.define("new(float x) -> float").add(Kernel::function::<fn(f64) -> f64>(Ok));
        library.finish().unwrap()
    };
    drop(_free);
    assert_eq!(picture(&dispatcher), before);
}

#[test]
fn registrations_may_be_dropped_in_any_order() {
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    for order in orders {
        let dispatcher = Dispatcher::new();
        dispatcher.on_override(|_| ());
        let _defined = define(&dispatcher, "f() -> int").unwrap();
        let operator = dispatcher.find("test::f").unwrap();
        let mut live: Vec<_> =
            (0..3).map(|n| Some(implement(&dispatcher, "f", KEY, number(n)).unwrap())).collect();
        for place in order {
            live[place] = None;
            let newest = live.iter().rposition(Option::is_some);
            let found = operator.call_values(vec![]);
            match newest {
                Some(newest) => assert_eq!(found.unwrap(), [Value::from(newest as i64)]),
                None => assert_eq!(found.unwrap_err().kind(), ErrorKind::MissingKernel),
            }
            operator.check_invariants().unwrap();
        }
    }
}

operator! {
    pub Gone = "lifetimes::gone(Tensor x) -> int";
    pub GoneAsFloat = "lifetimes::gone(Tensor x) -> float";
}

#[test]
fn handles_of_operators_that_are_gone_stay_stale_and_overloads_find_the_new_one() {
    let global = Dispatcher::global();
    let mut library = global.fragment("lifetimes");
    library.define(Gone).closure(DispatchKey::Cpu, |_| Ok(1));
    let first = library.finish().unwrap();
    let old = global.find("lifetimes::gone").unwrap();
    let typed = old.typed::<fn(Tensor) -> i64>().unwrap();
    assert_eq!(Gone.call(&cpu()).unwrap(), 1);
    assert_eq!(GoneAsFloat.call(&cpu()).unwrap_err().kind(), ErrorKind::Signature);
    drop(first);
    assert_eq!(Gone.call(&cpu()).unwrap_err().kind(), ErrorKind::Unknown);
    // Another signature under the same name.
    let mut library = global.fragment("lifetimes");
    library.define(GoneAsFloat).closure(DispatchKey::Cpu, |_| Ok(2.5));
    let _second = library.finish().unwrap();
    assert_eq!(GoneAsFloat.call(&cpu()).unwrap(), 2.5);
    assert_eq!(Gone.call(&cpu()).unwrap_err().kind(), ErrorKind::Signature);
    assert_ne!(global.find("lifetimes::gone").unwrap(), old);
    assert_stale(&old);
    assert_eq!(typed.call((&cpu(),)).unwrap_err().kind(), ErrorKind::Stale);
    assert_eq!(typed.redispatch(DispatchKey::Cpu.key_set(), (&cpu(),)).unwrap_err().kind(), ErrorKind::Stale);
}

fn assert_stale(operator: &OperatorHandle) {
    let x = cpu();
    let args = [ValueRef::from(&x)];
    let errors = [
        operator.call_boxed(&args, &mut Returns::new()).unwrap_err(),
        operator.redispatch_boxed(DispatchKey::Cpu.key_set(), &args, &mut Returns::new()).unwrap_err(),
        operator.call_boxed_for_key(DispatchKey::Cpu, &args, &mut Returns::new()).unwrap_err(),
        operator.schema().unwrap_err(),
        operator.typed::<fn(Tensor) -> i64>().unwrap_err(),
        operator.explain(&args).unwrap_err(),
        operator.dump_state().unwrap_err(),
        operator.check_invariants().unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::Stale, "{error}");
    }
    assert!(!operator.has_schema() && operator.tags().is_empty() && operator.table_bytes() == 0);
}

#[test]
fn a_dispatcher_may_end_before_its_handles_and_registrations() {
    let dispatcher = Dispatcher::new();
    let defined = define(&dispatcher, "f(Tensor x) -> int").unwrap();
    let kernel = Kernel::closure::<fn(Tensor) -> i64>(|_| Ok(1));
    let implemented = implement(&dispatcher, "f", DispatchKey::Cpu, kernel).unwrap();
    let operator = dispatcher.find("test::f").unwrap();
    let typed = operator.typed::<fn(Tensor) -> i64>().unwrap();
    assert_eq!(typed.call((&cpu(),)).unwrap(), 1);
    drop(dispatcher);
    assert_stale(&operator);
    assert_eq!(typed.call((&cpu(),)).unwrap_err().kind(), ErrorKind::Stale);
    drop((defined, implemented));
}

#[test]
fn a_dispatcher_may_end_while_its_kernel_runs() {
    let slot: Arc<Mutex<Option<Dispatcher>>> = Arc::default();
    let dispatcher = Dispatcher::new();
    let (own, state) = (slot.clone(), Arc::new(()));
    let alive = state.clone();
    let _defined = define(&dispatcher, "f(Tensor x) -> int").unwrap();
    let kernel = Kernel::boxed(move |call| {
        drop(own.lock().unwrap().take());
        assert_eq!(Arc::strong_count(&alive), 2);
        assert_eq!(call.operator().name().to_string(), "test::f");
        assert!(Dispatcher::current().find("test::f").is_ok());
        call.push(1);
        Ok(())
    });
    implement(&dispatcher, "f", DispatchKey::Cpu, kernel).unwrap().keep();
    let operator = dispatcher.find("test::f").unwrap();
    *slot.lock().unwrap() = Some(dispatcher);
    assert_eq!(operator.call_values(vec![cpu().into()]).unwrap(), [Value::from(1)]);
    assert_stale(&operator);
    quiesce().unwrap();
    assert_eq!(Arc::strong_count(&state), 1);
}

#[test]
fn a_kernel_may_drop_its_own_registration_and_goes_on_with_its_state() {
    let dispatcher = Dispatcher::new();
    let _defined = define(&dispatcher, "f(Tensor x) -> int").unwrap();
    let slot: Arc<Mutex<Option<Registration>>> = Arc::default();
    let (own, state) = (slot.clone(), Arc::new(7));
    let alive = state.clone();
    let kernel = Kernel::boxed(move |call| {
        drop(own.lock().unwrap().take());
        assert_eq!(Arc::strong_count(&alive), 2);
        // Another call does not reach it any more.
        assert_eq!(call.call().unwrap_err().kind(), ErrorKind::MissingKernel);
        call.push(*alive);
        Ok(())
    });
    *slot.lock().unwrap() = Some(implement(&dispatcher, "f", DispatchKey::Cpu, kernel).unwrap());
    let operator = dispatcher.find("test::f").unwrap();
    assert_eq!(operator.call_values(vec![cpu().into()]).unwrap(), [Value::from(7)]);
    assert_eq!(operator.call_values(vec![cpu().into()]).unwrap_err().kind(), ErrorKind::MissingKernel);
    quiesce().unwrap();
    assert_eq!(Arc::strong_count(&state), 1);
}

#[test]
fn a_kernel_may_register_define_and_override_while_it_runs() {
    let dispatcher = Dispatcher::new();
    dispatcher.on_override(|_| ());
    let _defined = define(&dispatcher, "f() -> int").unwrap();
    let kept: Arc<Mutex<Vec<Registration>>> = Arc::default();
    let (own, keep) = (dispatcher.clone(), kept.clone());
    let grow = Kernel::boxed(move |call| {
        let mut kept = keep.lock().unwrap();
        kept.push(define(&own, "g() -> int")?);
        kept.push(implement(&own, "g", KEY, number(4))?);
        kept.push(implement(&own, "f", KEY, number(5))?);
        call.push(own.find("test::g")?.call_values(vec![])?.remove(0));
        Ok(())
    });
    kept.lock().unwrap().push(implement(&dispatcher, "f", KEY, grow).unwrap());
    let operator = dispatcher.find("test::f").unwrap();
    assert_eq!(operator.call_values(vec![]).unwrap(), [Value::from(4)]);
    assert_eq!(operator.call_values(vec![]).unwrap(), [Value::from(5)]);
    kept.lock().unwrap().clear();
    dispatcher.check_invariants().unwrap();
}

/// Uses a dispatcher when it is dropped.
struct AtTheEnd(Dispatcher, Arc<AtomicUsize>);

impl AtTheEnd {
    fn new(dispatcher: &Dispatcher, count: &Arc<AtomicUsize>) -> Self {
        Self(dispatcher.clone(), count.clone())
    }

    /// Takes every lock of the dispatcher that there is.
    fn check(&self) {
        self.0.on_override(|_| ());
        let end = define(&self.0, &format!("end{}() -> ()", self.1.load(Ordering::Relaxed))).unwrap();
        let listening = self.0.listen(Arc::new(Nobody));
        drop((end, listening));
        opgrid_core::record_calls(|| self.0.find("test::nothing").unwrap_err());
        self.1.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for AtTheEnd {
    fn drop(&mut self) {
        self.check();
    }
}

struct Nobody;
impl Listener for Nobody {
    fn defined(&self, _: &OperatorHandle, _: &FunctionSchema) {}
    fn dropped(&self, _: &OperatorHandle, _: &FunctionSchema) {}
}

impl Listener for AtTheEnd {
    fn defined(&self, _: &OperatorHandle, schema: &FunctionSchema) {
        if schema.name.name.ends_with("::seen") {
            self.check();
        }
    }
    fn dropped(&self, operator: &OperatorHandle, schema: &FunctionSchema) {
        self.defined(operator, schema);
    }
}

/// Runs `body` on a thread of its own and gives up on it after ten seconds.
fn without_deadlock(body: impl FnOnce() + Send + 'static) {
    let (done, waiting) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        body();
        done.send(()).unwrap();
    });
    match waiting.recv_timeout(Duration::from_secs(10)) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("deadlock"),
        _ => thread.join().unwrap(),
    }
}

#[test]
fn destructors_and_listeners_run_without_a_lock() {
    without_deadlock(|| {
        let (dispatcher, count) = (Dispatcher::new(), Arc::new(AtomicUsize::new(0)));
        let _defined = define(&dispatcher, "f() -> ()").unwrap();
        let kernel = || {
            let state = AtTheEnd::new(&dispatcher, &count);
            Kernel::boxed(move |_| {
                let _state = &state;
                Ok(())
            })
        };
        let ended = |expected: usize| assert_eq!(count.swap(0, Ordering::Relaxed), expected);
        // Never registered, refused, and registered and dropped.
        drop(kernel());
        ended(1);
        let registered = implement(&dispatcher, "f", KEY, kernel()).unwrap();
        let mut library = dispatcher.implementations("test", KEY);
        library.implement("f").add(kernel());
        library.implement("g").add(kernel());
        assert!(library.finish().is_err());
        ended(2);
        drop(registered);
        quiesce().unwrap();
        ended(1);
        // A fallback.
        let mut library = dispatcher.implementations("_", DispatchKey::Cuda);
        library.fallback(kernel());
        drop(library.finish().unwrap());
        quiesce().unwrap();
        ended(1);
        // Handlers and listeners.
        let handler = AtTheEnd::new(&dispatcher, &count);
        dispatcher.on_override(move |_| {
            let _handler = &handler;
        });
        dispatcher.on_override(|_| ());
        ended(1);
        let listening = dispatcher.listen(Arc::new(AtTheEnd::new(&dispatcher, &count)));
        drop(define(&dispatcher, "seen() -> ()").unwrap());
        ended(2);
        drop(listening);
        ended(1);
    });
}

#[test]
fn overrides_are_reported_without_a_lock_and_name_the_kernel_really_replaced() {
    without_deadlock(|| {
        let dispatcher = Dispatcher::new();
        let _defined = define(&dispatcher, "f() -> int").unwrap();
        let seen: Arc<Mutex<Vec<(String, String)>>> = Arc::default();
        let (own, list) = (dispatcher.clone(), seen.clone());
        dispatcher.on_override(move |replaced| {
            let _found = own.find("test::f").unwrap().call_values(vec![]).unwrap();
            list.lock().unwrap().push((replaced.previous.clone(), replaced.new.clone()));
        });
        let add = |key, text: &str| implement(&dispatcher, "f", key, number(1).describe(text)).unwrap();
        let _a = add(KEY, "a");
        let b = add(KEY, "b");
        drop(b);
        let _c = add(KEY, "c");
        let _meta = (add(DispatchKey::Meta, "m"), add(DispatchKey::Meta, "n"));
        let expected = [("a", "b"), ("a", "c")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(*seen.lock().unwrap(), expected);
        // The handler owns the dispatcher that owns it: without this, neither would ever be freed.
        dispatcher.on_override(|_| ());
        assert_eq!(Arc::strong_count(&seen), 1);
    });
}

#[test]
fn a_new_definition_is_checked_against_old_signatures() {
    let dispatcher = Dispatcher::new();
    let kept = implement(&dispatcher, "f", DispatchKey::Cuda, nothing()).unwrap();
    let first = define(&dispatcher, "f(Tensor x) -> Tensor").unwrap();
    let operator = dispatcher.find("test::f").unwrap();
    type Old = fn(Tensor) -> Tensor;
    let _typed = operator.typed::<Old>().unwrap();
    drop(first);
    let _second = define(&dispatcher, "f(int x) -> int").unwrap();
    assert_eq!(dispatcher.find("test::f").unwrap(), operator);
    let kernel = Kernel::function::<Old>(|x| Ok(x.clone()));
    let error = implement(&dispatcher, "f", DispatchKey::Cpu, kernel).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Signature);
    assert_eq!(operator.typed::<Old>().unwrap_err().kind(), ErrorKind::Signature);
    drop(kept);
}

#[test]
fn state_is_freed_exactly_once() {
    static FREED: AtomicUsize = AtomicUsize::new(0);
    struct State;
    impl Drop for State {
        fn drop(&mut self) {
            FREED.fetch_add(1, Ordering::Relaxed);
        }
    }
    let dispatcher = Dispatcher::new();
    dispatcher.on_override(|_| ());
    let _defined = define(&dispatcher, "f() -> ()").unwrap();
    let operator = dispatcher.find("test::f").unwrap();
    for round in 0..50 {
        let state = State;
        let kernel = Kernel::closure::<fn()>(move |()| {
            let _state = &state;
            Ok(())
        });
        let registration = implement(&dispatcher, "f", KEY, kernel).unwrap();
        operator.call_values(vec![]).unwrap();
        drop(registration);
        quiesce().unwrap();
        assert_eq!(FREED.load(Ordering::Relaxed), round + 1);
    }
}

#[test]
fn dropping_a_fallback_never_makes_a_table_too_large() {
    let dispatcher = Dispatcher::bare();
    dispatcher.on_override(|_| ());
    let columns: Vec<_> =
        opgrid_core::torch_columns().into_iter().filter(|key| *key != DispatchKey::Undefined).collect();
    let mut library = dispatcher.implementations("_", None);
    for key in &columns {
        library.fallback(nothing().at(*key));
    }
    let _fallbacks = library.finish().unwrap();
    let mut library = dispatcher.implementations("_", None);
    library.allow_override();
    library.fallback(nothing().at(DispatchKey::CompositeExplicitAutograd));
    library.fallback(nothing().at(DispatchKey::Autograd));
    let over = library.finish().unwrap();
    let _defined = define(&dispatcher, "f() -> ()").unwrap();
    let mut library = dispatcher.implementations("test", None);
    for key in &columns {
        library.implement("f").add(nothing().at(*key));
    }
    let _kernels = library.finish().unwrap();
    drop(over);
    dispatcher.check_invariants().unwrap();
}
