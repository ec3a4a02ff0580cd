//! What modules are made with: settings of their parameters, and sizes.

use opgrid_core::conversions::{IntList, Integer};
use opgrid_core::{DType, Device, Result};
use opgrid_tensor::Tensor;

/// What the parameters of a module are like.
///
/// # Examples
///
/// ```
/// use opgrid_core::DType;
/// use opgrid_nn::{Linear, Module, ModuleOptions};
///
/// let layer = Linear::with(3, 4, ModuleOptions::new().bias(false).dtype(DType::F64))?;
/// assert_eq!(layer.parameters().len(), 1);
/// assert_eq!(layer.weight.dtype(), DType::F64);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ModuleOptions {
    bias: bool,
    dtype: Option<DType>,
    device: Device,
}

impl Default for ModuleOptions {
    fn default() -> Self {
        Self { bias: true, dtype: None, device: Device::CPU }
    }
}

impl ModuleOptions {
    /// A bias where modules have one, the default dtype, on the CPU.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether modules that can have a bias have one.
    pub fn bias(self, bias: bool) -> Self {
        Self { bias, ..self }
    }

    /// The dtype of parameters and buffers.
    pub fn dtype(self, dtype: DType) -> Self {
        Self { dtype: Some(dtype), ..self }
    }

    /// The device of parameters and buffers.
    pub fn device(self, device: Device) -> Self {
        Self { device, ..self }
    }

    pub(crate) fn has_bias(self) -> bool {
        self.bias
    }

    /// A tensor of these sizes, for a caller that writes all of it.
    pub(crate) fn empty(self, sizes: impl IntList) -> Result<Tensor> {
        let dtype = self.dtype.unwrap_or_else(opgrid_tensor::tensor::default_dtype);
        Tensor::empty(sizes, dtype, self.device)
    }

    /// A tensor that holds one value.
    pub(crate) fn full(self, sizes: impl IntList, value: i64) -> Result<Tensor> {
        let tensor = self.empty(sizes)?;
        tensor.fill_(value)?;
        Ok(tensor)
    }

    /// A whole number, such as a count of batches.
    pub(crate) fn count(self) -> Result<Tensor> {
        Tensor::zeros((), DType::I64, self.device)
    }
}

/// Makes a tensor a parameter.
pub(crate) fn learned(tensor: Tensor) -> Result<Tensor> {
    tensor.requires_grad_(true)?;
    Ok(tensor)
}

/// One size for each of `N` dimensions; a number stands for the same size in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes<const N: usize>(pub [i64; N]);

macro_rules! sizes {
    ($($integer:ty)*) => {
        $(
            impl<const N: usize> From<$integer> for Sizes<N> {
                fn from(size: $integer) -> Self {
                    Self([size.to_i64(); N])
                }
            }

            impl<const N: usize> From<[$integer; N]> for Sizes<N> {
                fn from(sizes: [$integer; N]) -> Self {
                    Self(sizes.map(Integer::to_i64))
                }
            }
        )*
    };
}

sizes!(i32 i64 usize);
