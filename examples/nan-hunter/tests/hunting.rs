//! What the hunter finds, and where.

use std::sync::Once;

use nan_hunter::{Prey, hunt};
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
fn what_goes_well_is_as_without_the_hunter() {
    install();
    let x = tensor(&[1.0, 4.0]);
    let result = hunt(Prey::NonFinite, || x.sqrt()?.sum()).unwrap();
    assert_eq!(result.to_vec::<f32>().unwrap(), [3.0]);
}

#[test]
fn a_nan_that_an_argument_has_is_not_its_fault() {
    install();
    let x = tensor(&[f32::NAN, 1.0]);
    let error = hunt(Prey::Nan, || x.exp()?.sum()?.add(&tensor(&[-1.0]).log()?)).unwrap_err();
    assert!(error.message().starts_with("aten::log made NaN"), "{error}");
}

#[test]
fn infinities_are_found_where_they_are_hunted() {
    install();
    let divide = || tensor(&[1.0]).div(&tensor(&[0.0]));
    assert!(hunt(Prey::Nan, divide).is_ok());
    let error = hunt(Prey::NonFinite, divide).unwrap_err();
    assert!(error.message().starts_with("aten::div.Tensor made NaN or infinity in 1 of 1"), "{error}");
}

#[test]
fn writes_and_backward_passes_are_seen() {
    install();
    let x = tensor(&[-1.0]);
    let error = hunt(Prey::Nan, || x.sqrt_()).unwrap_err();
    assert!(error.message().starts_with("aten::sqrt_ made NaN"), "{error}");
    let x = tensor(&[0.0]);
    x.requires_grad_(true).unwrap();
    let y = x.sqrt().unwrap();
    let error = hunt(Prey::NonFinite, || y.backward()).unwrap_err();
    assert!(error.message().contains("made NaN or infinity"), "{error}");
    let error = hunt(Prey::NonFinite, || grad(&tensor(&[0.0]), |x| x.sqrt()?.sum())).unwrap_err();
    assert!(error.message().contains("made NaN or infinity"), "{error}");
}
