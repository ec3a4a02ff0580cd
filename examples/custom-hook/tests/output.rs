//! The program's output, and three experiments with the hook.

use custom_hook::{Hook, call_add_1, call_on, register_add_1};
use opgrid::prelude::*;
use opgrid::{Dispatcher, ErrorKind};

const OUTPUT: &str = "\
tensor([2., 3., 4.])
Custom hook called 0 times
  Operator: aten::add_1
Custom hook called 1 times
  Operator: aten::add
tensor([3., 4., 5.])
";

fn subject() -> (Dispatcher, Vec<opgrid::Registration>) {
    let dispatcher = Dispatcher::new();
    let operators = opgrid::ops::register(&dispatcher).unwrap();
    let add_1 = register_add_1(&dispatcher).unwrap();
    (dispatcher, vec![operators, add_1])
}

fn x() -> Tensor {
    Tensor::from_slice(&[1.0f32, 2.0, 3.0], &[3]).unwrap()
}

#[test]
fn the_program_prints_what_the_hook_saw() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_custom-hook")).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), OUTPUT);
    assert!(output.status.success());
}

#[test]
fn on_a_meta_tensor_the_default_kernel_runs_and_fails() {
    let (dispatcher, _registrations) = subject();
    let meta = Tensor::empty(&[3], DType::F32, Device::META).unwrap();
    let error = call_add_1(&dispatcher, &meta).unwrap_err();
    assert_eq!(error.to_string(), "Debug: Not implemented yet!");
}

#[test]
fn without_the_guard_in_the_hook_the_call_ends_at_the_depth_limit() {
    let (dispatcher, _registrations) = subject();
    let hook = Hook::install(&dispatcher, |call| call.call()).unwrap();
    let _enabled = hook.enable();
    let error = call_add_1(&dispatcher, &x()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Depth);
    assert_eq!(hook.calls(), 1_000);
}

#[test]
fn a_hook_that_does_not_call_on_leaves_too_few_results() {
    let (dispatcher, _registrations) = subject();
    let hook = Hook::install(&dispatcher, |_| Ok(())).unwrap();
    let _enabled = hook.enable();
    let error = call_add_1(&dispatcher, &x()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Value);
    let text = error.to_string();
    assert!(
        text.contains("aten::add_1") && text.contains("return 1 values") && text.contains("left 0"),
        "{text}"
    );
}

#[test]
fn the_hook_sees_calls_only_while_it_is_enabled() {
    let (dispatcher, _registrations) = subject();
    let hook = Hook::install(&dispatcher, call_on).unwrap();
    call_add_1(&dispatcher, &x()).unwrap();
    assert_eq!(hook.calls(), 0);
    {
        let _enabled = hook.enable();
        call_add_1(&dispatcher, &x()).unwrap();
    }
    call_add_1(&dispatcher, &x()).unwrap();
    assert_eq!(hook.calls(), 1);
}
