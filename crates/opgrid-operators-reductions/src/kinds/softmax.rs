//! What softmax and its logarithm share: shape rules, overloads that take a dtype, samples.

use opgrid_core::{DType, Result};

use opgrid_array::error::argument;
use opgrid_tensor::tensor::choose::{INEXACT, unsupported};
use opgrid_tensor::tensor::views::normalise_dim;
use opgrid_tensor::tensor::{Tensor, TensorSpec};

/// Floats that have softmax.
pub(crate) const FLOATS: &[DType] = INEXACT.split_at(4).0;

/// The result along a dimension.
pub(crate) fn along(input: &Tensor, dim: i64, half_to_float: bool) -> Result<TensorSpec> {
    let spec = input.spec()?;
    normalise_dim(dim, spec.sizes().len())?;
    if half_to_float {
        let message = "argument `half_to_float` is true, which only GPU kernels support; pass `dtype` \
             to softmax instead";
        return Err(argument(message));
    }
    check_float(spec.dtype())?;
    TensorSpec::contiguous(spec.sizes(), spec.dtype(), spec.device())
}

/// The derivative along a dimension.
pub(crate) fn backward(grad: &Tensor, output: &Tensor, dim: i64, input_dtype: DType) -> Result<TensorSpec> {
    let (spec, output) = (grad.spec()?, output.spec()?);
    normalise_dim(dim, spec.sizes().len())?;
    if spec.sizes() != output.sizes() {
        let message = format!(
            "argument `output` has shape {:?}, expected that of `grad_output`, {:?}",
            output.sizes(),
            spec.sizes()
        );
        return Err(argument(message));
    }
    check_float(spec.dtype())?;
    for (name, found) in [("output", output.dtype()), ("input_dtype", input_dtype)] {
        if found != spec.dtype() {
            let message = format!(
                "argument `{name}` has dtype {found}, expected that of `grad_output`, {}",
                spec.dtype()
            );
            return Err(argument(message));
        }
    }
    TensorSpec::contiguous(spec.sizes(), spec.dtype(), spec.device())
}

fn check_float(dtype: DType) -> Result<()> {
    if FLOATS.contains(&dtype) { Ok(()) } else { Err(unsupported(dtype, "a floating-point dtype")) }
}

/// The dimension of a call that the shape rule has let through.
pub(crate) fn dimension(input: &Tensor, dim: i64) -> Result<usize> {
    normalise_dim(dim, input.sizes().len())
}

