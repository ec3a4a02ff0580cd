//! Trains a classifier that torch exported on handwritten digits, and gives a program that torch loads.

use std::path::Path;

use opgrid::layers::autograd::no_grad;
use opgrid::nn::loss;
use opgrid::ops::{RandintLow, Randperm};
use opgrid::optim::AdamW;
use opgrid::prelude::*;
use opgrid_graph::Program;

/// How many images a step takes.
const BATCH: i64 = 32;

/// Images `[count, 1, 8, 8]` from 0 to 1 with the digits that they show.
pub struct Digits {
    /// What the classifier is given.
    pub images: Tensor,
    /// What it should answer, int64 `[count]`.
    pub labels: Tensor,
}

impl Digits {
    /// Reads the images of a file, and parts them into those for training and those for testing: every fifth.
    ///
    /// # Errors
    ///
    /// Those of [`Tensor::load`]; a file with something else.
    pub fn load(path: &Path) -> Result<[Self; 2]> {
        let array = |name: &str| Tensor::load(&format!("{}:{name}", path.display()));
        let (images, labels) = (array("images")?, array("labels")?);
        let images = images.div(16.0)?.unsqueeze(1)?;
        let part = |is_test: bool| -> Result<Self> {
            let numbers: Vec<i64> =
                (0..labels.numel()).filter(|number| (number % 5 == 0) == is_test).collect();
            let numbers = Tensor::from_slice(&numbers, &[numbers.len() as i64])?;
            Ok(Self { images: images.index_select(0, &numbers)?, labels: labels.index_select(0, &numbers)? })
        };
        Ok([part(false)?, part(true)?])
    }
}

/// Trains all parameters of a program on images in random order, for some passes.
///
/// # Errors
///
/// Those of the program's operators.
pub fn train(program: &Program, digits: &Digits, passes: u32) -> Result<()> {
    let parameters: Vec<Tensor> = program.parameters().into_iter().map(|(_, tensor)| tensor).collect();
    for parameter in &parameters {
        parameter.requires_grad_(true)?;
    }
    let mut optimizer = AdamW::new(parameters, 3e-3)?;
    for _ in 0..passes {
        let order = Randperm.call(digits.labels.numel(), None, None, None, None)?;
        for batch in order.split(BATCH, 0)? {
            let images = moved(&digits.images.index_select(0, &batch)?)?;
            let scores = &program.run(&[&images])?[0];
            let loss = loss::cross_entropy(scores, &digits.labels.index_select(0, &batch)?)?;
            optimizer.zero_grad()?;
            loss.backward()?;
            optimizer.step()?;
        }
    }
    Ok(())
}

/// Images moved by up to one pixel in each direction, so that the place of a digit says nothing.
fn moved(images: &Tensor) -> Result<Tensor> {
    let by = RandintLow.call(-1, 2, &[2], Some(DType::I64), None, None, None)?;
    images.roll(&by.to_vec::<i64>()?, &[2, 3])
}

/// The part of the images that the program classifies correctly.
///
/// # Errors
///
/// Those of the program's operators.
pub fn accuracy(program: &Program, digits: &Digits) -> Result<f64> {
    let scores = no_grad(|| program.run(&[&digits.images]))?;
    let right = scores[0].argmax(1)?.eq(&digits.labels)?.sum()?.item()?.to_f64()?;
    Ok(right / digits.labels.numel() as f64)
}
