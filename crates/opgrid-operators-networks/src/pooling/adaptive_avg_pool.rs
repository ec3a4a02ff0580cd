//! `aten::adaptive_avg_pool1d`, `adaptive_avg_pool2d`, `adaptive_avg_pool3d`: averages over as many windows as are asked for.
//!
//! `out[…, p]` is the average of `self[…, floor(p * size / places) .. ceil((p + 1) * size / places)]`
//!
//! - Shapes: images of a batch or a single one; the result has images of `output_size`.
//! - Dtypes: floats; complex numbers too where each image gives one average.
//! - Strides: results of a channels-last batch of images with two dimensions are channels-last.
//! - Aliasing: the `out` forms write `out`, which must not overlap `self`.
//! - Dispatch: composites of `mean` where each image gives one average, otherwise of `_adaptive_avg_pool2d` and its like.
//! - Errors: images of size 0; an `output_size` of another length or with negative numbers.
//! - Source: torch.nn.functional.adaptive_avg_pool2d, PyTorch 2.15.

use crate::kinds::pooling;
use crate::prelude::*;
use opgrid_kernels::pooling::{Divisor, average, average_backward};
use opgrid_kinds::images::{check_float, in_format_of};
use opgrid_tensor::ops::{Contiguous, MeanDim, SqueezeDim, Unsqueeze};
use opgrid_tensor::tensor::Dims;

pub use opgrid_tensor::ops::pooling::adaptive_avg_pool::*;

/// The family of `aten::_adaptive_avg_pool2d`: its kind, shape rule and `out` rule.
pub const ADAPTIVE_AVG_POOL2D: Family<AdaptiveAvgPool2dDirect> =
    Family::new(AdaptiveAvgPool2dDirect, &kind::POOLING, |input, output| {
        let spec = input.spec()?;
        in_format_of(spec, &checked(spec, output, 2)?, false)
    })
    .same_dtype_out();

/// The family of `aten::_adaptive_avg_pool3d`: its kind, shape rule and `out` rule.
pub const ADAPTIVE_AVG_POOL3D: Family<AdaptiveAvgPool3dDirect> =
    Family::new(AdaptiveAvgPool3dDirect, &kind::POOLING, |input, output| {
        let spec = input.spec()?;
        TensorSpec::contiguous(&checked(spec, output, 3)?, spec.dtype(), spec.device())
    })
    .same_dtype_out();

/// The family of the gradient for images.
pub const ADAPTIVE_AVG_POOL2D_BACKWARD: Family<AdaptiveAvgPool2dBackward> =
    Family::new(AdaptiveAvgPool2dBackward, &kind::POOLING, |grad, input| backward_shape(grad, input, 2))
        .same_dtype_out();

