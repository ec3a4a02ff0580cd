//! `aten::upsample_linear1d`, `upsample_bilinear2d`, `upsample_trilinear3d` and their gradients `upsample_linear1d_backward` and so on:
//! images of other sizes, of neighbours by distance.
//!
//! A place lies at `(p + 0.5) * step - 0.5`, or at `p * step` if corners are aligned; each of the two neighbours in a
//! dimension counts by how near it is. The step is `input size / output size`, or `1 / scale` for scales above 0; with aligned
//! corners `(input size - 1) / (output size - 1)`.
//!
//! - Shapes: a batch of images; the overloads `vec` take sizes or scales, from which sizes follow without fractions.
//! - Dtypes: floats, of which 16-bit ones are rounded once; images without depth also of uint8, rounded after each dimension,
//!   the last one first. Gradients of floats.
//! - Strides: channels-last if the batch is.
//! - Aliasing: the `out` forms write `out`, which must not overlap `self`; those of gradients `grad_input`.
//! - Dispatch: gradients are composites of `index_add` and `mul`.
//! - Errors: other dimensions; sizes below 1 apart from the batch's; both sizes and scales, or neither.
//! - Source: torch.nn.functional.interpolate, PyTorch 2.15.

use crate::kinds::resampling::{self, Resized, Spread, check_image, of_bytes, output_sizes, scale_at};
use crate::prelude::*;
use opgrid_kernels::resampling::resample;
use opgrid_kinds::images::check_float;

pub use opgrid_tensor::ops::resampling::upsample_linear::*;

/// Registers an operator for images of some dimensions, its overload for scales, and its gradient.
macro_rules! of_dims {
    ($library:ident, $operator:ident, $vec:ident, $backward:ident, [$($scale:ident $at:literal),+]) => {
        let family: Family<$operator> = Family::new($operator, &kind::RESAMPLING, |x, output, _, $($scale),+| {
            shape(x, output, [$($scale),+].len())
        });
        $library
            .family(&family.same_dtype_out())
            .cpu(|x, output, align, $($scale,)+ out| cpu(x, output, align, &[$($scale),+], out))
            .derivative(|d, (x, output, align, $($scale),+)| {
                resampling::derivative(d, x, (output, align), &[$($scale),+], BY_DISTANCE)
            });
        $library.define($vec).kind(&kind::RESAMPLING).implicit(|x, output, align, scales| {
            let sizes = output_sizes(x.spec()?.sizes(), output, scales, [$($at),+].len())?;
            $operator.call(x, &sizes, align, $(scale_at(scales, $at)),+)
        });
        $library.implicit($backward, &kind::RESAMPLING, |grad, output, input, align, $($scale),+| {
            resampling::backward(grad, [output, input], align, &[$($scale),+], BY_DISTANCE)
        });
    };
}

/// Gradients by distance.
const BY_DISTANCE: Spread = Spread { line: Resized::linear, keeps_format: true };

pub(super) fn register(library: &mut Library) {
    of_dims!(library, UpsampleLinear1d, UpsampleLinear1dVec, UpsampleLinear1dBackward, [w 0]);
    of_dims!(library, UpsampleBilinear2d, UpsampleBilinear2dVec, UpsampleBilinear2dBackward, [h 0, w 1]);
    of_dims!(library, UpsampleTrilinear3d, UpsampleTrilinear3dVec, UpsampleTrilinear3dBackward, [d 0, h 1, w 2]);
}

fn shape(input: &Tensor, output: &[i64], dims: usize) -> Result<TensorSpec> {
    let spec = input.spec()?;
    if dims == 2 {
        check_image(spec.dtype())?
    } else {
        check_float(spec.dtype())?
    }
    resampling::shape(spec, output, dims)
}

fn cpu(
    input: &Tensor,
    output: &[i64],
    align_corners: bool,
    scales: &[Option<f64>],
    out: &Tensor,
) -> Result<()> {
    // Sizes beside one of 0 may be of any size.
    if out.numel() == 0 {
        return Ok(());
    }
    let resized = Resized::all(&input.sizes()[2..], output, align_corners, scales);
    if input.dtype() == DType::U8 {
        return of_bytes(out, input, &resized, Resized::linear);
    }
    with_dtype!(input.dtype(), T: Float => {
        let lines = resized.iter().map(Resized::linear::<Math<T>>).collect();
        resample::<T>(out.array()?, input.array()?, &resampling::lines(lines))
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::resampling::BYTES_AND_FLOATS;
    use opgrid_kinds::images::FLOATS;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        macro_rules! of {
            ($dims:literal, $operator:ident, $vec:ident, $backward:ident, $dtypes:expr) => {
                let inputs =
                    |dtype| resampling::samples::both_alignments(dtype, $dims, resampling::samples::inputs);
                samples.operator($operator, $dtypes, inputs, reference).tolerance(16.0);
                let inputs = |dtype| {
                    resampling::samples::both_alignments(dtype, $dims, resampling::samples::by_scales)
                };
                samples.operator($vec, $dtypes, inputs, reference).tolerance(16.0);
                samples.rounds($operator, Roundings::all(Rounding::Sum(32)));
                let gradients = |dtype| {
                    let inputs = resampling::samples::inputs;
                    resampling::samples::gradients(resampling::samples::both_alignments(dtype, $dims, inputs))
                };
                samples.operator($backward, FLOATS, gradients, reference).tolerance(64.0);
                samples.rounds($backward, Roundings::all(Rounding::Sum(64)));
            };
        }
        of!(1, UpsampleLinear1d, UpsampleLinear1dVec, UpsampleLinear1dBackward, FLOATS);
        of!(2, UpsampleBilinear2d, UpsampleBilinear2dVec, UpsampleBilinear2dBackward, BYTES_AND_FLOATS);
        samples.differs(UpsampleBilinear2d, resampling::samples::BYTES_OF_ANY_STRIDES);
        of!(3, UpsampleTrilinear3d, UpsampleTrilinear3dVec, UpsampleTrilinear3dBackward, FLOATS);
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let align_corners = it.value("align_corners")?;
        resampling::samples::expected(it, |request, dim, place| {
            let (size, output) = (request.sizes[dim + 2], request.output[dim]);
            let scale = request.scales[dim].filter(|_| size != output);
            let at = resampling::samples::naive_place(size, output, scale, align_corners, place).max(0.0);
            let (low, upper) = (at.floor() as i64, at.fract());
            vec![(low.min(size - 1), 1.0 - upper), ((low + 1).min(size - 1), upper)]
        })
    }
}
