//! torchvision's operators, under torchvision's names: what detection networks that torch exports call.
//!
//! - [`Nms`] chooses boxes, [`RoiAlign`] cuts them out of images, [`DeformConv2d`] is a convolution that reads images where it is told to.
//! - Dtypes: `float32` and `float64`.
//! - Source: torchvision 0.29, whose kernels for the CPU say which element counts how much.
//!
//! # Examples
//!
//! ```
//! use opgrid::{DType, Device, Tensor};
//! use opgrid_vision::RoiAlign;
//!
//! let _vision = opgrid_vision::register(opgrid::dispatcher()?)?;
//! let images = Tensor::ones(&[2, 3, 16, 16], DType::F32, Device::CPU)?;
//! // The number of the image, and two corners.
//! let boxes = Tensor::from_slice(&[1.0f32, 2.0, 2.0, 10.0, 12.0], &[1, 5])?;
//! let cut = RoiAlign.call(&images, &boxes, 1.0, 4, 4, 2, true)?;
//! assert_eq!(cut.sizes(), [1, 3, 4, 4]);
//! # Ok::<(), opgrid::Error>(())
//! ```
#![forbid(unsafe_code)]

mod elements;

mod deform_conv2d;
mod nms;
mod roi_align;

use opgrid::prelude::*;

operator! {
    /// Chooses boxes: the one with the highest score, and then each that overlaps with none of those by more than a part of their union.
    /// Boxes are `[n, 4]`: two corners. The result has the numbers of the chosen boxes, the one with the highest score first.
    pub Nms = "torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor";

    /// Cuts boxes out of images `[batch, channels, height, width]`, each divided into `pooled_height` times `pooled_width` parts, of which each
    /// becomes the average of some places. Boxes are `[k, 5]`: the number of the image, and two corners, which `spatial_scale` is
    /// multiplied with. `sampling_ratio` says how many places are read along each side of a part; with 0 or less it is about one for each element.
    pub RoiAlign = "torchvision::roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, int sampling_ratio, bool aligned) -> Tensor";

    /// The gradient of [`RoiAlign`] for the images.
    pub RoiAlignBackward = "torchvision::_roi_align_backward(Tensor grad, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, SymInt batch_size, SymInt channels, SymInt height, SymInt width, int sampling_ratio, bool aligned) -> Tensor";

    /// A convolution of images that reads each element of a window at a distance from its place, which `offset` says, and multiplies it by
    /// what `mask` says, where `use_mask`.
    pub DeformConv2d = "torchvision::deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask) -> Tensor";

    /// The gradients of [`DeformConv2d`] for its five tensors.
    pub DeformConv2dBackward = "torchvision::_deform_conv2d_backward(Tensor grad, Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask) -> (Tensor, Tensor, Tensor, Tensor, Tensor)";
}

/// Defines the operators, for as long as the registration lives.
///
/// # Errors
///
/// The namespace `torchvision` is taken.
pub fn register(dispatcher: &Dispatcher) -> Result<Registration> {
    let mut library = dispatcher.library("torchvision");
    nms::define(&mut library);
    roi_align::define(&mut library);
    deform_conv2d::define(&mut library);
    library.finish()
}

/// The examples of README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
