//! Replaces the array behind a handle, so that the tensor stays the same tensor with other sizes, elements or memory.
//!
//! Arrays that a tensor had are kept until it is dropped, because somebody may still look at them.

use std::sync::atomic::Ordering;

use opgrid_core::Result;

use super::{Content, Tensor};
use crate::error::argument;
use crate::tensor::array::Array;
use crate::tensor::spec::TensorSpec;

impl Tensor {
    /// Gives a tensor without elements another array.
    ///
    /// # Errors
    ///
    /// Another thread was faster.
    pub(crate) fn replace_empty(&self, array: Array) -> Result<()> {
        let record = self.record();
        let before = record.latest.load(Ordering::Acquire);
        if record.spec().numel() == 0 && record.replace(before, array) {
            return Ok(());
        }
        Err(argument("another thread gave the output a shape at the same time; use one output per thread"))
    }

    /// Replaces the tensor's array: its sizes change, and perhaps its memory. Other tensors on the
    /// old memory keep it.
    ///
    /// # Errors
    ///
    /// Another dtype or device; a tensor without a storage; another thread changes the tensor at the same time.
    pub fn become_array(&self, array: Array) -> Result<()> {
        let found = self.array()?.spec();
        if (found.dtype(), found.device()) != (array.dtype(), array.device()) {
            let message = format!(
                "a tensor of {} on {} cannot become one of {} on {}; create a new one",
                found.dtype(),
                found.device(),
                array.dtype(),
                array.device()
            );
            return Err(argument(message));
        }
        let record = self.record();
        if record.replace(record.latest.load(Ordering::Acquire), array) {
            return Ok(());
        }
        Err(argument("another thread changed the tensor at the same time; use one tensor per thread"))
    }

    /// Returns a tensor on this memory with its own version, which starts at zero: writes to one do not change the
    /// version of the other.
    ///
    /// # Errors
    ///
    /// A tensor without a storage; no memory.
    pub(crate) fn unwatched_view(&self) -> Result<Self> {
        let array = self.array()?;
        let array = Array::new(array.spec().clone(), array.storage().alias(0)?)?;
        Ok(Self::with_content(self.unmarked_keys(), Content::Array(array)))
    }

    /// Replaces the tensor's elements by those of another array, whatever their dtype and sizes. The version stays; `is_last` says
    /// that nobody else uses the version of the new memory. Other tensors on the old memory keep it.
    ///
    /// # Errors
    ///
    /// Another device, or a dtype whose tensors have other keys; a tensor without a storage; another thread changes the tensor
    /// at the same time.
    pub(crate) fn take_elements(&self, other: &Array, is_last: bool) -> Result<()> {
        let found = self.array()?.spec();
        let is_kind_kept =
            found.device() == other.device() && found.dtype().is_quantized() == other.dtype().is_quantized();
        if !is_kind_kept {
            return Err(argument(format!(
                "found {} on {} for a tensor of {} on {}, expected elements on the same device; create \
                 a new tensor",
                other.dtype(),
                other.device(),
                found.dtype(),
                found.device()
            )));
        }
        let version = self.version();
        let storage = if is_last { other.storage().clone() } else { other.storage().alias(version)? };
        let array = Array::new(other.spec().clone(), storage)?;
        let record = self.record();
        if record.replace(record.latest.load(Ordering::Acquire), array) {
            // One that the tensor had before has an older count.
            self.array()?.storage().set_version(version);
            return Ok(());
        }
        Err(argument("another thread changed the tensor at the same time; use one tensor per thread"))
    }

    /// An array of this spec that the tensor had before and whose memory nobody else has: a tensor that is converted back and
    /// forth takes no more memory for it.
    pub(crate) fn spare_array(&self, spec: &TensorSpec) -> Option<Array> {
        self.record().spare(spec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_from_before_is_spare_where_nobody_else_has_it() {
        let x = Tensor::from_slice(&[1.0f32, 2.0], &[2]).unwrap();
        let (first, other) = (x.spec().unwrap().clone(), Array::from_slice(&[1.0f64, 2.0], &[2]).unwrap());
        let wide = other.spec().clone();
        assert!(x.spare_array(&first).is_none(), "it is the tensor's own");
        x.take_elements(&other, true).unwrap();
        drop(other);
        assert!(x.spare_array(&wide).is_none());
        let spare = x.spare_array(&first).unwrap();
        assert!(x.spare_array(&first).is_none(), "somebody else has it now");
        x.take_elements(&spare, true).unwrap();
        drop(spare);
        assert!(x.spare_array(&first).is_none());
        assert_eq!(x.spare_array(&wide).unwrap().to_vec::<f64>().unwrap(), [1.0, 2.0]);
        let view = x.view_as(x.geometry().clone()).unwrap();
        x.take_elements(&x.spare_array(&wide).unwrap(), true).unwrap();
        assert!(x.spare_array(&first).is_none(), "a view has it");
        drop(view);
        assert!(x.spare_array(&first).is_some());
    }
}
