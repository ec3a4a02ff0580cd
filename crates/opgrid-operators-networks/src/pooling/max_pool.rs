//! `aten::max_pool1d`, `max_pool2d`, `max_pool3d`: the largest element under a window that moves over images.
//!
//! `out[…, p] = max self[…, p * stride + k * dilation - padding]` over the elements `k` of the window
//!
//! - Shapes: images of a batch or a single one; `stride` is that of the kernel unless it is given. With `ceil_mode` a last
//!   place counts that is partly beyond the image.
//! - Indices: the number of the element in its plane, in row-major order: of equal ones the first, of NaNs, which are the
//!   largest, the last.
//! - Dtypes: integers and floats; gradients and `max_pool1d` of floats.
//! - Strides: a channels-last batch gives channels-last results.
//! - Aliasing: `max_pool2d_with_indices.out` and its like write `out` and `indices`.
//! - Dispatch: what gives no indices, and what is for lines, is a composite of `max_pool2d_with_indices` or its like; of images on the CPU
//!   whose gradient nobody records, `max_pool2d` and `max_pool3d` compute without indices.
//! - Errors: sizes of 0 but that of the batch; more padding than half of the window; a window larger than the padded image;
//!   in gradients, indices beyond the plane.
//! - Source: torch.nn.functional.max_pool2d, PyTorch 2.15.

use crate::kinds::pooling::{self, Movement, Plan};
use crate::prelude::*;
use opgrid_kernels::pooling::{largest, largest_backward, largest_elements};
use opgrid_kinds::images::{check_float, in_format_of};
use opgrid_tensor::layers::autograd;
use opgrid_tensor::ops::{SqueezeDim, Unsqueeze};

pub use opgrid_tensor::ops::pooling::max_pool::*;

/// The family of `aten::max_pool2d_with_indices`: its kind, shape rule and `out` rule.
pub const MAX_POOL2D_WITH_INDICES: Family<MaxPool2dWithIndices> =
    Family::new(MaxPool2dWithIndices, &kind::POOLING, |x, kernel, stride, padding, dilation, ceil| {
        shape(x, Movement { dims: 2, kernel, stride, padding, dilation, ceil })
    })
    .same_dtype_out();

/// The family of `aten::max_pool3d_with_indices`: its kind, shape rule and `out` rule.
pub const MAX_POOL3D_WITH_INDICES: Family<MaxPool3dWithIndices> =
    Family::new(MaxPool3dWithIndices, &kind::POOLING, |x, kernel, stride, padding, dilation, ceil| {
        shape(x, Movement { dims: 3, kernel, stride, padding, dilation, ceil })
    })
    .same_dtype_out();

/// The family of the gradient for images.
pub const MAX_POOL2D_WITH_INDICES_BACKWARD: Family<MaxPool2dWithIndicesBackward> = Family::new(
    MaxPool2dWithIndicesBackward,
    &kind::POOLING,
    |grad, x, kernel, stride, padding, dilation, ceil, indices| {
        backward_shape(grad, x, Movement { dims: 2, kernel, stride, padding, dilation, ceil }, indices)
    },
)
.same_dtype_out();

