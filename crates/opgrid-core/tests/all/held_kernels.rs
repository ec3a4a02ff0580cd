//! Kernels held apart from the table: an override leaves them callable, dropping their registration does not.

use std::sync::{Arc, Mutex};

use crate::common::{cpu, define, implement};
use opgrid_core::{AnyTensor, DispatchKey, Dispatcher, ErrorKind, Kernel, Registration, Returns, Value};

fn answer(value: i64) -> Kernel {
    Kernel::boxed(move |call| {
        call.push(value);
        Ok(())
    })
}

#[test]
fn a_held_kernel_survives_an_override_and_not_the_end_of_its_registration() {
    let dispatcher = Dispatcher::new();
    dispatcher.on_override(|_| {});
    let _defined = define(&dispatcher, "op() -> int").unwrap();
    let operator = dispatcher.find("test::op").unwrap();
    let first = implement(&dispatcher, "op", DispatchKey::Cpu, answer(1)).unwrap();
    let held = operator.held_kernel(DispatchKey::Cpu).unwrap();
    let call = |held: &opgrid_core::HeldKernel| {
        let mut returns = Returns::new();
        held.call_boxed(DispatchKey::Cpu.key_set(), &[], &mut returns).and_then(|()| returns.into_single())
    };

    let second = implement(&dispatcher, "op", DispatchKey::Cpu, answer(2)).unwrap();
    assert_eq!(call(&held).unwrap(), Value::from(1));
    assert_eq!(call(&operator.held_kernel(DispatchKey::Cpu).unwrap()).unwrap(), Value::from(2));

    drop(first);
    assert!(!held.is_valid());
    let error = call(&held).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Stale);
    assert!(error.to_string().contains("test::op: the held kernel has been invalidated"), "{error}");
    drop(second);
    assert_eq!(operator.held_kernel(DispatchKey::Cpu).unwrap_err().kind(), ErrorKind::MissingKernel);
    assert_eq!(operator.held_kernel(DispatchKey::Autograd).unwrap_err().kind(), ErrorKind::Registration);
}

type Int = fn(i64) -> i64;
type OfTensor = fn(AnyTensor) -> i64;

/// An operator of a tensor whose layer adds ten to what the CPU's kernel answers.
fn with_a_layer(dispatcher: &Dispatcher) -> Vec<Registration> {
    vec![
        define(dispatcher, "layered(Tensor x) -> int").unwrap(),
        implement(dispatcher, "layered", DispatchKey::Cpu, Kernel::function::<OfTensor>(|_| Ok(1))).unwrap(),
        implement(
            dispatcher,
            "layered",
            DispatchKey::TestingOnlyGenericMode,
            Kernel::layer::<OfTensor>(|next, args| Ok(10 + next.call(args)?)),
        )
        .unwrap(),
    ]
}

#[test]
fn a_typed_held_layer_calls_on_by_the_operators_table() {
    let dispatcher = Dispatcher::new();
    let registrations = with_a_layer(&dispatcher);
    let operator = dispatcher.find("test::layered").unwrap();
    let layer =
        operator.held_kernel(DispatchKey::TestingOnlyGenericMode).unwrap().typed::<OfTensor>().unwrap();
    let keys = DispatchKey::TestingOnlyGenericMode.key_set() | DispatchKey::Cpu.key_set();
    assert_eq!(layer.call(keys, (&cpu(),)).unwrap(), 11);

    // The layer stays the one that is held; what it calls on to is what the table says now.
    dispatcher.on_override(|_| {});
    let two =
        implement(&dispatcher, "layered", DispatchKey::Cpu, Kernel::function::<OfTensor>(|_| Ok(2))).unwrap();
    assert_eq!(layer.call(keys, (&cpu(),)).unwrap(), 12);
    drop(two);
    assert_eq!(layer.call(keys, (&cpu(),)).unwrap(), 11);

    drop(registrations);
    assert_eq!(layer.call(keys, (&cpu(),)).unwrap_err().kind(), ErrorKind::Stale);
}

#[test]
fn a_typed_held_kernel_without_a_typed_side_gets_values() {
    let dispatcher = Dispatcher::new();
    let _defined = define(&dispatcher, "op(int x) -> int").unwrap();
    let boxed = Kernel::boxed(|call| {
        let x = call.args()[0].as_int().unwrap_or_default();
        call.push(7 * x);
        Ok(())
    });
    let _implemented = implement(&dispatcher, "op", DispatchKey::Cpu, boxed).unwrap();
    let held = dispatcher.find("test::op").unwrap().held_kernel(DispatchKey::Cpu).unwrap();
    assert_eq!(held.typed::<Int>().unwrap().call(DispatchKey::Cpu.key_set(), (6,)).unwrap(), 42);
    assert_eq!(held.typed::<fn(f64) -> i64>().unwrap_err().kind(), ErrorKind::Signature);
}

#[test]
fn a_typed_held_kernel_is_for_the_signature_of_the_operators_kernels() {
    let dispatcher = Dispatcher::new();
    let _defined = define(&dispatcher, "op(int x) -> int").unwrap();
    let _implemented =
        implement(&dispatcher, "op", DispatchKey::Cpu, Kernel::function::<Int>(|x| Ok(x + 1))).unwrap();
    let held = dispatcher.find("test::op").unwrap().held_kernel(DispatchKey::Cpu).unwrap();
    assert_eq!(held.typed::<Int>().unwrap().call(DispatchKey::Cpu.key_set(), (6,)).unwrap(), 7);
    let error = held.typed::<fn(f64) -> f64>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Signature, "{error}");
}

#[test]
fn a_typed_held_kernel_outlives_the_drop_of_its_registration_while_it_runs() {
    let dispatcher = Dispatcher::new();
    let _defined = define(&dispatcher, "op(int x) -> int").unwrap();
    let own = Arc::new(Mutex::new(None::<Registration>));
    let (inside, state) = (own.clone(), Arc::new(41));
    let kernel = Kernel::closure::<Int>(move |(x,)| {
        drop(inside.lock().unwrap().take());
        Ok(*state + x)
    });
    *own.lock().unwrap() = Some(implement(&dispatcher, "op", DispatchKey::Cpu, kernel).unwrap());
    let held =
        dispatcher.find("test::op").unwrap().held_kernel(DispatchKey::Cpu).unwrap().typed::<Int>().unwrap();
    assert_eq!(held.call(DispatchKey::Cpu.key_set(), (1,)).unwrap(), 42);
    assert_eq!(held.call(DispatchKey::Cpu.key_set(), (1,)).unwrap_err().kind(), ErrorKind::Stale);
}
