//! `aten::_upsample_bilinear2d_aa`, `_upsample_bicubic2d_aa` and their gradients `_upsample_bilinear2d_aa_backward` and
//! `_upsample_bicubic2d_aa_backward`: images of other sizes without artefacts where they become smaller.
//!
//! Each place is the weighted average of all elements under a filter around its middle, which is as much wider as the image
//! becomes smaller: a triangle of two elements, or a cubic polynomial of four.
//!
//! - Shapes: a batch of images; the overloads `vec` take sizes or scales, from which sizes follow without fractions.
//! - Dtypes: float32 and float64.
//! - Strides: channels-last if the batch is; gradients by cubic polynomials lie in rows.
//! - Aliasing: the `out` forms write `out`, which must not overlap `self`; those of gradients `grad_input`.
//! - Dispatch: gradients are composites of `index_add` and `mul`.
//! - Errors: other dimensions; sizes below 1 apart from the batch's; both sizes and scales, or neither.
//! - Source: torch.nn.functional.interpolate with `antialias`, PyTorch 2.15.

use crate::kinds::resampling::{self, Resized, Spread, cubic_filter, output_sizes, scale_at, triangle};
use crate::prelude::*;
use opgrid_kernels::resampling::resample;
use opgrid_tensor::tensor::choose::unsupported;

pub use opgrid_tensor::ops::resampling::upsample_aa::*;

/// The family of `aten::_upsample_bilinear2d_aa`: its kind, shape rule and `out` rule.
pub const UPSAMPLE_BILINEAR2D_AA: Family<UpsampleBilinear2dAa> =
    Family::new(UpsampleBilinear2dAa, &kind::RESAMPLING, |input, output, _, _, _| shape(input, output))
        .same_dtype_out();

/// The family of `aten::_upsample_bicubic2d_aa`: its kind, shape rule and `out` rule.
pub const UPSAMPLE_BICUBIC2D_AA: Family<UpsampleBicubic2dAa> =
    Family::new(UpsampleBicubic2dAa, &kind::RESAMPLING, |input, output, _, _, _| shape(input, output))
        .same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&UPSAMPLE_BILINEAR2D_AA)
        .cpu(|input, output, align_corners, rows, columns, out| {
            // Sizes beside one of 0 may be of any size.
            if out.numel() == 0 {
                return Ok(());
            }
            let resized = Resized::all(&input.sizes()[2..], output, align_corners, &[rows, columns]);
            cpu(input, &resized, (2.0, triangle), out)
        })
        .derivative(|d, (input, output, align_corners, rows, columns)| {
            resampling::derivative(d, input, (output, align_corners), &[rows, columns], BY_TRIANGLE)
        });
    library.implicit(
        UpsampleBilinear2dAaBackward,
        &kind::RESAMPLING,
        |grad, output, input, align_corners, rows, columns| {
            resampling::backward(grad, [output, input], align_corners, &[rows, columns], BY_TRIANGLE)
        },
    );
    library
        .family(&UPSAMPLE_BICUBIC2D_AA)
        .cpu(|input, output, align_corners, rows, columns, out| {
            // Sizes beside one of 0 may be of any size.
            if out.numel() == 0 {
                return Ok(());
            }
            let resized = Resized::all(&input.sizes()[2..], output, align_corners, &[rows, columns]);
            cpu(input, &resized, (4.0, cubic_filter), out)
        })
        .derivative(|d, (input, output, align_corners, rows, columns)| {
            resampling::derivative(d, input, (output, align_corners), &[rows, columns], BY_CUBES)
        });
    library.implicit(
        UpsampleBicubic2dAaBackward,
        &kind::RESAMPLING,
        |grad, output, input, align_corners, rows, columns| {
            resampling::backward(grad, [output, input], align_corners, &[rows, columns], BY_CUBES)
        },
    );
    library.define(UpsampleBilinear2dAaVec).kind(&kind::RESAMPLING).implicit(
        |input, output, align, scales| {
            let sizes = output_sizes(input.spec()?.sizes(), output, scales, 2)?;
            UpsampleBilinear2dAa.call(input, &sizes, align, scale_at(scales, 0), scale_at(scales, 1))
        },
    );
    library.define(UpsampleBicubic2dAaVec).kind(&kind::RESAMPLING).implicit(
        |input, output, align, scales| {
            let sizes = output_sizes(input.spec()?.sizes(), output, scales, 2)?;
            UpsampleBicubic2dAa.call(input, &sizes, align, scale_at(scales, 0), scale_at(scales, 1))
        },
    );
}

/// Gradients by a triangle.
const BY_TRIANGLE: Spread = Spread { line: |resized| resized.antialiased(2.0, triangle), keeps_format: true };

/// Gradients by a cubic polynomial, which lie in rows, as in torch.
const BY_CUBES: Spread =
    Spread { line: |resized| resized.antialiased(4.0, cubic_filter), keeps_format: false };

/// Dtypes that are taken.
const TAKEN: &[DType] = &[DType::F16, DType::BF16, DType::F32, DType::F64];

fn shape(input: &Tensor, output: &[i64]) -> Result<TensorSpec> {
    let spec = input.spec()?;
    if !TAKEN.contains(&spec.dtype()) {
        return Err(unsupported(spec.dtype(), "a floating-point dtype"));
    }
    resampling::shape(spec, output, 2)
}

