//! The new operator in all forms, on meta tensors, in batches, with a gradient, under autocast.

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
        let x = Tensor::from_slice(&[3.0f64, 5.0], &[2])?;
        let y = Tensor::from_slice(&[4.0f64, 12.0], &[2])?;
        assert_eq!(x.hypot(&y)?.to_vec::<f64>()?, [5.0, 13.0]);
        let out = Tensor::empty(&[2], DType::F64, Device::CPU)?;
        ops::HypotOut.call(&x, &y, &out)?;
        assert_eq!(out.to_vec::<f64>()?, [5.0, 13.0]);
        let meta = |sizes: &[i64]| Tensor::empty(sizes, DType::F32, Device::META);
        assert_eq!(meta(&[3, 1])?.hypot(&meta(&[4])?)?.sizes(), [3, 4]);
        let batch = strict(|| vmap::over(&[&x], |x| x[0].hypot(&y)))?;
        assert_eq!(batch.sizes(), [2, 2]);
        let variable = x.detach()?;
        variable.requires_grad_(true)?;
        variable.hypot(&y)?.sum()?.backward()?;
        assert!(variable.grad().expect("the leaf has its gradient").allclose(&x.div(&x.hypot(&y)?)?, 1e-12, 1e-12)?);
        assert_eq!(autocast::within(DType::BF16, || x.hypot(&y))?.dtype(), DType::F64);
        x.hypot_(&y)?;
        assert_eq!(x.to_vec::<f64>()?, [5.0, 13.0]);
        Ok(())
    })
}
