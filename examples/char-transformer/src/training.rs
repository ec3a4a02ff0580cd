//! Fitting a model to a text.

use opgrid::nn::{Module, clip_grad_norm_, loss};
use opgrid::optim::schedule::{CosineAnnealingLR, LinearLR, SequentialLR};
use opgrid::optim::{AdamW, Scheduler};
use opgrid::prelude::*;

use crate::{Model, Text};

const BATCH: i64 = 16;

/// Takes steps on random pieces of the text, and tells the number and the loss of each.
///
/// # Errors
///
/// A text that is shorter than what the model sees at a time.
pub fn train(model: &Model, text: &Text, steps: u64, tell: &mut dyn FnMut(u64, f64)) -> Result<()> {
    let mut optimizer = AdamW::new(model.parameters(), 3e-3)?;
    let warm_up = (steps / 10).max(1);
    let rise = LinearLR { start_factor: 0.1, end_factor: 1.0, total_iters: warm_up };
    let fall = CosineAnnealingLR { t_max: steps.saturating_sub(warm_up).max(1) as f64, eta_min: 0.0 };
    let mut scheduler = Scheduler::new(&mut optimizer, SequentialLR::new(rise, warm_up, fall));
    model.train(true);
    for step in 0..steps {
        let (characters, next) = text.batch(BATCH, model.context())?;
        let scores = model.forward(&characters)?;
        let loss = loss::cross_entropy(&scores.flatten(0, 1)?, &next.flatten(0, 1)?)?;
        optimizer.zero_grad()?;
        loss.backward()?;
        clip_grad_norm_(&model.parameters(), 1.0)?;
        optimizer.step()?;
        scheduler.step(&mut optimizer);
        tell(step, loss.item()?.to_f64()?);
    }
    Ok(())
}
