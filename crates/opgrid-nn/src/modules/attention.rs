//! Attention with several heads.

use opgrid_core::conversions::Integer;
use opgrid_core::{DType, Result};
use opgrid_tensor::{Tensor, ops};

use crate::error::argument;
use crate::init;
use crate::module::{Module, Parts};
use crate::modules::{Dropout, Linear};
use crate::options::{ModuleOptions, learned};

/// Attention with `num_heads` heads, with projections before and after.
///
/// Inputs are `(length, batch, embed_dim)`, after [`batch_first`](Self::batch_first) `(batch, length, embed_dim)`, or
/// `(length, embed_dim)` without a batch.
///
/// Parameters: `in_proj_weight` `(3 * embed_dim, embed_dim)` and `in_proj_bias`, `out_proj.weight` and `out_proj.bias`; with
/// keys or values of other widths `q_proj_weight`, `k_proj_weight` and `v_proj_weight` instead of the first.
///
/// # Examples
///
/// ```
/// use opgrid_core::{DType, Device};
/// use opgrid_nn::{AttentionMasks, MultiheadAttention};
/// use opgrid::Tensor;
///
/// let attention = MultiheadAttention::new(8, 2)?.batch_first();
/// let x = Tensor::ones(&[3, 5, 8], DType::F32, Device::CPU)?;
/// let y = attention.forward(&x, &x, &x, &AttentionMasks::causal())?;
/// assert_eq!(y.sizes(), [3, 5, 8]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Debug)]
pub struct MultiheadAttention {
    projection: Projection,
    in_proj_bias: Option<Tensor>,
    /// The projection of the result.
    pub out_proj: Linear,
    embed_dim: i64,
    num_heads: i64,
    dropout: Dropout,
    batch_first: bool,
}

/// What is multiplied with queries, keys and values.
#[derive(Debug)]
enum Projection {
    /// One matrix with the three of them below each other.
    Packed(Tensor),
    /// A matrix for each of them.
    Apart([Tensor; 3]),
}

/// What attention does not look at.
#[derive(Clone, Copy, Debug, Default)]
pub struct AttentionMasks<'a> {
    /// `(L, S)`, or `(batch * num_heads, L, S)`: bools that are true where a query does not see a key, or numbers that are
    /// added to the scores.
    pub mask: Option<&'a Tensor>,
    /// `(batch, S)`, or `(S)` without a batch: the same for keys that no query sees.
    pub padding: Option<&'a Tensor>,
    /// Whether queries do not see later keys.
    pub causal: bool,
}

impl AttentionMasks<'_> {
    /// Queries do not see later keys.
    pub fn causal() -> Self {
        Self { causal: true, ..Self::default() }
    }
}

/// Queries, keys and values of each head, `(batch, heads, length, width)`, and what is added to the scores.
struct Heads {
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Option<Tensor>,
    /// Whether later keys are hidden without a bias.
    is_causal: bool,
}

impl MultiheadAttention {
    /// Attention with biases, of the default dtype.
    ///
    /// # Errors
    ///
    /// As [`with`](Self::with).
    pub fn new(embed_dim: impl Integer, num_heads: impl Integer) -> Result<Self> {
        let (embed_dim, num_heads) = (embed_dim.to_i64(), num_heads.to_i64());
        Self::with(embed_dim, num_heads, ModuleOptions::new())
    }

    /// Attention with these settings.
    ///
    /// # Errors
    ///
    /// A width that `num_heads` does not divide, or a dtype that is no floating-point one.
    pub fn with(embed_dim: impl Integer, num_heads: impl Integer, options: ModuleOptions) -> Result<Self> {
        let (embed_dim, num_heads) = (embed_dim.to_i64(), num_heads.to_i64());
        Self::with_widths(embed_dim, num_heads, embed_dim, embed_dim, options)
    }

    /// Attention to keys and values that have other widths than queries.
    ///
    /// # Errors
    ///
    /// As [`with`](Self::with).
    pub fn with_widths(
        embed_dim: i64,
        num_heads: i64,
        key: i64,
        value: i64,
        options: ModuleOptions,
    ) -> Result<Self> {
        if embed_dim <= 0 || num_heads <= 0 || embed_dim % num_heads != 0 {
            return Err(argument(format!(
                "MultiheadAttention: found embed_dim {embed_dim} and {num_heads} heads, expected a positive number of \
                 heads that divides embed_dim"
            )));
        }
        let made = |rows, columns| options.empty(&[rows, columns]);
        let projection = if key == embed_dim && value == embed_dim {
            Projection::Packed(made(3 * embed_dim, embed_dim)?)
        } else {
            Projection::Apart([made(embed_dim, embed_dim)?, made(embed_dim, key)?, made(embed_dim, value)?])
        };
        let zeros = |size| options.full(&[size], 0);
        let in_proj_bias = options.has_bias().then(|| zeros(3 * embed_dim).and_then(learned)).transpose()?;
        // Before the others, as torch draws its numbers.
        let out_proj = Linear::with(embed_dim, embed_dim, options)?;
        for weight in projection.weights() {
            init::xavier_uniform_(weight, 1.0)?;
            weight.requires_grad_(true)?;
        }
        out_proj.bias.as_ref().map_or(Ok(()), init::zeros_)?;
        let dropout = Dropout::new(0.0)?;
        Ok(Self { projection, in_proj_bias, out_proj, embed_dim, num_heads, dropout, batch_first: false })
    }

