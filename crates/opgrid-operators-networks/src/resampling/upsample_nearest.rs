//! `aten::upsample_nearest1d` to `3d` and `_upsample_nearest_exact1d` to `3d`, and their gradients `upsample_nearest1d_backward` and so
//! on: images of other sizes, of the nearest elements.
//!
//! `out[…, p] = self[…, floor(p * step)]`, and `floor((p + 0.5) * step)` where it is exact, with a step of
//! `input size / output size`, or of `1 / scale` for scales above 0
//!
//! - Shapes: a batch of images; the overloads `vec` take sizes or scales, from which sizes follow without fractions.
//! - Dtypes: floats and uint8, gradients of floats. Steps are in double precision for float64, in single precision for others.
//! - Strides: channels-last if the batch is; gradients of images with depth lie in rows.
//! - Aliasing: the `out` forms write `out`, which must not overlap `self`; those of gradients `grad_input`.
//! - Dispatch: gradients are composites of `index_add`.
//! - Errors: other dimensions; sizes below 1 apart from the batch's; both sizes and scales, or neither.
//! - Source: torch.nn.functional.interpolate, PyTorch 2.15.

use crate::kinds::resampling::{self, Resized, Spread, output_sizes, scale_at};
use crate::prelude::*;
use opgrid_kernels::resampling::{Line, choose};
use opgrid_tensor::tensor::choose::unsupported;

pub use opgrid_tensor::ops::resampling::upsample_nearest::*;

/// Registers an operator for images of some dimensions, its overload for scales, and its gradient.
macro_rules! of_dims {
    ($library:ident, $operator:ident, $vec:ident, $backward:ident, $exact:literal, [$($scale:ident $at:literal),+]) => {
        let family: Family<$operator> =
            Family::new($operator, &kind::RESAMPLING, |x, output, $($scale),+| shape(x, output, &[$($scale),+]));
        $library
            .family(&family.same_dtype_out())
            .cpu(|x, output, $($scale,)+ out| cpu(x, output, &[$($scale),+], $exact, out))
            .derivative(|d, (x, output, $($scale),+)| {
                resampling::derivative(d, x, (output, false), &[$($scale),+], spread::<$exact>(x.dtype(), [$($at),+].len()))
            });
        $library.define($vec).kind(&kind::RESAMPLING).implicit(|x, output, scales| {
            let sizes = output_sizes(x.spec()?.sizes(), output, scales, [$($at),+].len())?;
            $operator.call(x, &sizes, $(scale_at(scales, $at)),+)
        });
        $library.implicit($backward, &kind::RESAMPLING, |grad, output, input, $($scale),+| {
            resampling::backward(grad, [output, input], false, &[$($scale),+], spread::<$exact>(grad.dtype(), [$($at),+].len()))
        });
    };
}

pub(super) fn register(library: &mut Library) {
    of_dims!(library, UpsampleNearest1d, UpsampleNearest1dVec, UpsampleNearest1dBackward, false, [w 0]);
    of_dims!(library, UpsampleNearest2d, UpsampleNearest2dVec, UpsampleNearest2dBackward, false, [h 0, w 1]);
    of_dims!(library, UpsampleNearest3d, UpsampleNearest3dVec, UpsampleNearest3dBackward, false, [d 0, h 1, w 2]);
    of_dims!(library, UpsampleNearestExact1d, UpsampleNearestExact1dVec, UpsampleNearestExact1dBackward, true, [w 0]);
    of_dims!(library, UpsampleNearestExact2d, UpsampleNearestExact2dVec, UpsampleNearestExact2dBackward, true, [h 0, w 1]);
    of_dims!(library, UpsampleNearestExact3d, UpsampleNearestExact3dVec, UpsampleNearestExact3dBackward, true, [d 0, h 1, w 2]);
}

/// Gradients to the nearest elements, in the precision that images of a dtype have. Those of images with depth lie in rows, as in torch.
fn spread<const EXACT: bool>(dtype: DType, dims: usize) -> Spread {
    let line: fn(&Resized) -> Line<f64> = match dtype {
        DType::F64 => |resized| resized.nearest_line::<f64>(EXACT),
        _ => |resized| resized.nearest_line::<f32>(EXACT),
    };
    Spread { line, keeps_format: dims < 3 }
}

/// Dtypes that are taken.
const TAKEN: &[DType] = &[DType::U8, DType::F16, DType::BF16, DType::F32, DType::F64];

fn shape(input: &Tensor, output: &[i64], scales: &[Option<f64>]) -> Result<TensorSpec> {
    let spec = input.spec()?;
    if !TAKEN.contains(&spec.dtype()) {
        return Err(unsupported(spec.dtype(), "a floating-point dtype or uint8"));
    }
    resampling::shape(spec, output, scales.len())
}

