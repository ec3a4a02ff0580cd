//! What the hunter finds, and where.

use std::sync::Once;

use nan_hunter::{Anomaly, hunt};
use opgrid::func::grad;
use opgrid::layers::modes;
use opgrid::prelude::*;

fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let dispatcher = opgrid::dispatcher().unwrap();
        opgrid::func::install(dispatcher).unwrap().keep();
        modes::install(dispatcher).unwrap().keep();
    });
}

fn tensor(elements: &[f32]) -> Tensor {
    Tensor::from_slice(elements, elements.len() as i64).unwrap()
}

#[test]
fn finite_programs_run_unchanged() {
    install();
    let x = tensor(&[1.0, 4.0]);
    let result = hunt(Anomaly::NonFinite, || x.sqrt()?.sum()).unwrap();
    assert_eq!(result.to_vec::<f32>().unwrap(), [3.0]);
}

#[test]
fn a_nan_in_an_argument_is_not_reported() {
    install();
    let x = tensor(&[f32::NAN, 1.0]);
    let error = hunt(Anomaly::Nan, || x.exp()?.sum()?.add(&tensor(&[-1.0]).log()?)).unwrap_err();
    assert!(error.message().starts_with("aten::log made NaN"), "{error}");
}

#[test]
fn infinities_are_reported_on_request() {
    install();
    let divide = || tensor(&[1.0]).div(&tensor(&[0.0]));
    assert!(hunt(Anomaly::Nan, divide).is_ok());
    let error = hunt(Anomaly::NonFinite, divide).unwrap_err();
    assert!(error.message().starts_with("aten::div.Tensor made NaN or infinity in 1 of 1"), "{error}");
}

#[test]
fn writes_and_backward_passes_are_seen() {
    install();
    let x = tensor(&[-1.0]);
    let error = hunt(Anomaly::Nan, || x.sqrt_()).unwrap_err();
    assert!(error.message().starts_with("aten::sqrt_ made NaN"), "{error}");
    let x = tensor(&[0.0]);
    x.requires_grad_(true).unwrap();
    let y = x.sqrt().unwrap();
    let error = hunt(Anomaly::NonFinite, || y.backward()).unwrap_err();
    assert!(error.message().contains("made NaN or infinity"), "{error}");
    let error = hunt(Anomaly::NonFinite, || grad(&tensor(&[0.0]), |x| x.sqrt()?.sum())).unwrap_err();
    assert!(error.message().contains("made NaN or infinity"), "{error}");
}
