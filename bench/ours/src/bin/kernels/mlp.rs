//! A small network and one step of its training, from operators alone.

use opgrid::layers::autograd::no_grad;
use opgrid::ops::{CrossEntropyLoss, Linear};
use opgrid::prelude::*;

const STEP: f64 = 0.01;

/// 64 inputs, 128 hidden values, 10 classes, and a batch of 32.
pub struct Mlp {
    inputs: Tensor,
    labels: Tensor,
    /// The weight and the bias of each layer.
    parameters: [Tensor; 4],
}

impl Mlp {
    /// # Errors
    ///
    /// Those of the operators.
    pub fn new() -> Result<Self> {
        let weight = |sizes: &[i64]| -> Result<Tensor> {
            let weight = Tensor::rand(sizes, DType::F32, Device::CPU)?.sub(0.5)?.mul(0.1)?;
            weight.requires_grad_(true)?;
            Ok(weight)
        };
        let labels: Vec<i64> = (0..32).map(|row| row % 10).collect();
        Ok(Self {
            inputs: Tensor::rand(&[32, 64], DType::F32, Device::CPU)?,
            labels: Tensor::from_slice(&labels, &[32])?,
            parameters: [weight(&[128, 64])?, weight(&[128])?, weight(&[10, 128])?, weight(&[10])?],
        })
    }

    /// Forward, backward, and a step of gradient descent.
    ///
    /// # Errors
    ///
    /// Those of the operators.
    pub fn step(&self) -> Result<()> {
        let [weight, bias, last_weight, last_bias] = &self.parameters;
        let hidden = Linear.call(&self.inputs, weight, Some(bias))?.relu()?;
        let scores = Linear.call(&hidden, last_weight, Some(last_bias))?;
        CrossEntropyLoss.call(&scores, &self.labels, None, 1, -100, 0.0)?.backward()?;
        no_grad(|| {
            for parameter in &self.parameters {
                if let Some(grad) = parameter.grad() {
                    parameter.add_with_(&grad, -STEP)?;
                    parameter.set_grad(None)?;
                }
            }
            Ok(())
        })
    }
}
