//! `aten::fractional_max_pool2d`, `fractional_max_pool3d`: the largest element under windows at random places, and their gradients.
//!
//! `out[…, p] = max self[…, start[p] + k]` over the elements `k` of the window. Along each dimension, with a random sample `u` for it,
//! `start[p] = trunc((p + u) * a) - trunc(u * a)`, where `a = (size - kernel) / (places - 1)`; the last window ends with the image.
//!
//! - Shapes: images of a batch or a single one; both results have images of `output_size`. `random_samples` has a sample for each image,
//!   channel and dimension, `[N, C, 2]` or `[N, C, 3]`, of more images than there are the first ones: of images with two dimensions the
//!   sample of the width comes first, of those with three that of the depth.
//! - Indices: the number of the element in its plane, in row-major order: of equal ones the first, of NaNs, which are the largest, the last.
//! - Dtypes: floating-point ones, one for images and samples, in which places are computed.
//! - Strides: row-major.
//! - Values: samples beyond 0 and 1 give windows that lie in the image, too.
//! - Aliasing: the `out` forms write their outputs.
//! - Errors: sizes of 0 but that of the batch; other dtypes and shapes; a window that is too large for as many places, which has to leave out
//!   an element of images with three dimensions; in gradients, indices beyond the plane.
//! - Source: torch.nn.functional.fractional_max_pool2d, PyTorch 2.15; B. Graham, Fractional Max-Pooling (2014).

use crate::kinds::pooling::{self, check_gradient};
use crate::prelude::*;
use opgrid_kernels::normalise;
use opgrid_kernels::pooling::{Reach, largest_backward, largest_of_each};
use opgrid_kinds::images::check_float;
use opgrid_tensor::tensor::{Dims, Element, Number};

pub use opgrid_tensor::ops::pooling::fractional_max_pool::*;

/// The family of `aten::fractional_max_pool2d`: its kind, shape rule and `out` rule.
pub const FRACTIONAL_MAX_POOL2D: Family<FractionalMaxPool2d> =
    Family::new(FractionalMaxPool2d, &kind::POOLING, |input, kernel, output, samples| {
        shape::<2>(input, kernel, output, samples)
    })
    .same_dtype_out();

/// The family of `aten::fractional_max_pool3d`: its kind, shape rule and `out` rule.
pub const FRACTIONAL_MAX_POOL3D: Family<FractionalMaxPool3d> =
    Family::new(FractionalMaxPool3d, &kind::POOLING, |input, kernel, output, samples| {
        shape::<3>(input, kernel, output, samples)
    })
    .same_dtype_out();

/// The family of the gradient for images with two dimensions.
pub const FRACTIONAL_MAX_POOL2D_BACKWARD: Family<FractionalMaxPool2dBackward> =
    Family::new(FractionalMaxPool2dBackward, &kind::POOLING, |grad, input, _, output, indices| {
        backward_shape::<2>(grad, input, output, indices)
    })
    .same_dtype_out();

/// The family of the gradient for images with three dimensions.
pub const FRACTIONAL_MAX_POOL3D_BACKWARD: Family<FractionalMaxPool3dBackward> =
    Family::new(FractionalMaxPool3dBackward, &kind::POOLING, |grad, input, _, output, indices| {
        backward_shape::<3>(grad, input, output, indices)
    })
    .same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&FRACTIONAL_MAX_POOL2D).cpu(cpu::<2>).derivative(|d, (input, kernel, output, _)| {
        let [kernel, output] = [kernel, output].map(<[i64]>::to_vec);
        d.differentiable(1);
        d.by(input, [input, d.result(1)], move |grad, [x, indices]| {
            FractionalMaxPool2dBackward.call(grad, x, &kernel, &output, indices)
        })
    });
    library.family(&FRACTIONAL_MAX_POOL3D).cpu(cpu::<3>).derivative(|d, (input, kernel, output, _)| {
        let [kernel, output] = [kernel, output].map(<[i64]>::to_vec);
        d.differentiable(1);
        d.by(input, [input, d.result(1)], move |grad, [x, indices]| {
            FractionalMaxPool3dBackward.call(grad, x, &kernel, &output, indices)
        })
    });
    library.family(&FRACTIONAL_MAX_POOL2D_BACKWARD).cpu(backward_cpu::<2>).derivative(
        |d, (grad, input, .., indices)| {
            let sizes = input.sizes().to_vec();
            d.by(grad, [indices], |grad, [indices]| pooling::gathered(grad, indices, 2))?;
            d.by(input, [], move |grad, []| derivatives::zeros_of(&sizes, grad))
        },
    );
    library.family(&FRACTIONAL_MAX_POOL3D_BACKWARD).cpu(backward_cpu::<3>).derivative(
        |d, (grad, input, .., indices)| {
            let sizes = input.sizes().to_vec();
            d.by(grad, [indices], |grad, [indices]| pooling::gathered(grad, indices, 3))?;
            d.by(input, [], move |grad, []| derivatives::zeros_of(&sizes, grad))
        },
    );
}

