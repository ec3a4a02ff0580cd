//! Calls from destructors of thread-locals, after the thread's own have gone.

use std::cell::Cell;
use std::sync::mpsc::{Sender, channel};

use opgrid_core::{
    DispatchKey, Dispatcher, Kernel, OperatorHandle, Provider, Registration, SlowPath, record_calls, stats,
    strict,
};

type F = fn(i64) -> i64;

/// An operator with two providers, the first of which gives 1 and the second one 2.
fn define(dispatcher: &Dispatcher) -> (Registration, OperatorHandle) {
    let mut library = dispatcher.library("destructors");
    let key = DispatchKey::CompositeExplicitAutograd;
    library
        .define("g(int x) -> int")
        .add(Provider::<F>::function("first", |_| Ok(1)).at(DispatchKey::BackendSelect))
        .add(Provider::<F>::function("second", |_| Ok(2)).at(DispatchKey::BackendSelect));
    library.define("slow(int x) -> int").add(
        Kernel::boxed(|call| {
            call.push(3);
            Ok(())
        })
        .at(key),
    );
    (library.finish().unwrap(), dispatcher.find("destructors::g").unwrap())
}

/// Runs when the thread ends.
struct Late(Sender<(usize, i64, i64, bool)>);

impl Drop for Late {
    fn drop(&mut self) {
        let dispatcher = Dispatcher::new();
        let (_registration, g) = define(&dispatcher);
        let call = || g.call_values(vec![7.into()]).unwrap()[0].borrow().as_int().unwrap();
        let (plain, steps) = record_calls(call);
        let preferred = dispatcher.prefer("destructors::g", &["second"], call).unwrap();
        assert_eq!(call(), plain, "the preference ends with its scope");
        let slow = dispatcher.find("destructors::slow").unwrap().typed::<F>().unwrap();
        let refused = strict(|| slow.call((1,))).is_err();
        assert_eq!(slow.call((1,)).unwrap(), 3, "strictness ends with its scope");
        assert!(stats().total(SlowPath::BOXED_ADAPTATION) > 0);
        let _ = self.0.send((steps.len(), plain, preferred, refused));
    }
}

thread_local! {
    static FIRST: Cell<Option<Late>> = const { Cell::new(None) };
    static LAST: Cell<Option<Late>> = const { Cell::new(None) };
}

/// Thread-locals are dropped in the order of their first use: one is dropped before those of the dispatcher, and one
/// after all of them.
#[test]
fn everything_that_is_scoped_works_while_a_thread_ends() {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        FIRST.set(Some(Late(sender.clone())));
        let dispatcher = Dispatcher::new();
        let (_registration, g) = define(&dispatcher);
        let _ = record_calls(|| g.call_values(vec![1.into()]));
        dispatcher.prefer("destructors::g", &["second"], || ()).unwrap();
        strict(|| ());
        LAST.set(Some(Late(sender)));
    })
    .join()
    .unwrap();
    let told: Vec<_> = receiver.iter().collect();
    assert_eq!(told, [(1, 1, 2, true), (1, 1, 2, true)]);
}
