//! The second part of the demo: a network that learns, and one of its calls explained.

use opgrid::dispatch::Returns;
use opgrid::nn::Module;
use opgrid::ops;
use opgrid::prelude::*;
use serde_json::json;

use super::classifier::{TRAINING, parts};
use super::network::Network;
use super::report::{Report, percent};
use super::training::{self, Examples};
use super::{Demo, curve};
use crate::digits::Digits;

impl Report {
    /// A convolutional network that learns from the images by gradients.
    pub(super) fn network(&mut self, digits: &Digits, demo: &Demo) -> Result<()> {
        self.heading("A network that learns by gradients, which are a layer under every operator");
        opgrid::manual_seed(demo.seed);
        let [training, held_out] = examples(digits)?;
        let network = Network::new()?;
        let numbers: i64 = network.parameters().iter().map(Tensor::numel).sum();
        self.line(format_args!("{numbers} parameters; passes over {TRAINING} images: {}", demo.epochs));
        let losses = training::train(&network, &training, demo.epochs)?;
        for (epoch, losses) in losses.chunks(losses.len() / demo.epochs as usize).enumerate() {
            let mean = losses.iter().sum::<f64>() / losses.len() as f64;
            self.line(format_args!("pass {:2}  loss {mean:.4}", epoch + 1));
        }
        let accuracy = training::accuracy(&network, &held_out)?;
        for row in curve::draw(&losses, 72, 6) {
            self.line(row);
        }
        let others = percent(self.accuracy);
        self.line(format_args!("accuracy  {} where centroids reach {others}", percent(accuracy)));
        self.json["network"] = json!({"losses": losses, "accuracy": accuracy, "parameters": numbers});
        self.explain_gradients(&network, &held_out)
    }

    /// Which kernels a call of the network runs, while gradients are recorded.
    fn explain_gradients(&mut self, network: &Network, examples: &Examples) -> Result<()> {
        self.heading("Which kernels run in its last layer, whose weight requires a gradient");
        let features = network.features(&examples.images.slice(0, 0, 1, 1)?)?;
        let linear = opgrid::dispatcher()?.operator(ops::Linear)?;
        let bias = network.head.bias.as_ref().map_or(Value::None, Value::from);
        let arguments = [Value::from(&features), Value::from(&network.head.weight), bias];
        let borrowed: Vec<_> = arguments.iter().map(Value::borrow).collect();
        let (result, explanation) = linear.call_explained(&borrowed, &mut Returns::new())?;
        result?;
        self.line(&explanation);
        self.json["network"]["explanation"] = explanation.to_json();
        Ok(())
    }
}

/// Converts the images to a network's inputs, with their labels.
fn examples(digits: &Digits) -> Result<[Examples; 2]> {
    let (training, held_out) = parts(digits)?;
    let (first, others) = digits.labels.split_at(TRAINING as usize);
    let of = |images: Tensor, labels: &[i64]| -> Result<Examples> {
        let images = images.view(&[-1, 1, 8, 8])?;
        Ok(Examples { images, labels: Tensor::from_slice(labels, &[labels.len() as i64])? })
    };
    Ok([of(training, first)?, of(held_out, others)?])
}
