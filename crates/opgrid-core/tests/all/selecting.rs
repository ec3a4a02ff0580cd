//! Kernels that choose the keys with which calls go on: every way to them, and what choosers may do wrong.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::{define, implement, on_own_thread};
use opgrid_core::{
    Device, DispatchKey, DispatchKeySet, Dispatcher, Error, ErrorKind, Kernel, Observer, Result, Step,
    SymInt, Value, compute_dispatch_key, observe,
};

type Make = fn(i64, Option<Device>) -> i64;

fn by_device(_: i64, device: Option<Device>) -> Result<DispatchKeySet> {
    Ok(compute_dispatch_key(None, None, device)?.key_set())
}

/// What the kernel of a device gives for a number.
fn kernels() -> [(DispatchKey, Kernel, i64); 3] {
    let boxed = Kernel::boxed(|call| {
        let n = call.args()[0].as_int().expect("an integer");
        call.push(n + 3);
        Ok(())
    });
    [
        (DispatchKey::Cpu, Kernel::function::<Make>(|n, _| Ok(n + 1)), 1),
        (DispatchKey::Meta, Kernel::closure::<Make>(|(n, _)| Ok(n + 2)), 2),
        (DispatchKey::Cuda, boxed, 3),
    ]
}

#[test]
fn calls_reach_functions_closures_and_boxed_kernels() {
    let dispatcher = Dispatcher::new();
    let _defined = define(&dispatcher, "made(int n, *, Device? device=None) -> int").unwrap();
    let select = || Kernel::selecting::<Make>(by_device);
    let _select = implement(&dispatcher, "made", DispatchKey::BackendSelect, select()).unwrap();
    let _kernels = kernels().map(|(key, kernel, _)| implement(&dispatcher, "made", key, kernel).unwrap());
    let operator = dispatcher.find("test::made").unwrap();
    let typed = operator.typed::<Make>().unwrap();
    let devices =
        [(None, 1), (Some(Device::CPU), 1), (Some(Device::META), 2), (Some("cuda".parse().unwrap()), 3)];
    for (device, more) in devices {
        assert_eq!(typed.call((4, device)).unwrap(), 4 + more, "{device:?}");
        let device = device.map_or(Value::None, Value::from);
        let boxed = operator.call_values(vec![Value::from(4i64), device]).unwrap();
        assert_eq!(boxed, [Value::from(4 + more)]);
    }
    let keyed = typed.redispatch(DispatchKey::BackendSelect.key_set(), (4, Some(Device::META)));
    assert_eq!(keyed.unwrap(), 6);
}

#[test]
fn who_watches_sees_both_steps() {
    #[derive(Default)]
    struct Steps([AtomicUsize; 2]);
    impl Observer for Steps {
        fn before(&self, step: &Step) {
            if step.operator.name().name.as_str() == "test::watched" {
                self.0[usize::from(step.kind.is_redispatch())].fetch_add(1, Ordering::Relaxed);
            }
        }

        fn after(&self, _step: &Step, _error: Option<&Error>) {}
    }
    let dispatcher = Dispatcher::new();
    let _defined = define(&dispatcher, "watched(int n, *, Device? device=None) -> int").unwrap();
    let select = Kernel::selecting::<Make>(by_device);
    let _select = implement(&dispatcher, "watched", DispatchKey::BackendSelect, select).unwrap();
    let kernel = Kernel::function::<Make>(|n, _| Ok(n));
    let _kernel = implement(&dispatcher, "watched", DispatchKey::Cpu, kernel).unwrap();
    let operator = dispatcher.find("test::watched").unwrap().typed::<Make>().unwrap();
    let steps = Arc::new(Steps::default());
    let observation = observe(steps.clone());
    assert_eq!(operator.call((4, None)).unwrap(), 4);
    drop(observation);
    assert_eq!(operator.call((5, None)).unwrap(), 5);
    assert_eq!(steps.0.each_ref().map(|count| count.load(Ordering::Relaxed)), [1, 1]);
}

#[test]
fn a_chooser_of_integers_serves_calls_with_symbolic_ones() {
    type Symbolic = fn(SymInt, Option<Device>) -> i64;
    let dispatcher = Dispatcher::new();
    let _defined = define(&dispatcher, "symbolic(SymInt n, *, Device? device=None) -> int").unwrap();
    let select = Kernel::selecting::<Make>(by_device);
    let _select = implement(&dispatcher, "symbolic", DispatchKey::BackendSelect, select).unwrap();
    let kernel = Kernel::function::<Make>(|n, _| Ok(n + 1));
    let _kernel = implement(&dispatcher, "symbolic", DispatchKey::Cpu, kernel).unwrap();
    let operator = dispatcher.find("test::symbolic").unwrap();
    assert_eq!(operator.typed::<Symbolic>().unwrap().call((&SymInt::Int(4), None)).unwrap(), 5);
    assert_eq!(operator.typed::<Make>().unwrap().call((4, None)).unwrap(), 5);
}

#[test]
fn what_choosers_do_wrong_is_an_error() {
    let call = |select: fn(i64, Option<Device>) -> Result<DispatchKeySet>| {
        let dispatcher = Dispatcher::new();
        let _defined = define(&dispatcher, "wrong(int n, *, Device? device=None) -> int").unwrap();
        let select = Kernel::selecting::<Make>(select);
        let _select = implement(&dispatcher, "wrong", DispatchKey::BackendSelect, select).unwrap();
        let operator = dispatcher.find("test::wrong").unwrap();
        let typed = operator.typed::<Make>().unwrap().call((4, None)).unwrap_err();
        let boxed = operator.call_values(vec![Value::from(4i64), Value::None]).unwrap_err();
        assert_eq!(typed.kind(), boxed.kind());
        typed
    };
    let refused = call(|_, _| Err(Error::new(ErrorKind::Value, "no such device")));
    assert!(refused.to_string().contains("no such device"), "{refused}");
    let missing = call(|_, _| Ok(DispatchKey::Cpu.key_set()));
    assert_eq!(missing.kind(), ErrorKind::MissingKernel);
    assert!(missing.to_string().contains("CPU"), "{missing}");
    assert_eq!(call(|_, _| Ok(DispatchKeySet::EMPTY)).kind(), ErrorKind::MissingKernel);
    // It leads to itself, forever.
    on_own_thread(move || {
        let endless = call(|_, _| Ok(DispatchKey::BackendSelect.key_set()));
        assert!(endless.to_string().contains("deep"), "{endless}");
    });
}
