//! What activation functions and their slopes share: shape rules and samples.

use opgrid_core::{DType, Result, Scalar};

use opgrid_array::error::argument;
use opgrid_array::with_dtype;
use opgrid_kernels::{arithmetic, elementwise};
use opgrid_kinds::pointwise;
use opgrid_tensor::tensor::{Element, Math, Tensor, TensorSpec, result_type};

/// The spec of a gradient: the promoted dtype of the slope and the incoming gradient, which have to be floats.
pub(crate) fn slope(grad: (&str, &Tensor), input: (&str, &Tensor)) -> Result<TensorSpec> {
    let spec = pointwise::promoted([grad, input])?;
    pointwise::check_float(spec.dtype())?;
    Ok(spec)
}

/// Computes a gradient from the incoming one and the tensor that its slope depends on, in the dtype that both promote to. Floats of
/// 16 bits become float32 for that, so that the result is rounded once.
///
/// # Errors
///
/// A dtype that is no float; those of `gradient`.
pub(crate) fn by_composite(
    grad: &Tensor,
    input: &Tensor,
    gradient: impl FnOnce(&Tensor, &Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    let dtype = slope(("grad_output", grad), ("self", input))?.dtype();
    let wide = if matches!(dtype, DType::F16 | DType::BF16) { DType::F32 } else { dtype };
    gradient(&grad.to_dtype(wide)?, &input.to_dtype(wide)?)?.to_dtype(dtype)
}

/// The spec of a gradient of elements that were shrunk by `lambd`, which the dtype has to hold.
pub(crate) fn shrunk(grad: (&str, &Tensor), input: &Tensor, lambd: Scalar) -> Result<TensorSpec> {
    let spec = slope(grad, ("self", input))?;
    with_dtype!(spec.dtype(), T: Float => arithmetic::element::<T>(lambd).map(drop))?;
    Ok(spec)
}

/// Fills an output with the gradient where an element is not between `-lambd` and `lambd`, and with zeros elsewhere: so are the
/// gradients of both functions that shrink elements.
pub(crate) fn beyond(grad: &Tensor, input: &Tensor, lambd: Scalar, out: &Tensor) -> Result<()> {
    with_dtype!(result_type(&[grad, input])?, T: Float => {
        let lambd = arithmetic::element::<T>(lambd)?.widen();
        elementwise::binary::<T, T, T>(out, grad, input, move |grad, x| {
            if (x >= -lambd) & (x <= lambd) { 0.0 } else { grad }
        })
    })
}

/// The spec of a gradient of floats or complex numbers, with the name of the tensor that the slope is computed from.
fn inexact_slope_of(grad: &Tensor, of: (&str, &Tensor)) -> Result<TensorSpec> {
    let spec = pointwise::promoted([("grad_output", grad), of])?;
    pointwise::check_inexact(spec.dtype()).map(|()| spec)
}

/// The spec of a gradient whose slope is computed from `self`.
pub(crate) fn inexact_slope(grad: &Tensor, input: &Tensor) -> Result<TensorSpec> {
    inexact_slope_of(grad, ("self", input))
}

/// The spec of a gradient whose slope is computed from the result.
pub(crate) fn slope_by_result(grad: &Tensor, output: &Tensor) -> Result<TensorSpec> {
    inexact_slope_of(grad, ("output", output))
}

/// What has floats, computed with numbers.
///
/// # Errors
///
/// Another dtype; numbers beyond the range of what is computed in.
pub(crate) fn with_factors(spec: TensorSpec, numbers: &[Scalar]) -> Result<TensorSpec> {
    for number in numbers {
        with_dtype!(spec.dtype(), T: Float => arithmetic::element::<Math<T>>(*number).map(drop))?;
    }
    Ok(spec)
}

/// Whether `gelu` is computed by the normal distribution, not by a hyperbolic tangent.
///
/// # Errors
///
/// The name of no way to compute.
pub(crate) fn is_exact(approximate: &str) -> Result<bool> {
    match approximate {
        "none" => Ok(true),
        "tanh" => Ok(false),
        other => {
            Err(argument(format!("argument `approximate` is \"{other}\", expected \"none\" or \"tanh\"")))
        }
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use num_complex::Complex64;
    use opgrid_core::{DType, Operator};

    use super::*;
    use opgrid_samples::OperatorSamples;
    use opgrid_samples::prelude::*;
    use opgrid_tensor::tensor::finfo;

    /// The number of that name, as a float.
    ///
    /// # Errors
    ///
    /// There is none.
    pub(crate) fn real(it: &Inputs, name: &str) -> Result<f64> {
        Ok(it.value::<Scalar>(name)?.to_complex().re)
    }

    /// What a function of two floats gives for the tensors of these names.
    ///
    /// # Errors
    ///
    /// One is none; shapes that do not broadcast.
    pub(crate) fn of_two(
        it: &Inputs,
        names: [&str; 2],
        function: impl Fn(f64, f64) -> f64,
    ) -> Result<Expected> {
        let [a, b] = [it.tensor(names[0])?, it.tensor(names[1])?];
        let dtype = it.common_dtype(&names)?;
        let sizes = naive::broadcast([a.sizes(), b.sizes()].into_iter())?;
        let at =
            |tensor: &Plain, position: &[i64]| naive::convert(tensor.at(position), dtype).to_complex().re;
        let one = |position: &[i64]| Scalar::Float(function(at(a, position), at(b, position)));
        Ok(Plain::from_fn(dtype, &sizes, one).into())
    }

    /// Samples of an activation function of floats.
    pub(crate) fn collect<O: Operator>(
        samples: &mut Samples,
        operator: O,
        function: fn(f64) -> f64,
    ) -> &mut OperatorSamples {
        samples.operator_with(operator, FLOATS, generate::unary, move |it| {
            it.unary(DTypeRule::Promoted, |x| number::float_by(x, function))
        })
    }

    /// Samples of a slope of floats and complex numbers, times what stands in front of it.
    pub(crate) fn inexact_slopes<O: Operator>(
        samples: &mut Samples,
        operator: O,
        function: fn(Complex64, Complex64) -> Complex64,
    ) -> &mut OperatorSamples {
        let pairs = |dtype| generate::computed_in(INEXACT, dtype, generate::pairs_to_divide(dtype));
        let one = move |grad: Scalar, x: Scalar| Scalar::Complex(function(grad.to_complex(), x.to_complex()));
        samples.operator_with(operator, INEXACT, pairs, move |it| it.binary(DTypeRule::Promoted, one))
    }

    /// Pairs of a gradient and an element, with these numbers behind them.
    pub(crate) fn slopes(dtype: DType, numbers: &[f64]) -> Vec<Sample> {
        let with =
            |sample| numbers.iter().fold(sample, |sample: Sample, number| sample.and(Scalar::Float(*number)));
        pairs(dtype).into_iter().map(with).collect()
    }

    /// Gradients where an element is not between `-lambd` and `lambd`, by the name that the gradient has.
    pub(crate) fn beyond(it: &Inputs, grad: &str) -> Result<Expected> {
        let lambd = real(it, "lambd")?;
        of_two(it, [grad, "self"], |grad, x| if (-lambd..=lambd).contains(&x) { 0.0 } else { grad })
    }

    /// What elements of `self` limited to a range are: integers by the integers in the bounds. NaN stays NaN.
    pub(crate) fn limited(it: &Inputs, low: f64, high: f64) -> Result<Expected> {
        it.unary(DTypeRule::Promoted, |x| match x {
            Scalar::Int(x) => Scalar::Int(x.max(low as i64).min(high as i64)),
            x => number::float_by(x, |x| {
                let limited = if x < low { low } else { x };
                if limited > high { high } else { limited }
            }),
        })
    }

    /// A logistic function of straight lines. NaN stays NaN.
    pub(crate) fn hardsigmoid(x: f64) -> f64 {
        (x + 3.0).clamp(0.0, 6.0) / 6.0
    }

    /// What `gelu` is for a number, computed as the argument `approximate` says.
    ///
    /// # Errors
    ///
    /// As [`is_exact`].
    pub(crate) fn gelu(it: &Inputs) -> Result<fn(f64) -> f64> {
        use std::f64::consts::{PI, SQRT_2};
        Ok(if is_exact(&it.value::<String>("approximate")?)? {
            |x| 0.5 * x.max(-40.0) * libm::erfc(-x / SQRT_2)
        } else {
            |x| 0.5 * x * (1.0 + ((2.0 / PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh())
        })
    }

    /// The numbers of `elu`: `alpha`, `scale` and `input_scale`.
    ///
    /// # Errors
    ///
    /// One is missing.
    pub(crate) fn elu_numbers(it: &Inputs) -> Result<[f64; 3]> {
        Ok([real(it, "alpha")?, real(it, "scale")?, real(it, "input_scale")?])
    }

    /// What `elu` with these numbers is for a number.
    pub(crate) fn elu(x: f64, [alpha, scale, input_scale]: [f64; 3]) -> f64 {
        if x < 0.0 { alpha * scale * (x * input_scale).exp_m1() } else { scale * x }
    }

    /// Pairs that are computed in floats.
    pub(crate) fn pairs(dtype: DType) -> Vec<Sample> {
        generate::computed_in(FLOATS, dtype, generate::pairs_to_divide(dtype))
    }

    /// Tensors of each shape with these numbers behind them.
    pub(crate) fn with_numbers(dtype: DType, numbers: &[&[f64]]) -> Vec<Sample> {
        let tensors = generate::unary(dtype);
        let with = |sample: &Sample, numbers: &[f64]| {
            numbers.iter().fold(sample.clone(), |sample, number| sample.and(Scalar::Float(*number)))
        };
        tensors.iter().flat_map(|sample| numbers.iter().map(|numbers| with(sample, numbers))).collect()
    }

    /// The difference in the memory format of the logarithm of the logistic function.
    pub(crate) const LOG_SIGMOID_IN_ROWS: Difference = pointwise::samples::lies_as_input(
        "logarithms-of-sigmoids-lie-as-their-inputs",
        "torch returns the logarithms of sigmoids in row-major order; here they have the memory format of the input",
    );

    /// Differences for elements times a piecewise linear logistic function.
    pub(crate) const HARDSWISH_IN_RANGE: Difference = Difference {
        id: "hardswish-of-large-numbers",
        what: "torch multiplies by six before it divides, which overflows for large numbers; here the \
             result stays finite",
        why: "the mathematical result",
        test: ("opgrid-operators/tests/all/differences/computed.rs", "numbers_at_the_ends_of_the_range"),
        when: |seen| {
            seen.each(|(dtype, ours, torch)| {
                let is_large = finfo(*dtype).is_ok_and(|limits| ours.re > limits.max / 8.0);
                torch.re == f64::INFINITY && ours.is_finite() && is_large
            })
        },
        directed: None,
    };

    /// A pair of small tensors for refusals.
    pub(crate) fn small_pair() -> Sample {
        given(generate::numbers(DType::F32, &[2], 0)).and(generate::numbers(DType::F32, &[2], 1))
    }

    /// Differences for slopes that are defined by cases.
    pub(crate) const AT_NAN: Difference = Difference {
        id: "slopes-of-no-numbers",
        what: "torch computes the slope at NaN, or with NaN limits, as zero or NaN in vectorized code \
             and as that of positive numbers elsewhere; here always as that of positive numbers",
        why: "equal inputs give equal results",
        test: ("opgrid-operators/tests/all/differences/layouts.rs", "results_do_not_depend_on_the_layout"),
        when: |seen| {
            let has_nan = |input: &Operand| input.elements.iter().any(|element| element.re.is_nan());
            let is_nan = |number: Scalar| matches!(number, Scalar::Float(number) if number.is_nan());
            let has_nan = |name: &str| seen.tensor(name).is_some_and(has_nan);
            seen.each(|(_, _, torch)| torch.re == 0.0) && (has_nan("self") || seen.numbers().any(is_nan))
                || seen.each(|(_, _, torch)| torch.re.is_nan()) && has_nan("self_or_result")
        },
        directed: Some(Directed {
            operator: "aten::hardtanh_backward",
            arguments: || {
                vec![
                    ("grad_output", Operand::rows(0, DType::F64, &[16], &[1.0; 16]).into()),
                    ("self", Operand::rows(1, DType::F64, &[16], &[f64::NAN; 16]).into()),
                    ("min_val", Scalar::Float(-1.0).into()),
                    ("max_val", Scalar::Float(1.0).into()),
                ]
            },
            needs: None,
        }),
    };
}
