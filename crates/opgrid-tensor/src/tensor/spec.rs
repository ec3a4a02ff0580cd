//! Everything about a tensor but its data: what a shape function computes and a meta tensor has.

use std::fmt;

use opgrid_core::{DType, Device, Result};

use super::geometry::{Geometry, broadcast};
use crate::error::argument;

/// Sizes, strides, dtype and device of a tensor.
///
/// # Examples
///
/// ```
/// use opgrid_core::{DType, Device};
/// use opgrid_tensor::TensorSpec;
///
/// let spec = TensorSpec::contiguous(&[2, 3], DType::F32, Device::CPU)?;
/// assert_eq!(spec.bytes()?, 24);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct TensorSpec {
    geometry: Geometry,
    dtype: DType,
    device: Device,
}

impl TensorSpec {
    /// A tensor of that geometry.
    pub fn new(geometry: Geometry, dtype: DType, device: Device) -> Self {
        Self { geometry, dtype, device }
    }

    /// A row-major tensor.
    ///
    /// # Errors
    ///
    /// As [`Geometry::contiguous`].
    pub fn contiguous(sizes: &[i64], dtype: DType, device: Device) -> Result<Self> {
        Ok(Self::new(Geometry::contiguous(sizes)?, dtype, device))
    }

    /// What an element-wise operator gives: the sizes that `inputs` broadcast to, in the order of the first input
    /// that has these sizes and lies densely, otherwise row-major.
    ///
    /// # Errors
    ///
    /// As [`broadcast`].
    pub fn elementwise(inputs: &[&Geometry], dtype: DType, device: Device) -> Result<Self> {
        let same = |input: &&&Geometry| inputs.iter().all(|other| other.sizes() == input.sizes());
        if let Some(first) = inputs.first().filter(same)
            && first.is_dense()
        {
            return Ok(Self::new(first.at_offset(0)?, dtype, device));
        }
        let shapes: smallvec::SmallVec<[&[i64]; 4]> = inputs.iter().map(|input| input.sizes()).collect();
        let sizes = broadcast(&shapes)?;
        let like = inputs.iter().find(|input| input.sizes() == sizes.as_slice() && input.is_dense());
        let geometry = match like {
            Some(input) => input.at_offset(0)?,
            None => Geometry::contiguous(&sizes)?,
        };
        Ok(Self::new(geometry, dtype, device))
    }

    /// The map from indices to elements.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The size of each dimension.
    pub fn sizes(&self) -> &[i64] {
        self.geometry.sizes()
    }

    /// The distance between neighbours in each dimension, in elements.
    pub fn strides(&self) -> &[i64] {
        self.geometry.strides()
    }

    /// The number of elements.
    pub fn numel(&self) -> i64 {
        self.geometry.numel()
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Where the elements are.
    pub fn device(&self) -> Device {
        self.device
    }

    /// The same with another geometry.
    #[must_use]
    pub fn with_geometry(&self, geometry: Geometry) -> Self {
        Self { geometry, ..*self }
    }

    /// The size of the storage that the elements need, in bytes, counted from position 0.
    ///
    /// # Errors
    ///
    /// More bytes than a pointer can address; the message names the sizes.
    pub fn bytes(&self) -> Result<usize> {
        let element = self.dtype.size_in_bytes();
        let bytes = usize::try_from(self.geometry.end()).ok().and_then(|end| end.checked_mul(element));
        bytes.filter(|&bytes| isize::try_from(bytes).is_ok()).ok_or_else(|| {
            let message = format!(
                "storage size overflows with sizes {:?}, strides {:?} and {element} bytes per element",
                self.sizes(),
                self.strides()
            );
            argument(message)
        })
    }

    /// Checks that a storage of `available` bytes holds every element.
    ///
    /// # Errors
    ///
    /// Elements beyond the storage; the message names sizes, strides, offset and both numbers of bytes.
    pub fn check_storage(&self, available: usize) -> Result<()> {
        let needed = self.bytes()?;
        if needed > available {
            let message = format!(
                "sizes {:?}, strides {:?}, storage offset {} and itemsize {} requiring a storage size of {needed} bytes are out of bounds for storage of size {available}",
                self.sizes(),
                self.strides(),
                self.geometry.offset(),
                self.dtype.size_in_bytes()
            );
            return Err(argument(message));
        }
        Ok(())
    }
}

impl fmt::Debug for TensorSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {} of {:?}", self.dtype, self.device, self.geometry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_checked() {
        let spec = |sizes: &[i64], dtype| TensorSpec::contiguous(sizes, dtype, Device::META);
        assert_eq!(spec(&[2, 3], DType::F64).unwrap().bytes().unwrap(), 48);
        assert_eq!(spec(&[0, 3], DType::F64).unwrap().bytes().unwrap(), 0);
        let error = spec(&[i64::MAX / 4], DType::F64).unwrap().bytes().unwrap_err();
        assert!(error.to_string().contains("[2305843009213693951]"), "{error}");
    }

    #[test]
    fn an_elementwise_result_keeps_the_order_of_its_input() {
        let result = |inputs: &[&Geometry]| TensorSpec::elementwise(inputs, DType::F32, Device::CPU).unwrap();
        let column_major = Geometry::contiguous(&[3, 2]).unwrap().transpose(0, 1).unwrap();
        let row = Geometry::contiguous(&[3]).unwrap();
        assert_eq!(result(&[&column_major, &column_major]).strides(), [1, 2]);
        assert_eq!(result(&[&row, &column_major]).strides(), [1, 2]);
        assert_eq!(result(&[&row, &Geometry::contiguous(&[2, 1]).unwrap()]).strides(), [3, 1]);
    }
}
