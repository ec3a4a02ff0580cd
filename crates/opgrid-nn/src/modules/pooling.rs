//! Pooling over two dimensions: inputs `(batch, channels, height, width)`, or without the batch.

use opgrid_core::Result;
use opgrid_tensor::{Tensor, ops};

use crate::module::{Module, Parts, forward};
use crate::options::Sizes;

/// The largest element of each window.
///
/// # Examples
///
/// ```
/// use opgrid_nn::MaxPool2d;
/// use opgrid::Tensor;
///
/// let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[1, 2, 2])?;
/// assert_eq!(MaxPool2d::new(2).forward(&x)?.to_vec::<f32>()?, [4.0]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct MaxPool2d {
    kernel: [i64; 2],
    stride: [i64; 2],
    padding: [i64; 2],
}

impl MaxPool2d {
    /// Windows of that size beside each other.
    pub fn new(kernel: impl Into<Sizes<2>>) -> Self {
        let Sizes(kernel) = kernel.into();
        Self { kernel, stride: kernel, padding: [0; 2] }
    }

    /// How far windows are apart; their size unless it is set.
    #[must_use]
    pub fn stride(self, stride: impl Into<Sizes<2>>) -> Self {
        Self { stride: stride.into().0, ..self }
    }

    /// How many elements, smaller than any, are added at both ends of each dimension.
    #[must_use]
    pub fn padding(self, padding: impl Into<Sizes<2>>) -> Self {
        Self { padding: padding.into().0, ..self }
    }

    /// The largest elements.
    ///
    /// # Errors
    ///
    /// Those of `aten::max_pool2d`, such as a padding of more than half the window.
    pub fn forward(&self, input: &Tensor) -> Result<Tensor> {
        ops::MaxPool2d.call(input, &self.kernel, &self.stride, &self.padding, &[1, 1], false)
    }
}

/// The mean of each window.
///
/// # Examples
///
/// ```
/// use opgrid_nn::AvgPool2d;
/// use opgrid::Tensor;
///
/// let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[1, 2, 2])?;
/// assert_eq!(AvgPool2d::new([1, 2]).forward(&x)?.to_vec::<f32>()?, [1.5, 3.5]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct AvgPool2d {
    kernel: [i64; 2],
    stride: [i64; 2],
    padding: [i64; 2],
    counts_padding: bool,
}

impl AvgPool2d {
    /// Windows of that size beside each other.
    pub fn new(kernel: impl Into<Sizes<2>>) -> Self {
        let Sizes(kernel) = kernel.into();
        Self { kernel, stride: kernel, padding: [0; 2], counts_padding: true }
    }

    /// How far windows are apart; their size unless it is set.
    #[must_use]
    pub fn stride(self, stride: impl Into<Sizes<2>>) -> Self {
        Self { stride: stride.into().0, ..self }
    }

    /// How many zeros are added at both ends of each dimension.
    #[must_use]
    pub fn padding(self, padding: impl Into<Sizes<2>>) -> Self {
        Self { padding: padding.into().0, ..self }
    }

    /// Whether added zeros count as elements of a window, as they do unless it is set.
    #[must_use]
    pub fn count_include_pad(self, counts: bool) -> Self {
        Self { counts_padding: counts, ..self }
    }

    /// The means.
    ///
    /// # Errors
    ///
    /// Those of `aten::avg_pool2d`, such as a padding of more than half the window.
    pub fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let Self { kernel, stride, padding, counts_padding } = self;
        ops::AvgPool2d.call(input, kernel, stride, padding, false, *counts_padding, None)
    }
}

/// The means of as many windows as asked for, whatever the size of the input.
///
/// # Examples
///
/// ```
/// use opgrid_core::{DType, Device};
/// use opgrid_nn::AdaptiveAvgPool2d;
/// use opgrid::Tensor;
///
/// let x = Tensor::ones(&[2, 3, 7, 5], DType::F32, Device::CPU)?;
/// assert_eq!(AdaptiveAvgPool2d::new(1).forward(&x)?.sizes(), [2, 3, 1, 1]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct AdaptiveAvgPool2d {
    sizes: [i64; 2],
}

impl AdaptiveAvgPool2d {
    /// As many windows in each dimension.
    pub fn new(sizes: impl Into<Sizes<2>>) -> Self {
        Self { sizes: sizes.into().0 }
    }

    /// The means.
    ///
    /// # Errors
    ///
    /// Those of `aten::adaptive_avg_pool2d`.
    pub fn forward(&self, input: &Tensor) -> Result<Tensor> {
        ops::AdaptiveAvgPool2d.call(input, &self.sizes)
    }
}

impl Module for MaxPool2d {
    fn parts(&self, _: &mut Parts) {}
}

impl Module for AvgPool2d {
    fn parts(&self, _: &mut Parts) {}
}

impl Module for AdaptiveAvgPool2d {
    fn parts(&self, _: &mut Parts) {}
}

forward!(MaxPool2d, AvgPool2d, AdaptiveAvgPool2d);
