//! Stochastic gradient descent.

use opgrid_core::{MemoryFormat, Result};
use opgrid_tensor::ops;

use super::group::{Group, Groups, Settings, expect, optimizer};
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

/// Updates the parameters of a group.
fn update(group: &mut Group<SGDOptions>) -> Result<()> {
    let SGDOptions { lr, momentum, dampening, weight_decay, nesterov, maximize } = group.settings;
    for slot in &mut group.slots {
        let parameter = &slot.parameter;
        let Some(mut grad) = parameter.grad() else { continue };
        if maximize {
            grad = grad.neg()?;
        }
        if weight_decay != 0.0 {
            grad = grad.add(parameter, weight_decay)?;
        }
        if momentum != 0.0 {
            match slot.kept.first() {
                Some(speed) => {
                    speed.mul_scalar_(momentum)?.add_(&grad, 1.0 - dampening)?;
                }
                // The gradient is somebody else's, and may be written.
                None => slot.kept.push(ops::Clone.call(&grad.detach()?, Some(MemoryFormat::Preserve))?),
            }
            let speed = &slot.kept[0];
            grad = if nesterov { grad.add(speed, momentum)? } else { speed.clone() };
        }
        parameter.add_(&grad, -lr)?;
    }
    Ok(())
}
