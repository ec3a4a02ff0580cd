//! Normalization over a batch, with running statistics for evaluation.

use opgrid_core::Result;
use opgrid_core::conversions::Integer;
use opgrid_tensor::{Tensor, ops};

use crate::error::argument;
use crate::module::{Mode, Module, Parts, forward};
use crate::options::{ModuleOptions, learned};

/// Normalizes each channel over a batch, then scales and shifts it; see [`BatchNorm1d`] and [`BatchNorm2d`].
///
/// While it trains it uses the batch's statistics, and moves the running ones towards them. Otherwise it uses the running
/// ones.
///
/// Parameters: `weight` (ones at first) and `bias` (zeros). Buffers: `running_mean`, `running_var` and
/// `num_batches_tracked`. All are `(channels)`, but the last one, which is an int64.
#[derive(Debug)]
pub struct BatchNorm<const N: usize> {
    /// The scale of each channel.
    pub weight: Option<Tensor>,
    /// What is added to each channel.
    pub bias: Option<Tensor>,
    /// What is known of the batches so far.
    pub running: Option<Running>,
    eps: f64,
    momentum: Option<f64>,
    mode: Mode,
}

/// What batch normalization knows of the batches so far.
#[derive(Debug)]
pub struct Running {
    /// The mean of each channel.
    pub mean: Tensor,
    /// The variance of each channel.
    pub var: Tensor,
    /// How many batches there were.
    pub batches: Tensor,
}

/// Batch normalization of `(batch, channels)` or `(batch, channels, length)`.
pub type BatchNorm1d = BatchNorm<1>;

/// Batch normalization of `(batch, channels, height, width)`.
///
/// # Examples
///
/// ```
/// use opgrid_core::{DType, Device};
/// use opgrid_nn::{BatchNorm2d, Module};
/// use opgrid::Tensor;
///
/// let norm = BatchNorm2d::new(3)?;
/// let x = Tensor::ones(&[2, 3, 4, 4], DType::F32, Device::CPU)?;
/// norm.forward(&x)?;
/// let names: Vec<String> = norm.named_buffers().into_iter().map(|(name, _)| name).collect();
/// assert_eq!(names, ["running_mean", "running_var", "num_batches_tracked"]);
/// assert!((norm.running.as_ref().unwrap().mean.to_vec::<f32>()?[0] - 0.1).abs() < 1e-6);
/// norm.eval();
/// assert_eq!(norm.forward(&x)?.sizes(), [2, 3, 4, 4]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub type BatchNorm2d = BatchNorm<2>;

impl<const N: usize> BatchNorm<N> {
    /// A norm of the default dtype.
    ///
    /// # Errors
    ///
    /// As [`with`](Self::with).
    pub fn new(channels: impl Integer) -> Result<Self> {
        let channels = channels.to_i64();
        Self::with(channels, ModuleOptions::new())
    }

    /// A norm with these settings.
    ///
    /// # Errors
    ///
    /// A negative number of channels, or a dtype that is no floating-point one.
    pub fn with(channels: impl Integer, options: ModuleOptions) -> Result<Self> {
        let channels = channels.to_i64();
        let weight = learned(options.full(&[channels], 1)?)?;
        let bias = options.has_bias().then(|| options.full(&[channels], 0).and_then(learned)).transpose()?;
        let running = Running {
            mean: options.full(&[channels], 0)?,
            var: options.full(&[channels], 1)?,
            batches: options.count()?,
        };
        let mode = Mode::default();
        Ok(Self { weight: Some(weight), bias, running: Some(running), eps: 1e-5, momentum: Some(0.1), mode })
    }

    /// What is added to the variance; 1e-5 unless it is set.
    #[must_use]
    pub fn eps(self, eps: f64) -> Self {
        Self { eps, ..self }
    }

    /// How far running statistics move towards a batch's, from 0 to 1; 0.1 unless it is set. `None` makes them the mean of
    /// all batches.
    #[must_use]
    pub fn momentum(self, momentum: impl Into<Option<f64>>) -> Self {
        Self { momentum: momentum.into(), ..self }
    }

    /// Neither scales nor shifts: the module has no parameters.
    #[must_use]
    pub fn without_affine(self) -> Self {
        Self { weight: None, bias: None, ..self }
    }

    /// Uses the batch's statistics always: the module has no buffers.
    #[must_use]
    pub fn without_running_stats(self) -> Self {
        Self { running: None, ..self }
    }

    /// The normalized input.
    ///
    /// # Errors
    ///
    /// An input with another number of dimensions or channels; a batch with one value for each channel while it trains.
    pub fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let (fits, expected) = match N {
            1 => (matches!(input.dim(), 2 | 3), "2 or 3"),
            _ => (input.dim() == N + 2, "4"),
        };
        if !fits {
            return Err(argument(format!(
                "BatchNorm{N}d: found an input of shape {:?}, expected {expected} dimensions",
                input.sizes()
            )));
        }
        let training = self.mode.is_training();
        let mut momentum = self.momentum.unwrap_or(0.0);
        if let (true, Some(running)) = (training, &self.running) {
            running.batches.add_(1)?;
            if self.momentum.is_none() {
                momentum = 1.0 / running.batches.item()?.to_f64()?;
            }
        }
        let (mean, var) = (self.running.as_ref().map(|it| &it.mean), self.running.as_ref().map(|it| &it.var));
        let by_batch = training || self.running.is_none();
        let (weight, bias) = (self.weight.as_ref(), self.bias.as_ref());
        ops::BatchNorm.call(input, weight, bias, mean, var, by_batch, momentum, self.eps, true)
    }
}

impl<const N: usize> Module for BatchNorm<N> {
    fn parts(&self, parts: &mut Parts) {
        parts.parameter("weight", &self.weight).parameter("bias", &self.bias).mode(&self.mode);
        if let Some(running) = &self.running {
            parts.buffer("running_mean", &running.mean).buffer("running_var", &running.var);
            parts.buffer("num_batches_tracked", &running.batches);
        }
    }
}

forward!(BatchNorm1d, BatchNorm2d);
