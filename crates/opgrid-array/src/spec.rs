//! Everything about a tensor but its data: what a shape function computes and a meta tensor has.

use std::fmt;

use opgrid_core::{DType, Device, MemoryFormat, Result};

use super::geometry::{Geometry, elementwise_geometry};
use crate::error::argument;

/// Sizes, strides, dtype and device of a tensor.
///
/// # Examples
///
/// ```
/// use opgrid_core::{DType, Device};
/// use opgrid_array::TensorSpec;
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
    #[inline]
    pub const fn new(geometry: Geometry, dtype: DType, device: Device) -> Self {
        Self { geometry, dtype, device }
    }

    /// A row-major tensor.
    ///
    /// # Errors
    ///
    /// As [`Geometry::contiguous`].
    #[inline]
    pub fn contiguous(sizes: &[i64], dtype: DType, device: Device) -> Result<Self> {
        let mut spec = Self::of_one(dtype, device);
        spec.become_contiguous(sizes)?;
        Ok(spec)
    }

    /// A tensor without dimensions.
    #[inline]
    pub const fn of_one(dtype: DType, device: Device) -> Self {
        Self::new(Geometry::ONE, dtype, device)
    }

    /// Gives [`of_one`](Self::of_one) row-major sizes, where it lies.
    ///
    /// # Errors
    ///
    /// As [`Geometry::contiguous`].
    #[inline]
    pub(crate) fn become_contiguous(&mut self, sizes: &[i64]) -> Result<()> {
        self.geometry.become_contiguous(sizes)
    }

    /// What an element-wise operator gives: the sizes that `inputs` broadcast to, densely, with the dimensions in
    /// the order that the inputs have in memory.
    ///
    /// # Errors
    ///
    /// As [`broadcast`](crate::broadcast).
    #[inline]
    pub fn elementwise(inputs: &[&Geometry], dtype: DType, device: Device) -> Result<Self> {
        // Inputs without dimensions say nothing.
        if let Some(first) = inputs.iter().find(|input| input.dims() > 0).or(inputs.first())
            && inputs
                .iter()
                .all(|other| other.has_sizes_of(first) || (other.dims() == 0 && first.numel() > 0))
        {
            let beside_number = first.dims() > 0 && inputs.iter().any(|other| other.dims() == 0);
            let mut others = inputs.iter().filter(|other| other.dims() > 0);
            if others.clone().all(|input| input.is_contiguous()) {
                let rows = first.row_major();
                // Beside a number strides of dimensions of size 1 decide too, unless they are the usual ones.
                if !beside_number || others.all(|input| input.strides() == rows.strides()) {
                    return Ok(Self::new(rows, dtype, device));
                }
            } else if !beside_number && first.is_dense() {
                if first.dims() == 4 && others.clone().all(|input| input.is_in_format(CHANNELS_LAST)) {
                    return Ok(Self::new(Geometry::in_format(first.sizes(), CHANNELS_LAST)?, dtype, device));
                }
                if others.all(|other| other.strides() == first.strides()) {
                    return Ok(Self::new(first.at_start(), dtype, device));
                }
            }
        }
        Ok(Self::new(elementwise_geometry(inputs)?, dtype, device))
    }

    /// The map from indices to elements.
    #[inline]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The size of each dimension.
    #[inline]
    pub fn sizes(&self) -> &[i64] {
        self.geometry.sizes()
    }

    /// The distance between neighbours in each dimension, in elements.
    #[inline]
    pub fn strides(&self) -> &[i64] {
        self.geometry.strides()
    }

    /// The number of elements.
    #[inline]
    pub fn numel(&self) -> i64 {
        self.geometry.numel()
    }

    /// The type of the elements.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Where the elements are.
    #[inline]
    pub fn device(&self) -> Device {
        self.device
    }

    /// Returns the spec with another geometry.
    #[must_use]
    pub fn with_geometry(&self, geometry: Geometry) -> Self {
        Self { geometry, dtype: self.dtype, device: self.device }
    }

    /// The size of the storage that the elements need, in bytes, counted from position 0.
    ///
    /// # Errors
    ///
    /// More bytes than a pointer can address; the message names the sizes.
    #[inline]
    pub fn bytes(&self) -> Result<usize> {
        let element = self.dtype.size_in_bytes();
        let bytes = usize::try_from(self.geometry.end()).ok().and_then(|end| end.checked_mul(element));
        match bytes {
            Some(bytes) if bytes <= isize::MAX as usize => Ok(bytes),
            _ => Err(self.too_large()),
        }
    }

    #[cold]
    fn too_large(&self) -> opgrid_core::Error {
        let message = format!(
            "storage size overflows with sizes {:?}, strides {:?} and {} bytes per element",
            self.sizes(),
            self.strides(),
            self.dtype.size_in_bytes()
        );
        argument(message)
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

const CHANNELS_LAST: MemoryFormat = MemoryFormat::ChannelsLast;

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
}