/// The sizes of results.
///
/// # Errors
///
/// Other dtypes than floating-point ones; images or lists of other dimensions.
fn sizes<const DIMS: usize>(input: &TensorSpec, output: &[i64]) -> Result<Dims> {
    check_float(input.dtype())?;
    let sizes = input.sizes();
    // All channels of a batch need samples.
    if sizes[sizes.len().saturating_sub(DIMS + 1)..].contains(&0) {
        return Err(argument(format!(
            "argument `self` has shape {sizes:?}, expected images that are not empty"
        )));
    }
    pooling::adaptive(input, output, DIMS, 1)
}

fn shape<const DIMS: usize>(
    input: &Tensor,
    kernel: &[i64],
    output: &[i64],
    samples: &Tensor,
) -> Result<(TensorSpec, TensorSpec)> {
    let (spec, given) = (input.spec()?, samples.spec()?);
    let sizes = sizes::<DIMS>(spec, output)?;
    if kernel.len() != DIMS || kernel.iter().any(|size| *size < 1) {
        return Err(argument(format!(
            "argument `kernel_size` is {kernel:?}, expected {DIMS} sizes of at least 1"
        )));
    }
    let (outer, image) = spec.sizes().split_at(spec.sizes().len() - DIMS);
    // Windows of images with depth have to be smaller by one, as in torch.
    let spared = i64::from(DIMS == 3);
    for (dim, ((&size, &window), &places)) in image.iter().zip(kernel).zip(output).enumerate() {
        if places.saturating_add(window) - 1 + spared > size {
            return Err(argument(format!(
                "argument `kernel_size` is {kernel:?}, expected at most {} in spatial dimension {dim} for {places} windows \
                 in size {size}",
                size - places + 1 - spared
            )));
        }
    }
    let (images, channels) = match *outer {
        [images, channels] => (images, channels),
        _ => (1, outer[0]),
    };
    let fits = matches!(*given.sizes(), [n, c, d] if n >= images && c == channels && d == DIMS as i64);
    if !fits {
        return Err(argument(format!(
            "argument `random_samples` has shape {:?}, expected [{images}, {channels}, {DIMS}]",
            given.sizes()
        )));
    }
    pointwise::check_one_dtype(("self", input), ("random_samples", samples))?;
    pointwise::check_one_device(("self", input), ("random_samples", samples))?;
    let out = TensorSpec::contiguous(&sizes, spec.dtype(), spec.device())?;
    let indices = TensorSpec::new(out.geometry().clone(), DType::I64, spec.device());
    Ok((out, indices))
}

fn backward_shape<const DIMS: usize>(
    grad: &Tensor,
    input: &Tensor,
    output: &[i64],
    indices: &Tensor,
) -> Result<TensorSpec> {
    let spec = input.spec()?;
    let sizes = sizes::<DIMS>(spec, output)?;
    check_gradient("grad_output", grad.spec()?, spec, &sizes)?;
    let numbers = TensorSpec::new(spec.geometry().clone(), DType::I64, spec.device());
    check_gradient("indices", indices.spec()?, &numbers, &sizes)?;
    TensorSpec::contiguous(spec.sizes(), spec.dtype(), spec.device())
}

fn cpu<const DIMS: usize>(
    input: &Tensor,
    kernel: &[i64],
    output: &[i64],
    samples: &Tensor,
    out: &Tensor,
    indices: &Tensor,
) -> Result<()> {
    // Sizes beside one of 0 may be of any size.
    if out.numel() == 0 {
        return Ok(());
    }
    let image = &input.sizes()[input.dim() - DIMS..];
    let planes = [image, output].map(|sizes| sizes.iter().product::<i64>() as usize);
    let (outs, input) = ([out.array()?, indices.array()?], input.array()?);
    with_dtype!(input.dtype(), T: Float => {
        let samples: Vec<T> = normalise::numbers(samples.array()?)?;
        largest_of_each::<T>(outs, input, planes, |plane| {
            let mut own: Vec<T> = samples[plane * DIMS..][..DIMS].to_vec();
            if DIMS == 2 {
                // The sample of the width comes first.
                own.reverse();
            }
            pooling::windows((0..DIMS).map(|dim| {
                let (size, window) = (image[dim], kernel[dim]);
                let reach = |start: i64| Reach {
                    start: start as usize,
                    count: window as usize,
                    step: 1,
                    padded: window as usize,
                };
                (size, starts(own[dim], size - window, output[dim]).map(reach).collect())
            }))
        })
    })
}

