//! Tensors as Python sees them.

pub(crate) mod attributes;
pub(crate) mod construct;
pub(crate) mod dispatching;
pub(crate) mod elements;
mod identity;
pub(crate) mod indexing;
pub(crate) mod nested;
pub(crate) mod numbers;
pub(crate) mod object;
pub(crate) mod storage;
