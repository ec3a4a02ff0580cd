//! Functions of networks under the names of `torch.nn.functional`, for those who look for them there. Most are methods of
//! tensors, too.
//!
//! # Examples
//!
//! ```
//! use opgrid::nn::functional as F;
//! use opgrid::tensor;
//!
//! let scores = tensor![[1.0, 1.0], [0.0, 0.0]]?;
//! assert_eq!(F::softmax(&scores, -1)?.to_vec::<f32>()?, [0.5; 4]);
//! let loss = F::cross_entropy(&scores, &tensor![0, 1]?)?;
//! assert!((loss.to_scalar::<f32>()? - 2f32.ln()).abs() < 1e-6);
//! # Ok::<(), opgrid::Error>(())
//! ```

use opgrid_core::Result;
use opgrid_core::conversions::{IntList, Integer};
use opgrid_tensor::{Tensor, ops};

pub use crate::loss::{
    binary_cross_entropy, binary_cross_entropy_with_logits, cross_entropy, huber as huber_loss,
    l1 as l1_loss, mse as mse_loss, nll as nll_loss, smooth_l1 as smooth_l1_loss,
};

/// Functions of each element: the methods of the same names.
macro_rules! of_elements {
    ($($name:ident)*) => {
        $(
            #[doc = concat!("Calls [`Tensor::", stringify!($name), "`].")]
            ///
            /// # Errors
            ///
            /// Those of the method.
            pub fn $name(input: &Tensor) -> Result<Tensor> {
                input.$name()
            }
        )*
    };
}

of_elements!(relu gelu silu sigmoid tanh softplus);

/// Exponentials divided by their sum along a dimension.
///
/// # Errors
///
/// Those of [`Tensor::softmax`].
pub fn softmax(input: &Tensor, dim: impl Integer) -> Result<Tensor> {
    input.softmax(dim)
}

/// The logarithm of [`softmax`].
///
/// # Errors
///
/// Those of [`Tensor::log_softmax`].
pub fn log_softmax(input: &Tensor, dim: impl Integer) -> Result<Tensor> {
    input.log_softmax(dim)
}

/// In training, elements are zero with probability `p` and others divided by `1 - p`.
///
/// # Errors
///
/// Those of [`Tensor::dropout`].
pub fn dropout(input: &Tensor, p: f64, train: bool) -> Result<Tensor> {
    input.dropout(p, train)
}

/// `input @ weight.t() + bias` of `input` (…, in), `weight` (out, in) and `bias` (out).
///
/// # Errors
///
/// Those of `aten::linear`.
pub fn linear<'a>(input: &Tensor, weight: &Tensor, bias: impl Into<Option<&'a Tensor>>) -> Result<Tensor> {
    ops::Linear.call(input, weight, bias.into())
}

/// The rows of `weight` that integers name.
///
/// # Errors
///
/// Those of `aten::embedding`.
pub fn embedding(indices: &Tensor, weight: &Tensor) -> Result<Tensor> {
    ops::Embedding.call(weight, indices, -1, false, false)
}

/// Elements less their mean, divided by their deviation, over the last dimensions, which have the sizes `shape`.
///
/// # Errors
///
/// Those of `aten::layer_norm`.
pub fn layer_norm<'a>(
    input: &Tensor,
    shape: impl IntList,
    weight: impl Into<Option<&'a Tensor>>,
    bias: impl Into<Option<&'a Tensor>>,
    eps: f64,
) -> Result<Tensor> {
    ops::LayerNorm.call(input, shape.into_list().as_ref(), weight.into(), bias.into(), eps, true)
}

/// Attention of queries `(…, L, E)` to keys `(…, S, E)` and values `(…, S, V)`.
///
/// # Errors
///
/// Those of `aten::scaled_dot_product_attention`.
pub fn scaled_dot_product_attention(query: &Tensor, key: &Tensor, value: &Tensor) -> Result<Tensor> {
    ops::ScaledDotProductAttention.call(query, key, value, None, 0.0, false, None, false)
}
