//! What the operators of a kind share: rules for shapes and dtypes, samples, and differences from torch.

pub(crate) mod dropout;
pub(crate) mod foreach;
pub(crate) mod loss;
pub(crate) mod margins;
pub(crate) mod normalisations;
pub(crate) mod optimizers;
pub(crate) mod padding;
pub(crate) mod pooling;
pub(crate) mod recurrent;
pub(crate) mod resampling;
pub(crate) mod sampling;
