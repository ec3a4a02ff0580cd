//! Kernels that choose keys and meanwhile drop what they lead to, or panic.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use opgrid_core::{
    Device, DispatchKey, DispatchKeySet, Dispatcher, ErrorKind, Kernel, Registration, Result, quiesce,
};

type Make = fn(i64, Option<Device>) -> i64;

thread_local! {
    /// What a chooser drops.
    static HELD: RefCell<Vec<Registration>> = const { RefCell::new(Vec::new()) };
}

fn drops_all(_: i64, _: Option<Device>) -> Result<DispatchKeySet> {
    // Taken out first: a destructor may choose, too.
    drop(HELD.take());
    // Where it can be freed while the call goes on, it is freed now.
    let _ = quiesce();
    Ok(DispatchKey::Cpu.key_set())
}

/// An operator with a chooser, and with kernels that own memory.
fn registered(
    dispatcher: &Dispatcher,
    name: &str,
    select: fn(i64, Option<Device>) -> Result<DispatchKeySet>,
) {
    let mut library = dispatcher.fragment("choosing");
    let owned = vec![1i64; 1000];
    library
        .define(&*format!("{name}(int n, *, Device? device=None) -> int"))
        .add(Kernel::selecting::<Make>(select).at(DispatchKey::BackendSelect));
    let defined = library.finish().unwrap();
    let mut library = dispatcher.implementations("choosing", None);
    let kernel = Kernel::closure::<Make>(move |(n, _)| Ok(n + owned.iter().sum::<i64>()));
    library.implement(name).add(kernel.at(DispatchKey::Cpu));
    let implemented = library.finish().unwrap();
    HELD.with_borrow_mut(|held| held.extend([implemented, defined]));
}

#[test]
fn a_chooser_drops_itself_and_the_kernel_that_it_leads_to() {
    // By the way of the global dispatcher, which looks nothing up, and of another one.
    for dispatcher in [Dispatcher::global().clone(), Dispatcher::new()] {
        registered(&dispatcher, "gone", drops_all);
        let operator = dispatcher.find("choosing::gone").unwrap().typed::<Make>().unwrap();
        // The call holds the table that it began with.
        assert_eq!(operator.call((7, Some(Device::CPU))).unwrap(), 1007);
        assert_eq!(operator.call((7, None)).unwrap_err().kind(), ErrorKind::Stale);
        registered(&dispatcher, "gone", drops_all);
        let boxed = dispatcher.find("choosing::gone").unwrap();
        assert_eq!(boxed.call_values(vec![7i64.into(), Device::CPU.into()]).unwrap(), [1007i64.into()]);
        assert_eq!(boxed.call_values(vec![7i64.into()]).unwrap_err().kind(), ErrorKind::Stale);
    }
}

#[test]
fn a_chooser_that_panics_leaves_the_operator_as_it_was() {
    let dispatcher = Dispatcher::new();
    registered(&dispatcher, "panics", |n, _| match n {
        0 => panic!("no choice"),
        _ => Ok(DispatchKey::Cpu.key_set()),
    });
    let operator = dispatcher.find("choosing::panics").unwrap().typed::<Make>().unwrap();
    for n in [0, 5, 0, 6] {
        let outcome = catch_unwind(AssertUnwindSafe(|| operator.call((n, None))));
        assert_eq!(outcome.ok().map(|result| result.unwrap()), (n > 0).then_some(n + 1000));
    }
    drop(HELD.take());
}
