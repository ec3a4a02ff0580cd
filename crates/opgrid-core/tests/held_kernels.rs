//! Kernels held apart from the table: an override leaves them callable, dropping their registration does not.

mod common;

use common::{define, implement};
use opgrid_core::{DispatchKey, Dispatcher, ErrorKind, Kernel, Returns, Value};

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
