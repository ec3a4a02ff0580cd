//! The moment from which a handle is stale is one for everything that it answers.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use opgrid_core::{
    DispatchKey, Dispatcher, ErrorKind, Kernel, OperatorHandle, Registration, Returns, TypedHandle, including,
};

type Number = fn(i64) -> i64;

/// So many that taking the dispatcher down takes a while.
const OPERATORS: usize = 10_000;

fn filled() -> (Dispatcher, Registration) {
    let dispatcher = Dispatcher::new();
    let mut library = dispatcher.library("test");
    for place in 0..OPERATORS {
        library
            .define(&*format!("f{place}(int x) -> int"))
            .tag("core")
            .add(Kernel::function::<Number>(Ok).at(DispatchKey::CompositeExplicitAutograd));
    }
    let registration = library.finish().unwrap();
    (dispatcher, registration)
}

/// The questions that a handle answers, each with whether the answer is that the operator is there.
fn questions(operator: &OperatorHandle, typed: &TypedHandle<Number>) -> Vec<(&'static str, bool)> {
    let is_there = |result: opgrid_core::Result<()>| match result {
        Ok(()) => true,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Stale, "{error}");
            false
        }
    };
    let cpu = DispatchKey::Cpu.key_set();
    let boxed = |call: &dyn Fn(&mut Returns) -> opgrid_core::Result<()>| is_there(call(&mut Returns::new()));
    vec![
        ("schema", is_there(operator.schema().map(drop))),
        ("typed call", is_there(typed.call((1,)).map(drop))),
        ("typed redispatch", is_there(typed.redispatch(cpu, (1,)).map(drop))),
        ("find_schema", operator.find_schema().is_some()),
        ("boxed call", boxed(&|returns| operator.call_boxed(&[1.into()], returns))),
        ("has_schema", operator.has_schema()),
        ("boxed redispatch", boxed(&|returns| operator.redispatch_boxed(cpu, &[1.into()], returns))),
        ("tags", !operator.tags().is_empty()),
        ("values", is_there(operator.call_values(vec![1.into()]).map(drop))),
        ("bind", is_there(operator.bind(vec![1.into()], Vec::new()).map(drop))),
        ("has_kernel_for", operator.has_kernel_for(DispatchKey::CompositeExplicitAutograd)),
        ("typed", is_there(operator.typed::<Number>().map(drop))),
        ("computed", is_there(operator.has_computed_kernel_for(DispatchKey::Cpu).map(drop))),
        ("state", is_there(operator.dump_state().map(drop))),
        ("table", is_there(operator.dump_computed_table().map(drop))),
        ("held", is_there(operator.held_kernel(DispatchKey::Cpu).map(drop))),
        ("table_bytes", operator.table_bytes() > 0),
        ("typed call, again", including(DispatchKey::Cpu, || is_there(typed.call((1,)).map(drop)))),
    ]
}

/// Asks one question on each of two threads until the answer is that the operator is gone, while `end` makes it go; then
/// every other answer has to be the same.
fn goes_at_once(place: usize, end: impl FnOnce(Dispatcher, Registration)) {
    let (dispatcher, registration) = filled();
    let operator = dispatcher.find(&format!("test::f{place}")).unwrap();
    let typed = operator.typed::<Number>().unwrap();
    assert!(questions(&operator, &typed).iter().all(|(_, is_there)| *is_there));
    let ready = AtomicU32::new(0);
    let by_call = || typed.call((1,)).is_ok();
    let by_schema = || operator.has_schema();
    let asked: [(&str, &(dyn Fn() -> bool + Sync)); 2] = [("a call", &by_call), ("has_schema", &by_schema)];
    thread::scope(|scope| {
        for (first, is_there) in asked {
            let (operator, typed, ready) = (&operator, &typed, &ready);
            scope.spawn(move || {
                ready.fetch_add(1, Ordering::SeqCst);
                while is_there() {}
                for (question, is_there) in questions(operator, typed) {
                    assert!(!is_there, "{question} found the operator after {first} did not");
                }
            });
        }
        while ready.load(Ordering::SeqCst) < 2 {
            thread::yield_now();
        }
        end(dispatcher, registration);
    });
}

#[test]
fn a_handle_whose_dispatcher_ends_is_stale_at_once() {
    for round in 0..8 {
        goes_at_once(if round % 2 == 0 { OPERATORS - 1 } else { 0 }, |dispatcher, registration| {
            registration.keep();
            drop(dispatcher);
        });
    }
}

#[test]
fn a_handle_whose_operator_is_dropped_is_stale_at_once() {
    for round in 0..4 {
        goes_at_once(if round % 2 == 0 { OPERATORS - 1 } else { 0 }, |_dispatcher, registration| {
            drop(registration)
        });
    }
}
