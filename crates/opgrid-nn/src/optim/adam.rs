//! Adam and AdamW.

use opgrid_core::Result;
use opgrid_tensor::{Tensor, ops};

use super::group::{Group, Groups, Settings, Slot, expect, optimizer, real};

/// Adam, after Kingma and Ba, 2014: running means of gradients over the root of those of their squares.
///
/// `weight_decay * p` is added to the gradient; [`AdamW`] scales the parameter instead.
///
/// # Examples
///
/// ```
/// use opgrid_nn::{Linear, Module, optim::{Adam, AdamOptions}};
///
/// let layer = Linear::new(3, 1)?;
/// let mut optimizer = Adam::new(layer.parameters(), AdamOptions { betas: [0.8, 0.99], ..Default::default() })?;
/// optimizer.groups_mut()[0].settings.lr = 1e-2;
/// optimizer.step()?;
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Adam {
    groups: Groups<AdamOptions>,
}

/// The settings of [`Adam`]. A number is the learning rate, with the others as they are by default.
#[derive(Clone, Debug)]
pub struct AdamOptions {
    /// The learning rate; 1e-3 by default.
    pub lr: f64,
    /// How much of the running means of gradients and squares stays in each step; 0.9 and 0.999 by default.
    pub betas: [f64; 2],
    /// What is added to the root of the mean of squares; 1e-8 by default.
    pub eps: f64,
    /// What part of a parameter is added to its gradient first; 0 by default.
    pub weight_decay: f64,
    /// Whether the largest mean of squares so far is used.
    pub amsgrad: bool,
    /// Whether steps are upwards.
    pub maximize: bool,
}

impl Default for AdamOptions {
    fn default() -> Self {
        let (amsgrad, maximize) = (false, false);
        Self { lr: 1e-3, betas: [0.9, 0.999], eps: 1e-8, weight_decay: 0.0, amsgrad, maximize }
    }
}

impl From<f64> for AdamOptions {
    fn from(lr: f64) -> Self {
        Self { lr, ..Self::default() }
    }
}

/// Adam with decoupled weight decay, after Loshchilov and Hutter, 2017: parameters are scaled by `1 - lr * weight_decay`.
///
/// # Examples
///
/// Weights decay, biases do not:
///
/// ```
/// use opgrid_nn::{Linear, Module, optim::{AdamW, AdamWOptions}};
///
/// let layer = Linear::new(3, 1)?;
/// let (weights, biases) = layer.parameters().into_iter().partition(|it| it.dim() > 1);
/// let mut optimizer = AdamW::new(weights, AdamWOptions { lr: 3e-4, weight_decay: 0.1, ..Default::default() })?;
/// optimizer.add_group(biases, AdamWOptions { lr: 3e-4, weight_decay: 0.0, ..Default::default() })?;
/// assert_eq!(optimizer.groups().len(), 2);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Debug)]
pub struct AdamW {
    groups: Groups<AdamWOptions>,
}

/// The settings of [`AdamW`]. A number is the learning rate, with the others as they are by default.
#[derive(Clone, Debug)]
pub struct AdamWOptions {
    /// The learning rate; 1e-3 by default.
    pub lr: f64,
    /// How much of the running means of gradients and squares stays in each step; 0.9 and 0.999 by default.
    pub betas: [f64; 2],
    /// What is added to the root of the mean of squares; 1e-8 by default.
    pub eps: f64,
    /// What part of a parameter, times the learning rate, is taken away in each step; 0.01 by default.
    pub weight_decay: f64,
    /// Whether the largest mean of squares so far is used.
    pub amsgrad: bool,
    /// Whether steps are upwards.
    pub maximize: bool,
}

impl Default for AdamWOptions {
    fn default() -> Self {
        let (amsgrad, maximize) = (false, false);
        Self { lr: 1e-3, betas: [0.9, 0.999], eps: 1e-8, weight_decay: 1e-2, amsgrad, maximize }
    }
}

impl From<f64> for AdamWOptions {
    fn from(lr: f64) -> Self {
        Self { lr, ..Self::default() }
    }
}

