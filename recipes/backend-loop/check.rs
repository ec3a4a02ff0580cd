//! All three forms run on the device, with the checks of the family.

use opgrid::prelude::*;
use opgrid::dispatch::strict;
use opgrid::ops;
use toy_backend::{device, register, to};

#[test]
fn one_loop_gives_three_forms() -> Result<()> {
    let dispatcher = Dispatcher::new();
    let _operators = opgrid::ops::register(&dispatcher)?;
    let _toy = register(&dispatcher)?;
    dispatcher.within(|| {
        let x = to(&Tensor::from_slice(&[0.0f32, 1.0], &[2])?, device()?)?;
        let out = Tensor::empty(&[0], DType::F32, device()?)?;
        let forms = strict(|| {
            ops::ExpOut.call(&x, &out)?;
            let result = x.exp()?;
            ops::ExpInplace.call(&x).map(|()| result)
        })?;
        for found in [&forms, &out, &x] {
            assert_eq!(to(found, Device::CPU)?.to_vec::<f32>()?, [1.0, 1f32.exp()]);
        }
        let wrong = Tensor::empty(&[3], DType::F32, device()?)?;
        assert!(ops::ExpOut.call(&x, &wrong).unwrap_err().message().contains("aten::exp.out"));
        Ok(())
    })
}
