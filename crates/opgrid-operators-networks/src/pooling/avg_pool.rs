//! `aten::avg_pool1d`, `avg_pool2d`, `avg_pool3d`: the average of the elements under a window that moves over images.
//!
//! `out[…, p] = Σ self[…, p * stride + k - padding] / divisor` over the elements `k` of the window
//!
//! - Shapes: images of a batch or a single one; `stride` is that of the kernel unless it is given. With `ceil_mode` a last
//!   place counts that is partly beyond the image and its padding.
//! - Divisor: the size of the window where it lies on the image or the padding, without the padding if
//!   `count_include_pad` is false; or `divisor_override`.
//! - Dtypes: floats and int64, whose quotients lose their fractions.
//! - Strides: `avg_pool2d` of a channels-last batch is channels-last.
//! - Aliasing: the `out` forms write `out`, which must not overlap `self`.
//! - Dispatch: `avg_pool1d` is a composite of `avg_pool2d`.
//! - Errors: sizes of 0 but that of the batch; more padding than half of the window; a window larger than the padded image;
//!   a divisor of 0.
//! - Source: torch.nn.functional.avg_pool2d, PyTorch 2.15.

use opgrid_core::operator::{self, ArgsOf, Operator};

use crate::kinds::pooling::{self, Movement, Plan};
use crate::prelude::*;
use opgrid_kernels::pooling::{Divisor, average, average_backward};
use opgrid_kinds::images::in_format_of;
use opgrid_tensor::layers::autograd::Recorder;
use opgrid_tensor::ops::{SqueezeDim, Unsqueeze};
use opgrid_tensor::tensor::choose::unsupported;

pub use opgrid_tensor::ops::pooling::avg_pool::*;

/// The family of `aten::avg_pool2d`: its kind, shape rule and `out` rule.
pub const AVG_POOL2D: Family<AvgPool2d> =
    Family::new(AvgPool2d, &kind::POOLING, |x, kernel, stride, padding, ceil, _, divisor| {
        shape(x, moved(2, kernel, stride, padding, ceil), divisor)
    })
    .same_dtype_out();

/// The family of `aten::avg_pool3d`: its kind, shape rule and `out` rule.
pub const AVG_POOL3D: Family<AvgPool3d> =
    Family::new(AvgPool3d, &kind::POOLING, |x, kernel, stride, padding, ceil, _, divisor| {
        shape(x, moved(3, kernel, stride, padding, ceil), divisor)
    })
    .same_dtype_out();

/// The family of the gradient for images.
pub const AVG_POOL2D_BACKWARD: Family<AvgPool2dBackward> =
    Family::new(AvgPool2dBackward, &kind::POOLING, |grad, x, kernel, stride, padding, ceil, _, divisor| {
        backward_shape(grad, x, moved(2, kernel, stride, padding, ceil), divisor)
    })
    .same_dtype_out();

/// The family of the gradient for volumes.
pub const AVG_POOL3D_BACKWARD: Family<AvgPool3dBackward> =
    Family::new(AvgPool3dBackward, &kind::POOLING, |grad, x, kernel, stride, padding, ceil, _, divisor| {
        backward_shape(grad, x, moved(3, kernel, stride, padding, ceil), divisor)
    })
    .same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(AvgPool1d, &kind::POOLING).implicit(lines);
    library.implement(AvgPool1dOut).composite(|x, kernel, stride, padding, ceil, with_padding, out| {
        result::copied(out, &AvgPool1d.call(x, kernel, stride, padding, ceil, with_padding)?)
    });
    library
        .family(&AVG_POOL2D)
        .cpu(|x, kernel, stride, padding, ceil, with_padding, divisor, out| {
            cpu(x, moved(2, kernel, stride, padding, ceil), divisor_of(with_padding, divisor), out)
        })
        .derivative(|d, args| derivative(d, args, AvgPool2dBackward));
    library
        .family(&AVG_POOL3D)
        .cpu(|x, kernel, stride, padding, ceil, with_padding, divisor, out| {
            cpu(x, moved(3, kernel, stride, padding, ceil), divisor_of(with_padding, divisor), out)
        })
        .derivative(|d, args| derivative(d, args, AvgPool3dBackward));
    library
        .family(&AVG_POOL2D_BACKWARD)
        .cpu(|grad, x, kernel, stride, padding, ceil, with_padding, divisor, out| {
            let movement = moved(2, kernel, stride, padding, ceil);
            backward_cpu(grad, x, movement, divisor_of(with_padding, divisor), out)
        })
        .derivative(|d, args| backward_derivative(d, args, AvgPool2d));
    library
        .family(&AVG_POOL3D_BACKWARD)
        .cpu(|grad, x, kernel, stride, padding, ceil, with_padding, divisor, out| {
            let movement = moved(3, kernel, stride, padding, ceil);
            backward_cpu(grad, x, movement, divisor_of(with_padding, divisor), out)
        })
        .derivative(|d, args| backward_derivative(d, args, AvgPool3d));
}

