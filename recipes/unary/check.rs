//! The new operator in all forms, on meta tensors, in batches, with a gradient, under autocast.

use std::f64::consts::{LN_2, PI};

use opgrid_core::{DType, Device, Dispatcher, Result, strict};
use opgrid_operators as _;
use opgrid_tensor::layers::{autocast, autograd, vmap};
use opgrid_tensor::{Tensor, ops};

#[test]
fn everything_works_at_once() -> Result<()> {
    let dispatcher = Dispatcher::new();
    let _operators = opgrid_tensor::register(&dispatcher)?;
    let _layers =
        [autograd::install(&dispatcher)?, vmap::install(&dispatcher)?, autocast::install(&dispatcher)?];
    dispatcher.within(|| {
        // The gamma function is 1 at 1 and 2, its roots of pi aside at halves: of order 2 these are ln(pi) / 2 more.
        let x = Tensor::from_slice(&[1.0f64, 1.5, 2.0, 2.5], &[2, 2])?;
        let half = PI.ln() / 2.0;
        let expected = Tensor::from_slice(&[PI.ln(), half + half - LN_2, half + half - LN_2, half + half + 0.75f64.ln()], &[2, 2])?;
        let is_expected = |found: &Tensor| found.allclose(&expected, 1e-12, 1e-12);
        assert!(is_expected(&x.mvlgamma(2)?)?, "{}", x.mvlgamma(2)?);
        let out = Tensor::empty(&[0], DType::F64, Device::CPU)?;
        ops::MvlgammaOut.call(&x, 2, &out)?;
        assert!(is_expected(&out)?);
        assert_eq!(Tensor::empty(&[3], DType::F32, Device::META)?.mvlgamma(2)?.sizes(), [3]);
        let batch = strict(|| vmap::over(&[&x], |x| x[0].mvlgamma(2)))?;
        assert!(is_expected(&batch)?);
        let variable = x.detach()?;
        variable.requires_grad_(true)?;
        variable.mvlgamma(2)?.sum()?.backward()?;
        let slope = (x.digamma()? + (&x - 0.5)?.digamma()?)?;
        assert!(variable.grad().expect("the leaf has its gradient").allclose(&slope, 1e-12, 1e-12)?);
        assert_eq!(autocast::within(DType::BF16, || x.mvlgamma(2))?.dtype(), DType::F64);
        x.mvlgamma_(2)?;
        assert!(is_expected(&x)?);
        Ok(())
    })
}
