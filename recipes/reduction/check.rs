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
        let x = Tensor::from_slice(&[1i32, 2, 3, 4], &[2, 2])?;
        assert_eq!(ops::Prod.call(&x, None)?.to_vec::<i64>()?, [24]);
        assert_eq!(ops::ProdDimInt.call(&x, -1, false, None)?.to_vec::<i64>()?, [2, 12]);
        let out = Tensor::empty(&[0], DType::I64, Device::CPU)?;
        ops::ProdIntOut.call(&x, 0, true, None, &out)?;
        assert_eq!((out.sizes(), out.to_vec::<i64>()?), (&[1, 2][..], vec![3, 8]));
        let meta = Tensor::empty(&[3, 4], DType::F32, Device::META)?;
        assert_eq!(ops::ProdDimInt.call(&meta, 0, false, None)?.sizes(), [4]);
        let rows = strict(|| vmap::over(&[&x], |x| ops::ProdDimInt.call(&x[0], 0, false, None)))?;
        assert_eq!(rows.to_vec::<i64>()?, [2, 12]);
        let half = Tensor::ones(&[2], DType::BF16, Device::CPU)?;
        assert_eq!(autocast::within(DType::F16, || ops::Prod.call(&half, None))?.dtype(), DType::F32);
        Ok(())
    })
}
