//! Products with a learned matrix.

use opgrid_core::Result;
use opgrid_core::conversions::Integer;
use opgrid_tensor::{Tensor, ops};

use crate::init;
use crate::module::{Module, Parts, forward};
use crate::options::{ModuleOptions, learned};

/// `x @ weight.t() + bias`: inputs `(…, in_features)`, results `(…, out_features)`.
///
/// Parameters: `weight` `(out_features, in_features)` and `bias` `(out_features)`, both uniform between
/// `±1 / sqrt(in_features)` at first.
///
/// # Examples
///
/// ```
/// use opgrid_core::{DType, Device};
/// use opgrid_nn::Linear;
/// use opgrid::Tensor;
///
/// let layer = Linear::new(3, 4)?;
/// let x = Tensor::ones(&[2, 5, 3], DType::F32, Device::CPU)?;
/// assert_eq!(layer.forward(&x)?.sizes(), [2, 5, 4]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Linear {
    /// `(out_features, in_features)`.
    pub weight: Tensor,
    /// `(out_features)`.
    pub bias: Option<Tensor>,
}

impl Linear {
    /// A layer with a bias, of the default dtype.
    ///
    /// # Errors
    ///
    /// As [`with`](Self::with).
    pub fn new(in_features: impl Integer, out_features: impl Integer) -> Result<Self> {
        let (in_features, out_features) = (in_features.to_i64(), out_features.to_i64());
        Self::with(in_features, out_features, ModuleOptions::new())
    }

    /// A layer with these settings.
    ///
    /// # Errors
    ///
    /// A negative size, or a dtype that is no floating-point one.
    pub fn with(
        in_features: impl Integer,
        out_features: impl Integer,
        options: ModuleOptions,
    ) -> Result<Self> {
        let (in_features, out_features) = (in_features.to_i64(), out_features.to_i64());
        let weight = options.empty(&[out_features, in_features])?;
        let bias = options.has_bias().then(|| options.empty(&[out_features])).transpose()?;
        init::weight_and_bias(&weight, bias.as_ref())?;
        Ok(Self { weight: learned(weight)?, bias: bias.map(learned).transpose()? })
    }

    /// The product.
    ///
    /// # Errors
    ///
    /// An input whose last dimension has another size, or of another dtype.
    pub fn forward(&self, input: &Tensor) -> Result<Tensor> {
        ops::Linear.call(input, &self.weight, self.bias.as_ref())
    }
}

impl Module for Linear {
    fn parts(&self, parts: &mut Parts) {
        parts.parameter("weight", &self.weight).parameter("bias", &self.bias);
    }
}

/// Gives back its input.
#[derive(Clone, Copy, Debug, Default)]
pub struct Identity;

impl Identity {
    /// The input.
    ///
    /// # Errors
    ///
    /// None.
    pub fn forward(&self, input: &Tensor) -> Result<Tensor> {
        Ok(input.clone())
    }
}

impl Module for Identity {
    fn parts(&self, _: &mut Parts) {}
}

forward!(Linear, Identity);
