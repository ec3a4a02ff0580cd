//! What the operators of a kind share: rules for shapes and dtypes, samples, and differences from torch.

pub(crate) mod distances;
pub(crate) mod draws;
pub(crate) mod matrices;