/// `input` in the dtype that an overload is given.
pub(crate) fn converted(input: &Tensor, dtype: Option<DType>) -> Result<Tensor> {
    match dtype {
        Some(dtype) if dtype != input.dtype() => input.to_dtype(dtype),
        _ => Ok(input.clone()),
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use opgrid_core::{Operator, Scalar};

    use super::FLOATS;
    use super::*;
    use opgrid_samples::prelude::*;
    use opgrid_tensor::tensor::finfo;

    /// Samples of a function of lines, its derivative, and its overload that takes a dtype. `of_line` computes a line, and
    /// `derivative` one of the derivative from those of a gradient and of a result.
    pub(crate) fn collect<F: Operator + Copy, B: Operator + Copy, D: Operator + Copy>(
        samples: &mut Samples,
        (function, backward, of_dtype): (F, B, D),
        of_line: fn(&[f64]) -> Vec<f64>,
        derivative: fn(&[f64], &[f64]) -> Vec<f64>,
    ) {
        let function_of = move |it: &Inputs| -> Result<Expected> {
            let x = it.tensor("self")?;
            let dtype = it.option::<DType>("dtype")?.unwrap_or(x.dtype());
            Ok(Plain::of_lines(&[&x.to(dtype)], it.value("dim")?, dtype, |x| {
                floats(of_line(&numbers(&x[0])))
            })
            .into())
        };
        let backward_of = move |it: &Inputs| -> Result<Expected> {
            let (grad, output) = (it.tensor("grad_output")?, it.tensor("output")?);
            let line = |x: &[Vec<Scalar>]| floats(derivative(&numbers(&x[0]), &numbers(&x[1])));
            Ok(Plain::of_lines(&[grad, output], it.value("dim")?, grad.dtype(), line).into())
        };
        let (two, half) = (generate::numbers(DType::F32, &[2], 0), generate::numbers(DType::F16, &[2], 0));
        let inputs = |dtype| generate::along_dim(dtype).into_iter().map(|sample| sample.and(false)).collect();
        samples
            .operator_with(function, FLOATS, inputs, function_of)
            .tolerance(8.0)
            .refuses("range", given(two.clone()).and(1).and(false))
            .refuses("half_to_float", given(half.clone()).and(0).and(true));
        samples
            .operator_with(backward, FLOATS, backward_inputs, backward_of)
            .tolerance(32.0)
            .refuses("expected that of `grad_output`", given(two.clone()).and(half).and(0).and(DType::F32))
            .refuses("expected that of `grad_output`", given(two.clone()).and(two).and(0).and(DType::F16));
        samples.operator_with(of_dtype, FLOATS, generate::along_dim, function_of).tolerance(8.0);
        let in_f64 =
            |dtype| generate::along_dim(dtype).into_iter().map(|sample| sample.and(DType::F64)).collect();
        samples.operator_with(of_dtype, STORED, in_f64, function_of).tolerance(8.0);
        // Other exponentials, and sums in another order.
        samples.rounds(function, Roundings::all(Rounding::Sum(8)));
        samples.rounds(backward, Roundings::all(Rounding::Products(8)));
        samples.rounds(of_dtype, Roundings::all(Rounding::Sum(8)));
        samples.differs(
            backward,
            Difference {
                id: "dtypes-of-inputs-are-checked",
                what: "torch accepts any dtype as that of the softmax input in the gradient, and does \
                     not check it; here it is that of the gradient",
                why: "a wrong dtype is probably a mistake",
                test: (
                    "opgrid-operators/tests/all/differences/refused.rs",
                    "what_torch_does_not_check_is_refused",
                ),
                when: |seen| seen.we_refuse("argument `input_dtype`"),
                directed: None,
            },
        );
    }

    /// Differences for the derivatives of softmax and log-softmax.
    pub(crate) const BEYOND_ONE: Difference = Difference {
        id: "softmaxes-beyond-one",
        what: "torch sums gradients, or their products with results, in another order, and the rounding \
             errors are multiplied by the softmax, which is at most one unless the argument is no \
             softmax",
        why: "equally precise",
        test: ("opgrid-operators/tests/all/differences/numbers.rs", "gradients_of_what_is_no_softmax"),
        when: |seen| {
            let (Some(grad), Some(output)) = (seen.tensor("grad_output"), seen.tensor("output")) else {
                return false;
            };
            let largest = |of: &Operand| of.elements.iter().map(|x| x.norm()).fold(0.0, f64::max);
            let (softmax, factor) = match seen.family() {
                "_log_softmax_backward_data" => {
                    (output.elements.iter().map(|x| x.re.exp()).fold(0.0, f64::max), 1.0)
                }
                _ => (largest(output), largest(output)),
            };
            let Ok(limits) = finfo(grad.dtype) else { return false };
            let distance = limits.eps * grad.elements.len() as f64 * largest(grad) * factor * softmax;
            softmax > 1.0 && seen.each(|(_, ours, torch)| (ours - torch).norm() <= distance)
        },
        directed: None,
    };

    /// Gradients, and small results of both signs, whose exponentials are small.
    fn backward_inputs(dtype: DType) -> Vec<Sample> {
        let samples = generate::along_dim(dtype).into_iter();
        samples
            .filter_map(|sample| match sample.positional.as_slice() {
                [Given::Tensor(x), dim] => Some(
                    given(x.clone()).and(generate::numbers(dtype, x.sizes(), 5)).and(dim.clone()).and(dtype),
                ),
                _ => None,
            })
            .collect()
    }

    fn numbers(line: &[Scalar]) -> Vec<f64> {
        line.iter().map(|element| element.to_f64().unwrap_or(f64::NAN)).collect()
    }

    fn floats(line: Vec<f64>) -> Vec<Scalar> {
        line.into_iter().map(Scalar::Float).collect()
    }
}
