//! The new operator in all forms, on meta tensors, in batches, with a gradient, under autocast.

use opgrid_core::{DType, Device, Dispatcher, Result, strict};
use opgrid_tensor::layers::{autocast, gradient, vmap};
use opgrid_tensor::{Tensor, ops};

#[test]
fn everything_works_at_once() -> Result<()> {
    let dispatcher = Dispatcher::new();
    let _operators = opgrid_tensor::register(&dispatcher)?;
    let _layers =
        [gradient::install(&dispatcher)?, vmap::install(&dispatcher)?, autocast::install(&dispatcher)?];
    dispatcher.within(|| {
        let x = Tensor::from_slice(&[1.0f32, -2.0, 3.0, 4.0], &[2, 2])?;
        let expected = [1.0, 4.0, 9.0, 16.0];
        assert_eq!(x.square()?.to_vec::<f32>()?, expected);
        let out = Tensor::empty(&[0], DType::F32, Device::CPU)?;
        ops::SquareOut.call(&x, &out)?;
        assert_eq!(out.to_vec::<f32>()?, expected);
        assert_eq!(Tensor::empty(&[3], DType::F32, Device::META)?.square()?.sizes(), [3]);
        let batch = strict(|| vmap::over(&[&x], |x| x[0].square()))?;
        assert_eq!(batch.to_vec::<f32>()?, expected);
        let variable = gradient::variable(&x);
        let grads = gradient::of(&variable.square()?.sum()?, &[&variable])?;
        assert_eq!(grads[0].to_vec::<f32>()?, [2.0, -4.0, 6.0, 8.0]);
        assert_eq!(autocast::within(DType::BF16, || x.square())?.dtype(), DType::F32);
        x.square_()?;
        assert_eq!(x.to_vec::<f32>()?, expected);
        Ok(())
    })
}