/// The family of the gradient for volumes.
pub const ADAPTIVE_AVG_POOL3D_BACKWARD: Family<AdaptiveAvgPool3dBackward> =
    Family::new(AdaptiveAvgPool3dBackward, &kind::POOLING, |grad, input| backward_shape(grad, input, 3))
        .same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&ADAPTIVE_AVG_POOL2D).cpu(cpu).derivative(|d, (input, _)| {
        d.by(input, [input], |grad, [x]| {
            if grad.numel() == 0 && x.numel() > 0 {
                derivatives::zeros_of(x.sizes(), grad)
            } else {
                AdaptiveAvgPool2dBackward.call(grad, x)
            }
        })
    });
    library.family(&ADAPTIVE_AVG_POOL3D).cpu(cpu).derivative(|d, (input, _)| {
        d.by(input, [input], |grad, [x]| {
            if grad.numel() == 0 && x.numel() > 0 {
                derivatives::zeros_of(x.sizes(), grad)
            } else {
                AdaptiveAvgPool3dBackward.call(grad, x)
            }
        })
    });
    library
        .family(&ADAPTIVE_AVG_POOL2D_BACKWARD)
        .cpu(|grad, input, out| backward(grad, input, 2, out))
        .derivative(|d, (grad, input)| {
            let (output, sizes) = (grad.sizes()[grad.dim() - 2..].to_vec(), input.sizes().to_vec());
            d.by(grad, [], move |grad, []| AdaptiveAvgPool2dDirect.call(grad, &output))?;
            d.by(input, [], move |grad, []| derivatives::zeros_of(&sizes, grad))
        });
    library
        .family(&ADAPTIVE_AVG_POOL3D_BACKWARD)
        .cpu(|grad, input, out| backward(grad, input, 3, out))
        .derivative(|d, (grad, input)| {
            let (output, sizes) = (grad.sizes()[grad.dim() - 3..].to_vec(), input.sizes().to_vec());
            d.by(grad, [], move |grad, []| AdaptiveAvgPool3dDirect.call(grad, &output))?;
            d.by(input, [], move |grad, []| derivatives::zeros_of(&sizes, grad))
        });
    library.define_with_forms(AdaptiveAvgPool1d, &kind::POOLING).implicit(lines);
    library
        .implement(AdaptiveAvgPool1dOut)
        .composite(|input, output, out| result::copied(out, &AdaptiveAvgPool1d.call(input, output)?));
    library.define_with_forms(AdaptiveAvgPool2d, &kind::POOLING).implicit(|input, output| {
        match mean_of_images(input, output, 2)? {
            Some(mean) => Ok(mean),
            None => AdaptiveAvgPool2dDirect.call(input, output),
        }
    });
    library
        .implement(AdaptiveAvgPool2dOut)
        .composite(|input, output, out| result::copied(out, &AdaptiveAvgPool2d.call(input, output)?));
    library.define_with_forms(AdaptiveAvgPool3d, &kind::POOLING).implicit(|input, output| {
        match mean_of_images(input, output, 3)? {
            Some(mean) => Ok(mean),
            None => AdaptiveAvgPool3dDirect.call(input, output),
        }
    });
    library
        .implement(AdaptiveAvgPool3dOut)
        .composite(|input, output, out| result::copied(out, &AdaptiveAvgPool3d.call(input, output)?));
}

fn checked(spec: &TensorSpec, output: &[i64], dims: usize) -> Result<Dims> {
    check_float(spec.dtype())?;
    pooling::adaptive(spec, output, dims, usize::MAX)
}

fn backward_shape(grad: &Tensor, input: &Tensor, dims: usize) -> Result<TensorSpec> {
    let (spec, found) = (input.spec()?, grad.spec()?);
    let first = spec.sizes().len().saturating_sub(dims);
    let output = found.sizes().get(first..).unwrap_or_default();
    let sizes = checked(spec, output, dims)?;
    pooling::check_gradient("grad_output", found, spec, &sizes)?;
    pooling::check_filled(found, output)?;
    match dims {
        3 => TensorSpec::contiguous(spec.sizes(), spec.dtype(), spec.device()),
        _ => in_format_of(spec, spec.sizes(), false),
    }
}

fn cpu(input: &Tensor, output: &[i64], out: &Tensor) -> Result<()> {
    // Sizes beside one of 0 may be of any size.
    if out.numel() == 0 {
        return Ok(());
    }
    let windows = pooling::adaptive_windows(&input.sizes()[input.dim() - output.len()..], output);
    let (out, input) = (out.array()?, input.array()?);
    with_dtype!(input.dtype(), T: Float => average::<T>(out, input, &windows, Divisor::Elements))
}

fn backward(grad: &Tensor, input: &Tensor, dims: usize, out: &Tensor) -> Result<()> {
    // Sizes beside one of 0 may be of any size.
    if out.numel() == 0 {
        return Ok(());
    }
    let first = input.dim() - dims;
    let windows = pooling::adaptive_windows(&input.sizes()[first..], &grad.sizes()[first..]);
    let (out, grad) = (out.array()?, grad.array()?);
    with_dtype!(grad.dtype(), T: Float => average_backward::<T>(out, grad, &windows, Divisor::Elements))
}

