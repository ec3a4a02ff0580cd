//! What calls see of a library that is registered meanwhile: of each operator the old state or the new one, never a
//! mixture, and all of it once `finish` has returned.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread;

use opgrid_core::{DispatchKey, Dispatcher, Kernel, including};

type Number = fn(i64) -> i64;

const OPERATORS: usize = 60;
const GENERATIONS: i64 = 150;

/// A layer that answers its generation if the kernel below has the same, else -1.
fn layer(generation: i64) -> Kernel {
    Kernel::layer::<Number>(move |next, args| {
        Ok(if next.call(args)? == generation { generation } else { -1 })
    })
}

fn library(dispatcher: &Dispatcher, generation: i64) -> opgrid_core::Registration {
    let mut library = dispatcher.implementations("test", None);
    library.allow_override();
    for place in 0..OPERATORS {
        library
            .implement(&*format!("f{place}"))
            .add(
                Kernel::closure::<Number>(move |_| Ok(generation)).at(DispatchKey::CompositeExplicitAutograd),
            )
            .add(layer(generation).at(DispatchKey::Tracer));
    }
    library.finish().unwrap()
}

#[test]
fn a_call_sees_one_state_of_each_operator_and_all_of_a_library_that_is_finished() {
    for dispatcher in [Dispatcher::new(), Dispatcher::global().clone()] {
        dispatcher.on_override(|_| ());
        let mut names = dispatcher.fragment("test");
        for place in 0..OPERATORS {
            names.define(&*format!("f{place}(int x) -> int"));
        }
        let _defined = names.finish().unwrap();
        let mut registered = library(&dispatcher, 0);
        let (finished, done) = (AtomicI64::new(0), AtomicBool::new(false));
        let operators: Vec<_> = (0..OPERATORS)
            .map(|place| dispatcher.find(&format!("test::f{place}")).unwrap().typed::<Number>().unwrap())
            .collect();
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        let least = finished.load(Ordering::SeqCst);
                        for (place, operator) in operators.iter().enumerate().rev() {
                            let found = including(DispatchKey::Tracer, || operator.call((0,))).unwrap();
                            assert_ne!(found, -1, "a call of f{place} saw two states");
                            assert!(
                                found >= least,
                                "a call of f{place} saw generation {found} after {least}"
                            );
                        }
                    }
                });
            }
            for generation in 1..=GENERATIONS {
                let next = library(&dispatcher, generation);
                finished.store(generation, Ordering::SeqCst);
                drop(std::mem::replace(&mut registered, next));
            }
            done.store(true, Ordering::Relaxed);
        });
    }
}

#[test]
fn a_registration_that_was_dropped_is_gone_for_calls_that_begin_afterwards() {
    let dispatcher = Dispatcher::new();
    let mut names = dispatcher.fragment("test");
    names.define("f(int x) -> int");
    let _defined = names.finish().unwrap();
    let operator = dispatcher.find("test::f").unwrap().typed::<Number>().unwrap();
    let dropped = AtomicI64::new(-1);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let gone = dropped.load(Ordering::SeqCst);
                    if let Ok(found) = operator.call((0,)) {
                        assert!(found > gone, "a call saw generation {found} after it was dropped");
                    }
                }
            });
        }
        for generation in 0..2_000 {
            let mut library = dispatcher.implementations("test", DispatchKey::CompositeExplicitAutograd);
            library.implement("f").add(Kernel::closure::<Number>(move |_| Ok(generation)));
            drop(library.finish().unwrap());
            dropped.store(generation, Ordering::SeqCst);
        }
        done.store(true, Ordering::Relaxed);
    });
}
