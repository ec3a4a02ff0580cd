//! `aten::replication_pad1d`, `aten::replication_pad2d`, `aten::replication_pad3d` and their gradients `aten::replication_pad1d_backward` and so on:
//! the elements at the ends again as a frame.
//!
//! - Shapes: the last one, two or three dimensions are padded, of a tensor that has one more for channels and perhaps one
//!   for a batch. `padding` has a number of elements before and after each dimension, from the last one on; negative ones
//!   leave out as many. The result has the memory format that strides look like.
//! - Dtypes: that of `self`, except bool; of gradients floating-point and complex ones.
//! - Aliasing: the `out` forms write `out`, of the dtype of `self`; those of gradients `grad_input`.
//! - Dispatch: gradients are composites of `index_add`.
//! - Errors: another number of dimensions or of numbers; no elements but in the batch; a dimension of which nothing is left.
//! - Source: torch.nn.functional.pad, PyTorch 2.15.

use crate::kinds::padding::{self, Mode};
use crate::prelude::*;

pub use opgrid_tensor::ops::padding::replication::*;

const MODE: Mode = Mode::Replicate;

/// The family of `aten::replication_pad1d`: its kind, shape rule and `out` rule.
pub const REPLICATION_PAD1D: Family<ReplicationPad1d> =
    Family::new(ReplicationPad1d, &kind::PADDING, |input, padding| padding::shape(MODE, 1, input, padding))
        .same_dtype_out();

/// The family of `aten::replication_pad2d`: its kind, shape rule and `out` rule.
pub const REPLICATION_PAD2D: Family<ReplicationPad2d> =
    Family::new(ReplicationPad2d, &kind::PADDING, |input, padding| padding::shape(MODE, 2, input, padding))
        .same_dtype_out();

/// The family of `aten::replication_pad3d`: its kind, shape rule and `out` rule.
pub const REPLICATION_PAD3D: Family<ReplicationPad3d> =
    Family::new(ReplicationPad3d, &kind::PADDING, |input, padding| padding::shape(MODE, 3, input, padding))
        .same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&REPLICATION_PAD1D)
        .cpu(|input, padding, out| padding::write(MODE, 1, input, padding, out))
        .derivative(|d, (input, padding)| padding::derivative(d, MODE, 1, input, padding));
    library
        .family(&REPLICATION_PAD2D)
        .cpu(|input, padding, out| padding::write(MODE, 2, input, padding, out))
        .derivative(|d, (input, padding)| padding::derivative(d, MODE, 2, input, padding));
    library
        .family(&REPLICATION_PAD3D)
        .cpu(|input, padding, out| padding::write(MODE, 3, input, padding, out))
        .derivative(|d, (input, padding)| padding::derivative(d, MODE, 3, input, padding));
    library.implicit(ReplicationPad1dBackward, &kind::PADDING, |grad, input, padding| {
        padding::backward(MODE, 1, grad, input, padding)
    });
    library.implicit(ReplicationPad2dBackward, &kind::PADDING, |grad, input, padding| {
        padding::backward(MODE, 2, grad, input, padding)
    });
    library.implicit(ReplicationPad3dBackward, &kind::PADDING, |grad, input, padding| {
        padding::backward(MODE, 3, grad, input, padding)
    });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        padding::samples::collect(samples, ReplicationPad1d, MODE, 1);
        padding::samples::collect(samples, ReplicationPad2d, MODE, 2);
        padding::samples::collect(samples, ReplicationPad3d, MODE, 3);
        padding::samples::collect_backward(samples, ReplicationPad1dBackward, MODE, 1);
        padding::samples::collect_backward(samples, ReplicationPad2dBackward, MODE, 2);
        padding::samples::collect_backward(samples, ReplicationPad3dBackward, MODE, 3);
    }
}