/// Where windows start, of which the last one leaves `room` elements before it, in the arithmetic of the dtype: each step is rounded to it.
fn starts<T: Element<Math: Inexact>>(sample: T, room: i64, places: i64) -> impl Iterator<Item = i64> {
    let number = |number: i64| T::from_number(Number::F64(number as f64)).widen();
    let rounded = |value: Math<T>| T::narrow(value).widen();
    let (sample, last) = (sample.widen(), places - 1);
    let step = rounded(number(room).over(number(last.max(1))));
    let whole = move |value: Math<T>| rounded(value.times(step)).cast::<i64>();
    let first = whole(sample);
    (0..places).map(move |place| {
        let start = whole(rounded(number(place).plus(sample))).saturating_sub(first);
        if place == last { room } else { start.clamp(0, room) }
    })
}

fn backward_cpu<const DIMS: usize>(
    grad: &Tensor,
    input: &Tensor,
    _kernel: &[i64],
    output: &[i64],
    indices: &Tensor,
    out: &Tensor,
) -> Result<()> {
    if grad.numel() == 0 {
        return elementwise::fill(out, Scalar::Int(0));
    }
    let image = &input.sizes()[input.dim() - DIMS..];
    let planes = [image, output].map(|sizes| sizes.iter().product::<i64>() as usize);
    let (out, grad, indices) = (out.array()?, grad.array()?, indices.array()?);
    with_dtype!(input.dtype(), T: Float => largest_backward::<T>(out, grad, indices, planes))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_kinds::images::FLOATS;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let call = |kernel: Vec<i64>, output: Vec<i64>, samples: Plain| {
            given(generate::numbers(DType::F32, &[1, 4, 4], 0)).and(kernel).and(output).and(samples)
        };
        let one = |sizes: &[i64]| Plain::from_elements(DType::F32, sizes, &[0.5]);
        samples
            .operator(FractionalMaxPool2d, FLOATS, |dtype| inputs(dtype, 2), reference)
            .constant(&["random_samples"])
            .refuses("at most 1 in spatial dimension 0", call(vec![2, 2], vec![4, 2], one(&[1, 1, 2])))
            .refuses("expected 2 sizes of at least 1", call(vec![2], vec![2, 2], one(&[1, 1, 2])))
            .refuses("expected 2 sizes of at least 1", call(vec![0, 2], vec![2, 2], one(&[1, 1, 2])))
            .refuses("expected 2 sizes", call(vec![2, 2], vec![2], one(&[1, 1, 2])))
            .refuses("`random_samples` has shape [1, 2]", call(vec![2, 2], vec![2, 2], one(&[1, 2])))
            .refuses("`random_samples` has shape [1, 1, 3]", call(vec![2, 2], vec![2, 2], one(&[1, 1, 3])))
            .refuses(
                "expected float32 as `self`",
                call(vec![2, 2], vec![2, 2], one(&[1, 1, 2]).to(DType::F64)),
            );
        samples
            .operator(FractionalMaxPool3d, FLOATS, |dtype| inputs(dtype, 3), reference)
            .constant(&["random_samples"]);
        samples
            .operator(
                FractionalMaxPool2dBackward,
                FLOATS,
                |dtype| backward_inputs(dtype, 2),
                backward_reference,
            )
            .tolerance(4.0)
            .refuses("`grad_output` has shape [1, 2, 3]", {
                let call = given(generate::numbers(DType::F32, &[1, 2, 3], 0)).and(generate::numbers(
                    DType::F32,
                    &[1, 4, 4],
                    0,
                ));
                call.and(vec![2, 2]).and(vec![2, 2]).and(Plain::from_elements(DType::I64, &[1, 2, 2], &[0]))
            })
            .refuses_data("from 0 to 15", {
                let call = given(generate::numbers(DType::F32, &[1, 2, 2], 0)).and(generate::numbers(
                    DType::F32,
                    &[1, 4, 4],
                    0,
                ));
                call.and(vec![2, 2]).and(vec![2, 2]).and(Plain::from_elements(DType::I64, &[1, 2, 2], &[16]))
            });
        samples
            .operator(
                FractionalMaxPool3dBackward,
                FLOATS,
                |dtype| backward_inputs(dtype, 3),
                backward_reference,
            )
            .tolerance(4.0);
        samples.rounds(FractionalMaxPool2dBackward, Roundings::all(Rounding::Sum(2)));
        samples.rounds(FractionalMaxPool3dBackward, Roundings::all(Rounding::Sum(2)));
    }

    /// What is before images, their sizes, kernels and numbers of windows.
    type Case = (&'static [i64], [i64; 3], [i64; 3], [i64; 3]);

    /// Windows whose distances every dtype has exactly.
    const CASES: [Case; 5] = [
        (&[2, 3], [5, 6, 7], [2, 2, 2], [3, 3, 3]),
        (&[2], [4, 5, 7], [1, 3, 3], [2, 2, 3]),
        (&[1, 1], [3, 3, 2], [1, 1, 1], [1, 1, 1]),
        (&[0, 2], [5, 6, 7], [2, 2, 2], [3, 3, 3]),
        (&[1, 2], [5, 6, 7], [2, 2, 2], [3, 0, 3]),
    ];

    fn inputs(dtype: DType, dims: usize) -> Vec<Sample> {
        let one = |(outer, image, kernel, output): Case| {
            let (images, channels) =
                if let &[images, channels] = outer { (images, channels) } else { (1, outer[0]) };
            let samples: Vec<f64> = (0..30).map(|at| (at * 3 % 8) as f64 / 8.0).collect();
            given(generate::numbers(dtype, &[outer, &image[3 - dims..]].concat(), 1))
                .and(kernel[3 - dims..].to_vec())
                .and(output[3 - dims..].to_vec())
                .and(Plain::from_elements(dtype, &[images, channels, dims as i64], &samples))
        };
        CASES.map(one).to_vec()
    }

    fn backward_inputs(dtype: DType, dims: usize) -> Vec<Sample> {
        let one = |(outer, image, kernel, output): Case| {
            let (image, kernel, output) = (&image[3 - dims..], &kernel[3 - dims..], &output[3 - dims..]);
            let (sizes, plane) = ([outer, output].concat(), image.iter().product::<i64>());
            let indices: Vec<i64> =
                (0..sizes.iter().product::<i64>()).map(|at| (at * 7 + 3) % plane).collect();
            given(generate::numbers(dtype, &sizes, 1))
                .and(generate::numbers(dtype, &[outer, image].concat(), 2))
                .and(kernel.to_vec())
                .and(output.to_vec())
                .and(Plain::from_elements(DType::I64, &sizes, &indices))
        };
        CASES.map(one).to_vec()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (x, samples) = (it.tensor("self")?, it.tensor("random_samples")?);
        let [kernel, output]: [Vec<i64>; 2] = [it.value("kernel_size")?, it.value("output_size")?];
        let dims = output.len();
        let (outer, image) = x.sizes().split_at(x.sizes().len() - dims);
        let chosen = |at: &[i64]| {
            let (outer, place) = at.split_at(outer.len());
            let channel = if let &[image, channel] = outer { [image, channel] } else { [0, outer[0]] };
            let start = |dim: usize| {
                let room = image[dim] - kernel[dim];
                let sample = if dims == 2 { 1 - dim } else { dim };
                let u = samples.at(&[channel[0], channel[1], sample as i64]).to_complex().re;
                if place[dim] == output[dim] - 1 {
                    return room;
                }
                let step = room as f64 / (output[dim] - 1) as f64;
                ((place[dim] as f64 + u) * step).trunc() as i64 - (u * step).trunc() as i64
            };
            let starts: Vec<i64> = (0..dims).map(start).collect();
            let elements: Vec<(i64, Scalar)> = naive::positions(&kernel)
                .map(|tap| {
                    let at: Vec<i64> = tap.iter().zip(&starts).map(|(tap, start)| tap + start).collect();
                    let index = at.iter().zip(image).fold(0, |number, (at, size)| number * size + at);
                    (index, x.at(&[outer, &at].concat()))
                })
                .collect();
            pooling::samples::largest(&elements)
        };
        let sizes = [outer, &output].concat();
        Ok([
            Plain::from_fn(x.dtype(), &sizes, |at| chosen(at).1),
            Plain::from_fn(DType::I64, &sizes, |at| Scalar::Int(chosen(at).0)),
        ]
        .into())
    }

    fn backward_reference(it: &Inputs) -> Result<Expected> {
        let (grad, x, indices) = (it.tensor("grad_output")?, it.tensor("self")?, it.tensor("indices")?);
        let dims = it.value::<Vec<i64>>("output_size")?.len();
        let (outer, image) = x.sizes().split_at(x.sizes().len() - dims);
        let mut result = Plain::from_elements::<i64>(DType::F64, x.sizes(), &[]);
        for position in naive::positions(grad.sizes()) {
            let index = number::whole(indices.at(&position));
            let place = naive::positions(image).nth(index as usize).unwrap_or_default();
            let at = [&position[..outer.len()], &place].concat();
            result.set(&at, number::plus(result.at(&at), grad.at(&position)));
        }
        Ok(result.to(x.dtype()).into())
    }
}
