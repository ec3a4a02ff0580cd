//! Tensors from Rust values, and Rust values from tensors of one element.

use opgrid_array::{Array, Complex, Element, Nested};
use opgrid_core::conversions::IntList;
use opgrid_core::{Device, Error, Result, Scalar};

use crate::tensor::Tensor;

/// # From and to Rust values
impl Tensor {
    /// A new tensor of nested arrays, whose element type decides the dtype. [`tensor!`](crate::tensor!) gives literals the
    /// dtypes of torch.
    ///
    /// # Errors
    ///
    /// As [`Array::from_nested`]; a device without memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid::prelude::*;
    ///
    /// let x = Tensor::new(&[[1.0f64, 2.0], [3.0, 4.0]], Device::CPU)?;
    /// assert_eq!(x.to_string(), "tensor([[1., 2.],\n        [3., 4.]], dtype=torch.float64)");
    /// # Ok::<(), opgrid::Error>(())
    /// ```
    pub fn new<N: Nested>(nested: &N, device: impl Into<Device>) -> Result<Self> {
        Self::from_array(Array::from_nested(nested)?)?.to(device.into())
    }

    /// A new row-major CPU tensor of these elements, which are copied: tensors have memory of a greater alignment than vectors.
    ///
    /// # Errors
    ///
    /// As [`from_slice`](Self::from_slice).
    #[allow(clippy::needless_pass_by_value, reason = "called with vectors that are made for it")]
    pub fn from_vec<T: Element>(elements: Vec<T>, sizes: impl IntList) -> Result<Self> {
        Self::from_slice(&elements, sizes)
    }

    /// The only element, whose dtype is that of the result.
    ///
    /// # Errors
    ///
    /// Another number of elements, another dtype; as [`to_vec`](Self::to_vec).
    ///
    /// # Examples
    ///
    /// ```
    /// let loss = opgrid::tensor![[0.5]]?;
    /// assert_eq!(loss.to_scalar::<f32>()?, 0.5);
    /// assert!(loss.to_scalar::<i64>().is_err());
    /// # Ok::<(), opgrid::Error>(())
    /// ```
    pub fn to_scalar<T: Element>(&self) -> Result<T> {
        match self.to_vec()?.as_slice() {
            [value] => Ok(*value),
            _ => Err(crate::error::argument(format!(
                "to_scalar: found sizes {:?}, expected one element; choose one by `i`",
                self.sizes()
            ))),
        }
    }
}

macro_rules! numbers {
    ($($number:ty: |$value:ident| $convert:expr;)*) => {
        $(impl TryFrom<&Tensor> for $number {
            type Error = Error;

            /// The only element.
            ///
            /// # Errors
            ///
            /// Those of [`Tensor::item`], and of the conversion of [`Scalar`].
            fn try_from(tensor: &Tensor) -> Result<Self> {
                let $value = tensor.item()?;
                $convert
            }
        })*
    };
}

numbers! {
    f64: |value| value.to_f64();
    f32: |value| value.to_f32();
    i64: |value| value.to_i64();
    bool: |value| Ok(value.to_bool());
    Complex<f64>: |value| Ok(value.to_complex());
}

impl TryFrom<&Tensor> for Scalar {
    type Error = Error;

    fn try_from(tensor: &Tensor) -> Result<Self> {
        tensor.item()
    }
}

impl<T: Element> TryFrom<&Tensor> for Vec<T> {
    type Error = Error;

    /// All elements in row-major order.
    fn try_from(tensor: &Tensor) -> Result<Self> {
        tensor.to_vec()
    }
}