fn moved<'a>(
    dims: usize,
    kernel: &'a [i64],
    stride: &'a [i64],
    padding: &'a [i64],
    ceil: bool,
) -> Movement<'a> {
    Movement { dims, kernel, stride, padding, dilation: &[1], ceil }
}

fn divisor_of(with_padding: bool, divisor: Option<i64>) -> Divisor {
    match (divisor, with_padding) {
        (Some(divisor), _) => Divisor::Given(divisor),
        (None, true) => Divisor::Padded,
        (None, false) => Divisor::Elements,
    }
}

/// # Errors
///
/// A divisor of 0; a dtype that is not averaged.
fn check(dtype: DType, divisor: Option<i64>) -> Result<()> {
    if divisor == Some(0) {
        return Err(argument("argument `divisor_override` is 0, expected another number"));
    }
    if TAKEN.contains(&dtype) { Ok(()) } else { Err(unsupported(dtype, "a floating-point dtype or int64")) }
}

fn shape(input: &Tensor, movement: Movement<'_>, divisor: Option<i64>) -> Result<TensorSpec> {
    let spec = input.spec()?;
    check(spec.dtype(), divisor)?;
    let plan = Plan::new(spec.sizes(), movement)?;
    match movement.dims {
        3 => TensorSpec::contiguous(&plan.sizes, spec.dtype(), spec.device()),
        _ => in_format_of(spec, &plan.sizes, false),
    }
}

fn backward_shape(
    grad: &Tensor,
    input: &Tensor,
    movement: Movement<'_>,
    divisor: Option<i64>,
) -> Result<TensorSpec> {
    let spec = input.spec()?;
    check(spec.dtype(), divisor)?;
    let plan = Plan::new(spec.sizes(), movement)?;
    pooling::check_gradient("grad_output", grad.spec()?, spec, &plan.sizes)?;
    match movement.dims {
        3 => TensorSpec::contiguous(spec.sizes(), spec.dtype(), spec.device()),
        _ => in_format_of(spec, spec.sizes(), false),
    }
}

fn cpu(input: &Tensor, movement: Movement<'_>, divisor: Divisor, out: &Tensor) -> Result<()> {
    let plan = Plan::new(input.sizes(), movement)?;
    by_dtype(input.dtype(), &plan, divisor, [out, input], false)
}

fn backward_cpu(
    grad: &Tensor,
    input: &Tensor,
    movement: Movement<'_>,
    divisor: Divisor,
    out: &Tensor,
) -> Result<()> {
    let plan = Plan::new(input.sizes(), movement)?;
    by_dtype(input.dtype(), &plan, divisor, [out, grad], true)
}

/// States the derivative of averages, which the operator `backward` computes.
fn derivative<O>(
    d: &Recorder<'_>,
    (x, kernel, stride, padding, ceil, with_padding, divisor): ArgsOf<'_, AvgPool2d>,
    backward: O,
) -> Result<()>
where
    O: Operator<Signature = <AvgPool2dBackward as Operator>::Signature>,
{
    let [kernel, stride, padding] = [kernel, stride, padding].map(<[i64]>::to_vec);
    d.by(x, [x], move |grad, [x]| {
        operator::call(backward, (grad, x, &kernel, &stride, &padding, ceil, with_padding, divisor))
    })
}

/// States the derivative of the gradient, which is the average of the operator `average`.
fn backward_derivative<O>(
    d: &Recorder<'_>,
    (grad, x, kernel, stride, padding, ceil, with_padding, divisor): ArgsOf<'_, AvgPool2dBackward>,
    average: O,
) -> Result<()>
where
    O: Operator<Signature = <AvgPool2d as Operator>::Signature>,
{
    let sizes = x.sizes().to_vec();
    let [kernel, stride, padding] = [kernel, stride, padding].map(<[i64]>::to_vec);
    d.by(grad, [], move |grad, []| {
        operator::call(average, (grad, &kernel, &stride, &padding, ceil, with_padding, divisor))
    })?;
    d.by(x, [], move |grad, []| derivatives::zeros_of(&sizes, grad))
}

