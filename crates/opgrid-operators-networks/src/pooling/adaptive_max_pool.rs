//! `aten::adaptive_max_pool1d`, `adaptive_max_pool2d`, `adaptive_max_pool3d`: the largest elements of as many windows as are
//! asked for, and where they are; `adaptive_max_pool2d_backward`, `adaptive_max_pool3d_backward`: their gradients.
//!
//! `out[…, p] = max self[…, floor(p * size / places) .. ceil((p + 1) * size / places)]`
//!
//! - Shapes: images of a batch or a single one; both results have images of `output_size`.
//! - Indices: the number of the element in its plane, in row-major order: of equal ones the first, of NaNs, which are the
//!   largest, the last.
//! - Dtypes: floats.
//! - Strides: results of a channels-last batch of images with two dimensions are channels-last.
//! - Aliasing: the `out` forms write `out` and `indices`; those of gradients `grad_input`.
//! - Dispatch: `adaptive_max_pool1d` is a composite of `adaptive_max_pool2d`.
//! - Errors: images of size 0, or a batch without channels; an `output_size` of another length or with negative numbers;
//!   in gradients, other shapes, and indices beyond the image.
//! - Source: torch.nn.functional.adaptive_max_pool2d, PyTorch 2.15.

use crate::kinds::pooling;
use crate::prelude::*;
use opgrid_kernels::pooling::{largest, largest_backward};
use opgrid_kinds::images::{check_float, in_format_of};
use opgrid_tensor::ops::{SqueezeDim, Unsqueeze};

pub use opgrid_tensor::ops::pooling::adaptive_max_pool::*;

/// The family of `aten::adaptive_max_pool2d`: its kind, shape rule and `out` rule.
pub const ADAPTIVE_MAX_POOL2D: Family<AdaptiveMaxPool2d> =
    Family::new(AdaptiveMaxPool2d, &kind::POOLING, |input, output| shape(input, output, 2)).same_dtype_out();

/// The family of `aten::adaptive_max_pool3d`: its kind, shape rule and `out` rule.
pub const ADAPTIVE_MAX_POOL3D: Family<AdaptiveMaxPool3d> =
    Family::new(AdaptiveMaxPool3d, &kind::POOLING, |input, output| shape(input, output, 3)).same_dtype_out();

/// The family of the gradient for images.
pub const ADAPTIVE_MAX_POOL2D_BACKWARD: Family<AdaptiveMaxPool2dBackward> =
    Family::new(AdaptiveMaxPool2dBackward, &kind::POOLING, |grad, input, indices| {
        backward_shape(grad, input, indices, 2)
    })
    .same_dtype_out();

/// The family of the gradient for images with depth.
pub const ADAPTIVE_MAX_POOL3D_BACKWARD: Family<AdaptiveMaxPool3dBackward> =
    Family::new(AdaptiveMaxPool3dBackward, &kind::POOLING, |grad, input, indices| {
        backward_shape(grad, input, indices, 3)
    })
    .same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&ADAPTIVE_MAX_POOL2D).cpu(cpu).derivative(|d, (input, _)| {
        d.by(input, [input, d.result(1)], |grad, [x, indices]| {
            if grad.numel() == 0 && x.numel() > 0 {
                derivatives::zeros_of(x.sizes(), grad)
            } else {
                AdaptiveMaxPool2dBackward.call(grad, x, indices)
            }
        })
    });
    library.family(&ADAPTIVE_MAX_POOL3D).cpu(cpu).derivative(|d, (input, _)| {
        d.by(input, [input, d.result(1)], |grad, [x, indices]| {
            if grad.numel() == 0 && x.numel() > 0 {
                derivatives::zeros_of(x.sizes(), grad)
            } else {
                AdaptiveMaxPool3dBackward.call(grad, x, indices)
            }
        })
    });
    library
        .family(&ADAPTIVE_MAX_POOL2D_BACKWARD)
        .cpu(|grad, input, indices, out| backward([grad, input, indices], 2, out))
        .derivative(|d, (grad, x, indices)| pooling::derivative_of_gradients(d, [grad, x, indices], 2));
    library
        .family(&ADAPTIVE_MAX_POOL3D_BACKWARD)
        .cpu(|grad, input, indices, out| backward([grad, input, indices], 3, out))
        .derivative(|d, (grad, x, indices)| pooling::derivative_of_gradients(d, [grad, x, indices], 3));
    library.define(AdaptiveMaxPool1d).kind(&kind::POOLING).implicit(|input, output| {
        let [output] = pooling::of_rows([("output_size", output, 0)])?;
        pooling::adaptive(input.spec()?, &output[1..], 1, 1)?;
        let (values, indices) = AdaptiveMaxPool2d.call(&Unsqueeze.call(input, -2)?, &output)?;
        Ok((SqueezeDim.call(&values, -2)?, SqueezeDim.call(&indices, -2)?))
    });
}

