//! `aten::upsample_bicubic2d`, `aten::upsample_bicubic2d_backward`: images of other sizes, and their gradient, of four neighbours in each dimension, by cubic polynomials.
//!
//! Places lie where [`UpsampleBilinear2d`](opgrid_tensor::ops::UpsampleBilinear2d) has them; what lies beyond the edges is the
//! element at the edge.
//!
//! - Shapes: a batch of images; the overload `vec` takes sizes or scales, from which sizes follow without fractions.
//! - Dtypes: floats, of which 16-bit ones are rounded once; uint8, rounded after each dimension, the last one first. Gradients of floats.
//! - Strides: channels-last if the batch is; gradients lie in rows.
//! - Aliasing: `upsample_bicubic2d.out` writes `out`, which must not overlap `self`; `upsample_bicubic2d_backward.grad_input`
//!   writes `grad_input`.
//! - Dispatch: the gradient is a composite of `index_add` and `mul`.
//! - Errors: other dimensions; sizes below 1 apart from the batch's; both sizes and scales, or neither.
//! - Source: torch.nn.functional.interpolate, PyTorch 2.15.

use crate::kinds::resampling::{self, Resized, Spread, check_image, of_bytes, output_sizes, scale_at};
use crate::prelude::*;
use opgrid_kernels::resampling::resample;

pub use opgrid_tensor::ops::resampling::upsample_bicubic2d::*;

/// The family of `aten::upsample_bicubic2d`: its kind, shape rule and `out` rule.
pub const UPSAMPLE_BICUBIC2D: Family<UpsampleBicubic2d> =
    Family::new(UpsampleBicubic2d, &kind::RESAMPLING, |input, output, _, _, _| {
        let spec = input.spec()?;
        check_image(spec.dtype())?;
        resampling::shape(spec, output, 2)
    })
    .same_dtype_out();

/// Gradients by a cubic polynomial, which lie in rows, as in torch.
const BY_CUBES: Spread = Spread { line: Resized::cubic, keeps_format: false };

pub(super) fn register(library: &mut Library) {
    library
        .family(&UPSAMPLE_BICUBIC2D)
        .cpu(|input, output, align_corners, rows, columns, out| {
            // Sizes beside one of 0 may be of any size.
            if out.numel() == 0 {
                return Ok(());
            }
            let resized = Resized::all(&input.sizes()[2..], output, align_corners, &[rows, columns]);
            if input.dtype() == DType::U8 {
                return of_bytes(out, input, &resized, Resized::cubic);
            }
            with_dtype!(input.dtype(), T: Float => {
                let lines = resized.iter().map(Resized::cubic::<Math<T>>).collect();
                resample::<T>(out.array()?, input.array()?, &resampling::lines(lines))
            })
        })
        .derivative(|d, (input, output, align_corners, rows, columns)| {
            resampling::derivative(d, input, (output, align_corners), &[rows, columns], BY_CUBES)
        });
    library.define(UpsampleBicubic2dVec).kind(&kind::RESAMPLING).implicit(|input, output, align, scales| {
        let sizes = output_sizes(input.spec()?.sizes(), output, scales, 2)?;
        UpsampleBicubic2d.call(input, &sizes, align, scale_at(scales, 0), scale_at(scales, 1))
    });
    library.implicit(
        UpsampleBicubic2dBackward,
        &kind::RESAMPLING,
        |grad, output, input, align_corners, rows, columns| {
            resampling::backward(grad, [output, input], align_corners, &[rows, columns], BY_CUBES)
        },
    );
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::resampling::BYTES_AND_FLOATS;
    use opgrid_kinds::images::FLOATS;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| resampling::samples::both_alignments(dtype, 2, resampling::samples::inputs);
        samples.operator(UpsampleBicubic2d, BYTES_AND_FLOATS, inputs, reference).tolerance(128.0);
        let inputs = |dtype| resampling::samples::both_alignments(dtype, 2, resampling::samples::by_scales);
        samples.operator(UpsampleBicubic2dVec, BYTES_AND_FLOATS, inputs, reference).tolerance(128.0);
        let gradients = |dtype| {
            let inputs = resampling::samples::inputs;
            resampling::samples::gradients(resampling::samples::both_alignments(dtype, 2, inputs))
        };
        samples.operator(UpsampleBicubic2dBackward, FLOATS, gradients, reference).tolerance(128.0);
        samples.rounds(UpsampleBicubic2dBackward, Roundings::all(Rounding::Sum(128)));
        samples.differs(UpsampleBicubic2d, resampling::samples::BYTES_OF_ANY_STRIDES);
        // Weights of cubes are rounded in another order.
        samples.rounds(UpsampleBicubic2d, Roundings::all(Rounding::Sum(32)));
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let align_corners = it.value("align_corners")?;
        resampling::samples::expected(it, |request, dim, place| {
            let (size, output) = (request.sizes[dim + 2], request.output[dim]);
            let scale = request.scales[dim].filter(|_| size != output);
            let at = resampling::samples::naive_place(size, output, scale, align_corners, place);
            // The weight of an element by its distance, as textbooks have it.
            let weight = |distance: f64| match distance.abs() {
                x if x <= 1.0 => 1.25 * x.powi(3) - 2.25 * x.powi(2) + 1.0,
                x if x < 2.0 => -0.75 * x.powi(3) + 3.75 * x.powi(2) - 6.0 * x + 3.0,
                _ => 0.0,
            };
            let low = at.floor() as i64;
            (low - 1..=low + 2).map(|k| (k.clamp(0, size - 1), weight(at - k as f64))).collect()
        })
    }
}
