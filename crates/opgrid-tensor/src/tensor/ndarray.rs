//! Arrays of the crate `ndarray`, from and to: with the feature `ndarray`.

use ndarray::{ArrayBase, ArrayD, Data, Dimension, IxDyn};
use opgrid_core::Result;

use super::array::Array;
use super::element::Element;
use super::geometry::Dims;
use super::handle::Tensor;
use crate::error::argument;

impl Array {
    /// A new row-major CPU tensor with the elements of `array`, in whatever order they lie there.
    ///
    /// # Errors
    ///
    /// No memory; more than 64 dimensions.
    pub fn from_ndarray<S: Data<Elem: Element>, D: Dimension>(array: &ArrayBase<S, D>) -> Result<Self> {
        let sizes: Dims = array.shape().iter().map(|&size| size as i64).collect();
        match array.as_slice() {
            Some(elements) => Self::from_slice(elements, &sizes),
            None => Self::from_slice(&array.iter().copied().collect::<Vec<_>>(), &sizes),
        }
    }

    /// The elements as an array of `ndarray`.
    ///
    /// # Errors
    ///
    /// As [`to_vec`](Self::to_vec).
    pub fn to_ndarray<T: Element>(&self) -> Result<ArrayD<T>> {
        let sizes: Vec<usize> = self.sizes().iter().map(|&size| size as usize).collect();
        ArrayD::from_shape_vec(IxDyn(&sizes), self.to_vec()?).map_err(|error| {
            argument(format!("sizes {sizes:?} are not supported by ndarray: {error}")).caused_by(error)
        })
    }
}

/// # ndarray
impl Tensor {
    /// A new CPU tensor with the elements of `array`.
    ///
    /// # Errors
    ///
    /// As [`Array::from_ndarray`].
    ///
    /// # Examples
    ///
    /// ```
    /// let columns = ndarray::arr2(&[[1.0f32, 2.0], [3.0, 4.0]]).reversed_axes();
    /// let x = opgrid::Tensor::from_ndarray(&columns)?;
    /// assert_eq!(x.to_vec::<f32>()?, [1.0, 3.0, 2.0, 4.0]);
    /// assert_eq!(x.to_ndarray::<f32>()?, columns.into_dyn());
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn from_ndarray<S: Data<Elem: Element>, D: Dimension>(array: &ArrayBase<S, D>) -> Result<Self> {
        Self::from_array(Array::from_ndarray(array)?)
    }

    /// The elements as an array of `ndarray`.
    ///
    /// # Errors
    ///
    /// As [`Array::to_ndarray`]; an undefined tensor.
    pub fn to_ndarray<T: Element>(&self) -> Result<ArrayD<T>> {
        self.array()?.to_ndarray()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_survive() {
        for sizes in [&[][..], &[3], &[2, 3], &[0, 4], &[1, 2, 1, 3]] {
            let numel = sizes.iter().product::<usize>();
            let array =
                ArrayD::from_shape_fn(IxDyn(sizes), |index| index.slice().iter().sum::<usize>() as i16);
            let tensor = Tensor::from_ndarray(&array).unwrap();
            assert_eq!((tensor.numel(), tensor.to_ndarray::<i16>().unwrap()), (numel as i64, array));
            assert!(tensor.to_ndarray::<i32>().is_err());
        }
    }
}
