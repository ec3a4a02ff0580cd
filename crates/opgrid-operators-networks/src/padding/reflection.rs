//! `aten::reflection_pad1d`, `aten::reflection_pad2d`, `aten::reflection_pad3d` and their gradients `aten::reflection_pad1d_backward` and so on:
//! the elements again, mirrored at the ends as a frame.
//!
//! - Shapes: the last one, two or three dimensions are padded, of a tensor that has one more for channels and perhaps one
//!   for a batch. `padding` has a number of elements before and after each dimension, from the last one on; negative ones
//!   leave out as many. The result has the memory format that strides look like.
//! - Dtypes: that of `self`, except bool; of gradients floating-point and complex ones.
//! - Aliasing: the `out` forms write `out`, of the dtype of `self`; those of gradients `grad_input`.
//! - Dispatch: gradients are composites of `index_add`.
//! - Errors: another number of dimensions or of numbers; no elements but in the batch; more elements than there are beside the ends.
//! - Source: torch.nn.functional.pad, PyTorch 2.15.

use crate::kinds::padding::{self, Mode};
use crate::prelude::*;

pub use opgrid_tensor::ops::padding::reflection::*;

const MODE: Mode = Mode::Reflect;

/// The family of `aten::reflection_pad1d`: its kind, shape rule and `out` rule.
pub const REFLECTION_PAD1D: Family<ReflectionPad1d> =
    Family::new(ReflectionPad1d, &kind::PADDING, |input, padding| padding::shape(MODE, 1, input, padding))
        .same_dtype_out();

/// The family of `aten::reflection_pad2d`: its kind, shape rule and `out` rule.
pub const REFLECTION_PAD2D: Family<ReflectionPad2d> =
    Family::new(ReflectionPad2d, &kind::PADDING, |input, padding| padding::shape(MODE, 2, input, padding))
        .same_dtype_out();

/// The family of `aten::reflection_pad3d`: its kind, shape rule and `out` rule.
pub const REFLECTION_PAD3D: Family<ReflectionPad3d> =
    Family::new(ReflectionPad3d, &kind::PADDING, |input, padding| padding::shape(MODE, 3, input, padding))
        .same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&REFLECTION_PAD1D)
        .cpu(|input, padding, out| padding::write(MODE, 1, input, padding, out))
        .derivative(|d, (input, padding)| padding::derivative(d, MODE, 1, input, padding));
    library
        .family(&REFLECTION_PAD2D)
        .cpu(|input, padding, out| padding::write(MODE, 2, input, padding, out))
        .derivative(|d, (input, padding)| padding::derivative(d, MODE, 2, input, padding));
    library
        .family(&REFLECTION_PAD3D)
        .cpu(|input, padding, out| padding::write(MODE, 3, input, padding, out))
        .derivative(|d, (input, padding)| padding::derivative(d, MODE, 3, input, padding));
    library.implicit(ReflectionPad1dBackward, &kind::PADDING, |grad, input, padding| {
        padding::backward(MODE, 1, grad, input, padding)
    });
    library.implicit(ReflectionPad2dBackward, &kind::PADDING, |grad, input, padding| {
        padding::backward(MODE, 2, grad, input, padding)
    });
    library.implicit(ReflectionPad3dBackward, &kind::PADDING, |grad, input, padding| {
        padding::backward(MODE, 3, grad, input, padding)
    });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        padding::samples::collect(samples, ReflectionPad1d, MODE, 1);
        padding::samples::collect(samples, ReflectionPad2d, MODE, 2);
        padding::samples::collect(samples, ReflectionPad3d, MODE, 3);
        padding::samples::collect_backward(samples, ReflectionPad1dBackward, MODE, 1);
        padding::samples::collect_backward(samples, ReflectionPad2dBackward, MODE, 2);
        padding::samples::collect_backward(samples, ReflectionPad3dBackward, MODE, 3);
    }
}