    /// Drops attention weights with this probability while it trains.
    ///
    /// # Errors
    ///
    /// A probability that is not between 0 and 1.
    pub fn dropout(self, p: f64) -> Result<Self> {
        Ok(Self { dropout: Dropout::new(p)?, ..self })
    }

    /// Takes and gives the batch as the first dimension.
    #[must_use]
    pub fn batch_first(self) -> Self {
        Self { batch_first: true, ..self }
    }

    /// What the queries `(L, …)` find among the keys and values `(S, …)`; as large as the queries.
    ///
    /// # Errors
    ///
    /// Tensors of other numbers of dimensions or widths, and masks of other shapes.
    pub fn forward(
        &self,
        query: &Tensor,
        key: &Tensor,
        value: &Tensor,
        masks: &AttentionMasks<'_>,
    ) -> Result<Tensor> {
        let Heads { query: q, key, value, bias, is_causal } = self.heads(query, key, value, masks)?;
        let p = self.dropout.probability();
        let found = ops::ScaledDotProductAttention.call(
            &q,
            &key,
            &value,
            bias.as_ref(),
            p,
            is_causal,
            None,
            false,
        )?;
        self.joined(&found, query)
    }

    /// Returns the output and the attention weights, `(batch, num_heads, L, S)`, without dropout.
    ///
    /// # Errors
    ///
    /// As [`forward`](Self::forward).
    pub fn forward_with_weights(
        &self,
        query: &Tensor,
        key: &Tensor,
        value: &Tensor,
        masks: &AttentionMasks<'_>,
    ) -> Result<(Tensor, Tensor)> {
        let heads = self.heads(query, key, value, masks)?;
        let width = (self.embed_dim / self.num_heads) as f64;
        let scores = heads.query.mul((1.0 / width).sqrt())?.matmul(&heads.key.transpose(-2, -1)?)?;
        let hidden = if heads.is_causal { Some(causal(&scores)?) } else { heads.bias };
        let scores = hidden.map_or(Ok(scores.clone()), |bias| scores.add(&bias))?;
        let weights = scores.softmax(-1)?;
        let found = match self.dropout.probability() {
            0.0 => weights.matmul(&heads.value)?,
            _ => self.dropout.forward(&weights)?.matmul(&heads.value)?,
        };
        let weights = if query.dim() == 2 { weights.squeeze(0)? } else { weights };
        Ok((self.joined(&found, query)?, weights))
    }

    fn heads(
        &self,
        query: &Tensor,
        key: &Tensor,
        value: &Tensor,
        masks: &AttentionMasks<'_>,
    ) -> Result<Heads> {
        let dims = [query.dim(), key.dim(), value.dim()];
        if dims != [2; 3] && dims != [3; 3] {
            return Err(argument(format!(
                "MultiheadAttention: found query, key and value with {}, {} and {} dimensions, expected 2 of each, or 3 \
                 with a batch",
                dims[0], dims[1], dims[2]
            )));
        }
        if query.sizes()[query.dim() - 1] != self.embed_dim {
            return Err(argument(format!(
                "MultiheadAttention: found a query of shape {:?}, expected {} as the last size",
                query.sizes(),
                self.embed_dim
            )));
        }
        let [q, k, v] = self.projected(query, key, value)?.map(|x| self.split(&x));
        let (query, key, value) = (q?, k?, v?);
        let plain = masks.mask.is_none() && masks.padding.is_none();
        let is_causal = masks.causal && plain;
        let bias = if plain { None } else { Some(self.bias(masks, &query, key.sizes()[2])?) };
        Ok(Heads { query, key, value, bias, is_causal })
    }

    /// Queries, keys and values, projected.
    fn projected(&self, query: &Tensor, key: &Tensor, value: &Tensor) -> Result<[Tensor; 3]> {
        let linear = |x, weight, bias| ops::Linear.call(x, weight, bias);
        if let Projection::Packed(weight) = &self.projection
            && query.is_same(key)
            && key.is_same(value)
        {
            let all = linear(query, weight, self.in_proj_bias.as_ref())?;
            return three(all.chunk(3, -1)?);
        }
        let weights = match &self.projection {
            Projection::Packed(weight) => three(weight.chunk(3, 0)?)?,
            Projection::Apart(weights) => weights.clone(),
        };
        let biases = self.in_proj_bias.as_ref().map(|bias| bias.chunk(3, 0).and_then(three)).transpose()?;
        let bias = |place: usize| biases.as_ref().map(|biases| &biases[place]);
        Ok([
            linear(query, &weights[0], bias(0))?,
            linear(key, &weights[1], bias(1))?,
            linear(value, &weights[2], bias(2))?,
        ])
    }

