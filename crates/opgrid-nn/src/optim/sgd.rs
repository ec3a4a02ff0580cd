//! Stochastic gradient descent.

use opgrid_core::Result;
use opgrid_tensor::{Tensor, ops};

use super::group::{Group, Groups, Settings, expect, optimizer, real};
use crate::error::argument;

/// Stochastic gradient descent: `p -= lr * v` with `v = momentum * v + (1 - dampening) * grad`.
///
/// See [`SGDOptions`] for the settings, and the [module](crate::optim) for an example.
#[derive(Debug)]
pub struct SGD {
    groups: Groups<SGDOptions>,
}

/// The settings of [`SGD`]. A number is the learning rate, with the others as they are by default.
#[derive(Clone, Debug)]
pub struct SGDOptions {
    /// The learning rate; 1e-3 by default.
    pub lr: f64,
    /// How much of the last step goes into the next; 0 by default.
    pub momentum: f64,
    /// How much of a gradient does not go into the momentum; 0 by default.
    pub dampening: f64,
    /// What part of a parameter is added to its gradient first; 0 by default.
    pub weight_decay: f64,
    /// Whether steps are along `grad + momentum * v`.
    pub nesterov: bool,
    /// Whether steps are upwards.
    pub maximize: bool,
}

impl Default for SGDOptions {
    fn default() -> Self {
        Self { lr: 1e-3, momentum: 0.0, dampening: 0.0, weight_decay: 0.0, nesterov: false, maximize: false }
    }
}

impl From<f64> for SGDOptions {
    fn from(lr: f64) -> Self {
        Self { lr, ..Self::default() }
    }
}

impl Settings for SGDOptions {
    const OPTIMIZER: &'static str = "SGD";
    const NAMES: &'static [&'static str] = &["momentum_buffer"];
    const COUNTS_STEPS: bool = false;

    fn lr(&self) -> f64 {
        self.lr
    }

    fn set_lr(&mut self, lr: f64) {
        self.lr = lr;
    }

    fn keeps(&self) -> usize {
        usize::from(self.momentum != 0.0)
    }

    fn check(&self) -> Result<()> {
        let named = [("lr", self.lr), ("momentum", self.momentum), ("weight_decay", self.weight_decay)];
        for (name, value) in named {
            expect(value >= 0.0, "SGD", name, value, "zero or more")?;
        }
        if self.nesterov && (self.momentum <= 0.0 || self.dampening != 0.0) {
            return Err(argument(format!(
                "SGD: found nesterov with momentum {} and dampening {}, expected some momentum and no dampening",
                self.momentum, self.dampening
            )));
        }
        Ok(())
    }
}

optimizer!(SGD, SGDOptions);

/// Updates the parameters of a group: those with a buffer, and those in their first step.
fn update(group: &mut Group<SGDOptions>) -> Result<()> {
    let SGDOptions { lr, momentum, dampening, weight_decay, nesterov, maximize } = group.settings;
    let mut later: [Vec<Tensor>; 3] = Default::default();
    let mut first: [Vec<Tensor>; 3] = Default::default();
    for slot in &mut group.slots {
        let Some(grad) = slot.parameter.grad() else { continue };
        let is_first = momentum != 0.0 && slot.kept.is_empty();
        if is_first {
            slot.kept.push(ops::EmptyLike.call(&slot.parameter, None, None, None, None, None)?);
        }
        let lists = if is_first { &mut first } else { &mut later };
        for (list, tensor) in lists.iter_mut().zip([Some(&slot.parameter), Some(&grad), slot.kept.first()]) {
            list.extend(tensor.map(real).transpose()?);
        }
    }
    for ([parameters, grads, buffers], is_first) in [(later, false), (first, true)] {
        if parameters.is_empty() {
            continue;
        }
        ops::FusedSgdInplace.call(
            &parameters,
            &grads,
            &buffers,
            weight_decay,
            momentum,
            lr,
            dampening,
            nesterov,
            maximize,
            is_first,
            None,
            None,
        )?;
    }
    Ok(())
}
