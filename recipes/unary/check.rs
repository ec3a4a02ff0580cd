//! The new operator in all forms, on meta tensors, in batches, with a gradient, under autocast.

use std::f64::consts::PI;

use opgrid_core::{DType, Device, Dispatcher, Result, strict};
use opgrid_tensor::layers::{autocast, autograd, vmap};
use opgrid_tensor::{Tensor, ops};

#[test]
fn everything_works_at_once() -> Result<()> {
    let dispatcher = Dispatcher::new();
    let _operators = opgrid_tensor::register(&dispatcher)?;
    let _layers =
        [autograd::install(&dispatcher)?, vmap::install(&dispatcher)?, autocast::install(&dispatcher)?];
    dispatcher.within(|| {
        let x = Tensor::from_slice(&[180.0f64, -360.0, 0.0, 90.0], &[2, 2])?;
        let expected = [PI, -2.0 * PI, 0.0, PI / 2.0];
        assert_eq!(x.deg2rad()?.to_vec::<f64>()?, expected);
        let out = Tensor::empty(&[0], DType::F64, Device::CPU)?;
        ops::Deg2radOut.call(&x, &out)?;
        assert_eq!(out.to_vec::<f64>()?, expected);
        assert_eq!(Tensor::empty(&[3], DType::F32, Device::META)?.deg2rad()?.sizes(), [3]);
        let batch = strict(|| vmap::over(&[&x], |x| x[0].deg2rad()))?;
        assert_eq!(batch.to_vec::<f64>()?, expected);
        let variable = x.detach()?;
        variable.requires_grad_(true)?;
        variable.deg2rad()?.sum()?.backward()?;
        assert_eq!(variable.grad().expect("the leaf has its gradient").to_vec::<f64>()?, [PI / 180.0; 4]);
        assert_eq!(autocast::within(DType::BF16, || x.deg2rad())?.dtype(), DType::F64);
        x.deg2rad_()?;
        assert_eq!(x.to_vec::<f64>()?, expected);
        Ok(())
    })
}
