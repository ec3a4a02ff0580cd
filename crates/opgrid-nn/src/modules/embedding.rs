//! Tables of learned vectors.

use opgrid_core::Result;
use opgrid_core::conversions::Integer;
use opgrid_tensor::layers::autograd::no_grad;
use opgrid_tensor::{Tensor, ops};

use crate::error::argument;
use crate::init;
use crate::module::{Module, Parts, forward};
use crate::options::{ModuleOptions, learned};

/// A table of vectors, looked up by index: inputs of integers `(…)`, results `(…, width)`.
///
/// Parameters: `weight` `(rows, width)`, from the standard normal distribution at first.
///
/// # Examples
///
/// ```
/// use opgrid_nn::Embedding;
/// use opgrid::{Device, Tensor};
///
/// let table = Embedding::new(10, 3)?.padding_idx(0)?;
/// let found = table.forward(&Tensor::new(&[[1i64, 2], [9, 0]], Device::CPU)?)?;
/// assert_eq!(found.sizes(), [2, 2, 3]);
/// assert_eq!(&found.to_vec::<f32>()?[9..], [0.0; 3]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Embedding {
    /// `(rows, width)`.
    pub weight: Tensor,
    /// A row, or -1.
    padding: i64,
    max_norm: Option<f64>,
    scales_by_frequency: bool,
}

impl Embedding {
    /// A table of the default dtype.
    ///
    /// # Errors
    ///
    /// As [`with`](Self::with).
    pub fn new(rows: impl Integer, width: impl Integer) -> Result<Self> {
        let (rows, width) = (rows.to_i64(), width.to_i64());
        Self::with(rows, width, ModuleOptions::new())
    }

    /// A table with these settings.
    ///
    /// # Errors
    ///
    /// A negative size, or a dtype that is no floating-point one.
    pub fn with(rows: impl Integer, width: impl Integer, options: ModuleOptions) -> Result<Self> {
        let (rows, width) = (rows.to_i64(), width.to_i64());
        let weight = options.empty(&[rows, width])?;
        init::normal_(&weight, 0.0, 1.0)?;
        Self::from_pretrained(learned(weight)?)
    }

    /// A table of given vectors `(rows, width)`, which are learned if they require a gradient.
    ///
    /// # Errors
    ///
    /// A tensor that has not two dimensions.
    pub fn from_pretrained(weight: Tensor) -> Result<Self> {
        if weight.dim() != 2 {
            return Err(argument(format!(
                "Embedding: found weights of shape {:?}, expected two dimensions",
                weight.sizes()
            )));
        }
        Ok(Self { weight, padding: -1, max_norm: None, scales_by_frequency: false })
    }

    /// Zeroes a row, which gets no gradient from then on; negative rows count from the end.
    ///
    /// # Errors
    ///
    /// A row that is not there.
    pub fn padding_idx(self, row: i64) -> Result<Self> {
        let rows = self.weight.sizes()[0];
        if !(-rows..rows).contains(&row) {
            return Err(argument(format!(
                "Embedding: found padding_idx {row}, expected a row of a table of {rows}"
            )));
        }
        let padding = row.rem_euclid(rows);
        no_grad(|| self.weight.select(0, padding)?.fill_(0).map(drop))?;
        Ok(Self { padding, ..self })
    }

    /// Rescales rows longer than this, in place, when they are looked up.
    #[must_use]
    pub fn max_norm(self, max_norm: f64) -> Self {
        Self { max_norm: Some(max_norm), ..self }
    }

    /// Divides the gradient of each row by how often it occurs in the batch.
    #[must_use]
    pub fn scale_grad_by_freq(self) -> Self {
        Self { scales_by_frequency: true, ..self }
    }

    /// The rows at these indices.
    ///
    /// # Errors
    ///
    /// An index that is not there; a dtype that is no integer.
    pub fn forward(&self, input: &Tensor) -> Result<Tensor> {
        if let Some(max_norm) = self.max_norm {
            no_grad(|| ops::EmbeddingRenormInplace.call(&self.weight, &input.contiguous()?, max_norm, 2.0))?;
        }
        ops::Embedding.call(&self.weight, input, self.padding, self.scales_by_frequency, false)
    }
}

impl Module for Embedding {
    fn parts(&self, parts: &mut Parts) {
        parts.parameter("weight", &self.weight);
    }
}

forward!(Embedding);