fn by_dtype(
    dtype: DType,
    plan: &Plan,
    divisor: Divisor,
    [out, from]: [&Tensor; 2],
    is_backward: bool,
) -> Result<()> {
    // Sizes beside one of 0 may be of any size.
    if out.numel() == 0 {
        return Ok(());
    }
    let (windows, out, from) = (plan.windows(), out.array()?, from.array()?);
    if dtype == DType::I64 {
        return if is_backward {
            average_backward::<i64>(out, from, &windows, divisor)
        } else {
            average::<i64>(out, from, &windows, divisor)
        };
    }
    with_dtype!(dtype, T: Float => if is_backward {
        average_backward::<T>(out, from, &windows, divisor)
    } else {
        average::<T>(out, from, &windows, divisor)
    })
}

fn lines(
    input: &Tensor,
    kernel: &[i64],
    stride: &[i64],
    padding: &[i64],
    ceil: bool,
    with_padding: bool,
) -> Result<Tensor> {
    let [kernel, stride, padding] =
        pooling::of_rows([("kernel_size", kernel, 1), ("stride", stride, 1), ("padding", padding, 0)])?;
    let rows = Unsqueeze.call(input, -2)?;
    let result = AvgPool2d.call(&rows, &kernel, &stride, &padding, ceil, with_padding, None)?;
    SqueezeDim.call(&result, -2)
}

