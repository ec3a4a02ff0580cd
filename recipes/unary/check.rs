//! The new operator in all forms, on meta tensors, in batches, with a gradient, under autocast.

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
        let x = Tensor::from_slice(&[1.0f64, 1.5, 2.0, 2.5], &[2, 2])?;
        // The products with the numbers that are larger by one.
        let expected = [2.0f64, 3.75, 6.0, 8.75].map(f64::ln);
        let expected = Tensor::from_slice(&expected, &[2, 2])?;
        let is_expected = |found: &Tensor| found.allclose(&expected, 1e-12, 1e-12);
        assert!(is_expected(&x.log_rising_factorial(2)?)?, "{}", x.log_rising_factorial(2)?);
        let out = Tensor::empty(&[0], DType::F64, Device::CPU)?;
        ops::LogRisingFactorialOut.call(&x, 2, &out)?;
        assert!(is_expected(&out)?);
        assert_eq!(Tensor::empty(&[3], DType::F32, Device::META)?.log_rising_factorial(2)?.sizes(), [3]);
        let batch = strict(|| vmap::over(&[&x], |x| x[0].log_rising_factorial(2)))?;
        assert!(is_expected(&batch)?);
        let variable = x.detach()?;
        variable.requires_grad_(true)?;
        variable.log_rising_factorial(2)?.sum()?.backward()?;
        let slope = (x.reciprocal()? + (&x + 1)?.reciprocal()?)?;
        assert!(variable.grad().expect("the leaf has its gradient").allclose(&slope, 1e-12, 1e-12)?);
        assert_eq!(autocast::within(DType::BF16, || x.log_rising_factorial(2))?.dtype(), DType::F64);
        x.log_rising_factorial_(2)?;
        assert!(is_expected(&x)?);
        Ok(())
    })
}
