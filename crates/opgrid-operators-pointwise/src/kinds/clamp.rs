//! What operators share that limit elements to a range: shape rules and samples.

use opgrid_core::{DType, Result, Scalar};

use opgrid_array::error::argument;
use opgrid_kernels::clamp;
use opgrid_kernels::elementwise::Operand;
use opgrid_kinds::derivatives;
use opgrid_kinds::extremum::shared;
use opgrid_kinds::pointwise;
use opgrid_tensor::layers::autograd::Gradients;
use opgrid_tensor::tensor::choose::unsupported;
use opgrid_tensor::tensor::{Tensor, TensorSpec, result_type};

/// The result of limiting by numbers, which take part in its dtype unless that of `self` has fractions.
pub(crate) fn by_numbers(input: &Tensor, low: Option<Scalar>, high: Option<Scalar>) -> Result<TensorSpec> {
    check_given(low.is_some() || high.is_some())?;
    let dtype = dtype_by_numbers(input, low, high)?;
    pointwise::check_real(dtype)?;
    clamp::check_numbers(dtype, [low, high])?;
    pointwise::of_dtype([("self", input)], dtype)
}

/// The dtype of the result of limiting by numbers.
pub(crate) fn dtype_by_numbers(input: &Tensor, low: Option<Scalar>, high: Option<Scalar>) -> Result<DType> {
    let own = input.spec()?.dtype();
    if own.is_complex() {
        return Err(unsupported(own, "a non-complex dtype"));
    }
    let numbers: Vec<Tensor> = low.into_iter().chain(high).map(Tensor::number).collect();
    let operands: Vec<&Tensor> = [input].into_iter().chain(&numbers).collect();
    let dtype = result_type(&operands)?;
    if dtype.is_complex() {
        Err(unsupported(dtype, "a non-complex dtype"))
    } else {
        Ok(if own.is_floating_point() { own } else { dtype })
    }
}

/// The result of limiting by tensors. Bools have no range with two ends.
pub(crate) fn by_tensors(input: &Tensor, low: Option<&Tensor>, high: Option<&Tensor>) -> Result<TensorSpec> {
    check_given(low.is_some() || high.is_some())?;
    let spec = match (low, high) {
        (Some(low), Some(high)) => {
            let spec = pointwise::promoted([("self", input), ("min", low), ("max", high)])?;
            pointwise::check_numbers(spec.dtype())?;
            spec
        }
        (Some(low), None) => pointwise::promoted([("self", input), ("min", low)])?,
        (None, Some(high)) => pointwise::promoted([("self", input), ("max", high)])?,
        (None, None) => pointwise::promoted([("self", input)])?,
    };
    if spec.dtype().is_complex() { Err(unsupported(spec.dtype(), "a non-complex dtype")) } else { Ok(spec) }
}

/// Writes the elements of `input`, limited by tensors.
///
/// # Errors
///
/// Those of the loop.
pub(crate) fn write_by_tensors(
    input: &Tensor,
    low: Option<&Tensor>,
    high: Option<&Tensor>,
    out: &Tensor,
) -> Result<()> {
    let dtype = dtype_by_tensors(input, low, high)?;
    let operand = |tensor| pointwise::operand(dtype, tensor);
    let (input, low, high) = (operand(input)?, low.map(operand).transpose()?, high.map(operand).transpose()?);
    let [low, high] = [&low, &high].map(|bound| bound.as_ref().map(Operand::source).transpose());
    clamp::by_tensors(out.array()?, input.source()?, dtype, low?, high?)
}

/// The dtype in which tensors are limited by others.
fn dtype_by_tensors(input: &Tensor, low: Option<&Tensor>, high: Option<&Tensor>) -> Result<DType> {
    result_type(&[input].into_iter().chain(low).chain(high).collect::<Vec<_>>())
}

/// The gradient where elements are within their limits, each of which may be none.
///
/// # Errors
///
/// Those of the operators.
pub(crate) fn slope(grad: &Tensor, is_above: Option<Tensor>, is_below: Option<Tensor>) -> Result<Tensor> {
    match (is_above, is_below) {
        (Some(above), Some(below)) => derivatives::where_true(&above.logical_and(&below)?, grad),
        (Some(is_within), None) | (None, Some(is_within)) => derivatives::where_true(&is_within, grad),
        (None, None) => Ok(grad.clone()),
    }
}