/// What both have, as the formulas take it.
#[derive(Clone, Copy)]
struct Rule {
    optimizer: &'static str,
    lr: f64,
    betas: [f64; 2],
    eps: f64,
    weight_decay: f64,
    is_decoupled: bool,
    amsgrad: bool,
    maximize: bool,
}

/// The settings of an optimizer of this file.
trait Ruled {
    fn rule(&self) -> Rule;
}

macro_rules! ruled {
    ($settings:ident, $optimizer:literal, $is_decoupled:literal) => {
        impl Ruled for $settings {
            fn rule(&self) -> Rule {
                let Self { lr, betas, eps, weight_decay, amsgrad, maximize } = *self;
                let (optimizer, is_decoupled) = ($optimizer, $is_decoupled);
                Rule { optimizer, lr, betas, eps, weight_decay, is_decoupled, amsgrad, maximize }
            }
        }

        impl Settings for $settings {
            const OPTIMIZER: &'static str = $optimizer;
            const NAMES: &'static [&'static str] = &["exp_avg", "exp_avg_sq", "max_exp_avg_sq"];
            const COUNTS_STEPS: bool = true;

            fn lr(&self) -> f64 {
                self.lr
            }

            fn set_lr(&mut self, lr: f64) {
                self.lr = lr;
            }

            fn keeps(&self) -> usize {
                2 + usize::from(self.amsgrad)
            }

            fn check(&self) -> Result<()> {
                self.rule().check()
            }
        }
    };
}

ruled!(AdamOptions, "Adam", false);
ruled!(AdamWOptions, "AdamW", true);
optimizer!(Adam, AdamOptions);
optimizer!(AdamW, AdamWOptions);

impl Rule {
    fn check(&self) -> Result<()> {
        let named = [("lr", self.lr), ("eps", self.eps), ("weight_decay", self.weight_decay)];
        for (name, value) in named {
            expect(value >= 0.0, self.optimizer, name, value, "zero or more")?;
        }
        for beta in self.betas {
            let holds = (0.0..1.0).contains(&beta);
            expect(holds, self.optimizer, "beta", beta, "zero or more and less than one")?;
        }
        Ok(())
    }
}

/// Updates the parameters of a group.
fn update<S: Ruled>(group: &mut Group<S>) -> Result<()> {
    let rule = group.settings.rule();
    update_all(rule, &mut group.slots)
}

fn update_all(rule: Rule, slots: &mut [Slot]) -> Result<()> {
    let Rule { lr, betas: [beta1, beta2], eps, weight_decay, is_decoupled, amsgrad, maximize, .. } = rule;
    let mut lists: [Vec<Tensor>; 6] = Default::default();
    for slot in slots {
        let Some(grad) = slot.parameter.grad() else { continue };
        while slot.kept.len() < 2 + usize::from(amsgrad) {
            slot.kept.push(zeros_like(&slot.parameter)?);
        }
        slot.steps += 1;
        let steps = Tensor::number(slot.steps as f64);
        let tensors =
            [Some(&slot.parameter), Some(&grad), slot.kept.first(), slot.kept.get(1), slot.kept.get(2)];
        for (list, tensor) in lists.iter_mut().zip(tensors) {
            list.extend(tensor.map(real).transpose()?);
        }
        lists[5].push(steps);
    }
    let [parameters, grads, means, squares, largest, steps] = &lists;
    if parameters.is_empty() {
        return Ok(());
    }
    // Without `amsgrad` nothing of an earlier setting is used.
    let largest: &[Tensor] = if amsgrad { largest } else { &[] };
    macro_rules! step {
        ($operator:expr) => {
            $operator.call(
                parameters,
                grads,
                means,
                squares,
                largest,
                steps,
                lr,
                beta1,
                beta2,
                weight_decay,
                eps,
                amsgrad,
                maximize,
                None,
                None,
            )
        };
    }
    if is_decoupled { step!(ops::FusedAdamwInplace) } else { step!(ops::FusedAdamInplace) }
}

fn zeros_like(tensor: &Tensor) -> Result<Tensor> {
    ops::ZerosLike.call(tensor, None, None, None, None, None)
}
