//! What the operators of a kind share: rules for shapes and dtypes, samples, and differences from torch.

pub(crate) mod scatter;
pub(crate) mod views;
