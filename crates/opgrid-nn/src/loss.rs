//! Losses: the mean over all elements or samples, as a tensor with one element.
//!
//! The operators behind them take reductions too: `ops::MseLoss.call(&x, &y, 0)` gives the loss of each element.
//!
//! # Examples
//!
//! ```
//! use opgrid_nn::loss::{self, CrossEntropy};
//! use opgrid::{Device, Tensor};
//!
//! let scores = Tensor::new(&[[2.0f64, 0.0, 0.0], [0.0, 0.0, 0.0]], Device::CPU)?;
//! let classes = Tensor::new(&[0i64, 2], Device::CPU)?;
//! let plain = loss::cross_entropy(&scores, &classes)?;
//! let smooth = CrossEntropy { label_smoothing: 0.1, ..Default::default() }.forward(&scores, &classes)?;
//! assert!((plain.to_vec::<f64>()?[0] - 0.6691).abs() < 1e-4);
//! assert!((smooth.to_vec::<f64>()?[0] - 0.7358).abs() < 1e-4);
//! # Ok::<(), opgrid_core::Error>(())
//! ```

use opgrid_core::Result;
use opgrid_tensor::{Tensor, ops};

/// What becomes of the losses of single elements or samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reduction {
    /// They stay as they are.
    None,
    /// Their mean.
    #[default]
    Mean,
    /// Their sum.
    Sum,
}

impl Reduction {
    /// The number that operators take.
    pub fn number(self) -> i64 {
        match self {
            Self::None => 0,
            Self::Mean => 1,
            Self::Sum => 2,
        }
    }
}

const MEAN: i64 = 1;

/// Cross entropy with settings; [`cross_entropy`] is it without.
#[derive(Clone, Debug)]
pub struct CrossEntropy {
    /// A weight for each class.
    pub weight: Option<Tensor>,
    /// The class of samples that do not count.
    pub ignore_index: i64,
    /// The part of each target that is spread over all classes, from 0 to 1.
    pub label_smoothing: f64,
    /// What becomes of the losses of single samples.
    pub reduction: Reduction,
}

impl Default for CrossEntropy {
    fn default() -> Self {
        Self { weight: None, ignore_index: -100, label_smoothing: 0.0, reduction: Reduction::Mean }
    }
}

impl CrossEntropy {
    /// The loss of scores `(N, C, …)` against classes `(N, …)` or probabilities `(N, C, …)`.
    ///
    /// # Errors
    ///
    /// Those of `aten::cross_entropy_loss`.
    pub fn forward(&self, scores: &Tensor, target: &Tensor) -> Result<Tensor> {
        let Self { weight, ignore_index, label_smoothing, reduction } = self;
        let reduction = reduction.number();
        ops::CrossEntropyLoss.call(
            scores,
            target,
            weight.as_ref(),
            reduction,
            *ignore_index,
            *label_smoothing,
        )
    }
}

/// Cross entropy of scores `(N, C, …)` against classes `(N, …)` of int64, or probabilities `(N, C, …)`.
///
/// # Errors
///
/// Those of `aten::cross_entropy_loss`.
pub fn cross_entropy(scores: &Tensor, target: &Tensor) -> Result<Tensor> {
    CrossEntropy::default().forward(scores, target)
}

/// Negative log likelihood: log probabilities `(N, C, …)` against classes `(N, …)` of int64.
///
/// # Errors
///
/// Those of `aten::nll_loss_nd`.
pub fn nll(log_probabilities: &Tensor, target: &Tensor) -> Result<Tensor> {
    ops::NllLossNd.call(log_probabilities, target, None, MEAN, -100)
}

/// The squared error.
///
/// # Errors
///
/// Those of `aten::mse_loss`.
pub fn mse(input: &Tensor, target: &Tensor) -> Result<Tensor> {
    ops::MseLoss.call(input, target, MEAN)
}

/// The absolute error.
///
/// # Errors
///
/// Those of `aten::l1_loss`.
pub fn l1(input: &Tensor, target: &Tensor) -> Result<Tensor> {
    ops::L1Loss.call(input, target, MEAN)
}

/// Half the squared error over `beta` below `beta`, the absolute error less half of `beta` above.
///
/// # Errors
///
/// Those of `aten::smooth_l1_loss`.
pub fn smooth_l1(input: &Tensor, target: &Tensor, beta: f64) -> Result<Tensor> {
    ops::SmoothL1Loss.call(input, target, MEAN, beta)
}

/// [`smooth_l1`] times `delta`.
///
/// # Errors
///
/// Those of `aten::huber_loss`.
pub fn huber(input: &Tensor, target: &Tensor, delta: f64) -> Result<Tensor> {
    ops::HuberLoss.call(input, target, MEAN, delta)
}

/// Cross entropy of probabilities against targets between 0 and 1.
///
/// # Errors
///
/// Those of `aten::binary_cross_entropy`.
pub fn binary_cross_entropy(input: &Tensor, target: &Tensor) -> Result<Tensor> {
    ops::BinaryCrossEntropy.call(input, target, None, MEAN)
}

/// [`binary_cross_entropy`] of the logistic function of scores, which loses nothing far from zero.
///
/// # Errors
///
/// Those of `aten::binary_cross_entropy_with_logits`.
pub fn binary_cross_entropy_with_logits(scores: &Tensor, target: &Tensor) -> Result<Tensor> {
    ops::BinaryCrossEntropyWithLogits.call(scores, target, None, None, MEAN)
}