/// Dtypes that are averaged.
const TAKEN: &[DType] = &[DType::I64, DType::F16, DType::BF16, DType::F32, DType::F64];

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[1, 4, 4], 0);
        let refused = |kernel: i64, stride: i64, padding: i64| {
            given(x.clone()).and(vec![kernel]).and(vec![stride]).and(vec![padding])
        };
        samples.operator(AvgPool1d, TAKEN, |dtype| inputs(dtype, 1), reference::<1>).tolerance(4.0);
        samples
            .operator(AvgPool2d, TAKEN, |dtype| inputs(dtype, 2), reference::<2>)
            .tolerance(4.0)
            .refuses("expected numbers of at least 1", refused(0, 1, 0))
            .refuses("argument `stride`", refused(2, 0, 0))
            .refuses("at most half", refused(2, 1, 2))
            .refuses("does not fit", refused(5, 1, 0))
            .refuses("one number or 2", given(x.clone()).and(vec![1, 1, 1]))
            .refuses("`divisor_override` is 0", refused(2, 1, 0).named("divisor_override", 0))
            .refuses("only the batch", given(generate::numbers(DType::F32, &[1, 0, 4, 4], 0)).and(vec![1]));
        samples.operator(AvgPool3d, TAKEN, |dtype| inputs(dtype, 3), reference::<3>).tolerance(4.0);
        samples
            .operator(AvgPool3dBackward, TAKEN, |dtype| backward_inputs(dtype, 3), backward_reference::<3>)
            .tolerance(32.0);
        samples.rounds(AvgPool3dBackward, Roundings::all(Rounding::Sum(2)));
        samples.differs(AvgPool3dBackward, pooling::samples::GRADIENTS_ARE_CHECKED);
        let padding = Difference {
            id: "windows-reach-into-padding",
            what: "torch rejects kernels that are larger than a volume but not than the padded volume; \
                 here they are accepted, as for images",
            why: "images and volumes behave alike",
            test: ("opgrid-operators/tests/all/differences/computed.rs", "windows_reach_into_padding"),
            when: |seen| seen.torch_refuses("smaller than kernel size"),
            directed: None,
        };
        samples.differs(AvgPool3d, padding);
        samples.differs(AvgPool3dBackward, padding);
        samples
            .operator(AvgPool2dBackward, TAKEN, |dtype| backward_inputs(dtype, 2), backward_reference::<2>)
            .tolerance(32.0)
            .refuses("argument `grad_output`", {
                let (no, size) = (false, vec![2]);
                given(x.clone())
                    .and(x)
                    .and(size.clone())
                    .and(size)
                    .and(vec![0])
                    .and(no)
                    .and(no)
                    .and(Value::None)
            });
        let rounding = Roundings::all(Rounding::Sum(2));
        samples.rounds(AvgPool1d, rounding);
        samples.rounds(AvgPool2d, rounding);
        samples.rounds(AvgPool3d, rounding);
        samples.rounds(AvgPool2dBackward, rounding);
    }

    fn inputs(dtype: DType, dims: usize) -> Vec<Sample> {
        let mut samples: Vec<Sample> = Vec::new();
        for (sample, ceil) in pooling::samples::inputs(dtype, dims) {
            samples.push(sample.clone().named("ceil_mode", ceil));
            samples.push(sample.clone().named("ceil_mode", !ceil).named("count_include_pad", false));
            if dims > 1 {
                samples.push(sample.named("ceil_mode", ceil).named("divisor_override", 3));
            }
        }
        samples
    }

    /// The gradients that samples of the operator itself have as results.
    fn backward_inputs(dtype: DType, dims: usize) -> Vec<Sample> {
        let one = |sample: Sample| {
            let Given::Tensor(x) = &sample.positional[0] else { return None };
            let list = |at: usize| match &sample.positional[at] {
                Given::Value(value) => Vec::<i64>::from_value(value.borrow()).ok(),
                _ => None,
            };
            let named = |name: &str| {
                sample.keyword.iter().find(|(own, _)| own == name).map(|(_, given)| given.clone())
            };
            let (kernel, stride, padding) = (list(1)?, list(2)?, list(3)?);
            let ceil = matches!(named("ceil_mode"), Some(Given::Value(Value::Bool(true))));
            let plan = Plan::new(x.sizes(), moved(dims, &kernel, &stride, &padding, ceil)).ok()?;
            Some(
                given(generate::numbers(dtype, &plan.sizes, 5))
                    .and(x.clone())
                    .and(kernel)
                    .and(stride)
                    .and(padding)
                    .and(ceil)
                    .and(named("count_include_pad").unwrap_or(Given::from(true)))
                    .and(named("divisor_override").unwrap_or(Given::Value(Value::None))),
            )
        };
        inputs(dtype, dims).into_iter().filter_map(one).collect()
    }

    /// A quotient as the dtype has it.
    fn divided(dtype: DType, sum: Scalar, count: i64) -> Scalar {
        match (dtype, sum) {
            (DType::I64, Scalar::Int(sum)) => Scalar::Int(sum / count),
            (_, sum) => Scalar::Float(sum.to_complex().re / count as f64),
        }
    }

    /// The arguments of a sample that say how the window moves, and the divisor if it is given.
    struct Moved([Vec<i64>; 3], bool, bool, Option<i64>);

    impl Moved {
        fn from_inputs(it: &Inputs) -> Result<Self> {
            Ok(Self(
                [it.value("kernel_size")?, it.value("stride")?, it.value("padding")?],
                it.value("ceil_mode")?,
                it.value("count_include_pad")?,
                it.option("divisor_override")?,
            ))
        }

        fn movement(&self, dims: usize) -> Movement<'_> {
            let Self([kernel, stride, padding], ceil, ..) = self;
            moved(dims, kernel, stride, padding, *ceil)
        }

        fn divisor(&self, elements: usize, padded: i64) -> i64 {
            let Self(.., with_padding, divisor) = *self;
            divisor.unwrap_or(if with_padding { padded } else { elements as i64 })
        }
    }

    fn reference<const DIMS: usize>(it: &Inputs) -> Result<Expected> {
        let (x, moved) = (it.tensor("self")?, Moved::from_inputs(it)?);
        let average = |elements: &[(i64, Scalar)], padded: i64| {
            let sum = elements.iter().fold(Scalar::Int(0), |sum, (_, element)| number::plus(sum, *element));
            divided(x.dtype(), sum, moved.divisor(elements.len(), padded))
        };
        Ok(pooling::samples::naive(x, moved.movement(DIMS), x.dtype(), average)?.into())
    }

    fn backward_reference<const DIMS: usize>(it: &Inputs) -> Result<Expected> {
        let (grad, x, moved) = (it.tensor("grad_output")?, it.tensor("self")?, Moved::from_inputs(it)?);
        let first = x.sizes().len() - DIMS;
        let wide = if x.dtype() == DType::I64 { DType::I64 } else { DType::F64 };
        let mut result = Plain::from_elements::<i64>(wide, x.sizes(), &[]);
        // The places of each plane in turn, as `naive` visits them.
        let seen = std::cell::RefCell::new(Vec::new());
        let _ = pooling::samples::naive(x, moved.movement(DIMS), DType::F64, |elements, padded| {
            let numbers: Vec<i64> = elements.iter().map(|(number, _)| *number).collect();
            seen.borrow_mut().push((numbers, moved.divisor(elements.len(), padded)));
            Scalar::Int(0)
        })?;
        for (position, (numbers, divisor)) in naive::positions(grad.sizes()).zip(seen.into_inner()) {
            let share = divided(x.dtype(), grad.at(&position), divisor);
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