/// The gradients of elements and of their limits, which share that of a result that both are. Where limits are the wrong way
/// round, the upper one is the result; where both are the element, it has all of the gradient.
///
/// # Errors
///
/// Those of the operators.
pub(crate) fn slopes(
    grads: Gradients<'_>,
    [x, low, high]: [Option<&Tensor>; 3],
    needs: [bool; 3],
) -> Result<[Option<Tensor>; 3]> {
    let (Some(grad), Some(x)) = (grads.for_result(0), x) else { return Ok([None, None, None]) };
    let (Some(low), Some(high)) = (low, high) else {
        let of = |limit: &Tensor, is_other: fn(&Tensor, &Tensor) -> Result<Tensor>| -> Result<_> {
            Ok([shared(grad, x, limit, &is_other(x, limit)?)?, shared(grad, limit, x, &is_other(limit, x)?)?])
        };
        return Ok(match (low, high) {
            (Some(low), _) => {
                let [of_x, of_low] = of(low, |x, y| x.lt(y))?;
                [Some(of_x), Some(of_low), None]
            }
            (_, Some(high)) => {
                let [of_x, of_high] = of(high, |x, y| x.gt(y))?;
                [Some(of_x), None, Some(of_high)]
            }
            (None, None) => [Some(grad.clone()), None, None],
        });
    };
    let (is_low, is_high, is_apart) = (x.eq(low)?, x.eq(high)?, low.lt(high)?);
    let part = |all: &Tensor, half: &Tensor| {
        let half = derivatives::where_true(half, grad)?.mul(0.5)?;
        derivatives::where_true(all, grad)?.add(&half)
    };
    let inner = || {
        let is_within = x.ge(low)?.logical_and(&x.le(high)?)?;
        let is_shared = is_within.logical_and(&is_low.logical_xor(&is_high)?)?;
        part(&is_within.logical_and(&is_shared.logical_not()?)?, &is_shared)
    };
    let lower = || part(&x.lt(low)?.logical_and(&low.le(high)?)?, &is_low.logical_and(&is_apart)?);
    let upper = || part(&x.gt(high)?.logical_or(&low.gt(high)?)?, &is_high.logical_and(&is_apart)?);
    Ok([
        needs[0].then(inner).transpose()?,
        needs[1].then(lower).transpose()?,
        needs[2].then(upper).transpose()?,
    ])
}

fn check_given(is_given: bool) -> Result<()> {
    if is_given {
        Ok(())
    } else {
        Err(argument("arguments `min` and `max` are both None, expected at least one bound"))
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use opgrid_core::Operator;

    use super::*;
    use opgrid_samples::prelude::*;

    /// The element within the bounds that are there.
    fn limited(x: Scalar, low: Option<Scalar>, high: Option<Scalar>) -> Scalar {
        let x = low.map_or(x, |low| number::extremum(x, low, |order| order.is_lt()));
        high.map_or(x, |high| number::extremum(x, high, |order| order.is_gt()))
    }

    /// Samples of an operator with numbers as bounds, of the arguments that `names` says.
    pub(crate) fn by_numbers<O: Operator>(
        samples: &mut Samples,
        operator: O,
        inputs: fn(DType) -> Vec<Sample>,
    ) {
        let reference = |it: &Inputs| {
            let (x, low, high) =
                (it.tensor("self")?, it.option::<Scalar>("min")?, it.option::<Scalar>("max")?);
            let numbers: Vec<&str> = [("min", low), ("max", high)]
                .into_iter()
                .filter(|(_, bound)| bound.is_some())
                .map(|(name, _)| name)
                .collect();
            let dtype = if x.dtype().is_floating_point() {
                x.dtype()
            } else {
                it.common_dtype(&[&["self"], &numbers[..]].concat())?
            };
            let number = |number: Scalar| naive::convert(number, dtype);
            let one = |position: &[i64]| limited(number(x.at(position)), low.map(number), high.map(number));
            Ok(Plain::from_fn(dtype, x.sizes(), one).into())
        };
        samples.operator_with(operator, ORDERED, inputs, reference);
    }

    /// Adds samples of an operator with tensors as bounds.
    pub(crate) fn by_tensors<O: Operator>(
        samples: &mut Samples,
        operator: O,
        dtypes: &[DType],
        inputs: fn(DType) -> Vec<Sample>,
    ) {
        let reference = |it: &Inputs| {
            let bound = |name: &str| it.tensor(name).ok();
            let (x, low, high) = (it.tensor("self")?, bound("min"), bound("max"));
            let dtype = it.common_dtype(
                &["self", "min", "max"].map(|name| if bound(name).is_some() { name } else { "" }),
            )?;
            let shapes = [Some(x), low, high].into_iter().flatten().map(Plain::sizes);
            let sizes = naive::broadcast(shapes)?;
            Ok(Plain::from_fn(dtype, &sizes, |position| {
                let at = |tensor: &Plain| naive::convert(tensor.at(position), dtype);
                let low = low.map(at);
                match low {
                    Some(low) if number::is_nan(low) => low,
                    low => limited(at(x), low, high.map(at)),
                }
            })
            .into())
        };
        samples
            .operator_with(operator, dtypes, inputs, reference)
            .refuses("does not broadcast", generate::misfits());
    }

    /// Tensors with one tensor as a bound.
    pub(crate) fn one_tensor(dtype: DType) -> Vec<Sample> {
        generate::computed_in(ORDERED, dtype, generate::pairs(dtype))
    }

    /// Tensors with a lower bound, an upper bound, or both, of integers and floats.
    pub(crate) fn numbers(dtype: DType) -> Vec<Sample> {
        let x = || generate::numbers(dtype, &[2, 3], 1);
        let both = generate::unary(dtype).into_iter().map(|sample| sample.and(1).and(3));
        let crossed = [given(x()).and(3).and(1), given(x()).and(0.5).and(2.5)];
        let single = [given(x()).and(2), given(x()).named("max", 2), given(x()).named("max", 1.5)];
        both.chain(crossed).chain(single).collect()
    }

    /// Tensors with one number as a bound.
    pub(crate) fn one_number(dtype: DType) -> Vec<Sample> {
        let x = || generate::numbers(dtype, &[2, 3], 1);
        let all = generate::unary(dtype).into_iter().map(|sample| sample.and(2));
        all.chain([given(x()).and(1.5)]).collect()
    }
}
