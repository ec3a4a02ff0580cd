//! What the operators of a kind share: rules for shapes and dtypes, samples, and differences from torch.

pub(crate) mod accumulation;
pub(crate) mod any_all;
pub(crate) mod data_dependent;
pub(crate) mod order;
pub(crate) mod scans;
pub(crate) mod searching;
pub(crate) mod softmax;
pub(crate) mod unique;
pub(crate) mod variance_rules;
