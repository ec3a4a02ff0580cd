//! Destructors of kernels that register, call, drop and panic; kernels that drop themselves.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use opgrid_core::{
    DispatchKey, Dispatcher, ErrorKind, Kernel, Registration, including, quiesce, retired_tables,
};

use crate::child::printed_by;

static RUNS: AtomicU32 = AtomicU32::new(0);

/// Registers once more when it is dropped, and panics in between.
struct Again(Dispatcher);

impl Drop for Again {
    fn drop(&mut self) {
        let run = RUNS.fetch_add(1, Ordering::SeqCst);
        let name = format!("b::f{}", if run == 0 { 9 } else { run - 1 });
        assert_eq!(self.0.find(&name).unwrap_err().kind(), ErrorKind::Unknown);
        if run < 3 {
            let registration = register(&self.0, run);
            let found = self.0.find(&format!("b::f{run}")).unwrap();
            assert_eq!(found.call_values(vec![1.into()]).unwrap(), [1.into()]);
            drop(registration);
            assert_eq!(found.call_values(vec![1.into()]).unwrap_err().kind(), ErrorKind::Stale);
        }
        assert_eq!(quiesce().unwrap_err().kind(), ErrorKind::Registration);
        if run == 1 {
            panic!("in a destructor");
        }
    }
}

fn register(dispatcher: &Dispatcher, number: u32) -> Registration {
    let again = Again(dispatcher.clone());
    let mut library = dispatcher.fragment("b");
    let kernel = Kernel::boxed(move |call| {
        let _ = &again;
        call.push(1);
        Ok(())
    });
    library
        .define(&*format!("f{number}(int x) -> int"))
        .add(kernel.at(DispatchKey::CompositeExplicitAutograd));
    library.finish().unwrap()
}

#[test]
fn destructors_may_register_and_call_and_their_panics_arrive_whole() {
    // What one test retires another one may free, together with the panic.
    let test = "destructors::destructors_may_register_and_call_and_their_panics_arrive_whole";
    let printed = printed_by(test, || {
        let dispatcher = Dispatcher::global().clone();
        let registration = register(&dispatcher, 9);
        let panic = catch_unwind(AssertUnwindSafe(|| drop(registration))).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"in a destructor"));
        assert_eq!(RUNS.load(Ordering::SeqCst), 4);
        quiesce().unwrap();
        assert_eq!((retired_tables(), dispatcher.operators()), (0, Vec::new()));
        println!("all ran");
    });
    assert!(printed.contains("all ran"), "{printed}");
}

#[test]
fn a_layer_that_removes_itself_and_what_is_below_goes_on() {
    type Number = fn(i64) -> i64;
    let dispatcher = Dispatcher::global();
    let mut library = dispatcher.library("removes");
    library
        .define("f(int x) -> int")
        .add(Kernel::closure::<Number>(|(x,)| Ok(x + 1)).at(DispatchKey::CompositeExplicitAutograd));
    let base = Mutex::new(Some(library.finish().unwrap()));
    let own: Arc<Mutex<Option<Registration>>> = Arc::default();
    let (slot, text) = (own.clone(), String::from("captured"));
    let mut library = dispatcher.implementations("removes", DispatchKey::Tracer);
    library.implement("f").add(Kernel::layer::<Number>(move |next, args| {
        drop(slot.lock().unwrap().take());
        drop(base.lock().unwrap().take());
        assert_eq!(next.operator().schema().unwrap_err().kind(), ErrorKind::Stale);
        let others: Vec<_> = (0..100).map(|_| String::from("overwrite")).collect();
        let result = next.call(args);
        drop(others);
        assert_eq!(text, "captured");
        result
    }));
    *own.lock().unwrap() = Some(library.finish().unwrap());
    let operator = dispatcher.find("removes::f").unwrap().typed::<Number>().unwrap();
    assert_eq!(including(DispatchKey::Tracer, || operator.call((1,))).unwrap(), 2);
    assert_eq!(operator.call((1,)).unwrap_err().kind(), ErrorKind::Stale);
    quiesce().unwrap();
}