    /// `(batch, heads, length, width)` of what was projected.
    fn split(&self, x: &Tensor) -> Result<Tensor> {
        let batch_first = match x.dim() {
            2 => x.unsqueeze(0)?,
            _ if self.batch_first => x.clone(),
            _ => x.transpose(0, 1)?,
        };
        batch_first.unflatten(-1, &[self.num_heads, self.embed_dim / self.num_heads])?.transpose(1, 2)
    }

    /// What the heads found, side by side and projected, in the form of the query.
    fn joined(&self, found: &Tensor, query: &Tensor) -> Result<Tensor> {
        let result = self.out_proj.forward(&found.transpose(1, 2)?.flatten(2, -1)?)?;
        match query.dim() {
            2 => result.squeeze(0),
            _ if self.batch_first => Ok(result),
            _ => result.transpose(0, 1),
        }
    }

    /// What all masks together add to the scores `(batch, heads, L, S)`; it need only broadcast to them.
    fn bias(&self, masks: &AttentionMasks<'_>, query: &Tensor, keys: i64) -> Result<Tensor> {
        let (batch, heads, length) = (query.sizes()[0], self.num_heads, query.sizes()[2]);
        let mut sum: Option<Tensor> = None;
        let mut add = |more: Tensor| -> Result<()> {
            sum = Some(sum.as_ref().map_or(Ok(more.clone()), |sum| sum.add(&more))?);
            Ok(())
        };
        if let Some(mask) = masks.mask {
            let mask = added(mask, query)?;
            match mask.sizes() {
                sizes if *sizes == [length, keys] => add(mask)?,
                sizes if *sizes == [batch * heads, length, keys] => {
                    add(mask.reshape(&[batch, heads, length, keys])?)?;
                }
                sizes => {
                    let all = batch * heads;
                    return Err(argument(format!(
                        "MultiheadAttention: found a mask of shape {sizes:?}, expected [{length}, {keys}] or [{all}, \
                         {length}, {keys}]"
                    )));
                }
            }
        }
        if let Some(padding) = masks.padding {
            let found = padding.sizes();
            if *found != [batch, keys] && (batch, found) != (1, &[keys][..]) {
                return Err(argument(format!(
                    "MultiheadAttention: found a padding of shape {found:?}, expected [{batch}, {keys}]"
                )));
            }
            add(added(padding, query)?.reshape(&[batch, 1, 1, keys])?)?;
        }
        if masks.causal {
            add(hidden_later(length, keys, query)?)?;
        }
        sum.ok_or_else(|| argument("MultiheadAttention: found no mask, expected one"))
    }
}

impl Projection {
    fn weights(&self) -> &[Tensor] {
        match self {
            Self::Packed(weight) => std::slice::from_ref(weight),
            Self::Apart(weights) => weights,
        }
    }
}

fn three(parts: Vec<Tensor>) -> Result<[Tensor; 3]> {
    let found = parts.len();
    parts.try_into().map_err(|_| argument(format!("MultiheadAttention: found {found} parts, expected 3")))
}

/// A mask as numbers to add: minus infinity where it is true.
fn added(mask: &Tensor, like: &Tensor) -> Result<Tensor> {
    match mask.dtype() {
        DType::Bool => {
            let zeros = Tensor::zeros(mask.sizes(), like.dtype(), like.device())?;
            zeros.masked_fill_(mask, f64::NEG_INFINITY)?;
            Ok(zeros)
        }
        dtype if dtype.is_floating_point() => Ok(mask.clone()),
        dtype => Err(argument(format!(
            "MultiheadAttention: found a mask of {dtype}, expected bools or floating-point numbers"
        ))),
    }
}

/// What hides later keys in these scores.
fn causal(scores: &Tensor) -> Result<Tensor> {
    let (length, keys) = (scores.sizes()[2], scores.sizes()[3]);
    hidden_later(length, keys, scores)
}

/// Minus infinity above the diagonal, zeros elsewhere.
fn hidden_later(length: i64, keys: i64, like: &Tensor) -> Result<Tensor> {
    Tensor::full(&[length, keys], f64::NEG_INFINITY, Some(like.dtype()), like.device())?.triu(1)
}

impl Module for MultiheadAttention {
    fn parts(&self, parts: &mut Parts) {
        match &self.projection {
            Projection::Packed(weight) => parts.parameter("in_proj_weight", weight),
            Projection::Apart([query, key, value]) => {
                parts.parameter("q_proj_weight", query).parameter("k_proj_weight", key);
                parts.parameter("v_proj_weight", value)
            }
        };
        parts.parameter("in_proj_bias", &self.in_proj_bias).module("out_proj", &self.out_proj);
        self.dropout.parts(parts);
    }
}
