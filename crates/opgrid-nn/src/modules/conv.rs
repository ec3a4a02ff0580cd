//! Convolutions over one and two dimensions.

use opgrid_core::Result;
use opgrid_core::conversions::Integer;
use opgrid_tensor::{Tensor, ops};

use crate::error::argument;
use crate::init;
use crate::module::{Module, Parts, forward};
use crate::options::{ModuleOptions, Sizes, learned};

/// A convolution over `N` dimensions; see [`Conv1d`] and [`Conv2d`].
///
/// Parameters: `weight` `(out_channels, in_channels / groups, kernel sizes…)` and `bias` `(out_channels)`, both uniform
/// between `±1 / sqrt(in_channels / groups * kernel sizes)` at first.
#[derive(Debug)]
pub struct Conv<const N: usize> {
    /// `(out_channels, in_channels / groups, kernel sizes…)`.
    pub weight: Tensor,
    /// `(out_channels)`.
    pub bias: Option<Tensor>,
    groups: i64,
    stride: [i64; N],
    padding: Padding<N>,
    dilation: [i64; N],
    mode: PaddingMode,
}

/// A convolution over lines: inputs `(batch, in_channels, length)`, or without the batch.
///
/// # Examples
///
/// ```
/// use opgrid_core::{DType, Device};
/// use opgrid_nn::Conv1d;
/// use opgrid::Tensor;
///
/// let layer = Conv1d::new(4, 6, 3)?.stride(2).padding(1);
/// let x = Tensor::ones(&[2, 4, 7], DType::F32, Device::CPU)?;
/// assert_eq!(layer.forward(&x)?.sizes(), [2, 6, 4]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub type Conv1d = Conv<1>;

/// A convolution over images: inputs `(batch, in_channels, height, width)`, or without the batch.
///
/// # Examples
///
/// ```
/// use opgrid_core::{DType, Device};
/// use opgrid_nn::{Conv2d, ModuleOptions};
/// use opgrid::Tensor;
///
/// let x = Tensor::ones(&[2, 4, 8, 8], DType::F32, Device::CPU)?;
/// let layer = Conv2d::new(4, 16, 3)?.padding(1);
/// assert_eq!(layer.forward(&x)?.sizes(), [2, 16, 8, 8]);
/// let in_groups = Conv2d::with(4, 8, [3, 5], 4, ModuleOptions::new().bias(false))?.same_padding();
/// assert_eq!(in_groups.weight.sizes(), [8, 1, 3, 5]);
/// assert_eq!(in_groups.forward(&x)?.sizes(), [2, 8, 8, 8]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub type Conv2d = Conv<2>;

/// What the margins around an input hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PaddingMode {
    /// Zeros.
    #[default]
    Zeros,
    /// The input, mirrored at its last element.
    Reflect,
    /// The last element.
    Replicate,
    /// The other end of the input.
    Circular,
}

#[derive(Clone, Copy, Debug)]
enum Padding<const N: usize> {
    Sizes([i64; N]),
    Same,
}

impl<const N: usize> Conv<N> {
    /// A convolution with a bias, all of whose inputs lead to all of its outputs, of the default dtype.
    ///
    /// # Errors
    ///
    /// As [`with`](Self::with).
    pub fn new(
        in_channels: impl Integer,
        out_channels: impl Integer,
        kernel: impl Into<Sizes<N>>,
    ) -> Result<Self> {
        let (in_channels, out_channels) = (in_channels.to_i64(), out_channels.to_i64());
        Self::made(in_channels, out_channels, kernel.into().0, 1, ModuleOptions::new())
    }

    /// A convolution with these settings; channels of one of the `groups` lead to those of the same group.
    ///
    /// # Errors
    ///
    /// Channels that `groups` does not divide, a negative size, or a dtype that is no floating-point one.
    pub fn with(
        in_channels: impl Integer,
        out_channels: impl Integer,
        kernel: impl Into<Sizes<N>>,
        groups: impl Integer,
        options: ModuleOptions,
    ) -> Result<Self> {
        let (in_channels, out_channels, groups) =
            (in_channels.to_i64(), out_channels.to_i64(), groups.to_i64());
        Self::made(in_channels, out_channels, kernel.into().0, groups, options)
    }

