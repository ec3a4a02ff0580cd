//! What margin losses of several classes share: rows of scores, the shapes of losses and gradients, and how losses are reduced.

use opgrid_core::{DType, Result};

use opgrid_array::error::argument;
use opgrid_kernels::normalise;
use opgrid_tensor::tensor::choose::unsupported;
use opgrid_tensor::tensor::{Dims, Tensor, TensorSpec};

use super::loss::Reduction;
use super::pooling::check_gradient;

/// The dtypes of scores.
pub(crate) const DTYPES: &[DType] = &[DType::F32, DType::F64];

/// How many rows of scores there are, and the scores of each.
#[derive(Clone, Copy)]
pub(crate) struct Rows {
    /// The number of examples.
    pub count: i64,
    /// The number of classes.
    pub classes: i64,
    /// Whether losses are not reduced and have a dimension.
    keeps: bool,
}

impl Rows {
    /// The rows of `self`, which may be a single one or a single score; losses have a dimension where `has_dim` says so.
    ///
    /// # Errors
    ///
    /// Other dtypes and dimensions; no classes; an unknown reduction.
    pub(crate) fn new(input: &TensorSpec, has_dim: bool, reduction: i64) -> Result<Self> {
        if !DTYPES.contains(&input.dtype()) {
            return Err(unsupported(input.dtype(), "float32 or float64"));
        }
        let (count, classes) = match *input.sizes() {
            [] => (1, 1),
            [classes] if classes > 0 => (1, classes),
            [count, classes] if classes > 0 => (count, classes),
            ref found => {
                return Err(argument(format!(
                    "argument `self` has shape {found:?}, expected the scores of classes or rows of them, with at least one class"
                )));
            }
        };
        Ok(Self { count, classes, keeps: has_dim && Reduction::numbered(reduction)? == Reduction::None })
    }

    /// The spec of the losses.
    ///
    /// # Errors
    ///
    /// Sizes beyond 64 bits.
    pub(crate) fn losses(&self, input: &TensorSpec) -> Result<TensorSpec> {
        let sizes = if self.keeps { Dims::from_slice(&[self.count]) } else { Dims::new() };
        TensorSpec::contiguous(&sizes, input.dtype(), input.device())
    }

    /// The spec of the gradients of scores by that of the losses.
    ///
    /// # Errors
    ///
    /// A gradient that is neither one number nor one for each loss.
    pub(crate) fn gradients(&self, grad: &Tensor, input: &TensorSpec) -> Result<TensorSpec> {
        let found = grad.spec()?;
        let is_one = found.numel() == 1 && (!self.keeps || found.sizes().is_empty());
        let sizes = if is_one {
            Dims::from_slice(found.sizes())
        } else {
            Dims::from_slice(self.losses(input)?.sizes())
        };
        check_gradient("grad_output", found, input, &sizes)?;
        TensorSpec::contiguous(input.sizes(), input.dtype(), input.device())
    }

    /// Writes losses, reduced.
    ///
    /// # Errors
    ///
    /// An unknown reduction; an output that repeats elements.
    pub(crate) fn write(&self, losses: &[f64], reduction: i64, out: &Tensor) -> Result<()> {
        let sum = losses.iter().sum::<f64>();
        match Reduction::numbered(reduction)? {
            _ if self.keeps => normalise::write_numbers(out.array()?, losses),
            Reduction::Mean => normalise::write_numbers(out.array()?, &[sum / self.count as f64]),
            Reduction::None | Reduction::Sum => normalise::write_numbers(out.array()?, &[sum]),
        }
    }

    /// The gradient of the loss of each row.
    ///
    /// # Errors
    ///
    /// An unknown reduction; a tensor without data.
    pub(crate) fn gradient_of_each(
        &self,
        grad: &Tensor,
        reduction: i64,
    ) -> Result<impl Fn(usize) -> f64 + use<>> {
        let grads: Vec<f64> = normalise::numbers(grad.array()?)?;
        let count = match Reduction::numbered(reduction)? {
            Reduction::Mean => self.count as f64,
            Reduction::None | Reduction::Sum => 1.0,
        };
        Ok(move |row: usize| grads.get(row).or(grads.first()).copied().unwrap_or(0.0) / count)
    }
}

