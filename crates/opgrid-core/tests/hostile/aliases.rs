//! Other names of an overload that goes, panics or takes the name away while it runs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use opgrid_core::{DispatchKey, Dispatcher, Kernel, Operator, Registration, Result, operator};

operator! {
    Twice = "aliases::twice(int x) -> int", alias("double");
}

/// The overload with that kernel.
fn overload(
    dispatcher: &Dispatcher,
    kernel: impl Fn(i64) -> Result<i64> + Send + Sync + 'static,
) -> Registration {
    let kernel = Kernel::closure::<fn(i64) -> i64>(move |(x,)| kernel(x));
    let mut library = dispatcher.fragment("aliases");
    library.define(Twice).add(kernel.at(DispatchKey::CompositeExplicitAutograd));
    library.finish().unwrap()
}

/// Its other name, in a library of its own.
fn names(dispatcher: &Dispatcher) -> Registration {
    let mut library = dispatcher.fragment("aliases");
    for alias in Twice::ALIASES {
        library.define(alias.schema).add(alias.kernel().at(DispatchKey::CompositeImplicitAutograd));
    }
    library.finish().unwrap()
}

#[test]
fn a_name_outlives_what_it_stands_for() {
    let dispatcher = Dispatcher::new();
    let _names = names(&dispatcher);
    let first = overload(&dispatcher, |x| Ok(2 * x));
    assert_eq!(dispatcher.call(Double, (4,)).unwrap(), 8);
    drop(first);
    let error = dispatcher.call(Double, (4,)).unwrap_err().to_string();
    assert!(error.contains("aliases::twice"), "{error}");
    // What comes back is found again.
    let _second = overload(&dispatcher, |x| Ok(3 * x));
    assert_eq!(dispatcher.call(Double, (4,)).unwrap(), 12);
}

#[test]
fn a_name_may_be_taken_away_while_it_is_called() {
    static REGISTRATIONS: Mutex<Vec<Registration>> = Mutex::new(Vec::new());
    let dispatcher = Dispatcher::new();
    let overload = overload(&dispatcher, |x| {
        let taken = std::mem::take(&mut *REGISTRATIONS.lock().unwrap());
        drop(taken);
        Ok(2 * x)
    });
    REGISTRATIONS.lock().unwrap().extend([overload, names(&dispatcher)]);
    assert_eq!(dispatcher.call(Double, (4,)).unwrap(), 8);
    assert!(dispatcher.call(Double, (4,)).is_err());
    assert!(dispatcher.call(Twice, (4,)).is_err());
}

#[test]
fn a_panic_goes_through_the_name() {
    let dispatcher = Dispatcher::new();
    let _overload = overload(&dispatcher, |x| if x < 0 { panic!("below zero") } else { Ok(2 * x) });
    let _names = names(&dispatcher);
    assert!(catch_unwind(AssertUnwindSafe(|| dispatcher.call(Double, (-1,)))).is_err());
    assert_eq!(dispatcher.call(Double, (4,)).unwrap(), 8);
}