    fn made(
        in_channels: i64,
        out_channels: i64,
        kernel: [i64; N],
        groups: i64,
        options: ModuleOptions,
    ) -> Result<Self> {
        if groups <= 0 || in_channels % groups != 0 || out_channels % groups != 0 {
            return Err(argument(format!(
                "Conv{N}d: found {in_channels} input channels, {out_channels} output channels and {groups} groups, \
                 expected a positive number of groups that divides both"
            )));
        }
        let weight = options.empty(&[&[out_channels, in_channels / groups][..], &kernel].concat())?;
        let bias = options.has_bias().then(|| options.empty(&[out_channels])).transpose()?;
        init::weight_and_bias(&weight, bias.as_ref())?;
        Ok(Self {
            weight: learned(weight)?,
            bias: bias.map(learned).transpose()?,
            groups,
            stride: [1; N],
            padding: Padding::Sizes([0; N]),
            dilation: [1; N],
            mode: PaddingMode::Zeros,
        })
    }

    /// How far the kernel moves between neighbouring results; 1 unless it is set.
    #[must_use]
    pub fn stride(self, stride: impl Into<Sizes<N>>) -> Self {
        Self { stride: stride.into().0, ..self }
    }

    /// How many elements are added at both ends of each dimension; 0 unless it is set.
    #[must_use]
    pub fn padding(self, padding: impl Into<Sizes<N>>) -> Self {
        Self { padding: Padding::Sizes(padding.into().0), ..self }
    }

    /// Adds as many elements as it takes for results of the input's size; the stride has to be 1.
    #[must_use]
    pub fn same_padding(self) -> Self {
        Self { padding: Padding::Same, ..self }
    }

    /// What is added; zeros unless it is set.
    #[must_use]
    pub fn padding_mode(self, mode: PaddingMode) -> Self {
        Self { mode, ..self }
    }

    /// How far the elements of the kernel are apart; 1 unless it is set.
    #[must_use]
    pub fn dilation(self, dilation: impl Into<Sizes<N>>) -> Self {
        Self { dilation: dilation.into().0, ..self }
    }

    /// The convolution.
    ///
    /// # Errors
    ///
    /// An input with other channels, of another dtype, or smaller than the kernel; sizes that the operator refuses, such as
    /// a stride of 0.
    pub fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let (weight, bias) = (&self.weight, self.bias.as_ref());
        let (stride, dilation, groups) = (&self.stride[..], &self.dilation[..], self.groups);
        if self.mode != PaddingMode::Zeros {
            let input = self.padded(input)?;
            return convolved(&input, weight, bias, stride, &[0; N], dilation, groups);
        }
        match self.padding {
            Padding::Sizes(padding) => convolved(input, weight, bias, stride, &padding, dilation, groups),
            Padding::Same if N == 1 => {
                ops::Conv1dPadding.call(input, weight, bias, stride, "same", dilation, groups)
            }
            Padding::Same => ops::Conv2dPadding.call(input, weight, bias, stride, "same", dilation, groups),
        }
    }

    /// The input with margins that are not zeros.
    fn padded(&self, input: &Tensor) -> Result<Tensor> {
        let mode = match self.mode {
            PaddingMode::Zeros => "constant",
            PaddingMode::Reflect => "reflect",
            PaddingMode::Replicate => "replicate",
            PaddingMode::Circular => "circular",
        };
        // The operator takes both ends of each dimension, the last one first.
        let mut margins = Vec::with_capacity(2 * N);
        for dim in (0..N).rev() {
            match self.padding {
                Padding::Sizes(sizes) => margins.extend([sizes[dim]; 2]),
                Padding::Same => {
                    let whole = self.dilation[dim] * (self.weight.sizes()[2 + dim] - 1);
                    margins.extend([whole / 2, whole - whole / 2]);
                }
            }
        }
        ops::Pad.call(input, &margins, mode, None)
    }
}

fn convolved(
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    stride: &[i64],
    padding: &[i64],
    dilation: &[i64],
    groups: i64,
) -> Result<Tensor> {
    match stride.len() {
        1 => ops::Conv1d.call(input, weight, bias, stride, padding, dilation, groups),
        _ => ops::Conv2d.call(input, weight, bias, stride, padding, dilation, groups),
    }
}

impl<const N: usize> Module for Conv<N> {
    fn parts(&self, parts: &mut Parts) {
        parts.parameter("weight", &self.weight).parameter("bias", &self.bias);
    }
}

forward!(Conv1d, Conv2d);