/// The family of the gradient for images with depth.
pub const MAX_POOL3D_WITH_INDICES_BACKWARD: Family<MaxPool3dWithIndicesBackward> = Family::new(
    MaxPool3dWithIndicesBackward,
    &kind::POOLING,
    |grad, x, kernel, stride, padding, dilation, ceil, indices| {
        backward_shape(grad, x, Movement { dims: 3, kernel, stride, padding, dilation, ceil }, indices)
    },
)
.same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&MAX_POOL2D_WITH_INDICES)
        .cpu(|x, kernel, stride, padding, dilation, ceil, out, indices| {
            cpu(x, Movement { dims: 2, kernel, stride, padding, dilation, ceil }, out, indices)
        })
        .derivative(|d, (x, kernel, stride, padding, dilation, ceil)| {
            let [kernel, stride, padding, dilation] =
                [kernel, stride, padding, dilation].map(<[i64]>::to_vec);
            d.by(x, [x, d.result(1)], move |grad, [x, indices]| {
                MaxPool2dWithIndicesBackward
                    .call(grad, x, &kernel, &stride, &padding, &dilation, ceil, indices)
            })
        });
    library
        .family(&MAX_POOL3D_WITH_INDICES)
        .cpu(|x, kernel, stride, padding, dilation, ceil, out, indices| {
            cpu(x, Movement { dims: 3, kernel, stride, padding, dilation, ceil }, out, indices)
        })
        .derivative(|d, (x, kernel, stride, padding, dilation, ceil)| {
            let [kernel, stride, padding, dilation] =
                [kernel, stride, padding, dilation].map(<[i64]>::to_vec);
            d.by(x, [x, d.result(1)], move |grad, [x, indices]| {
                MaxPool3dWithIndicesBackward
                    .call(grad, x, &kernel, &stride, &padding, &dilation, ceil, indices)
            })
        });
    library
        .family(&MAX_POOL2D_WITH_INDICES_BACKWARD)
        .cpu(|grad, x, kernel, stride, padding, dilation, ceil, indices, out| {
            backward([grad, x, indices], Movement { dims: 2, kernel, stride, padding, dilation, ceil }, out)
        })
        .derivative(|d, (grad, x, .., indices)| pooling::derivative_of_gradients(d, [grad, x, indices], 2));
    library
        .family(&MAX_POOL3D_WITH_INDICES_BACKWARD)
        .cpu(|grad, x, kernel, stride, padding, dilation, ceil, indices, out| {
            backward([grad, x, indices], Movement { dims: 3, kernel, stride, padding, dilation, ceil }, out)
        })
        .derivative(|d, (grad, x, .., indices)| pooling::derivative_of_gradients(d, [grad, x, indices], 3));
    library.define(MaxPool2d).kind(&kind::POOLING).implicit(|x, kernel, stride, padding, dilation, ceil| {
        match without_indices(x, Movement { dims: 2, kernel, stride, padding, dilation, ceil })? {
            Some(out) => Ok(out),
            None => Ok(MaxPool2dWithIndices.call(x, kernel, stride, padding, dilation, ceil)?.0),
        }
    });
    library.define(MaxPool3d).kind(&kind::POOLING).implicit(|x, kernel, stride, padding, dilation, ceil| {
        match without_indices(x, Movement { dims: 3, kernel, stride, padding, dilation, ceil })? {
            Some(out) => Ok(out),
            None => Ok(MaxPool3dWithIndices.call(x, kernel, stride, padding, dilation, ceil)?.0),
        }
    });
    library.define(MaxPool1d).kind(&kind::POOLING).implicit(|x, kernel, stride, padding, dilation, ceil| {
        check_float(x.spec()?.dtype())?;
        // Lines have no channels-last order, which the images of one row that they become might seem to lie in.
        Ok(lines(&x.contiguous()?, kernel, stride, padding, dilation, ceil)?.0)
    });
    library.define(MaxPool1dWithIndices).kind(&kind::POOLING).implicit(lines);
}

/// # Errors
///
/// Another dtype than those of integers and floats.
fn check(dtype: DType) -> Result<()> {
    with_dtype!(dtype, _T: Real => Ok(()))
}

fn shape(input: &Tensor, movement: Movement<'_>) -> Result<(TensorSpec, TensorSpec)> {
    let spec = input.spec()?;
    check(spec.dtype())?;
    let plan = Plan::new(spec.sizes(), movement)?;
    let is_single = spec.sizes().len() == movement.dims + 1;
    let out = if !is_single {
        in_format_of(spec, &plan.sizes, movement.dims == 3)?
    } else if movement.dims == 3 && is_channels_last(&spec.geometry().unsqueeze(0)?) {
        // A single image with depth lies as one of a batch does, where that has no gaps.
        let batch = [&[1], plan.sizes.as_slice()].concat();
        let batch = Geometry::in_format(&batch, MemoryFormat::ChannelsLast3d)?;
        TensorSpec::new(batch.squeeze(0)?, spec.dtype(), spec.device())
    } else {
        TensorSpec::contiguous(&plan.sizes, spec.dtype(), spec.device())?
    };
    let indices = TensorSpec::new(out.geometry().clone(), DType::I64, spec.device());
    Ok((out, indices))
}

/// Whether images with depth lie so, and not in rows as well.
fn is_channels_last(images: &Geometry) -> bool {
    images.is_in_format(MemoryFormat::ChannelsLast3d) && !images.is_contiguous()
}

