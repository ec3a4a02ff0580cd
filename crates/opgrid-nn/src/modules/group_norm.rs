//! Normalization of groups of channels.

use opgrid_core::Result;
use opgrid_core::conversions::Integer;
use opgrid_tensor::{Tensor, ops};

use crate::error::argument;
use crate::module::{Module, Parts, forward};
use crate::options::{ModuleOptions, learned};

/// Normalizes each group of channels of each sample `(batch, channels, …)`, then scales and shifts each channel.
///
/// Parameters: `weight` (ones at first) and `bias` (zeros), both `(channels)`.
///
/// # Examples
///
/// ```
/// use opgrid_core::{DType, Device};
/// use opgrid_nn::GroupNorm;
/// use opgrid::Tensor;
///
/// let norm = GroupNorm::new(2, 4)?;
/// let x = Tensor::ones(&[3, 4, 5], DType::F32, Device::CPU)?;
/// assert_eq!(norm.forward(&x)?.sizes(), [3, 4, 5]);
/// assert!(GroupNorm::new(3, 4).is_err());
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Debug)]
pub struct GroupNorm {
    /// The scale of each channel.
    pub weight: Option<Tensor>,
    /// What is added to each channel.
    pub bias: Option<Tensor>,
    groups: i64,
    eps: f64,
}

impl GroupNorm {
    /// A norm of the default dtype.
    ///
    /// # Errors
    ///
    /// As [`with`](Self::with).
    pub fn new(groups: impl Integer, channels: impl Integer) -> Result<Self> {
        let (groups, channels) = (groups.to_i64(), channels.to_i64());
        Self::with(groups, channels, ModuleOptions::new())
    }

    /// A norm with these settings.
    ///
    /// # Errors
    ///
    /// Channels that `groups` does not divide, or a dtype that is no floating-point one.
    pub fn with(groups: impl Integer, channels: impl Integer, options: ModuleOptions) -> Result<Self> {
        let (groups, channels) = (groups.to_i64(), channels.to_i64());
        if groups <= 0 || channels % groups != 0 {
            return Err(argument(format!(
                "GroupNorm: found {channels} channels and {groups} groups, expected a positive number of groups that \
                 divides the channels"
            )));
        }
        let weight = learned(options.full(&[channels], 1)?)?;
        let bias = options.has_bias().then(|| options.full(&[channels], 0).and_then(learned)).transpose()?;
        Ok(Self { weight: Some(weight), bias, groups, eps: 1e-5 })
    }

    /// What is added to the variance; 1e-5 unless it is set.
    #[must_use]
    pub fn eps(self, eps: f64) -> Self {
        Self { eps, ..self }
    }

    /// Neither scales nor shifts: the module has no parameters.
    #[must_use]
    pub fn without_affine(self) -> Self {
        Self { weight: None, bias: None, ..self }
    }

    /// The normalized input.
    ///
    /// # Errors
    ///
    /// An input with other channels.
    pub fn forward(&self, input: &Tensor) -> Result<Tensor> {
        ops::GroupNorm.call(input, self.groups, self.weight.as_ref(), self.bias.as_ref(), self.eps, true)
    }
}

impl Module for GroupNorm {
    fn parts(&self, parts: &mut Parts) {
        parts.parameter("weight", &self.weight).parameter("bias", &self.bias);
    }
}

forward!(GroupNorm);
