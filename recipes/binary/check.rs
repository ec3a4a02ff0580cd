//! The new operator in both forms that torch has, on meta tensors, in batches, with a gradient, under autocast.

use std::f64::consts::LN_2;

use opgrid_core::{DType, Device, Dispatcher, Result, strict};
use opgrid_operators as _;
use opgrid_tensor::layers::{autocast, autograd, vmap};
use opgrid_tensor::{Tensor, ops};

#[test]
fn everything_works_at_once() -> Result<()> {
    let dispatcher = Dispatcher::new();
    let _operators = opgrid_tensor::register(&dispatcher)?;
    let _layers =
        [autograd::install(&dispatcher)?, opgrid_transforms::install(&dispatcher)?, autocast::install(&dispatcher)?];
    dispatcher.within(|| {
        let x = Tensor::from_slice(&[3.0f64, 0.0], &[2])?;
        let y = Tensor::from_slice(&[2.0f64, 0.0], &[2])?;
        let expected = [3.0, 0.0];
        assert_eq!(x.xlog2y(&y)?.to_vec::<f64>()?, expected);
        let out = Tensor::empty(&[2], DType::F64, Device::CPU)?;
        ops::Xlog2yOut.call(&x, &y, &out)?;
        assert_eq!(out.to_vec::<f64>()?, expected);
        let meta = |sizes: &[i64]| Tensor::empty(sizes, DType::F32, Device::META);
        assert_eq!(meta(&[3, 1])?.xlog2y(&meta(&[4])?)?.sizes(), [3, 4]);
        let batch = strict(|| vmap::over(&[&x], |x| x[0].xlog2y(&y)))?;
        assert_eq!(batch.sizes(), [2, 2]);
        let variable = y.detach()?;
        variable.requires_grad_(true)?;
        Tensor::ones(&[2], DType::F64, Device::CPU)?.xlog2y(&variable)?.sum()?.backward()?;
        let grad = variable.grad().expect("the leaf has its gradient");
        assert_eq!(grad.to_vec::<f64>()?, [0.5 / LN_2, f64::INFINITY]);
        assert_eq!(autocast::within(DType::BF16, || x.xlog2y(&y))?.dtype(), DType::F64);
        Ok(())
    })
}
