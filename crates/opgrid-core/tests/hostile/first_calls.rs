//! First calls, which make an operator's table: in kernels that drop themselves, beside listeners, after panics, and of handles
//! that are older than the operator.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::thread;

use opgrid_core::schema::FunctionSchema;
use opgrid_core::{DispatchKey, Dispatcher, ErrorKind, Kernel, Listener, OperatorHandle, Registration};

const EVERYWHERE: DispatchKey = DispatchKey::CompositeExplicitAutograd;

fn define(dispatcher: &Dispatcher, name: &str, kernel: Kernel) -> Registration {
    let mut library = dispatcher.fragment("first");
    library.define(&*format!("{name}(int x) -> int")).add(kernel.at(EVERYWHERE));
    library.finish().unwrap()
}

fn same() -> Kernel {
    Kernel::function::<fn(i64) -> i64>(Ok)
}

fn call(operator: &OperatorHandle) -> Result<i64, ErrorKind> {
    let results = operator.call_values(vec![7.into()]).map_err(|error| error.kind())?;
    Ok(results[0].borrow().as_int().unwrap())
}

#[test]
fn a_kernel_drops_its_own_registration_in_its_first_call() {
    let dispatcher = Dispatcher::new();
    let held: Arc<Mutex<Option<Registration>>> = Arc::default();
    let (own, find) = (held.clone(), dispatcher.clone());
    let kernel = Kernel::closure::<fn(i64) -> i64>(move |(x,)| {
        let operator = find.find("first::once")?;
        drop(own.lock().unwrap().take());
        assert_eq!(call(&operator), Err(ErrorKind::Stale));
        assert_eq!(operator.schema().unwrap_err().kind(), ErrorKind::Stale);
        Ok(x + 1)
    });
    *held.lock().unwrap() = Some(define(&dispatcher, "once", kernel));
    let operator = dispatcher.find("first::once").unwrap();
    assert_eq!((call(&operator), call(&operator)), (Ok(8), Err(ErrorKind::Stale)));
}

#[test]
fn a_handle_that_was_never_used_is_not_of_the_operator_that_follows() {
    let dispatcher = Dispatcher::new();
    let first = define(&dispatcher, "again", same());
    let old = dispatcher.find("first::again").unwrap();
    drop(first);
    let _second = define(&dispatcher, "again", same());
    let typed = old.typed::<fn(i64) -> i64>().map(drop).map_err(|error| error.kind());
    assert_eq!((call(&old), typed), (Err(ErrorKind::Stale), Err(ErrorKind::Stale)));
    assert!(!old.has_schema() && old.table_bytes() == 0);
    assert_eq!(call(&dispatcher.find("first::again").unwrap()), Ok(7));
}

#[test]
fn a_first_call_that_panics_is_no_obstacle_to_the_next() {
    let dispatcher = Dispatcher::new();
    let kernel = Kernel::closure::<fn(i64) -> i64>(|_| panic!("in the first call"));
    let first = define(&dispatcher, "panics", kernel);
    let operator = dispatcher.find("first::panics").unwrap();
    let panic = catch_unwind(AssertUnwindSafe(|| call(&operator))).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"in the first call"));
    let mut library = dispatcher.implementations("first", EVERYWHERE);
    library.allow_override();
    dispatcher.on_override(|_| ());
    library.implement("panics").add(same());
    let second = library.finish().unwrap();
    assert_eq!(call(&operator), Ok(7));
    drop(second);
    assert!(catch_unwind(AssertUnwindSafe(|| call(&operator))).is_err());
    drop(first);
    assert_eq!(call(&operator), Err(ErrorKind::Stale));
}

/// Calls what it is notified of, and asks for all that needs a table.
struct Caller;

impl Listener for Caller {
    fn defined(&self, operator: &OperatorHandle, schema: &FunctionSchema) {
        if let Ok(known) = operator.schema() {
            assert_eq!(known.name, schema.name);
            assert!([Ok(7), Err(ErrorKind::Stale)].contains(&call(operator)));
        }
    }

    fn dropped(&self, operator: &OperatorHandle, _: &FunctionSchema) {
        assert_eq!(call(operator), Err(ErrorKind::Stale));
    }
}

#[test]
fn listeners_make_first_calls_while_other_threads_register() {
    let dispatcher = Dispatcher::new();
    let _listener = dispatcher.listen(Arc::new(Caller));
    thread::scope(|scope| {
        for number in 0..3 {
            let dispatcher = &dispatcher;
            scope.spawn(move || {
                for round in 0..200 {
                    drop(define(dispatcher, &format!("told{number}_{round}"), same()));
                }
            });
        }
    });
}