/// The width of a filter in elements, and its weights by distance.
type Filter = (f64, fn(f64) -> f64);

fn cpu(input: &Tensor, resized: &[Resized], (width, filter): Filter, out: &Tensor) -> Result<()> {
    let (out, input) = (out.array()?, input.array()?);
    with_dtype!(input.dtype(), T: Float => {
        let lines = resized.iter().map(|line| line.antialiased::<Math<T>>(width, filter)).collect();
        resample::<T>(out, input, &resampling::lines(lines))
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        macro_rules! of {
            ($operator:ident, $vec:ident, $backward:ident, $width:literal, $filter:expr) => {
                let inputs =
                    |dtype| resampling::samples::both_alignments(dtype, 2, resampling::samples::inputs);
                samples
                    .operator($operator, TAKEN, inputs, |it| reference(it, $width, $filter))
                    .tolerance(64.0);
                let inputs =
                    |dtype| resampling::samples::both_alignments(dtype, 2, resampling::samples::by_scales);
                samples.operator($vec, TAKEN, inputs, |it| reference(it, $width, $filter)).tolerance(64.0);
                let gradients = |dtype| {
                    let inputs = resampling::samples::inputs;
                    resampling::samples::gradients(resampling::samples::both_alignments(dtype, 2, inputs))
                };
                samples
                    .operator($backward, TAKEN, gradients, |it| reference(it, $width, $filter))
                    .tolerance(128.0);
                samples.rounds($backward, Roundings::all(Rounding::Sum(128)));
                samples.rounds($operator, Roundings::all(Rounding::Sum(32)));
                samples.differs_as($operator, DIFFERENCES);
            };
        }
        of!(UpsampleBilinear2dAa, UpsampleBilinear2dAaVec, UpsampleBilinear2dAaBackward, 1.0, |x| (1.0 - x)
            .max(0.0));
        of!(UpsampleBicubic2dAa, UpsampleBicubic2dAaVec, UpsampleBicubic2dAaBackward, 2.0, |x| match x {
            x if x < 1.0 => 1.5 * x.powi(3) - 2.5 * x.powi(2) + 1.0,
            x if x < 2.0 => -0.5 * x.powi(3) + 2.5 * x.powi(2) - 4.0 * x + 2.0,
            _ => 0.0,
        });
    }

    const DIFFERENCES: &[Difference] = &[
        Difference {
            id: "smooth-images-of-floats",
            what: "torch resamples uint8 images with antialiasing by 16-bit weights; here images are \
                 converted to floats first",
            why: "16-bit weights lose the precision of the filter",
            test: (
                "opgrid-operators/tests/all/differences/refused.rs",
                "what_torch_does_not_check_is_refused",
            ),
            when: |seen| seen.we_refuse("expected a floating-point dtype"),
            directed: None,
        },
        Difference {
            id: "smooth-images-of-any-strides",
            what: "torch reads images that are not row-major as if they were channels-last, including \
                 one-column intermediate results of its own, and writes outputs in row-major order; \
                 here every element is read and written at its position",
            why: "results must not depend on strides",
            test: (
                "opgrid-operators/tests/all/differences/layouts.rs",
                "results_do_not_depend_on_the_layout",
            ),
            when: |seen| {
                let is_apart = |(_, tensor): &(&str, &Operand)| {
                    // Images of one row, column or channel lie in both orders.
                    !tensor.geometry.is_contiguous() || tensor.geometry.sizes().contains(&1)
                };
                let last =
                    seen.inputs().first().map_or(0, |input| *input.geometry.sizes().last().unwrap_or(&0));
                let is_line = match (seen.argument("output_size"), seen.argument("scale_factors")) {
                    (Some(Argument::Ints(sizes)), _) => sizes.contains(&1),
                    (_, Some(Argument::Floats(scales))) => {
                        scales.last().is_some_and(|scale| (last as f64 * scale) as i64 == 1)
                    }
                    _ => false,
                };
                !seen.elements.is_empty() && (is_line || seen.tensors().iter().any(is_apart))
            },
            directed: None,
        },
    ];

    /// Averages of all elements, of which those beyond the filter weigh nothing.
    fn reference(it: &Inputs, reach: f64, filter: fn(f64) -> f64) -> Result<Expected> {
        let align_corners: bool = it.value("align_corners")?;
        resampling::samples::expected(it, |request, dim, place| {
            let (from, to) = (request.sizes[dim + 2], request.output[dim]);
            let step = if !align_corners {
                request.scales[dim].map_or(from as f64 / to as f64, |scale| 1.0 / scale)
            } else if to > 1 {
                (from - 1) as f64 / (to - 1) as f64
            } else {
                0.0
            };
            let middle = step * (place as f64 + 0.5);
            let wide = step.max(1.0);
            // The elements whose middles lie under the filter, to the nearest half.
            let (first, end) = ((middle - reach * wide + 0.5) as i64, (middle + reach * wide + 0.5) as i64);
            let (first, end) = (first.clamp(0, from - 1), end.min(from));
            let weights: Vec<f64> = (first..end.max(first + 1))
                .map(|k| filter(((k as f64 + 0.5 - middle) / wide).abs()))
                .collect();
            let all: f64 = weights.iter().sum();
            weights
                .iter()
                .zip(first..)
                .map(|(weight, k)| (k, if all == 0.0 { 0.0 } else { weight / all }))
                .collect()
        })
    }
}
