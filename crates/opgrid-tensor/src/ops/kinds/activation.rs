//! What activation functions and their slopes share: shape rules and samples.

use opgrid_core::{DType, Operator, Result, Scalar};

use super::pointwise;
use crate::samples::{Expected, FLOATS, Inputs, OperatorSamples, Plain, Sample, Samples, given, make, naive};
use crate::tensor::{Tensor, TensorSpec};

/// Of a slope, times what stands in front of it: the promoted dtype of both, which are floats.
pub(crate) fn slope(grad: (&str, &Tensor), input: (&str, &Tensor)) -> Result<TensorSpec> {
    let spec = pointwise::promoted([grad, input])?;
    pointwise::check_float(spec.dtype())?;
    Ok(spec)
}

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
pub(crate) fn of_two(it: &Inputs, names: [&str; 2], function: impl Fn(f64, f64) -> f64) -> Result<Expected> {
    let [a, b] = [it.tensor(names[0])?, it.tensor(names[1])?];
    let dtype = it.common_dtype(&names)?;
    let sizes = naive::broadcast([a.sizes(), b.sizes()].into_iter())?;
    let at = |tensor: &Plain, position: &[i64]| naive::convert(tensor.at(position), dtype).to_complex().re;
    let one = |position: &[i64]| Scalar::Float(function(at(a, position), at(b, position)));
    Ok(Plain::from_fn(dtype, &sizes, one).into())
}

/// Samples of an activation function of floats.
pub(crate) fn samples<O: Operator>(
    samples: &mut Samples,
    operator: O,
    function: fn(f64) -> f64,
) -> &mut OperatorSamples {
    samples.of_function(operator, FLOATS, make::unary, move |it| {
        it.unary(crate::samples::DTypeRule::Promoted, |x| crate::samples::number::float_by(x, function))
    })
}

/// Pairs that are computed in floats.
pub(crate) fn pairs(dtype: DType) -> Vec<Sample> {
    make::computed_in(FLOATS, dtype, make::pairs_to_divide(dtype))
}

/// Tensors of each shape with these numbers behind them.
pub(crate) fn with_numbers(dtype: DType, numbers: &[&[f64]]) -> Vec<Sample> {
    let tensors = make::unary(dtype);
    let with = |sample: &Sample, numbers: &[f64]| {
        numbers.iter().fold(sample.clone(), |sample, number| sample.and(Scalar::Float(*number)))
    };
    tensors.iter().flat_map(|sample| numbers.iter().map(|numbers| with(sample, numbers))).collect()
}

/// A pair of small tensors for refusals.
pub(crate) fn small_pair() -> Sample {
    given(make::numbers(DType::F32, &[2], 0)).and(make::numbers(DType::F32, &[2], 1))
}
