//! Normalization over the last dimensions.

use opgrid_core::Result;
use opgrid_core::conversions::IntList;
use opgrid_tensor::{Tensor, ops};

use crate::module::{Module, Parts, forward};
use crate::options::{ModuleOptions, learned};

/// Subtracts the mean over the last dimensions and divides by the standard deviation, then scales and shifts.
///
/// Parameters: `weight` (ones at first) and `bias` (zeros), both of the normalized shape.
///
/// # Examples
///
/// ```
/// use opgrid_nn::LayerNorm;
/// use opgrid::Tensor;
///
/// let norm = LayerNorm::new(2)?.eps(0.0);
/// let x = Tensor::from_slice(&[1.0f32, 3.0], &[1, 2])?;
/// assert_eq!(norm.forward(&x)?.to_vec::<f32>()?, [-1.0, 1.0]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Debug)]
pub struct LayerNorm {
    /// The scale of each element.
    pub weight: Option<Tensor>,
    /// What is added to each element.
    pub bias: Option<Tensor>,
    shape: Vec<i64>,
    eps: f64,
}

impl LayerNorm {
    /// A norm over dimensions of these sizes, of the default dtype.
    ///
    /// # Errors
    ///
    /// As [`with`](Self::with).
    pub fn new(shape: impl IntList) -> Result<Self> {
        Self::with(shape, ModuleOptions::new())
    }

    /// A norm with these settings.
    ///
    /// # Errors
    ///
    /// A negative size, or a dtype that is no floating-point one.
    pub fn with(shape: impl IntList, options: ModuleOptions) -> Result<Self> {
        let shape = shape.into_list().as_ref().to_vec();
        let weight = learned(options.full(&shape, 1)?)?;
        let bias = options.has_bias().then(|| options.full(&shape, 0).and_then(learned)).transpose()?;
        Ok(Self { weight: Some(weight), bias, shape, eps: 1e-5 })
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
    /// An input whose last dimensions are of other sizes.
    pub fn forward(&self, input: &Tensor) -> Result<Tensor> {
        ops::LayerNorm.call(input, &self.shape, self.weight.as_ref(), self.bias.as_ref(), self.eps, true)
    }
}

impl Module for LayerNorm {
    fn parts(&self, parts: &mut Parts) {
        parts.parameter("weight", &self.weight).parameter("bias", &self.bias);
    }
}

forward!(LayerNorm);
