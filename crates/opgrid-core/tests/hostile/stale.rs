//! The moment from which a handle is stale is one for everything that it answers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use opgrid_core::{
    DispatchKey, Dispatcher, ErrorKind, Kernel, OperatorHandle, Registration, Returns, TypedHandle, including,
};

type Number = fn(i64) -> i64;

/// So many that taking the dispatcher down takes a while.
const OPERATORS: usize = 3_000;

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
        ("typed call", is_there(typed.call((1,)).map(drop))),
        ("schema", is_there(operator.schema().map(drop))),
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

/// Asks until the operator is gone, on two threads, while `end` makes it go.
fn goes_at_once(place: usize, end: impl FnOnce(Dispatcher, Registration)) {
    let (dispatcher, registration) = filled();
    let operator = dispatcher.find(&format!("test::f{place}")).unwrap();
    let typed = operator.typed::<Number>().unwrap();
    let ready = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut gone: Option<&str> = None;
                loop {
                    for (question, is_there) in questions(&operator, &typed) {
                        match (gone, is_there) {
                            (None, false) => gone = Some(question),
                            (Some(first), true) => {
                                panic!("{question} found the operator after {first} did not")
                            }
                            _ => {}
                        }
                    }
                    ready.store(true, Ordering::SeqCst);
                    if gone.is_some() {
                        break;
                    }
                }
            });
        }
        while !ready.load(Ordering::SeqCst) {
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