fn shape(input: &Tensor, output: &[i64], dims: usize) -> Result<(TensorSpec, TensorSpec)> {
    let spec = input.spec()?;
    check_float(spec.dtype())?;
    let sizes = pooling::adaptive(spec, output, dims, 1)?;
    let out = match dims {
        3 => TensorSpec::contiguous(&sizes, spec.dtype(), spec.device())?,
        _ => in_format_of(spec, &sizes, false)?,
    };
    let indices = TensorSpec::new(out.geometry().clone(), DType::I64, spec.device());
    Ok((out, indices))
}

fn cpu(input: &Tensor, output: &[i64], out: &Tensor, indices: &Tensor) -> Result<()> {
    // Sizes beside one of 0 may be of any size.
    if out.numel() == 0 {
        return Ok(());
    }
    let windows = pooling::adaptive_windows(&input.sizes()[input.dim() - output.len()..], output);
    let (out, indices, input) = (out.array()?, indices.array()?, input.array()?);
    with_dtype!(input.dtype(), T: Float => largest::<T>(out, indices, input, &windows))
}

fn backward_shape(grad: &Tensor, input: &Tensor, indices: &Tensor, dims: usize) -> Result<TensorSpec> {
    let (spec, found) = (input.spec()?, grad.spec()?);
    check_float(spec.dtype())?;
    let output = found.sizes().get(spec.sizes().len().saturating_sub(dims)..).unwrap_or_default();
    let sizes = pooling::adaptive(spec, output, dims, 1)?;
    pooling::check_gradient("grad_output", found, spec, &sizes)?;
    let numbers = TensorSpec::new(spec.geometry().clone(), DType::I64, spec.device());
    pooling::check_gradient("indices", indices.spec()?, &numbers, &sizes)?;
    pooling::check_filled(found, output)?;
    in_format_of(spec, spec.sizes(), dims == 3)
}

