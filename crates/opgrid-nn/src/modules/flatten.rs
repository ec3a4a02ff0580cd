//! Joining dimensions.

use opgrid_core::Result;
use opgrid_tensor::Tensor;

use crate::module::{Module, Parts, forward};

/// Joins all dimensions but the first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flatten;

impl Flatten {
    /// The input as `(batch, elements of each sample)`.
    ///
    /// # Errors
    ///
    /// An input without dimensions.
    pub fn forward(&self, input: &Tensor) -> Result<Tensor> {
        input.flatten(1, -1)
    }
}

impl Module for Flatten {
    fn parts(&self, _: &mut Parts) {}
}

forward!(Flatten);
