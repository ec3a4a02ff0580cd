//! Who defines an operator of his own in `aten` before the library is there: needs a process where nobody was first.

use opgrid_operators as _;

use opgrid_core::Dispatcher;
use opgrid_tensor::Tensor;

#[test]
fn an_operator_of_others_takes_no_gradients_away() {
    let mut library = Dispatcher::global().fragment("aten");
    let _ = library.define("mine(Tensor x) -> Tensor");
    library.finish().unwrap().keep();
    let x = Tensor::from_slice(&[3.0f32], &[1]).unwrap();
    x.requires_grad_(true).unwrap();
    x.mul(&x).unwrap().sum().unwrap().backward().unwrap();
    assert_eq!(x.grad().unwrap().to_vec::<f32>().unwrap(), [6.0]);
    assert!(Dispatcher::global().find("aten::mine").is_ok());
}
