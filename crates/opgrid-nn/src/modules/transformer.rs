//! Transformer encoders.

use opgrid_core::Result;
use opgrid_core::conversions::Integer;
use opgrid_tensor::Tensor;

use crate::module::{Module, Parts};
use crate::modules::{AttentionMasks, Dropout, LayerNorm, Linear, MultiheadAttention};
use crate::options::ModuleOptions;

/// Self-attention and a feed-forward network, each with a residual connection and layer normalization.
///
/// Inputs are `(length, batch, width)`, after [`batch_first`](Self::batch_first) `(batch, length, width)`, or
/// `(length, width)`. Names of parameters are torch's: `self_attn.…`, `linear1.…`, `linear2.…`, `norm1.…`, `norm2.…`.
///
/// # Examples
///
/// ```
/// use opgrid_core::{DType, Device};
/// use opgrid_nn::{AttentionMasks, Module, TransformerEncoderLayer};
/// use opgrid::Tensor;
///
/// let layer = TransformerEncoderLayer::new(16, 4, 32)?.batch_first().norm_first().activation(|x| x.gelu());
/// let x = Tensor::ones(&[2, 5, 16], DType::F32, Device::CPU)?;
/// assert_eq!(layer.forward(&x, &AttentionMasks::causal())?.sizes(), [2, 5, 16]);
/// assert_eq!(layer.named_parameters()[0].0, "self_attn.in_proj_weight");
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Debug)]
pub struct TransformerEncoderLayer {
    /// The attention.
    pub self_attn: MultiheadAttention,
    linear1: Linear,
    linear2: Linear,
    norm1: LayerNorm,
    norm2: LayerNorm,
    dropout: Dropout,
    activation: fn(&Tensor) -> Result<Tensor>,
    norm_first: bool,
}

impl TransformerEncoderLayer {
    /// A layer of that width with as many heads and hidden features, of the default dtype; ReLU, and dropout of 0.1.
    ///
    /// # Errors
    ///
    /// As [`with`](Self::with).
    pub fn new(width: impl Integer, num_heads: impl Integer, hidden: impl Integer) -> Result<Self> {
        let (width, num_heads, hidden) = (width.to_i64(), num_heads.to_i64(), hidden.to_i64());
        Self::with(width, num_heads, hidden, ModuleOptions::new())
    }

    /// A layer with these settings.
    ///
    /// # Errors
    ///
    /// A width that `num_heads` does not divide, a negative size, or a dtype that is no floating-point one.
    pub fn with(
        width: impl Integer,
        num_heads: impl Integer,
        hidden: impl Integer,
        options: ModuleOptions,
    ) -> Result<Self> {
        let (width, num_heads, hidden) = (width.to_i64(), num_heads.to_i64(), hidden.to_i64());
        let layer = Self {
            self_attn: MultiheadAttention::with(width, num_heads, options)?,
            linear1: Linear::with(width, hidden, options)?,
            linear2: Linear::with(hidden, width, options)?,
            norm1: LayerNorm::with(width, options)?,
            norm2: LayerNorm::with(width, options)?,
            dropout: Dropout::new(0.0)?,
            activation: |x| x.relu(),
            norm_first: false,
        };
        layer.dropout(0.1)
    }

    /// Drops attention weights and features with this probability while it trains; 0.1 unless it is set.
    ///
    /// # Errors
    ///
    /// A probability that is not between 0 and 1.
    pub fn dropout(self, p: f64) -> Result<Self> {
        Ok(Self { self_attn: self.self_attn.dropout(p)?, dropout: Dropout::new(p)?, ..self })
    }

    /// The function between the linear layers; ReLU unless it is set.
    #[must_use]
    pub fn activation(self, activation: fn(&Tensor) -> Result<Tensor>) -> Self {
        Self { activation, ..self }
    }

    /// What layer normalization adds to the variance; 1e-5 unless it is set.
    #[must_use]
    pub fn eps(self, eps: f64) -> Self {
        Self { norm1: self.norm1.eps(eps), norm2: self.norm2.eps(eps), ..self }
    }

    /// Takes and gives the batch as the first dimension.
    #[must_use]
    pub fn batch_first(self) -> Self {
        Self { self_attn: self.self_attn.batch_first(), ..self }
    }

    /// Normalizes before attention and feed-forward network instead of after them.
    #[must_use]
    pub fn norm_first(self) -> Self {
        Self { norm_first: true, ..self }
    }

    /// What the layer makes of its input; of the same shape.
    ///
    /// # Errors
    ///
    /// Those of [`MultiheadAttention::forward`].
    pub fn forward(&self, x: &Tensor, masks: &AttentionMasks<'_>) -> Result<Tensor> {
        if self.norm_first {
            let x = x.add(&self.attended(&self.norm1.forward(x)?, masks)?)?;
            return x.add(&self.fed_forward(&self.norm2.forward(&x)?)?);
        }
        let x = self.norm1.forward(&x.add(&self.attended(x, masks)?)?)?;
        self.norm2.forward(&x.add(&self.fed_forward(&x)?)?)
    }

    fn attended(&self, x: &Tensor, masks: &AttentionMasks<'_>) -> Result<Tensor> {
        self.dropout.forward(&self.self_attn.forward(x, x, x, masks)?)
    }

    fn fed_forward(&self, x: &Tensor) -> Result<Tensor> {
        let hidden = self.dropout.forward(&(self.activation)(&self.linear1.forward(x)?)?)?;
        self.dropout.forward(&self.linear2.forward(&hidden)?)
    }
}

impl Module for TransformerEncoderLayer {
    fn parts(&self, parts: &mut Parts) {
        parts.module("self_attn", &self.self_attn).module("linear1", &self.linear1);
        parts.module("dropout", &self.dropout).module("linear2", &self.linear2);
        parts.module("norm1", &self.norm1).module("norm2", &self.norm2);
    }
}

/// Layers that follow each other, and perhaps a norm at the end.
///
/// # Examples
///
/// ```
/// use opgrid_core::{DType, Device};
/// use opgrid_nn::{AttentionMasks, LayerNorm, TransformerEncoder, TransformerEncoderLayer};
/// use opgrid::Tensor;
///
/// let layers = (0..2).map(|_| TransformerEncoderLayer::new(8, 2, 16)).collect::<Result<_, _>>()?;
/// let encoder = TransformerEncoder { layers, norm: Some(LayerNorm::new(8)?) };
/// let x = Tensor::ones(&[5, 8], DType::F32, Device::CPU)?;
/// assert_eq!(encoder.forward(&x, &AttentionMasks::default())?.sizes(), [5, 8]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Debug)]
pub struct TransformerEncoder {
    /// The layers, `layers.0.…` and so on.
    pub layers: Vec<TransformerEncoderLayer>,
    /// The norm at the end.
    pub norm: Option<LayerNorm>,
}

impl TransformerEncoder {
    /// What the last layer makes of what the others make of the input; of the same shape.
    ///
    /// # Errors
    ///
    /// Those of [`TransformerEncoderLayer::forward`].
    pub fn forward(&self, x: &Tensor, masks: &AttentionMasks<'_>) -> Result<Tensor> {
        let mut x = x.clone();
        for layer in &self.layers {
            x = layer.forward(&x, masks)?;
        }
        self.norm.as_ref().map_or(Ok(x.clone()), |norm| norm.forward(&x))
    }
}

impl Module for TransformerEncoder {
    fn parts(&self, parts: &mut Parts) {
        parts.module("layers", &self.layers).module("norm", &self.norm);
    }
}
