//! What operators share that draw random numbers for every element: shape rules, filling, samples.

use opgrid_core::{DType, Generator, MemoryFormat, Result};

use opgrid_array::error::argument;
use opgrid_kernels::elementwise;
use opgrid_kernels::random::{self, Random};
use opgrid_tensor::families::result::{check_result, give_shape};
use opgrid_tensor::tensor::choose::unsupported;
use opgrid_tensor::tensor::{Array, Element, Tensor, TensorSpec};

/// A tensor like the input, with another content. It lies as the input does where that has no gaps.
pub(crate) fn like(input: &Tensor) -> Result<TensorSpec> {
    let spec = input.spec()?;
    TensorSpec::elementwise(&[spec.geometry()], spec.dtype(), spec.device())
}

/// The spec of a random tensor like `input`, which has to be a float.
///
/// # Errors
///
/// Another dtype.
pub(crate) fn like_floats(input: &Tensor) -> Result<TensorSpec> {
    match input.spec()?.dtype() {
        DType::F16 | DType::BF16 | DType::F32 | DType::F64 => like(input),
        other => Err(unsupported(other, "a floating-point dtype")),
    }
}

/// # Errors
///
/// Another dtype than the two that gamma functions are computed for.
pub(crate) fn check_double_or_single(name: &str, tensor: &Tensor) -> Result<()> {
    match tensor.spec()?.dtype() {
        DType::F32 | DType::F64 => Ok(()),
        other => {
            Err(argument(format!("argument `{name}` is {other}, expected float32 or float64; convert it")))
        }
    }
}

/// The spec of a function of elements of float32 or float64.
///
/// # Errors
///
/// Another dtype; shapes that do not broadcast.
pub(crate) fn float_elements<const N: usize>(named: [(&'static str, &Tensor); N]) -> Result<TensorSpec> {
    named.iter().try_for_each(|(name, tensor)| check_double_or_single(name, tensor))?;
    opgrid_kinds::pointwise::promoted(named)
}

/// # Errors
///
/// An argument that is not above zero.
pub(crate) fn check_positive(name: &str, value: f64) -> Result<()> {
    if value > 0.0 {
        Ok(())
    } else {
        Err(argument(format!("argument `{name}` is {value}, expected a number above zero")))
    }
}

/// Fills `out` with numbers that are drawn one by one, in the order in which its elements lie in memory.
///
/// # Errors
///
/// A generator of another library; no memory.
pub(crate) fn fill<T: Element>(
    out: &Tensor,
    generator: Option<&Generator>,
    mut number: impl FnMut(&mut Random) -> T,
) -> Result<()> {
    let n = out.numel();
    let drawn = random::draw(generator, |random| (0..n).map(|_| number(random)).collect::<Vec<T>>())?;
    elementwise::copy(out, &Array::from_slice(&drawn, &[n])?.view(random::order(out.spec()?)?)?)
}

/// The elements of a parameter in double precision, in the order in which those of `out` lie in memory, to which it broadcasts.
///
/// # Errors
///
/// No memory, no data.
pub(crate) fn in_order_of(out: &Tensor, parameter: &Tensor) -> Result<Vec<f64>> {
    let numbers = Array::from_slice(&vec![0.0f64; out.numel() as usize], &[out.numel()])?;
    elementwise::copy(&numbers.view(random::order(out.spec()?)?)?, parameter)?;
    numbers.to_vec::<f64>()
}

/// Fills `out` with numbers that are drawn one by one, each with its parameter, in the order in which the elements lie in memory.
///
/// # Errors
///
/// As [`fill`].
pub(crate) fn fill_by(
    out: &Tensor,
    generator: Option<&Generator>,
    parameters: impl IntoIterator<Item = f64>,
    mut number: impl FnMut(&mut Random, f64) -> f64,
) -> Result<()> {
    let mut parameters = parameters.into_iter();
    fill(out, generator, |random| parameters.next().map_or(f64::NAN, |parameter| number(random, parameter)))
}

/// A row-major tensor of the shape and dtype of `input`, as torch's kernels of distributions make them.
pub(crate) fn row_major(input: &Tensor) -> Result<TensorSpec> {
    let spec = input.spec()?;
    TensorSpec::contiguous(spec.sizes(), spec.dtype(), spec.device())
}

/// Gives an output the shape of `input`, in the order of `format`, if it has no elements.
///
/// # Errors
///
/// An output of another shape or dtype, or that repeats elements; a format for another number of dimensions.
pub(crate) fn shaped(input: &Tensor, format: Option<MemoryFormat>, out: &Tensor) -> Result<()> {
    let spec = like(input)?;
    let spec = match format {
        None => spec,
        Some(format) => spec.with_geometry(spec.geometry().like(format)?),
    };
    check_result(out, &TensorSpec::new(spec.geometry().clone(), out.dtype(), spec.device()))?;
    give_shape(out, &spec)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use opgrid_core::Operator;

    use super::*;
    use opgrid_samples::OperatorSamples;
    use opgrid_samples::prelude::*;

    /// Tensors of some shapes, with what stands behind them.
    pub(crate) fn tensors(dtype: DType, more: impl Fn(Sample) -> Sample) -> Vec<Sample> {
        let shapes: [&[i64]; 4] = [&[2000], &[40, 50], &[0], &[]];
        shapes.map(|sizes| more(given(generate::numbers(dtype, sizes, 0)))).to_vec()
    }

    /// Samples of the overloads that make a tensor and fill one; `distribution` is that of the elements.
    pub(crate) fn collect<'a, F: Operator, I: Operator>(
        samples: &'a mut Samples,
        (functional, in_place): (F, I),
        dtypes: &[DType],
        inputs: fn(DType) -> Vec<Sample>,
        distribution: fn(&Inputs) -> Result<Distribution>,
    ) -> &'a mut OperatorSamples {
        let expected = move |it: &Inputs| -> Result<Expected> {
            let x = it.tensor("self")?;
            Ok(Expected::Random(x.sizes().to_vec(), x.dtype(), distribution(it)?))
        };
        samples.operator_with(functional, dtypes, inputs, expected);
        samples.operator_with(in_place, dtypes, inputs, expected)
    }

    /// Samples of an operator that makes a tensor like another one, and of the same with a generator.
    pub(crate) fn of_like<P: Operator, G: Operator>(
        samples: &mut Samples,
        (plain, seeded): (P, G),
        distribution: Distribution,
    ) {
        let expected = move |it: &Inputs| -> Result<Expected> {
            let x = it.tensor("self")?;
            Ok(Expected::Random(x.sizes().to_vec(), x.dtype(), distribution))
        };
        samples.operator_with(plain, INEXACT, |dtype| tensors(dtype, |call| call), expected);
        let with_generator = |dtype| tensors(dtype, |call| call.named("generator", random::generator(3)));
        samples.operator_with(seeded, INEXACT, with_generator, expected);
    }
}
