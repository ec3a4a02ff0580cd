//! How the network of the demo learns: mini-batches in random order, moved by a pixel, with AdamW.

use opgrid::layers::autograd::no_grad;
use opgrid::nn::{Module, loss};
use opgrid::ops;
use opgrid::optim::schedule::{CosineAnnealingLR, LinearLR, SequentialLR};
use opgrid::optim::{AdamW, AdamWOptions, Scheduler};
use opgrid::prelude::*;

use super::network::Network;
use crate::progress::Training as Progress;

const BATCH: i64 = 32;

/// Images `[count, 1, 8, 8]` from 0 to 1, and what they show.
pub(super) struct Examples {
    pub(super) images: Tensor,
    pub(super) labels: Tensor,
}

impl Examples {
    fn count(&self) -> i64 {
        self.labels.numel()
    }
}

/// Trains for some passes over the examples and gives the loss of each step.
pub(super) fn train(network: &Network, examples: &Examples, epochs: u64) -> Result<Vec<f64>> {
    let steps_of_an_epoch = (examples.count() as u64).div_ceil(BATCH as u64);
    let steps = steps_of_an_epoch * epochs;
    let settings = AdamWOptions { lr: 1e-2, weight_decay: 0.1, ..Default::default() };
    let mut optimizer = AdamW::new(network.parameters(), settings)?;
    let warm_up = LinearLR { start_factor: 0.1, end_factor: 1.0, total_iters: steps_of_an_epoch };
    let cosine = CosineAnnealingLR { t_max: (steps - steps_of_an_epoch).max(1) as f64, eta_min: 0.0 };
    let schedule = SequentialLR::new(warm_up, steps_of_an_epoch, cosine);
    let mut scheduler = Scheduler::new(&mut optimizer, schedule);

    let mut progress = Progress::start(steps);
    let mut losses = Vec::new();
    network.train(true);
    for _ in 0..epochs {
        let order = ops::Randperm.call(examples.count(), None, None, None, None)?;
        for batch in order.split(BATCH, 0)? {
            let images = moved(&examples.images.index_select(0, &batch)?)?;
            let scores = network.forward(&images)?;
            let loss = loss::cross_entropy(&scores, &examples.labels.index_select(0, &batch)?)?;
            optimizer.zero_grad()?;
            loss.backward()?;
            optimizer.step()?;
            scheduler.step(&mut optimizer);
            let loss = loss.item()?.to_f64()?;
            losses.push(loss);
            progress.step(loss);
        }
    }
    Ok(losses)
}

/// Images moved by up to one pixel in each direction, the same for the whole batch: other people write elsewhere.
fn moved(images: &Tensor) -> Result<Tensor> {
    let by = ops::RandintLow.call(-1, 2, &[2], Some(DType::I64), None, None, None)?;
    images.roll(&by.to_vec::<i64>()?, &[2, 3])
}

/// The part of the examples that the network classifies correctly.
pub(super) fn accuracy(network: &Network, examples: &Examples) -> Result<f64> {
    network.eval();
    let scores = no_grad(|| network.forward(&examples.images))?;
    let right = scores.argmax(1)?.eq(&examples.labels)?.sum()?.item()?.to_f64()?;
    Ok(right / examples.count() as f64)
}