/// # Errors
///
/// Targets of another dtype than int64, or on another device than scores.
pub(crate) fn check_target(target: &TensorSpec, input: &TensorSpec) -> Result<()> {
    if target.dtype() != DType::I64 {
        return Err(argument(format!("argument `target` has dtype {}, expected int64", target.dtype())));
    }
    if target.device() != input.device() {
        let (found, expected) = (target.device(), input.device());
        return Err(argument(format!("argument `target` is on {found}, expected {expected} as `self`")));
    }
    Ok(())
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use opgrid_core::Scalar;

    use super::*;
    use opgrid_samples::prelude::*;

    /// Scores and targets as references see them: rows, with the scores of one, and the targets of one.
    ///
    /// # Errors
    ///
    /// Arguments are missing.
    pub(crate) fn rows(it: &Inputs) -> Result<Vec<(Vec<f64>, Vec<i64>)>> {
        let (x, target) = (it.tensor("self")?, it.tensor("target")?);
        let (count, classes) = match *x.sizes() {
            [count, classes] => (count, classes),
            [classes] => (1, classes),
            _ => (1, 1),
        };
        let x: Vec<f64> = x.elements().iter().map(|score| score.to_complex().re).collect();
        let target: Vec<i64> = target.elements().iter().map(|class| number::whole(*class)).collect();
        let each = target.len() / count.max(1) as usize;
        let row = |at: usize| {
            (x[at * classes as usize..][..classes as usize].to_vec(), target[at * each..][..each].to_vec())
        };
        Ok((0..count as usize).map(row).collect())
    }

    /// Losses, reduced; without a dimension where `has_dim` says so.
    ///
    /// # Errors
    ///
    /// Arguments are missing.
    pub(crate) fn reduced(it: &Inputs, losses: &[f64], has_dim: bool) -> Result<Plain> {
        let (dtype, sum) = (it.tensor("self")?.dtype(), losses.iter().sum::<f64>());
        Ok(match it.value::<i64>("reduction")? {
            0 if has_dim => Plain::from_elements(dtype, &[losses.len() as i64], losses),
            1 => Plain::number(dtype, sum / losses.len() as f64),
            _ => Plain::number(dtype, sum),
        })
    }

    /// Gradients by differences of losses, which are pieces of straight lines or parabolas: `loss` gives that of a row of scores.
    ///
    /// # Errors
    ///
    /// Arguments are missing.
    pub(crate) fn gradients(it: &Inputs, loss: impl Fn(&[f64], &[i64]) -> f64) -> Result<Expected> {
        let (x, grad, rows) = (it.tensor("self")?, it.tensor("grad_output")?, rows(it)?);
        let mean = it.value::<i64>("reduction")? == 1;
        let step = 1.0 / 128.0;
        let elements = rows.iter().enumerate().flat_map(|(at, (scores, targets))| {
            let factor = match *grad.sizes() {
                [] => grad.at(&[]),
                _ => grad.at(&[if grad.elements().len() == 1 { 0 } else { at as i64 }]),
            };
            let factor = factor.to_complex().re / if mean { rows.len() as f64 } else { 1.0 };
            let slope = |class: usize| {
                let moved = |by: f64| {
                    let mut moved = scores.clone();
                    moved[class] += by;
                    loss(&moved, targets)
                };
                Scalar::Float((moved(step) - moved(-step)) / (2.0 * step) * factor)
            };
            (0..scores.len()).map(slope).collect::<Vec<_>>()
        });
        Ok(Plain::from_elements(x.dtype(), x.sizes(), &elements.collect::<Vec<_>>()).into())
    }

    /// Scores that are never as far from each other as a margin: multiples of an eighth, moved apart by their place.
    pub(crate) fn scores(dtype: DType, sizes: &[i64]) -> Plain {
        let all = generate::numbers(dtype, sizes, 1);
        let moved = all
            .elements()
            .iter()
            .enumerate()
            .map(|(at, score)| Scalar::Float(score.to_complex().re + (at % 7) as f64 / 64.0));
        Plain::from_elements(dtype, sizes, &moved.collect::<Vec<_>>())
    }

    /// Samples of gradients: each call of the loss with a gradient for what it gives, and with one number.
    pub(crate) fn with_gradients(dtype: DType, samples: Vec<Sample>) -> Vec<Sample> {
        let with = |sample: Sample| {
            let is_kept =
                sample.keyword.iter().any(|(name, value)| name == "reduction" && value.to_string() == "0");
            let sizes = match sample.positional.first().map(Given::tensors).unwrap_or_default().first() {
                Some(x) if is_kept && x.sizes().len() == 2 => vec![x.sizes()[0]],
                _ => Vec::new(),
            };
            let with = |grad: Plain| {
                let mut sample = sample.clone();
                sample.positional.insert(0, grad.into());
                sample
            };
            [with(generate::nonzero(dtype, &sizes, 2)), with(generate::nonzero(dtype, &[], 3))]
        };
        samples.into_iter().flat_map(with).collect()
    }
}
