//! Listeners and observers that panic, also in what their panics carry, and that come twice.

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};

use opgrid_core::schema::FunctionSchema;
use opgrid_core::{
    DispatchKey, Dispatcher, Error, Kernel, Listener, Observer, OperatorHandle, Registration, Step, observe,
};

/// What a panic carries: dropping it panics again.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic_any(Bomb)
    }
}

/// Catches a panic and leaks what it carries.
fn panics(body: impl FnOnce()) -> bool {
    let caught = catch_unwind(AssertUnwindSafe(body));
    let panicked = caught.is_err();
    std::mem::forget(caught);
    panicked
}

struct Bad;

impl Listener for Bad {
    fn defined(&self, _: &OperatorHandle, _: &FunctionSchema) {
        panic_any(Bomb)
    }

    fn dropped(&self, _: &OperatorHandle, _: &FunctionSchema) {}
}

#[derive(Default)]
struct Good {
    defined: AtomicU32,
    dropped: AtomicU32,
}

impl Good {
    fn told(&self) -> (u32, u32) {
        (self.defined.load(SeqCst), self.dropped.load(SeqCst))
    }
}

impl Listener for Good {
    fn defined(&self, _: &OperatorHandle, _: &FunctionSchema) {
        self.defined.fetch_add(1, SeqCst);
    }

    fn dropped(&self, _: &OperatorHandle, _: &FunctionSchema) {
        self.dropped.fetch_add(1, SeqCst);
    }
}

fn define(dispatcher: &Dispatcher, name: &str) -> Registration {
    let mut library = dispatcher.fragment("listeners");
    library.define(format!("{name}(int x) -> int").as_str());
    library.finish().unwrap()
}

#[test]
fn a_panic_that_carries_another_one_silences_nobody() {
    let dispatcher = Dispatcher::new();
    let good = Arc::new(Good::default());
    let _good = dispatcher.listen(good.clone());
    let bad: Vec<_> = (0..3).map(|_| dispatcher.listen(Arc::new(Bad))).collect();
    assert!(panics(|| drop(define(&dispatcher, "f"))));
    // The definition was undone.
    assert_eq!(good.told(), (1, 1));
    drop(bad);
    let registration = define(&dispatcher, "g");
    assert_eq!(good.told(), (2, 1));
    drop(registration);
    assert_eq!(good.told(), (2, 2));
}

#[test]
fn a_listener_that_panics_while_it_is_told_of_what_is_there_does_not_stay() {
    let dispatcher = Dispatcher::new();
    let _first = define(&dispatcher, "first");
    assert!(panics(|| drop(dispatcher.listen(Arc::new(Bad)))));
    let _second = define(&dispatcher, "second");
    assert_eq!(dispatcher.operators().len(), 2);
}

#[test]
fn one_object_listens_twice_and_stops_once() {
    let (dispatcher, good) = (Dispatcher::new(), Arc::new(Good::default()));
    let one = dispatcher.listen(good.clone());
    drop(dispatcher.listen(good.clone()));
    let _first = define(&dispatcher, "first");
    assert_eq!(good.told(), (1, 0));
    drop(one);
    let _second = define(&dispatcher, "second");
    assert_eq!(good.told(), (1, 0));
}

/// Counts the calls of one operator; other tests of this process make calls, too.
struct Count {
    name: &'static str,
    calls: AtomicU32,
    panics: AtomicBool,
}

impl Count {
    fn new(name: &'static str) -> Arc<Self> {
        Arc::new(Self { name, calls: AtomicU32::new(0), panics: AtomicBool::new(false) })
    }
}

impl Observer for Count {
    fn before(&self, step: &Step) {
        if step.operator.name().to_string() == self.name {
            self.calls.fetch_add(1, SeqCst);
            if self.panics.load(SeqCst) {
                panic_any(Bomb)
            }
        }
    }

    fn after(&self, _: &Step, _: Option<&Error>) {}

    fn panicked(&self, step: &Step) {
        if step.operator.name().to_string() == self.name && self.panics.load(SeqCst) {
            panic_any(Bomb)
        }
    }
}

fn observed(dispatcher: &Dispatcher, name: &str) -> (Registration, OperatorHandle) {
    let mut library = dispatcher.fragment("listeners");
    let kernel = Kernel::boxed(|call| {
        call.push(1);
        Ok(())
    });
    library
        .define(format!("{name}() -> int").as_str())
        .add(kernel.at(DispatchKey::CompositeExplicitAutograd));
    let registration = library.finish().unwrap();
    (registration, dispatcher.find(&format!("listeners::{name}")).unwrap())
}

#[test]
fn one_object_observes_twice_and_stops_once() {
    let dispatcher = Dispatcher::new();
    let (_registration, operator) = observed(&dispatcher, "twice");
    let count = Count::new("listeners::twice");
    let one = observe(count.clone());
    drop(observe(count.clone()));
    operator.call_values(vec![]).unwrap();
    assert_eq!(count.calls.load(SeqCst), 1);
    drop(one);
    operator.call_values(vec![]).unwrap();
    assert_eq!(count.calls.load(SeqCst), 1);
}

#[test]
fn observers_that_panic_about_a_panic_leave_the_others_watching() {
    let dispatcher = Dispatcher::new();
    let (_registration, operator) = observed(&dispatcher, "bombs");
    let counts =
        [Count::new("listeners::bombs"), Count::new("listeners::bombs"), Count::new("listeners::bombs")];
    let observations = counts.clone().map(|count| observe(count));
    counts[1].panics.store(true, SeqCst);
    counts[2].panics.store(true, SeqCst);
    assert!(panics(|| drop(operator.call_values(vec![]))));
    counts[1].panics.store(false, SeqCst);
    counts[2].panics.store(false, SeqCst);
    operator.call_values(vec![]).unwrap();
    assert_eq!(counts.map(|count| count.calls.load(SeqCst)), [2, 2, 1]);
    drop(observations);
}
