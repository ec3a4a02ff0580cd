//! Tensors as what loops read and write.

use opgrid_array::Array;
use opgrid_array::loops::Source;
use opgrid_array::loops::access::{self, Aliasing};
use opgrid_array::loops::elementwise::{Destination, Operand, Typed};
use opgrid_core::{DType, Result};

use super::handle::Tensor;

impl Operand for Tensor {
    #[inline]
    fn source(&self) -> Result<Source<'_>> {
        self.first_array().map_or_else(|| source_of_other(self), |array| Ok(Source::Array(array)))
    }
}

/// The source that a tensor of any kind is.
#[inline(never)]
fn source_of_other(tensor: &Tensor) -> Result<Source<'_>> {
    match tensor.bare_number() {
        Some(value) => Ok(Source::Number(value)),
        None => tensor.array().map(Source::Array),
    }
}

impl Destination for Tensor {
    #[inline]
    fn destination(&self) -> Result<&Array> {
        self.array()
    }
}

impl Typed for Tensor {
    fn element_type(&self) -> DType {
        self.dtype()
    }
}

/// Checks that outputs share no memory with each other.
///
/// # Errors
///
/// Two outputs of a call share memory, so that one would be written over by the other.
#[inline]
pub fn check_apart<'a>(mut outputs: impl Iterator<Item = &'a Tensor> + Clone) -> Result<()> {
    while let Some(out) = outputs.next() {
        for other in outputs.clone() {
            let (Ok(array), Ok(others)) = (out.array(), other.array()) else { continue };
            if out.is_same(other) || access::check(array, others, Aliasing::Never).is_err() {
                return Err(access::refused("two outputs refer to the same memory"));
            }
        }
    }
    Ok(())
}

/// For element-wise operators that are made of others and write their output last, as if each element were written when it
/// is computed.
///
/// # Errors
///
/// Elements of an input lie where `out` has some, and not at the same positions.
pub fn check_beside(out: &Tensor, inputs: &[&Tensor]) -> Result<()> {
    let Ok(out) = out.array() else { return Ok(()) };
    let mut inputs = inputs.iter().filter_map(|input| input.array().ok());
    inputs.try_for_each(|input| access::check(out, input, Aliasing::InPlace))
}
