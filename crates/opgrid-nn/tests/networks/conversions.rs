//! Modules that are converted to another dtype, and optimizers that hold their parameters.

use opgrid::Tensor;
use opgrid_core::{DType, Result};
use opgrid_nn::optim::{Adam, Optimizer, SGD, SGDOptions};
use opgrid_nn::{Linear, Module, Parts};

/// Two names of one weight, a bias and a counter.
struct Tied {
    first: Linear,
    second: Linear,
    count: Tensor,
}

impl Tied {
    fn new() -> Result<Self> {
        let first = Linear::new(2, 2)?;
        let mut second = Linear::new(2, 2)?;
        second.weight = first.weight.clone();
        Ok(Self { first, second, count: Tensor::from_slice(&[0i64], &[1])? })
    }

    fn loss(&self) -> Result<Tensor> {
        let input = Tensor::from_slice(&[1.0f32, -2.0], &[1, 2])?.to_dtype(self.first.weight.dtype())?;
        let output = self.second.forward(&self.first.forward(&input)?)?;
        output.mul(&output)?.sum()
    }
}

impl Module for Tied {
    fn parts(&self, parts: &mut Parts) {
        parts.module("first", &self.first).module("second", &self.second).buffer("count", &self.count);
    }
}

#[test]
fn parameters_stay_the_same_tensors() -> Result<()> {
    let model = Tied::new()?;
    model.loss()?.backward()?;
    let (weight, view) = (model.first.weight.clone(), model.first.weight.detach()?);
    let (before, grad) = (weight.to_vec::<f32>()?, weight.grad().unwrap());
    model.to(DType::F64)?;
    assert!(weight.is_same(&model.second.weight) && weight.requires_grad() && weight.is_leaf());
    assert_eq!(weight.to_vec::<f64>()?, before.iter().map(|x| f64::from(*x)).collect::<Vec<_>>());
    assert!(weight.grad().unwrap().is_same(&grad));
    assert_eq!((grad.dtype(), model.count.dtype()), (DType::F64, DType::I64));
    assert_eq!(view.to_vec::<f32>()?, before, "views keep the old elements");
    let refused = model.to(DType::I32).unwrap_err().to_string();
    assert!(refused.contains("floating-point dtypes only, found int32"), "{refused}");
    Ok(())
}

/// Makes an optimizer.
type New = fn(Vec<Tensor>, SGDOptions) -> Result<Box<dyn Optimizer>>;

#[test]
fn optimizers_go_on() -> Result<()> {
    let settings = || SGDOptions { lr: 0.02, momentum: 0.5, ..Default::default() };
    let optimizers: [New; 2] = [
        |parameters, settings| Ok(Box::new(SGD::new(parameters, settings)?)),
        |parameters, settings| Ok(Box::new(Adam::new(parameters, settings.lr)?)),
    ];
    for new in optimizers {
        for dtype in [DType::F64, DType::BF16, DType::F32] {
            opgrid::manual_seed(3);
            let model = Tied::new()?;
            let mut optimizer = new(model.parameters(), settings())?;
            let mut step = || {
                optimizer.zero_grad()?;
                let loss = model.loss()?;
                loss.backward()?;
                optimizer.step()?;
                loss.item()?.to_f64()
            };
            step()?;
            model.to(dtype)?;
            let first = step()?;
            let mut last = first;
            for _ in 0..40 {
                last = step()?;
            }
            assert!(last < 0.7 * first, "{dtype}: {first} to {last}");
            assert_eq!(model.first.weight.dtype(), dtype);
        }
    }
    Ok(())
}

#[test]
fn a_graph_from_before_goes_back_to_its_own_elements() -> Result<()> {
    let layer = Linear::new(2, 1)?;
    let weight = layer.weight.to_vec::<f32>()?;
    let x = Tensor::from_slice(&[1.0f32, 1.0], &[1, 2])?;
    x.requires_grad_(true)?;
    let y = layer.forward(&x)?.sum()?;
    layer.to(DType::F64)?;
    y.backward()?;
    assert_eq!(x.grad().unwrap().to_vec::<f32>()?, weight);
    Ok(())
}
