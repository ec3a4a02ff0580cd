//! Code of users around registrations: types of arguments, destructors and listeners that panic or call the
//! dispatcher, and calls that ask for what is not there.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use common::{cpu, define, implement, tensor};
use opgrid_core::schema::{FunctionSchema, Type};
use opgrid_core::{
    AnyTensor as Tensor, DispatchKey, Dispatcher, ErrorKind, Kernel, Listener, OperatorHandle, Registration,
    Result, Value, ValueRef, ValueType, quiesce,
};

/// Lets one test of this file run at a time: what one retires may be freed, with a panic, by another's registration.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What `Odd::schema_type` does before it answers.
static BEFORE_TYPE: Mutex<Option<fn()>> = Mutex::new(None);

/// An integer whose type in schemas comes from code of ours.
#[derive(Clone)]
struct Odd(i64);

impl ValueType for Odd {
    type Concrete = Self;

    fn schema_type() -> Type {
        let before = *BEFORE_TYPE.lock().unwrap();
        if let Some(before) = before {
            before();
        }
        Type::Int
    }

    fn into_value(self) -> Value {
        self.0.into()
    }

    fn from_value(value: ValueRef<'_>) -> Result<Self> {
        <i64 as ValueType>::from_value(value).map(Self)
    }
}

/// How many there are.
fn count(odds: &[Odd]) -> Result<i64> {
    Ok(odds.len() as i64)
}

#[test]
fn types_of_arguments_are_asked_for_without_a_lock() {
    let _alone = alone();
    let dispatcher = Dispatcher::global();
    let _defined = define(dispatcher, "odd(int[] x) -> int").unwrap();
    let kernel = || Kernel::function::<fn(Vec<Odd>) -> i64>(count);
    let typed = || dispatcher.find("test::odd").unwrap().typed::<fn(Vec<Odd>) -> i64>();

    *BEFORE_TYPE.lock().unwrap() = Some(|| panic!("no type"));
    assert!(
        catch_unwind(AssertUnwindSafe(|| implement(dispatcher, "odd", DispatchKey::Cpu, kernel()))).is_err()
    );
    assert!(catch_unwind(AssertUnwindSafe(typed)).is_err());
    dispatcher.check_invariants().unwrap();
    assert!(!dispatcher.find("test::odd").unwrap().has_kernel_for(DispatchKey::Cpu));

    // It may register and look things up itself.
    *BEFORE_TYPE.lock().unwrap() = Some(|| {
        drop(define(Dispatcher::global(), "while_asked() -> ()").unwrap());
        Dispatcher::global().find("test::odd").unwrap();
    });
    let key = DispatchKey::CompositeExplicitAutograd;
    let _kernel = implement(dispatcher, "odd", key, kernel()).unwrap();
    assert_eq!(typed().unwrap().call((&[Odd(5), Odd(7)],)).unwrap(), 2);

    // So it may where a typed handle is the first to use the signature.
    let _two = define(dispatcher, "odd.two(int[] x, int[] y) -> int").unwrap();
    let two = dispatcher.find("test::odd.two").unwrap();
    two.typed::<fn(Vec<Odd>, Vec<Odd>) -> i64>().unwrap();

    // It is asked once for each signature.
    *BEFORE_TYPE.lock().unwrap() = Some(|| panic!("asked again"));
    drop(define(dispatcher, "odd.again(int[] x) -> int").unwrap());
    let _again = implement(dispatcher, "odd", DispatchKey::Cuda, kernel()).unwrap();
    *BEFORE_TYPE.lock().unwrap() = None;
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("a kernel's state cannot be dropped");
    }
}

/// Defines an operator with a kernel whose state cannot be dropped.
fn with_bomb(dispatcher: &Dispatcher, name: &str) -> Registration {
    let bomb = Bomb;
    let mut library = dispatcher.fragment("test");
    library.define(&*format!("{name}() -> ()")).add(Kernel::boxed(move |_| {
        let _bomb = &bomb;
        Ok(())
    }));
    library.finish().unwrap()
}