fn cpu(input: &Tensor, output: &[i64], scales: &[Option<f64>], exact: bool, out: &Tensor) -> Result<()> {
    // Sizes beside one of 0 may be of any size.
    if out.numel() == 0 {
        return Ok(());
    }
    let (mut image, mut chosen) = ([1; 3], [const { Vec::new() }; 3]);
    let missing = 3 - output.len();
    chosen[..missing].iter_mut().for_each(|chosen| chosen.push(0));
    let sizes = &input.sizes()[2..];
    for (dim, ((&from, &to), &scale)) in sizes.iter().zip(output).zip(scales).enumerate() {
        let line = Resized { from: from as usize, to: to as usize, scale, align_corners: false };
        image[missing + dim] = from as usize;
        chosen[missing + dim] = match input.dtype() {
            DType::F64 => line.nearest::<f64>(exact),
            _ => line.nearest::<f32>(exact),
        };
    }
    with_dtype!(input.dtype(), T: Real => choose::<T>(out.array()?, input.array()?, image, &chosen))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_kinds::images::FLOATS;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        macro_rules! of {
            ($dims:literal, $operator:ident, $vec:ident, $backward:ident, $exact:literal) => {
                samples.operator(
                    $operator,
                    TAKEN,
                    |dtype| resampling::samples::inputs(dtype, $dims, &[]),
                    |it| reference(it, $exact),
                );
                samples.operator(
                    $vec,
                    TAKEN,
                    |dtype| resampling::samples::by_scales(dtype, $dims, &[]),
                    |it| reference(it, $exact),
                );
                samples
                    .operator(
                        $backward,
                        FLOATS,
                        |dtype| {
                            resampling::samples::gradients(resampling::samples::inputs(dtype, $dims, &[]))
                        },
                        |it| reference(it, $exact),
                    )
                    .tolerance(16.0);
                samples.rounds($backward, Roundings::all(Rounding::Sum(16)));
            };
        }
        let same = Difference {
            id: "scales-beside-sizes-that-stay",
            what: "torch copies an image whose size does not change in `upsample_nearest2d`, whatever \
                 scale is given; here the scale counts, as for 1-d inputs and volumes",
            why: "1-d inputs, images and volumes behave alike",
            test: ("opgrid-operators/tests/all/differences/computed.rs", "scales_count_beside_sizes"),
            when: |seen| {
                let Some(input) = seen.tensor("self") else { return false };
                let Some(Argument::Ints(output)) = seen.argument("output_size") else { return false };
                input.geometry.sizes().ends_with(output) && !seen.elements.is_empty()
            },
            directed: None,
        };
        samples.differs(UpsampleNearest2d, same);
        of!(1, UpsampleNearest1d, UpsampleNearest1dVec, UpsampleNearest1dBackward, false);
        of!(2, UpsampleNearest2d, UpsampleNearest2dVec, UpsampleNearest2dBackward, false);
        of!(3, UpsampleNearest3d, UpsampleNearest3dVec, UpsampleNearest3dBackward, false);
        of!(1, UpsampleNearestExact1d, UpsampleNearestExact1dVec, UpsampleNearestExact1dBackward, true);
        of!(2, UpsampleNearestExact2d, UpsampleNearestExact2dVec, UpsampleNearestExact2dBackward, true);
        of!(3, UpsampleNearestExact3d, UpsampleNearestExact3dVec, UpsampleNearestExact3dBackward, true);
        let x = || given(generate::numbers(DType::F32, &[1, 2, 4], 0));
        let refused = |output: Given, scales: Given| x().and(output).and(scales);
        let none = || Given::Value(Value::None);
        samples
            .operator(UpsampleNearest1d, TAKEN, |_| Vec::new(), |it| reference(it, false))
            .refuses("expected 1 sizes", x().and(vec![2, 2]))
            .refuses("each at least 1", x().and(vec![0]))
            .refuses("expected 3 dimensions", given(generate::numbers(DType::F32, &[2, 4], 0)).and(vec![2]));
        samples
            .operator(UpsampleNearest1dVec, TAKEN, |_| Vec::new(), |it| reference(it, false))
            .refuses("exactly one", refused(none(), none()))
            .refuses("exactly one", refused(vec![2].into(), vec![2.0].into()))
            .refuses("expected 1 numbers", refused(none(), vec![2.0, 2.0].into()))
            .refuses("overflows 64 bits", refused(none(), vec![1e30].into()))
            .refuses("overflows 64 bits", refused(none(), vec![f64::NAN].into()));
    }

    fn reference(it: &Inputs, exact: bool) -> Result<Expected> {
        resampling::samples::expected(it, |request, dim, place| {
            let (size, output) = (request.sizes[dim + 2], request.output[dim]);
            let step = request.scales[dim].map_or(size as f64 / output as f64, |scale| 1.0 / scale);
            let at = (place as f64 + if exact { 0.5 } else { 0.0 }) * step;
            vec![((at.floor() as i64).min(size - 1), 1.0)]
        })
    }
}