fn backward_shape(
    grad: &Tensor,
    input: &Tensor,
    movement: Movement<'_>,
    indices: &Tensor,
) -> Result<TensorSpec> {
    let spec = input.spec()?;
    check_float(spec.dtype())?;
    let plan = Plan::new(spec.sizes(), movement)?;
    pooling::check_gradient("grad_output", grad.spec()?, spec, &plan.sizes)?;
    let numbers = TensorSpec::new(spec.geometry().clone(), DType::I64, spec.device());
    pooling::check_gradient("indices", indices.spec()?, &numbers, &plan.sizes)?;
    in_format_of(spec, spec.sizes(), movement.dims == 3)
}

fn backward([grad, input, indices]: [&Tensor; 3], movement: Movement<'_>, out: &Tensor) -> Result<()> {
    let plan = Plan::new(input.sizes(), movement)?;
    let (out, grad, indices) = (out.array()?, grad.array()?, indices.array()?);
    with_dtype!(input.dtype(), T: Float => largest_backward::<T>(out, grad, indices, plan.planes()))
}

fn cpu(input: &Tensor, movement: Movement<'_>, out: &Tensor, indices: &Tensor) -> Result<()> {
    // Sizes beside one of 0 may be of any size.
    if out.numel() == 0 {
        return Ok(());
    }
    let windows = Plan::new(input.sizes(), movement)?.windows();
    let (out, indices, input) = (out.array()?, indices.array()?, input.array()?);
    with_dtype!(input.dtype(), T: Real => largest::<T>(out, indices, input, &windows))
}

/// The largest elements alone, where nobody needs to know where they are: indices take twice the memory. Gradients do, and layers whose
/// tensors are not arrays see the operator with indices.
fn without_indices(input: &Tensor, movement: Movement<'_>) -> Result<Option<Tensor>> {
    let is_recorded = input.requires_grad() && autograd::is_grad_enabled();
    if is_recorded || input.array().is_err() || input.device() != Device::CPU {
        return Ok(None);
    }
    let (spec, _) = shape(input, movement)?;
    let out = Tensor::allocate(spec)?;
    if out.numel() > 0 {
        let windows = Plan::new(input.sizes(), movement)?.windows();
        let (out, input) = (out.array()?, input.array()?);
        with_dtype!(input.dtype(), T: Real => largest_elements::<T>(out, input, &windows))?;
    }
    Ok(Some(out))
}

