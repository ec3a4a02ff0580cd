//! Typed, boxed and method calls with a counted tensor, on one thread and several.

use counting_tensor::{counted, inner, install, uses};
use opgrid::kernels::parallel_for;
use opgrid::prelude::*;
use opgrid::{OperatorHandle, ops};

/// A dispatcher of its own with the operators and the layer.
fn dispatcher() -> Result<(Dispatcher, [Registration; 2])> {
    let dispatcher = Dispatcher::new();
    let registrations = [opgrid::ops::register(&dispatcher)?, install(&dispatcher)?];
    Ok((dispatcher, registrations))
}

#[test]
fn every_way_of_calling_counts() -> Result<()> {
    let (dispatcher, _registrations) = dispatcher()?;
    let x = counted(&Tensor::from_slice(&[1.0f32, 2.0], &[2])?)?;
    dispatcher.within(|| {
        assert_eq!(x.add(&x)?.to_vec::<f32>()?, [2.0, 4.0], "a method");
        assert_eq!(uses(&x), Some(2));
        assert_eq!(ops::Exp.call(&x)?.sizes(), [2], "a typed call");
        let neg: OperatorHandle = dispatcher.find("aten::neg")?;
        assert_eq!(neg.call_values(vec![Value::from(&x)])?.len(), 1, "a boxed call");
        assert_eq!(uses(&x), Some(4));
        assert_eq!(Tensor::cat(&[x.clone(), x.clone()], 0)?.sizes(), [4], "a list");
        assert_eq!(uses(&x), Some(6));
        assert!(x.to_string().contains("6 uses") && x.select(0, 0)?.array().is_ok());
        Ok(())
    })
}

#[test]
fn writing_reaches_the_tensor_inside_and_its_version() -> Result<()> {
    let (dispatcher, _registrations) = dispatcher()?;
    let plain = Tensor::from_slice(&[1.0f32, 2.0], &[2])?;
    let x = counted(&plain)?;
    dispatcher.within(|| {
        let before = x.version();
        assert!(x.add_(&plain.clone().mul(10)?)?.is_same(&x));
        assert_eq!((plain.to_vec::<f32>()?, inner(&x).is_same(&plain)), (vec![11.0, 22.0], true));
        assert!(x.version() > before);
        let returned = dispatcher.find("aten::relu_")?.call_values(vec![Value::from(&x)])?.remove(0);
        assert!(Tensor::try_from(returned)?.is_same(&x), "a boxed call gives back what it was given");
        let between = x.version();
        plain.fill_(0)?;
        assert!(x.version() > between, "a write from outside is seen too");
        Ok(())
    })
}

#[test]
fn work_on_other_threads_counts_too() -> Result<()> {
    let (dispatcher, _registrations) = dispatcher()?;
    let x = counted(&Tensor::from_slice(&[1i64], &[1])?)?;
    dispatcher.within(|| {
        parallel_for(64, 1, &|range| {
            for _ in range {
                assert_eq!(x.add(&x).unwrap().to_vec::<i64>().unwrap(), [2]);
            }
        });
    });
    assert_eq!(uses(&x), Some(128));
    Ok(())
}

#[test]
fn without_the_layer_the_error_names_it() -> Result<()> {
    let dispatcher = Dispatcher::new();
    let _operators = opgrid::ops::register(&dispatcher)?;
    let x = counted(&Tensor::from_slice(&[1.0f32], &[1])?)?;
    let error = dispatcher.within(|| x.exp()).unwrap_err();
    assert!(error.message().contains("`counting-tensor`, which has no memory"), "{error}");
    assert_eq!(uses(&x), Some(0));
    Ok(())
}
