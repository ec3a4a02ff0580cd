//! What the operators of a kind share: rules for shapes and dtypes, samples, and differences from torch.

pub(crate) mod comparison;
pub(crate) mod extremum;
pub(crate) mod factory;
pub(crate) mod indexing;
pub(crate) mod pointwise;
pub(crate) mod products;
pub(crate) mod truth;
