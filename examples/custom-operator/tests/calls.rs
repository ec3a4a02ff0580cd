//! The operator in every way of calling it, its errors, and both hops of an explained call.

use custom_operator::{MyAdd, register, register_autograd};
use opgrid::prelude::*;
use opgrid::{Dispatcher, ErrorKind, Registration, Value};

fn subject() -> (Dispatcher, Vec<Registration>) {
    let dispatcher = Dispatcher::new();
    let operators = opgrid::ops::register(&dispatcher).unwrap();
    let myops = register(&dispatcher).unwrap();
    (dispatcher, vec![myops, operators])
}

fn tensor(values: &[f32], sizes: &[i64]) -> Tensor {
    Tensor::from_slice(values, sizes).unwrap()
}

#[test]
fn typed_boxed_and_by_name_agree() {
    let (dispatcher, _registrations) = subject();
    let (x, y) = (tensor(&[1., 2., 3., 4.], &[2, 2]), tensor(&[10., 20., 30., 40.], &[2, 2]));
    let expected = [11., 22., 33., 44.];
    assert_eq!(dispatcher.call(MyAdd, (&x, &y)).unwrap().to_vec::<f32>().unwrap(), expected);
    let operator = dispatcher.find("myops::myadd").unwrap();
    let typed = operator.typed::<fn(Tensor, Tensor) -> Tensor>().unwrap();
    assert_eq!(typed.call((&x, &y)).unwrap().to_vec::<f32>().unwrap(), expected);
    let boxed = operator.call_values(vec![Value::from(x.clone()), Value::from(y.clone())]).unwrap();
    let boxed: Tensor = boxed[0].clone().try_into().unwrap();
    assert_eq!(boxed.to_vec::<f32>().unwrap(), expected);
    let columns = dispatcher.call(MyAdd, (&x.select(1, 1).unwrap(), &y.select(1, 0).unwrap())).unwrap();
    assert_eq!(columns.to_vec::<f32>().unwrap(), [12., 34.]);
}

#[test]
fn wrong_arguments_are_named() {
    let (dispatcher, _registrations) = subject();
    let x = tensor(&[1., 2., 3., 4.], &[2, 2]);
    let wrong_size = tensor(&[1., 2.], &[2]);
    let wrong_dtype = Tensor::from_slice(&[1i64, 2, 3, 4], &[2, 2]).unwrap();
    for (other, expected) in
        [(&wrong_size, "argument `other` has shape [2]"), (&wrong_dtype, "argument `other` has dtype int64")]
    {
        let error = dispatcher.call(MyAdd, (&x, other)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument);
        assert!(error.to_string().contains(expected), "{error}");
    }
    let error = dispatcher.find("myops::myad").unwrap_err();
    assert!(error.to_string().contains("did you mean myops::myadd"), "{error}");
}

#[test]
fn an_explained_call_shows_the_autograd_kernel_and_the_cpu_kernel() {
    let (dispatcher, _registrations) = subject();
    let _autograd = register_autograd(&dispatcher).unwrap();
    let x = Value::from(tensor(&[1., 2.], &[2]));
    let operator = dispatcher.find("myops::myadd").unwrap();
    let mut returns = opgrid::dispatch::Returns::new();
    let (result, explanation) = operator.call_explained(&[x.borrow(), x.borrow()], &mut returns).unwrap();
    result.unwrap();
    let hops: Vec<_> =
        explanation.hops.iter().filter(|hop| hop.operator == "myops::myadd").map(|hop| hop.key).collect();
    assert_eq!(hops, [DispatchKey::AutogradCpu, DispatchKey::Cpu]);
    let text = explanation.to_string();
    assert!(
        text.contains("AutogradCPU")
            && text.contains("alias Autograd")
            && text.contains("custom-operator/src/lib.rs"),
        "{text}"
    );
}
