//! What the operators of a kind share: rules for shapes and dtypes, samples, and differences from torch.

pub(crate) mod found;
pub(crate) mod order;
pub(crate) mod scans;
pub(crate) mod searching;
pub(crate) mod softmax;
pub(crate) mod spread;
pub(crate) mod total;
pub(crate) mod truth;
pub(crate) mod unique;
