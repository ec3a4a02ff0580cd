//! The new operator over all elements and over one dimension, into an output, on meta tensors, in batches, under autocast.

use opgrid_core::{DType, Device, Dispatcher, Result, strict};
use opgrid_tensor::layers::{autocast, vmap};
use opgrid_tensor::{Tensor, ops};

#[test]
fn everything_works_at_once() -> Result<()> {
    let dispatcher = Dispatcher::new();
    let _operators = opgrid_tensor::register(&dispatcher)?;
    let _layers = [vmap::install(&dispatcher)?, autocast::install(&dispatcher)?];
    dispatcher.within(|| {
        let x = Tensor::from_slice(&[1.0f32, f32::NAN, 3.0, 4.0], &[2, 2])?;
        assert_eq!(ops::Nansum.call(&x, None, false, None)?.to_vec::<f32>()?, [8.0]);
        assert_eq!(ops::Nansum.call(&x, Some(&[-1]), false, None)?.to_vec::<f32>()?, [1.0, 7.0]);
        let out = Tensor::empty(&[0], DType::F32, Device::CPU)?;
        ops::NansumOut.call(&x, Some(&[0]), true, None, &out)?;
        assert_eq!((out.sizes(), out.to_vec::<f32>()?), (&[1, 2][..], vec![4.0, 4.0]));
        let meta = Tensor::empty(&[3, 4], DType::I32, Device::META)?;
        let meta = ops::Nansum.call(&meta, Some(&[0]), false, None)?;
        assert_eq!((meta.sizes(), meta.dtype()), (&[4][..], DType::I64));
        let rows = strict(|| vmap::over(&[&x], |x| ops::Nansum.call(&x[0], Some(&[0]), false, None)))?;
        assert_eq!(rows.to_vec::<f32>()?, [1.0, 7.0]);
        let half = Tensor::ones(&[2], DType::BF16, Device::CPU)?;
        let sum = autocast::within(DType::F16, || ops::Nansum.call(&half, None, false, None))?;
        assert_eq!(sum.dtype(), DType::F32);
        Ok(())
    })
}
