//! What the operators of a kind share: rules for shapes and dtypes, samples, and differences from torch.

pub(crate) mod activation;
pub(crate) mod bits;
pub(crate) mod clamp;
pub(crate) mod comparison;
pub(crate) mod division;
pub(crate) mod special;