#[test]
fn a_destructor_that_panics_does_not_stop_the_undo() {
    let _alone = alone();
    let dispatchers = [Dispatcher::new(), Dispatcher::new()];
    let log = Arc::new(Log::default());
    let _listening = dispatchers[0].listen(log.clone());
    let mut all = Registration::empty();
    for name in ["one", "two", "three"] {
        for dispatcher in &dispatchers {
            all.join(with_bomb(dispatcher, name));
        }
    }
    let error = catch_unwind(AssertUnwindSafe(|| drop(all))).unwrap_err();
    assert_eq!(error.downcast_ref(), Some(&"a kernel's state cannot be dropped"));
    for dispatcher in &dispatchers {
        assert!(dispatcher.operators().is_empty());
        dispatcher.check_invariants().unwrap();
    }
    assert_eq!(
        log.taken(),
        ["+test::one", "+test::two", "+test::three", "-test::three", "-test::two", "-test::one"]
    );
    quiesce().unwrap();
}

#[test]
fn a_registration_is_undone_where_the_thread_unwinds() {
    let _alone = alone();
    let dispatcher = Dispatcher::new();
    let panic = catch_unwind(AssertUnwindSafe(|| {
        let _registration = with_bomb(&dispatcher, "one");
        panic!("something else");
    }));
    // The panic that was first goes on, and the process does not end.
    assert_eq!(panic.unwrap_err().downcast_ref(), Some(&"something else"));
    assert!(dispatcher.operators().is_empty());
}

/// Writes down what it hears, and panics once if it is told to.
#[derive(Default)]
struct Log {
    heard: Mutex<Vec<String>>,
    panics: AtomicBool,
}

impl Log {
    fn taken(&self) -> Vec<String> {
        std::mem::take(&mut *self.heard.lock().unwrap())
    }

    fn note(&self, sign: char, operator: &OperatorHandle) {
        self.heard.lock().unwrap().push(format!("{sign}{}", operator.name()));
        if self.panics.swap(false, Ordering::SeqCst) {
            panic!("the listener cannot go on");
        }
    }
}

impl Listener for Log {
    fn defined(&self, operator: &OperatorHandle, _: &FunctionSchema) {
        self.note('+', operator);
    }

    fn dropped(&self, operator: &OperatorHandle, _: &FunctionSchema) {
        self.note('-', operator);
    }
}

#[test]
fn a_library_whose_listener_panics_is_undone() {
    let _alone = alone();
    let dispatcher = Dispatcher::new();
    let (first, second) = (Arc::new(Log::default()), Arc::new(Log::default()));
    let _listening = [dispatcher.listen(first.clone()), dispatcher.listen(second.clone())];
    first.panics.store(true, Ordering::SeqCst);
    assert!(catch_unwind(AssertUnwindSafe(|| define(&dispatcher, "one() -> ()"))).is_err());
    assert!(dispatcher.operators().is_empty());
    for log in [first, second] {
        assert_eq!(log.taken(), ["+test::one", "-test::one"]);
    }
}

/// Lets an operator come and go on another thread while it is notified of the first one.
struct Busy(Dispatcher, AtomicBool);

impl Listener for Busy {
    fn defined(&self, _: &OperatorHandle, _: &FunctionSchema) {
        if !self.1.swap(true, Ordering::SeqCst) {
            let come_and_go = || drop(define(&self.0, "two() -> ()").unwrap());
            thread::scope(|scope| scope.spawn(come_and_go).join().unwrap());
        }
    }

    fn dropped(&self, _: &OperatorHandle, _: &FunctionSchema) {}
}

#[test]
fn events_come_in_the_order_of_registrations() {
    let _alone = alone();
    let dispatcher = Dispatcher::new();
    let busy = Arc::new(Busy(dispatcher.clone(), AtomicBool::new(false)));
    let log = Arc::new(Log::default());
    let _listening = [dispatcher.listen(busy), dispatcher.listen(log.clone())];
    let _one = define(&dispatcher, "one() -> ()").unwrap();
    assert_eq!(log.taken(), ["+test::one", "+test::two", "-test::two"]);
}