/// The mean of each image, if it is all that is asked for.
///
/// # Errors
///
/// Images of size 0, an `output_size` of another length.
fn mean_of_images(input: &Tensor, output: &[i64], dims: usize) -> Result<Option<Tensor>> {
    let spec = input.spec()?;
    let sizes = pooling::adaptive(spec, output, dims, usize::MAX)?;
    if output.iter().any(|size| *size != 1) {
        return Ok(None);
    }
    let all: Vec<i64> = (1..=dims as i64).map(|dim| -dim).collect();
    let mean = MeanDim.call(input, Some(&all), true, None)?;
    let format = in_format_of(spec, &sizes, true)?.geometry().suggested_format();
    Contiguous.call(&mean, format).map(Some)
}

fn lines(input: &Tensor, output: &[i64]) -> Result<Tensor> {
    let [output] = pooling::of_rows([("output_size", output, 0)])?;
    let spec = input.spec()?;
    pooling::adaptive(spec, &output[1..], 1, usize::MAX)?;
    let result = AdaptiveAvgPool2d.call(&Unsqueeze.call(input, -2)?, &output)?;
    SqueezeDim.call(&result, -2)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_kinds::images::FLOATS;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[1, 4, 4], 0);
        samples.operator(AdaptiveAvgPool1d, FLOATS, |dtype| inputs(dtype, 1), reference).tolerance(4.0);
        samples.operator(AdaptiveAvgPool2d, INEXACT, with_means::<2>, reference).tolerance(4.0);
        samples.operator(AdaptiveAvgPool3d, INEXACT, with_means::<3>, reference).tolerance(4.0);
        samples
            .operator(AdaptiveAvgPool2dDirect, FLOATS, |dtype| inputs(dtype, 2), reference)
            .tolerance(4.0)
            .refuses("expected 2 sizes", given(x.clone()).and(vec![1, 1, 1]))
            .refuses("expected 2 sizes", given(x.clone()).and(vec![1, -1]))
            .refuses("not empty", given(generate::numbers(DType::F32, &[2, 0, 4], 0)).and(vec![2, 2]));
        samples.operator(AdaptiveAvgPool3dDirect, FLOATS, |dtype| inputs(dtype, 3), reference).tolerance(4.0);
        samples
            .operator(
                AdaptiveAvgPool3dBackward,
                FLOATS,
                |dtype| backward_inputs(dtype, 3),
                backward_reference::<3>,
            )
            .tolerance(16.0);
        samples
            .operator(
                AdaptiveAvgPool2dBackward,
                FLOATS,
                |dtype| backward_inputs(dtype, 2),
                backward_reference::<2>,
            )
            .tolerance(16.0)
            .refuses("argument `grad_output`", given(generate::numbers(DType::F32, &[2, 2, 2], 0)).and(x));
        let rounding = Roundings::all(Rounding::Sum(2));
        samples.differs(AdaptiveAvgPool2dBackward, pooling::samples::GRADIENTS_ARE_CHECKED);
        samples.differs(AdaptiveAvgPool3dBackward, pooling::samples::GRADIENTS_ARE_CHECKED);
        samples.differs(AdaptiveAvgPool3dDirect, VOLUMES);
        samples.differs(AdaptiveAvgPool3dBackward, VOLUMES);
        samples.differs(AdaptiveAvgPool3dDirect, WITHOUT_CHANNELS);
        samples.differs_as(AdaptiveAvgPool3d, &[WITHOUT_CHANNELS, OF_NOTHING]);
        samples.differs(AdaptiveAvgPool2d, OF_NOTHING);
        samples.differs(AdaptiveAvgPool2dBackward, WITHOUT_CHANNELS);
        samples.differs(AdaptiveAvgPool3dBackward, WITHOUT_CHANNELS);
        samples.differs_as(AdaptiveAvgPool2d, &[COMPLEX_OUTPUTS, READ_AFTER_WRITTEN]);
        samples.differs_as(AdaptiveAvgPool3d, &[COMPLEX_OUTPUTS, VOLUMES, READ_AFTER_WRITTEN]);
        samples.rounds(AdaptiveAvgPool1d, rounding);
        samples.rounds(AdaptiveAvgPool2d, rounding);
        samples.rounds(AdaptiveAvgPool3d, rounding);
        samples.rounds(AdaptiveAvgPool2dDirect, rounding);
        samples.rounds(AdaptiveAvgPool3dDirect, rounding);
        samples.rounds(AdaptiveAvgPool2dBackward, rounding);
        samples.rounds(AdaptiveAvgPool3dBackward, rounding);
    }

    const OF_NOTHING: Difference = Difference {
        id: "averages-of-no-places",
        what: "torch returns NaN for one average of an image without elements, and rejects several; \
             here one is rejected, too",
        why: "all output sizes behave alike",
        test: ("opgrid-operators/tests/all/differences/refused.rs", "places_that_are_not_there"),
        when: |seen| seen.we_refuse("and images that are not empty"),
        directed: None,
    };

    const WITHOUT_CHANNELS: Difference = Difference {
        id: "averages-without-channels",
        what: "torch rejects volumes without channels, and their gradients, but not images without; \
             here the result is empty",
        why: "images, volumes and gradients behave alike",
        test: ("opgrid-operators/tests/all/differences/computed.rs", "windows_reach_into_padding"),
        when: |seen| {
            seen.we_give_nothing() && seen.torch_refuses("to have non-zero size for non-batch dimensions")
        },
        directed: None,
    };

    /// Differences for averages of volumes.
    const VOLUMES: Difference = Difference {
        id: "averages-of-volumes-keep-their-digits",
        what: "torch sums volumes of 16-bit floats in 16 bits; here in single precision",
        why: "the mathematical result",
        test: ("opgrid-operators/tests/all/differences/numbers.rs", "averages_of_16_bit_volumes"),
        when: |seen| {
            let elements = seen.inputs().into_iter().flat_map(|input| &input.elements);
            let largest = elements.map(|element| element.norm()).fold(0.0, f64::max);
            seen.each(|(dtype, ours, torch)| {
                matches!(dtype, DType::F16 | DType::BF16)
                    && opgrid_tensor::tensor::finfo(*dtype)
                        .is_ok_and(|limits| (ours - torch).norm() <= 16.0 * limits.eps * largest)
            })
        },
        directed: Some(Directed {
            operator: "aten::_adaptive_avg_pool3d",
            arguments: || {
                vec![
                    ("self", Operand::rows(0, DType::BF16, &[1, 560, 1, 1], &[1.0; 560]).into()),
                    ("output_size", Argument::Ints(vec![2, 1, 1])),
                ]
            },
            needs: None,
        }),
    };

    /// Differences for averages of whole images.
    const COMPLEX_OUTPUTS: Difference = Difference {
        id: "averages-of-complex-images-are-written",
        what: "torch rejects an output for global averages of complex images, which the functional form \
             accepts; here the output is written",
        why: "the functional and `out` forms agree",
        test: (
            "opgrid-operators/tests/all/differences/computed.rs",
            "what_torch_refuses_by_accident_is_computed",
        ),
        when: |seen| {
            let is_complex = seen.tensor("self").is_some_and(|input| input.dtype.is_complex());
            is_complex && seen.out().is_some() && seen.torch_refuses("not implemented for 'Complex")
        },
        directed: Some(Directed {
            operator: "aten::adaptive_avg_pool2d.out",
            arguments: || {
                vec![
                    ("self", Operand::rows(0, DType::Complex64, &[1, 1, 2], &[1.0, 2.0]).into()),
                    ("output_size", Argument::Ints(vec![1, 1])),
                    ("out", Operand::rows(1, DType::Complex64, &[1, 1, 1], &[0.0]).into()),
                ]
            },
            needs: None,
        }),
    };

    fn inputs(dtype: DType, dims: usize) -> Vec<Sample> {
        let one = |(outer, sizes, output): (&[i64], [i64; 3], [i64; 3])| {
            given(generate::numbers(dtype, &[outer, &sizes[3 - dims..]].concat(), 1))
                .and(output[3 - dims..].to_vec())
        };
        let cases: [(&[i64], [i64; 3], [i64; 3]); 6] = [
            (&[2, 3], [4, 4, 6], [2, 2, 2]),
            (&[3], [3, 5, 7], [2, 3, 4]),
            (&[1, 2], [1, 3, 2], [2, 5, 3]),
            (&[0, 2], [2, 4, 4], [1, 2, 2]),
            (&[2, 0], [2, 4, 4], [1, 2, 2]),
            (&[1, 1], [2, 3, 3], [1, 2, 0]),
        ];
        cases.into_iter().map(one).collect()
    }

    /// Complex numbers where each image gives one average.
    fn with_means<const DIMS: usize>(dtype: DType) -> Vec<Sample> {
        let one = |outer: &[i64]| {
            given(generate::numbers(dtype, &[outer, &[2, 3, 4][3 - DIMS..]].concat(), 1)).and(vec![1; DIMS])
        };
        let means = vec![one(&[2, 3]), one(&[2]), one(&[0, 2])];
        if dtype.is_complex() { means } else { means.into_iter().chain(inputs(dtype, DIMS)).collect() }
    }

    fn average_of(elements: &[(i64, Scalar)]) -> Scalar {
        let sum = elements.iter().fold(Scalar::Float(0.0), |sum, (_, element)| number::plus(sum, *element));
        Scalar::Complex(sum.to_complex() / elements.len() as f64)
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (x, output): (_, Vec<i64>) = (it.tensor("self")?, it.value("output_size")?);
        Ok(pooling::samples::naive_adaptive(x, &output, x.dtype(), average_of).into())
    }

    fn backward_inputs(dtype: DType, dims: usize) -> Vec<Sample> {
        let one = |(outer, image, output): (&[i64], [i64; 3], [i64; 3])| {
            let of =
                |image: [i64; 3], seed| generate::numbers(dtype, &[outer, &image[3 - dims..]].concat(), seed);
            given(of(output, 1)).and(of(image, 2))
        };
        let cases: [(&[i64], [i64; 3], [i64; 3]); 3] =
            [(&[2, 3], [3, 4, 6], [2, 2, 4]), (&[3], [2, 5, 3], [3, 2, 2]), (&[0, 2], [2, 4, 4], [1, 2, 2])];
        cases.into_iter().map(one).collect()
    }

    fn backward_reference<const DIMS: usize>(it: &Inputs) -> Result<Expected> {
        let (grad, x) = (it.tensor("grad_output")?, it.tensor("self")?);
        let first = x.sizes().len() - DIMS;
        let mut result = Plain::from_elements::<i64>(DType::F64, x.sizes(), &[]);
        let seen = std::cell::RefCell::new(Vec::new());
        let _ = pooling::samples::naive_adaptive(x, &grad.sizes()[first..], DType::F64, |elements| {
            seen.borrow_mut().push(elements.iter().map(|(number, _)| *number).collect::<Vec<_>>());
            Scalar::Int(0)
        });
        for (position, numbers) in naive::positions(grad.sizes()).zip(seen.into_inner()) {
            let share = Scalar::Complex(grad.at(&position).to_complex() / numbers.len() as f64);
            for number in numbers {
                let at = [
                    &position[..first],
                    &naive::positions(&x.sizes()[first..]).nth(number as usize).unwrap_or_default(),
                ]
                .concat();
                result.set(&at, number::plus(result.at(&at), share));
            }
        }
        Ok(result.to(x.dtype()).into())
    }
}
