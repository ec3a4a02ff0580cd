//! Named operators are there with what they need, and all from `opgrid::dispatcher()` on; also where the feature
//! `all-operators` is on, as in builds of the whole workspace.

use std::process::Command;

use few_operators::{by_values, sum};
use opgrid::prelude::*;

#[test]
fn the_program_prints_the_sum() {
    let output = Command::new(env!("CARGO_BIN_EXE_few-operators")).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "tensor([11., 22., 33.])\n");
    assert!(output.status.success());
}

#[test]
fn operators_come_as_they_are_named() {
    assert_eq!(sum().unwrap(), "tensor([11., 22., 33.])");
    let add = by_values().unwrap();
    assert_eq!(add.name().to_string(), "aten::add.Tensor");
    let x = Tensor::from_slice(&[1i64, 2], &[2]).unwrap();
    let results = add.call_values(vec![Value::from(&x), Value::from(&x), Value::from(3)]).unwrap();
    assert_eq!(results[0].to_string(), "tensor([4, 8])");

    // What derivatives call comes with them.
    let x = Tensor::from_slice(&[2.0f64, 5.0], &[2]).unwrap();
    x.requires_grad_(true).unwrap();
    x.mul(&x).unwrap().div(&x.exp().unwrap()).unwrap().sum().unwrap().backward().unwrap();
    let expected = [2.0f64, 5.0].map(|x| (2.0 * x - x * x) * (-x).exp());
    for (found, expected) in x.grad().unwrap().to_vec::<f64>().unwrap().into_iter().zip(expected) {
        assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    }

    // An operator that nobody names is found by its name once all are asked for, and the error before says how.
    let is_known = |name: &str| Dispatcher::global().find(name);
    if let Err(error) = is_known("aten::fft_rfft") {
        assert_eq!(error.kind(), ErrorKind::Unknown);
        assert!(error.to_string().contains("`opgrid::dispatcher()` registers all"), "{error}");
    }
    let dispatcher = opgrid::dispatcher().unwrap();
    assert!(dispatcher.names().len() > 1000);
    assert!(is_known("aten::fft_rfft").is_ok());
    let error = is_known("aten::fft_nothing").unwrap_err().to_string();
    assert!(!error.contains("all-operators"), "{error}");
}