fn lines(
    input: &Tensor,
    kernel: &[i64],
    stride: &[i64],
    padding: &[i64],
    dilation: &[i64],
    ceil: bool,
) -> Result<(Tensor, Tensor)> {
    let lists = [("kernel_size", kernel, 1), ("stride", stride, 1), ("padding", padding, 0)];
    let [kernel, stride, padding] = pooling::of_rows(lists)?;
    let [dilation, ..] = pooling::of_rows([("dilation", dilation, 1); 3])?;
    let rows = Unsqueeze.call(input, -2)?;
    let (values, indices) = MaxPool2dWithIndices.call(&rows, &kernel, &stride, &padding, &dilation, ceil)?;
    Ok((SqueezeDim.call(&values, -2)?, SqueezeDim.call(&indices, -2)?))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_kinds::images::FLOATS;
    use opgrid_samples::prelude::*;

    /// Dtypes that are taken.
    const TAKEN: &[DType] = &[
        DType::U8,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::F16,
        DType::BF16,
        DType::F32,
        DType::F64,
    ];

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[1, 4, 4], 0);
        samples.operator(MaxPool1d, FLOATS, |dtype| inputs(dtype, 1), values::<1>);
        samples.operator(MaxPool1dWithIndices, TAKEN, |dtype| inputs(dtype, 1), reference::<1>);
        samples.operator(MaxPool2d, TAKEN, |dtype| inputs(dtype, 2), values::<2>);
        samples
            .operator(MaxPool2dWithIndices, TAKEN, |dtype| inputs(dtype, 2), reference::<2>)
            .refuses("argument `dilation`", given(x.clone()).and(vec![2]).named("dilation", vec![0]))
            .refuses("does not fit", given(x.clone()).and(vec![3]).named("dilation", vec![2]))
            .refuses("64 bits", given(x.clone()).and(vec![3]).named("dilation", vec![i64::MAX]))
            .refuses("at most half", given(x.clone()).and(vec![3]).named("padding", vec![2]));
        samples.operator(MaxPool3d, TAKEN, |dtype| inputs(dtype, 3), values::<3>);
        samples.operator(MaxPool3dWithIndices, TAKEN, |dtype| inputs(dtype, 3), reference::<3>);
        let refused = |index: i64, size: i64| {
            let grad = generate::numbers(DType::F32, &[1, 2, size], 0);
            let indices = Plain::from_elements(DType::I64, &[1, 2, 2], &[index]);
            let window =
                given(grad).and(x.clone()).and(vec![2]).and(Vec::<i64>::new()).and(vec![0]).and(vec![1]);
            window.and(false).and(indices)
        };
        samples
            .operator(MaxPool2dWithIndicesBackward, FLOATS, backward_inputs::<2>, |it| {
                pooling::samples::gradients_of_largest(it, 2)
            })
            .tolerance(4.0)
            .refuses("argument `grad_output`", refused(0, 3))
            .refuses_data("from 0 to 15", refused(16, 2));
        samples
            .operator(MaxPool3dWithIndicesBackward, FLOATS, backward_inputs::<3>, |it| {
                pooling::samples::gradients_of_largest(it, 3)
            })
            .tolerance(4.0);
        samples.rounds(MaxPool2dWithIndicesBackward, Roundings::all(Rounding::Sum(2)));
        samples.rounds(MaxPool3dWithIndicesBackward, Roundings::all(Rounding::Sum(2)));
        let difference = Difference {
            id: "volumes-of-any-order",
            what: "torch rejects volumes in the channels-last order of images, and uint8 volumes in \
                 channels-last order with more positions than a byte can count; here volumes may have \
                 any strides",
            why: "results must not depend on strides",
            test: (
                "opgrid-operators/tests/all/differences/computed.rs",
                "what_torch_refuses_by_accident_is_computed",
            ),
            when: |seen| {
                let words = ["Unsupported memory format", "std::numeric_limits<integer_t>::max()"];
                words.iter().any(|words| seen.torch_refuses(words))
            },
            directed: None,
        };
        samples.differs(MaxPool1dWithIndices, PLACES_OF_PADDING);
        samples.differs(MaxPool2dWithIndices, PLACES_OF_PADDING);
        samples.differs(MaxPool3dWithIndices, PLACES_OF_PADDING);
        samples.differs(
            MaxPool2dWithIndicesBackward,
            Difference {
                id: "places-of-gradients-are-checked",
                what: "torch adds gradients at positions outside of an image to the next image, or out \
                     of bounds; here they are rejected",
                why: "out-of-bounds writes are never allowed",
                test: ("opgrid-operators/tests/all/differences/refused.rs", "places_that_are_not_there"),
                when: |seen| seen.we_refuse("argument `indices` holds"),
                directed: None,
            },
        );
        samples.differs(MaxPool3d, difference);
        samples.differs(MaxPool3dWithIndices, difference);
        samples.differs(
            MaxPool3dWithIndices,
            Difference {
                id: "places-of-the-smallest-numbers",
                what: "torch returns an index in the first plane if all elements of a window are the \
                     smallest of their dtype and the volume is channels-last; here the index of the \
                     first such element, as in torch for row-major volumes",
                why: "results must not depend on strides",
                test: (
                    "opgrid-operators/tests/all/differences/layouts.rs",
                    "results_do_not_depend_on_the_layout",
                ),
                when: |seen| {
                    let has_smallest = |x: &Operand| {
                        let smallest = opgrid_tensor::tensor::iinfo(x.dtype)
                            .map_or(f64::NEG_INFINITY, |limits| limits.min as f64);
                        x.elements.iter().any(|element| element.re == smallest)
                    };
                    seen.tensor("self").is_some_and(has_smallest)
                        && seen.each(|(dtype, ours, torch)| *dtype == DType::I64 && torch.re < ours.re)
                },
                directed: Some(Directed {
                    operator: "aten::max_pool3d_with_indices",
                    arguments: || {
                        let volume = (&[1, 2, 3, 2, 2][..], &[24, 1, 8, 4, 2][..], 0);
                        vec![
                            ("self", Operand::strided(0, DType::U8, volume, &[0.0; 24]).into()),
                            ("kernel_size", Argument::Ints(vec![2, 2, 2])),
                            ("stride", Argument::Ints(vec![1, 1, 1])),
                        ]
                    },
                    needs: None,
                }),
            },
        );
    }

    const PLACES_OF_PADDING: Difference = Difference {
        id: "places-of-windows-of-padding",
        what: "torch returns, for a window that covers only padding, an index that is not in the window \
             and may be outside of the image; here one within the image",
        why: "gradients must stay within the image",
        test: ("opgrid-operators/tests/all/differences/computed.rs", "windows_reach_into_padding"),
        when: |seen| {
            let exceeds = |name: &str, least: i64| match seen.argument(name) {
                Some(Argument::Ints(list)) => list.iter().any(|entry| *entry > least),
                _ => false,
            };
            let can_miss = exceeds("padding", 0) && exceeds("dilation", 1);
            can_miss && seen.each(|(dtype, ours, torch)| *dtype == DType::I64 && torch.re > ours.re)
        },
        directed: None,
    };

    fn inputs(dtype: DType, dims: usize) -> Vec<Sample> {
        let mut samples: Vec<Sample> = Vec::new();
        for (sample, ceil) in pooling::samples::inputs(dtype, dims) {
            samples.push(sample.clone().named("ceil_mode", ceil));
            samples.push(sample.named("ceil_mode", !ceil));
        }
        let sizes = &[2, 3, 4, 5, 7][..dims + 1];
        samples.push(
            given(generate::numbers(dtype, sizes, 3)).and(vec![2]).and(vec![1]).and(vec![1]).and(vec![2]),
        );
        samples
    }

    /// Windows that do not overlap, with the indices of elements in them.
    fn backward_inputs<const DIMS: usize>(dtype: DType) -> Vec<Sample> {
        let one = |(x, size, grad, padding): (&[i64], i64, &[i64], i64)| {
            let plane = x[x.len() - DIMS..].iter().product::<i64>();
            let indices: Vec<i64> =
                (0..grad.iter().product::<i64>()).map(|at| (at * 7 + 3) % plane).collect();
            given(generate::numbers(dtype, grad, 1))
                .and(generate::numbers(dtype, x, 2))
                .and(vec![size])
                .and(Vec::<i64>::new())
                .and(vec![padding])
                .and(vec![1])
                .and(false)
                .and(Plain::from_elements(DType::I64, grad, &indices))
        };
        let cases: [(&[i64], i64, &[i64], i64); 3] = [
            (&[2, 3, 4, 6], 2, &[2, 3, 2, 3], 0),
            (&[2, 3, 5], 2, &[2, 2, 3], 1),
            (&[0, 2, 4, 4], 2, &[0, 2, 2, 2], 0),
        ];
        let volumes: [(&[i64], i64, &[i64], i64); 3] = [
            (&[2, 1, 2, 4, 4], 2, &[2, 1, 1, 2, 2], 0),
            (&[2, 3, 5, 2], 2, &[2, 2, 3, 2], 1),
            (&[0, 2, 2, 4, 4], 2, &[0, 2, 1, 2, 2], 0),
        ];
        if DIMS == 2 { cases.map(one).to_vec() } else { volumes.map(one).to_vec() }
    }

    fn pooled(it: &Inputs, dims: usize) -> Result<[Plain; 2]> {
        let x = it.tensor("self")?;
        let lists = ["kernel_size", "stride", "padding", "dilation"].map(|name| it.value::<Vec<i64>>(name));
        let [kernel, stride, padding, dilation] = lists;
        let (kernel, stride, padding, dilation) = (kernel?, stride?, padding?, dilation?);
        let movement = Movement {
            dims,
            kernel: &kernel,
            stride: &stride,
            padding: &padding,
            dilation: &dilation,
            ceil: it.value("ceil_mode")?,
        };
        Ok([
            pooling::samples::naive(x, movement, x.dtype(), |elements, _| {
                pooling::samples::largest(elements).1
            })?,
            pooling::samples::naive(x, movement, DType::I64, |elements, _| {
                Scalar::Int(pooling::samples::largest(elements).0)
            })?,
        ])
    }

    fn values<const DIMS: usize>(it: &Inputs) -> Result<Expected> {
        let [values, _] = pooled(it, DIMS)?;
        Ok(values.into())
    }

    fn reference<const DIMS: usize>(it: &Inputs) -> Result<Expected> {
        Ok(pooled(it, DIMS)?.into())
    }
}