/// Counts what is there; complains when an operator comes twice or goes without having come.
#[derive(Default)]
struct Balance {
    there: Mutex<std::collections::HashSet<String>>,
    mistakes: AtomicUsize,
}

impl Balance {
    fn note(&self, fits: bool) {
        self.mistakes.fetch_add(usize::from(!fits), Ordering::SeqCst);
    }
}

impl Listener for Balance {
    fn defined(&self, operator: &OperatorHandle, _: &FunctionSchema) {
        self.note(self.there.lock().unwrap().insert(operator.name().to_string()));
    }

    fn dropped(&self, operator: &OperatorHandle, _: &FunctionSchema) {
        self.note(self.there.lock().unwrap().remove(&operator.name().to_string()));
    }
}

#[test]
fn listeners_hear_of_each_definition_once_and_in_order() {
    let _alone = alone();
    let dispatcher = Dispatcher::new();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let come_and_go = || {
            while !done.load(Ordering::SeqCst) {
                // Threads meet on the names: where one is refused, another has it.
                for name in ["one", "two", "three"] {
                    drop(define(&dispatcher, &format!("{name}() -> ()")));
                }
            }
        };
        let threads = [scope.spawn(come_and_go), scope.spawn(come_and_go)];
        for _ in 0..2_000 {
            let balance = Arc::new(Balance::default());
            drop(dispatcher.listen(balance.clone()));
            assert_eq!(balance.mistakes.load(Ordering::SeqCst), 0);
        }
        let balance = Arc::new(Balance::default());
        let listening = dispatcher.listen(balance.clone());
        done.store(true, Ordering::SeqCst);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let left = balance.there.lock().unwrap().clone();
        assert!(left.is_empty(), "{left:?}");
        assert_eq!(balance.mistakes.load(Ordering::SeqCst), 0);
        drop(listening);
    });
}

#[test]
fn calling_on_without_keys_is_an_error_and_no_endless_call() {
    let _alone = alone();
    let dispatcher = Dispatcher::new();
    let _defined = define(&dispatcher, "f(Tensor? x) -> int").unwrap();
    let key = DispatchKey::CompositeExplicitAutograd;
    let layer = Kernel::layer::<fn(Option<Tensor>) -> i64>(|next, args| next.call(args));
    for kernel in [layer, Kernel::boxed(|call| call.below())] {
        let _kernel = implement(&dispatcher, "f", key, kernel).unwrap();
        let f = dispatcher.find("test::f").unwrap();
        let error = f.typed::<fn(Option<Tensor>) -> i64>().unwrap().call((None,)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MissingKernel);
        assert!(error.to_string().contains("test::f") && error.to_string().contains("Undefined"), "{error}");
        let boxed = f.call_values(vec![opgrid_core::Value::None]).unwrap_err();
        assert_eq!(boxed.to_string(), error.to_string());
    }
}

#[test]
fn without_a_schema_no_boxed_argument_selects() {
    let _alone = alone();
    let dispatcher = Dispatcher::new();
    let answer = |answer: i64| {
        Kernel::boxed(move |call| {
            call.push(answer);
            Ok(())
        })
    };
    let _cpu = implement(&dispatcher, "bare", DispatchKey::Cpu, answer(1)).unwrap();
    let _any = implement(&dispatcher, "bare", DispatchKey::CompositeExplicitAutograd, answer(2)).unwrap();
    let bare = dispatcher.find_with_or_without_schema("test::bare").unwrap();
    let call = || bare.call_values(vec![cpu().into()]).unwrap();
    assert_eq!(call(), [opgrid_core::Value::from(2)]);
    let defined = define(&dispatcher, "bare(Tensor x) -> int").unwrap();
    assert_eq!(call(), [opgrid_core::Value::from(1)]);
    drop(defined);
    assert_eq!(
        bare.call_values(vec![tensor(DispatchKey::Cpu).into()]).unwrap(),
        [opgrid_core::Value::from(2)]
    );
}