fn backward([grad, input, indices]: [&Tensor; 3], dims: usize, out: &Tensor) -> Result<()> {
    let images = [input, grad].map(|x| x.sizes()[x.dim() - dims..].iter().product::<i64>() as usize);
    let (out, grad, indices) = (out.array()?, grad.array()?, indices.array()?);
    with_dtype!(input.dtype(), T: Float => largest_backward::<T>(out, grad, indices, images))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_kinds::images::FLOATS;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[1, 4, 4], 0);
        samples.operator(AdaptiveMaxPool1d, FLOATS, |dtype| inputs(dtype, 1), reference);
        samples
            .operator(AdaptiveMaxPool2d, FLOATS, |dtype| inputs(dtype, 2), reference)
            .refuses("expected 2 sizes", given(x).and(vec![1]))
            .refuses("not empty", given(generate::numbers(DType::F32, &[2, 0, 4, 4], 0)).and(vec![2, 2]));
        samples.operator(AdaptiveMaxPool3d, FLOATS, |dtype| inputs(dtype, 3), reference);
        let refused = |grad: &[i64], index: i64| {
            let x = |sizes: &[i64]| generate::numbers(DType::F32, sizes, 0);
            given(x(grad)).and(x(&[1, 2, 2])).and(Plain::from_elements(DType::I64, &[1, 1, 2], &[index]))
        };
        samples
            .operator(AdaptiveMaxPool2dBackward, FLOATS, gradients::<2>, |it| {
                pooling::samples::gradients_of_largest(it, 2)
            })
            .tolerance(4.0)
            .refuses("argument `indices`", refused(&[1, 2, 2], 0))
            .refuses_data("from 0 to 3", refused(&[1, 1, 2], 4));
        samples
            .operator(AdaptiveMaxPool3dBackward, FLOATS, gradients::<3>, |it| {
                pooling::samples::gradients_of_largest(it, 3)
            })
            .tolerance(4.0);
        samples.rounds(AdaptiveMaxPool2dBackward, Roundings::all(Rounding::Sum(2)));
        samples.rounds(AdaptiveMaxPool3dBackward, Roundings::all(Rounding::Sum(2)));
    }

    /// Gradients with indices of elements in images.
    fn gradients<const DIMS: usize>(dtype: DType) -> Vec<Sample> {
        let one = |sample: Sample| {
            let (x, output) = (sample.positional[0].tensors()[0], &sample.positional[1]);
            let (outer, image) = x.sizes().split_at(x.sizes().len() - DIMS);
            let output = match output {
                Given::Value(value) => Vec::<i64>::from_value(value.borrow()).unwrap_or_default(),
                _ => Vec::new(),
            };
            let sizes = [outer, &output].concat();
            let indices: Vec<i64> = (0..29).map(|at| (at * 7 + 3) % image.iter().product::<i64>()).collect();
            given(generate::numbers(dtype, &sizes, 2)).and(x.clone()).and(Plain::from_elements(
                DType::I64,
                &sizes,
                &indices,
            ))
        };
        let is_filled = |sample: &Sample| !sample.positional[0].tensors()[0].elements().is_empty();
        inputs(dtype, DIMS)
            .into_iter()
            .map(one)
            .filter(is_filled)
            .chain([without_images(dtype, DIMS)])
            .collect()
    }

    /// A gradient of no images.
    fn without_images(dtype: DType, dims: usize) -> Sample {
        let [image, output] =
            [&[0, 2, 2, 4, 4][..], &[0, 2, 1, 2, 2]].map(|sizes| [&sizes[..2], &sizes[5 - dims..]].concat());
        given(generate::numbers(dtype, &output, 1))
            .and(generate::numbers(dtype, &image, 2))
            .and(Plain::from_elements::<i64>(DType::I64, &output, &[]))
    }

    fn inputs(dtype: DType, dims: usize) -> Vec<Sample> {
        let one = |(outer, sizes, output): (&[i64], [i64; 3], [i64; 3])| {
            given(generate::numbers(dtype, &[outer, &sizes[3 - dims..]].concat(), 1))
                .and(output[3 - dims..].to_vec())
        };
        let cases: [(&[i64], [i64; 3], [i64; 3]); 5] = [
            (&[2, 3], [4, 4, 6], [2, 2, 2]),
            (&[3], [3, 5, 7], [2, 3, 4]),
            (&[1, 2], [1, 3, 2], [2, 5, 3]),
            (&[0, 2], [2, 4, 4], [1, 2, 2]),
            (&[1, 1], [2, 3, 3], [1, 2, 0]),
        ];
        cases.into_iter().map(one).collect()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (x, output): (_, Vec<i64>) = (it.tensor("self")?, it.value("output_size")?);
        let values = pooling::samples::naive_adaptive(x, &output, x.dtype(), |elements| {
            pooling::samples::largest(elements).1
        });
        let indices = pooling::samples::naive_adaptive(x, &output, DType::I64, |elements| {
            Scalar::Int(pooling::samples::largest(elements).0)
        });
        Ok([values, indices].into())
    }
}
