//! The modules, a file for each or for each family.

mod activations;
mod attention;
mod batch_norm;
mod conv;
mod dropout;
mod embedding;
mod flatten;
mod group_norm;
mod layer_norm;
mod linear;
mod pooling;
mod rms_norm;
mod sequential;
mod transformer;

pub use activations::{Apply, GELU, ReLU, SiLU, Sigmoid, Tanh};
pub use attention::{AttentionMasks, MultiheadAttention};
pub use batch_norm::{BatchNorm, BatchNorm1d, BatchNorm2d, Running};
pub use conv::{Conv, Conv1d, Conv2d, PaddingMode};
pub use dropout::Dropout;
pub use embedding::Embedding;
pub use flatten::Flatten;
pub use group_norm::GroupNorm;
pub use layer_norm::LayerNorm;
pub use linear::{Identity, Linear};
pub use pooling::{AdaptiveAvgPool2d, AvgPool2d, MaxPool2d};
pub use rms_norm::RMSNorm;
pub use sequential::Sequential;
pub use transformer::{TransformerEncoder, TransformerEncoderLayer};
