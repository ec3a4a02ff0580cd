//! The layer has the rule of kinds, and the operator's own.

use opgrid_core::{DType, Device, Dispatcher, Result};
use opgrid_operators as _;
use opgrid_tensor::Tensor;
use opgrid_tensor::layers::cost;

#[test]
fn kinds_and_operators_have_costs() -> Result<()> {
    let dispatcher = Dispatcher::new();
    let _operators = opgrid_tensor::register(&dispatcher)?;
    let _layer = cost::install(&dispatcher)?;
    let x = Tensor::ones(&[3, 2], DType::F32, Device::CPU)?;
    let (result, cost) = dispatcher.within(|| cost::measure(|| x.add(&x)?.tanh()?.t()?.exp()))?;
    assert_eq!((result?.sizes(), cost), (&[2, 3][..], 6 + 20 * 6 + 6));
    Ok(())
}
