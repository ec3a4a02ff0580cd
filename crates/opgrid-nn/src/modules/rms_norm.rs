//! Normalization by the root mean square over the last dimensions.

use opgrid_core::Result;
use opgrid_core::conversions::IntList;
use opgrid_tensor::{Tensor, ops};

use crate::module::{Module, Parts, forward};
use crate::options::{ModuleOptions, learned};

/// Divides by the root of the mean square over the last dimensions, then scales.
///
/// Parameters: `weight` of the normalized shape, ones at first.
///
/// # Examples
///
/// ```
/// use opgrid_nn::RMSNorm;
/// use opgrid::Tensor;
///
/// let norm = RMSNorm::new(2)?.eps(0.0);
/// let x = Tensor::from_slice(&[1.0f32, 7.0], &[2])?;
/// assert_eq!(norm.without_affine().forward(&x)?.to_string(), "tensor([0.2000, 1.4000])");
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Debug)]
pub struct RMSNorm {
    /// The scale of each element.
    pub weight: Option<Tensor>,
    shape: Vec<i64>,
    eps: Option<f64>,
}

impl RMSNorm {
    /// A norm over dimensions of these sizes, of the default dtype.
    ///
    /// # Errors
    ///
    /// As [`with`](Self::with).
    pub fn new(shape: impl IntList) -> Result<Self> {
        Self::with(shape, ModuleOptions::new())
    }

    /// A norm with these settings; it never has a bias.
    ///
    /// # Errors
    ///
    /// A negative size, or a dtype that is no floating-point one.
    pub fn with(shape: impl IntList, options: ModuleOptions) -> Result<Self> {
        let shape = shape.into_list().as_ref().to_vec();
        let weight = learned(options.full(&shape, 1)?)?;
        Ok(Self { weight: Some(weight), shape, eps: None })
    }

    /// What is added to the mean square; the smallest step of the input's dtype at 1 unless it is set.
    #[must_use]
    pub fn eps(self, eps: f64) -> Self {
        Self { eps: Some(eps), ..self }
    }

    /// Does not scale: the module has no parameters.
    #[must_use]
    pub fn without_affine(self) -> Self {
        Self { weight: None, ..self }
    }

    /// The normalized input.
    ///
    /// # Errors
    ///
    /// An input whose last dimensions are of other sizes.
    pub fn forward(&self, input: &Tensor) -> Result<Tensor> {
        ops::RmsNorm.call(input, &self.shape, self.weight.as_ref(), self.eps)
    }
}

impl Module for RMSNorm {
    fn parts(&self, parts: &mut Parts) {
        parts.parameter("weight", &self.weight);
    }
}

forward!(RMSNorm);
