//! The new operator over dimensions, into an output, on meta tensors, in batches, with a gradient, under autocast.

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
        let x = Tensor::from_slice(&[3.0f32, 0.0, 4.0, 2.0], &[2, 2])?;
        assert_eq!(ops::RootSumSquare.call(&x, &[-1], false)?.to_vec::<f32>()?, [3.0, 20f32.sqrt()]);
        let out = Tensor::empty(&[0], DType::F32, Device::CPU)?;
        ops::RootSumSquareOut.call(&x, &[0], true, &out)?;
        assert_eq!((out.sizes(), out.to_vec::<f32>()?), (&[1, 2][..], vec![5.0, 2.0]));
        let meta = Tensor::empty(&[3, 4], DType::Complex64, Device::META)?;
        let meta = ops::RootSumSquare.call(&meta, &[0], false)?;
        assert_eq!((meta.sizes(), meta.dtype()), (&[4][..], DType::F32));
        let rows = strict(|| vmap::over(&[&x], |x| ops::RootSumSquare.call(&x[0], &[0], false)))?;
        assert_eq!(rows.to_vec::<f32>()?, [3.0, 20f32.sqrt()]);
        let variable = x.detach()?;
        variable.requires_grad_(true)?;
        ops::RootSumSquare.call(&variable, &[0], false)?.sum()?.backward()?;
        let grad = variable.grad().expect("the leaf has its gradient");
        assert_eq!(grad.to_vec::<f32>()?, [0.6, 0.0, 0.8, 1.0]);
        let half = Tensor::ones(&[2], DType::BF16, Device::CPU)?;
        let norm = autocast::within(DType::F16, || ops::RootSumSquare.call(&half, &[0], false))?;
        assert_eq!(norm.dtype(), DType::BF16, "on the CPU it is in no list");
        Ok(())
    })
}
