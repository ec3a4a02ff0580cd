//! What element-wise operators share: the shape of the result and what arguments may be.

use std::borrow::Cow;

use opgrid_core::{DType, Device, Result, Scalar};

use opgrid_array::error::argument;
use opgrid_array::with_dtype;
use opgrid_array::{Array, TensorSpec};
use opgrid_kernels::{arithmetic, elementwise};
use opgrid_tensor::tensor::choose::unsupported;
use opgrid_tensor::tensor::{Tensor, broadcast, part_of, result_type};

/// What an element-wise operator on these arguments gives, in the promoted dtype.
///
/// # Errors
///
/// Undefined tensors, dtypes that do not promote, several devices, or a shape that does not broadcast with that of
/// the first argument.
pub fn promoted<const N: usize>(arguments: [(&str, &Tensor); N]) -> Result<TensorSpec> {
    let dtype = result_type(&arguments.map(|(_, tensor)| tensor))?;
    of_dtype(arguments, dtype)
}

/// The spec of functions such as `exp`, which return the default dtype for integers and bools.
///
/// # Errors
///
/// As [`promoted`].
pub fn inexact<const N: usize>(arguments: [(&str, &Tensor); N]) -> Result<TensorSpec> {
    let dtype = result_type(&arguments.map(|(_, tensor)| tensor))?;
    of_dtype(arguments, opgrid_tensor::tensor::inexact(dtype))
}

/// The spec of a result whose dtype does not depend on the arguments, such as bool for comparisons.
///
/// # Errors
///
/// As [`promoted`].
pub fn of_dtype<const N: usize>(arguments: [(&str, &Tensor); N], dtype: DType) -> Result<TensorSpec> {
    if let Some(first) = alike(&arguments) {
        return Ok(TensorSpec::new(first.geometry().at_start(), dtype, first.device()));
    }
    of_any(&arguments, dtype)
}

/// [`inexact`] of one tensor.
pub fn inexact_unary(input: &Tensor) -> Result<TensorSpec> {
    inexact([("self", input)])
}

/// The spec of a result in the dtype of the real and imaginary parts.
pub fn inexact_part_unary(input: &Tensor) -> Result<TensorSpec> {
    of_dtype([("self", input)], part_of(opgrid_tensor::tensor::inexact(input.spec()?.dtype())))
}

/// [`inexact_unary`] for a function that complex numbers do not have.
pub fn inexact_real_unary(input: &Tensor) -> Result<TensorSpec> {
    check_ordered(&[input])?;
    inexact([("self", input)])
}

/// The spec of an inexact function of two tensors that is not defined for complex numbers.
pub fn inexact_real_binary(input: &Tensor, other: &Tensor) -> Result<TensorSpec> {
    check_ordered(&[input, other])?;
    inexact([("self", input), ("other", other)])
}

/// What is of the dtype of the one tensor, which has integers or floats.
pub fn real_unary(input: &Tensor) -> Result<TensorSpec> {
    check_real(input.dtype())?;
    promoted([("self", input)])
}

/// What is of the dtype of the one tensor, which has floats.
pub fn float_unary(input: &Tensor) -> Result<TensorSpec> {
    check_float(input.dtype())?;
    promoted([("self", input)])
}

/// What is of the dtype of the one tensor, which has floats or complex numbers.
pub fn only_inexact_unary(input: &Tensor) -> Result<TensorSpec> {
    check_inexact(input.spec()?.dtype())?;
    promoted([("self", input)])
}

/// What is of the dtype of the one tensor, whatever that is.
pub fn unary(input: &Tensor) -> Result<TensorSpec> {
    promoted([("self", input)])
}

/// What is of the dtype of the one tensor, whose elements have an order.
pub fn ordered_unary(input: &Tensor) -> Result<TensorSpec> {
    check_ordered(&[input])?;
    unary(input)
}

/// Bools for the elements of one tensor.
pub fn bool_unary(input: &Tensor) -> Result<TensorSpec> {
    of_dtype([("self", input)], DType::Bool)
}

/// Bools for the elements of one tensor, which are not complex.
pub fn bool_ordered_unary(input: &Tensor) -> Result<TensorSpec> {
    check_ordered(&[input])?;
    bool_unary(input)
}

/// Bools for the elements of two tensors.
pub fn bool_binary(input: &Tensor, other: &Tensor) -> Result<TensorSpec> {
    of_dtype([("self", input), ("other", other)], DType::Bool)
}

/// What the first argument is like, if the others are row-major tensors of the same shape on the same device, or
/// numbers: so are most.
#[inline]
fn alike<'a, const N: usize>(arguments: &[(&str, &'a Tensor); N]) -> Option<&'a TensorSpec> {
    let first = arguments[0].1.array_spec().filter(|first| first.geometry().is_row_major())?;
    let fits = |other: &Tensor| match other.array_spec() {
        Some(other) => {
            let geometry = other.geometry();
            other.device() == first.device()
                && geometry.is_row_major()
                && geometry.has_sizes_of(first.geometry())
        }
        None => other.is_number(),
    };
    arguments[1..].iter().all(|(_, other)| fits(other)).then_some(first)
}

/// The spec of a broadcast result of this dtype, for any kind of tensor.
#[inline(never)]
fn of_any<const N: usize>(arguments: &[(&str, &Tensor); N], dtype: DType) -> Result<TensorSpec> {
    let Some(specs) = specs(arguments) else { return Err(undefined(arguments)) };
    let device = common_device(&specs)?;
    let geometries = specs.map(TensorSpec::geometry);
    TensorSpec::elementwise(&geometries, dtype, device).map_err(|error| misfit(arguments).unwrap_or(error))
}

/// Whether a second argument is one number for all elements, which products and quotients of 16-bit floats take as
/// float32: rounded first it could become zero or infinite.
#[inline]
pub fn keeps_digits(other: &Tensor, dtype: DType) -> bool {
    other.is_number() || (other.dtype() != dtype && other.numel() == 1)
}

/// An operand of a loop that computes in `dtype` [by value](with_dtype). Numbers and tensors without dimensions may be beyond
/// the range of an unsigned dtype, but not of the wider one that stands for it: they are converted to the first before.
///
/// # Errors
///
/// A tensor without data or used by others.
#[inline]
pub fn operand(dtype: DType, tensor: &Tensor) -> Result<Cow<'_, Tensor>> {
    if dtype.is_wide_unsigned() && tensor.dtype() != dtype && tensor.dim() == 0 {
        converted(dtype, tensor).map(Cow::Owned)
    } else {
        Ok(Cow::Borrowed(tensor))
    }
}

/// Two operands, each as [`operand`] gives it.
///
/// # Errors
///
/// As [`operand`].
#[inline]
pub fn operands<'a>(dtype: DType, [one, other]: [&'a Tensor; 2]) -> Result<[Cow<'a, Tensor>; 2]> {
    Ok([operand(dtype, one)?, operand(dtype, other)?])
}

#[cold]
#[inline(never)]
fn converted(dtype: DType, tensor: &Tensor) -> Result<Tensor> {
    let element = Array::empty(TensorSpec::contiguous(&[], dtype, Device::CPU)?)?;
    elementwise::copy(&element, tensor)?;
    Tensor::from_array(element)
}

/// Checks that a factor such as `alpha` fits the dtype of the result.
///
/// # Errors
///
/// The factor of an argument is of a higher kind than the result.
pub fn check_factor(name: &str, factor: Scalar, dtype: DType) -> Result<()> {
    let message = match factor {
        Scalar::Bool(_) if dtype != DType::Bool => "is a bool, which is only for results of dtype bool",
        Scalar::Float(_) if !dtype.is_floating_point() && !dtype.is_complex() => {
            "must not be a floating-point number for integral inputs"
        }
        Scalar::Complex(_) if !dtype.is_complex() => "must not be a complex number for real inputs",
        _ => return Ok(()),
    };
    Err(argument(format!("argument `{name}` {message}, found {factor} for a result of dtype {dtype}")))
}

/// Checks that no bool tensors are subtracted.
///
/// # Errors
///
/// Bools, which have no difference.
pub fn check_subtraction(arguments: &[(&str, &Tensor)]) -> Result<()> {
    match arguments.iter().find(|(_, tensor)| tensor.is_defined() && tensor.dtype() == DType::Bool) {
        Some((name, _)) => {
            let message = format!(
                "argument `{name}` is a bool tensor, for which subtraction is not defined; compare \
                 with `ne`, or invert a mask with `logical_not`"
            );
            Err(argument(message))
        }
        None => Ok(()),
    }
}

/// Checks that a dtype is not complex.
///
/// # Errors
///
/// A bool or complex dtype.
pub fn check_real(dtype: DType) -> Result<()> {
    if dtype == DType::Bool || dtype.is_complex() {
        Err(unsupported(dtype, "an integer or floating-point dtype"))
    } else {
        Ok(())
    }
}

/// Checks that a dtype is numeric, not bool.
///
/// # Errors
///
/// A bool dtype.
pub fn check_numbers(dtype: DType) -> Result<()> {
    match dtype {
        DType::Bool => Err(unsupported(dtype, "a numeric dtype")),
        _ => Ok(()),
    }
}

/// Checks that a dtype is complex.
///
/// # Errors
///
/// A dtype other than the complex ones.
pub fn check_complex(name: &str, dtype: DType) -> Result<()> {
    if dtype.is_complex() {
        Ok(())
    } else {
        Err(argument(format!("argument `{name}` is {dtype}, expected a complex dtype")))
    }
}

/// Checks that a dtype is floating-point.
///
/// # Errors
///
/// A dtype other than those of floats.
pub fn check_float(dtype: DType) -> Result<()> {
    if dtype.is_floating_point() && !dtype.is_float8() {
        Ok(())
    } else {
        Err(unsupported(dtype, "a floating-point dtype"))
    }
}

/// Checks that a dtype is integral or bool.
///
/// # Errors
///
/// A dtype other than those of integers and bools, which have bits.
pub fn check_integral(dtype: DType) -> Result<()> {
    if dtype == DType::Bool || dtype.is_integral() {
        Ok(())
    } else {
        Err(unsupported(dtype, "a bool or integer dtype"))
    }
}

/// What has integers or floats, computed with numbers.
///
/// # Errors
///
/// Another dtype; numbers beyond the range of the dtype.
pub fn real_with_numbers(spec: TensorSpec, numbers: &[Scalar]) -> Result<TensorSpec> {
    check_real(spec.dtype())?;
    for number in numbers {
        with_dtype!(spec.dtype(), T: Real by itself => arithmetic::element::<T>(*number).map(drop))?;
    }
    Ok(spec)
}

/// Checks that a dtype is floating-point or complex.
///
/// # Errors
///
/// A dtype without fractions.
pub fn check_inexact(dtype: DType) -> Result<()> {
    if dtype.is_floating_point() || dtype.is_complex() {
        Ok(())
    } else {
        Err(unsupported(dtype, "a floating-point or complex dtype"))
    }
}

/// Checks that two arguments have one dtype.
///
/// # Errors
///
/// Two arguments of different dtypes, where none is converted.
pub fn check_one_dtype((first, input): (&str, &Tensor), (name, other): (&str, &Tensor)) -> Result<()> {
    let (expected, found) = (input.spec()?.dtype(), other.spec()?.dtype());
    if found == expected {
        Ok(())
    } else {
        Err(argument(format!(
            "argument `{name}` has dtype {found}, expected {expected} as `{first}`; convert one of them"
        )))
    }
}

/// Checks that two arguments are on one device, or on a fake one that passes for it.
///
/// # Errors
///
/// Two arguments on different devices, where none is copied.
pub fn check_one_device((first, input): (&str, &Tensor), (name, other): (&str, &Tensor)) -> Result<()> {
    let (expected, found) = (input.spec()?.device().real(), other.spec()?.device().real());
    if found == expected {
        Ok(())
    } else {
        Err(argument(format!(
            "argument `{name}` is on {found}, expected {expected} as `{first}`; copy one of them"
        )))
    }
}

/// Checks the dtype of an output.
///
/// # Errors
///
/// An output of another dtype than the result, where that is not converted.
pub fn check_out_dtype(out: &Tensor, expected: DType) -> Result<()> {
    match out.dtype() {
        found if found == expected => Ok(()),
        found => Err(argument(format!("argument `out` has dtype {found}, expected {expected}"))),
    }
}

/// Checks that the promoted dtype of arguments is not complex.
///
/// # Errors
///
/// Arguments that are compared as complex numbers, which have no order.
pub fn check_ordered(arguments: &[&Tensor]) -> Result<()> {
    let dtype = result_type(arguments)?;
    if dtype.is_complex() { Err(unsupported(dtype, "a non-complex dtype")) } else { Ok(()) }
}

/// The specs of all arguments, if they are defined.
#[inline]
fn specs<'a, const N: usize>(arguments: &[(&str, &'a Tensor); N]) -> Option<[&'a TensorSpec; N]> {
    let all = arguments.iter().all(|(_, tensor)| tensor.is_defined());
    all.then(|| arguments.map(|(_, tensor)| tensor.known_spec()))
}

#[cold]
fn undefined(arguments: &[(&str, &Tensor)]) -> opgrid_core::Error {
    let name = arguments.iter().find(|(_, tensor)| !tensor.is_defined()).map_or("self", |(name, _)| name);
    argument(format!("argument `{name}` is an undefined tensor, expected one with elements"))
}

/// The device of all; one tensor without dimensions on the CPU fits any.
///
/// # Errors
///
/// Tensors on different devices.
#[inline]
fn common_device(specs: &[&TensorSpec]) -> Result<Device> {
    match specs.split_first() {
        Some((first, rest)) if rest.iter().all(|other| other.device() == first.device()) => {
            Ok(first.device())
        }
        _ => device_of_several(specs),
    }
}

/// Returns the device that all arguments are on.
///
/// # Errors
///
/// Undefined tensors, or tensors on different devices.
pub fn same_device<const N: usize>(arguments: [(&str, &Tensor); N]) -> Result<Device> {
    common_device(&specs(&arguments).ok_or_else(|| undefined(&arguments))?)
}

#[cold]
fn device_of_several(specs: &[&TensorSpec]) -> Result<Device> {
    let fits_any = |spec: &&&TensorSpec| spec.sizes().is_empty() && spec.device().real() == Device::CPU;
    let mut bound = specs.iter().filter(|spec| !fits_any(spec)).map(|spec| spec.device());
    let device = bound.next().unwrap_or_default();
    match bound.find(|other| other.real() != device.real()) {
        Some(other) => {
            let message = format!(
                "expected all tensors to be on the same device, but found at least two, {device} and {other}"
            );
            Err(argument(message))
        }
        // What meets a fake tensor is like one.
        None if specs.iter().any(|spec| spec.device().is_fake()) => Ok(device.fake()),
        None => Ok(device),
    }
}

/// The error for the first argument whose shape does not broadcast with that of the first.
#[cold]
fn misfit(arguments: &[(&str, &Tensor)]) -> Option<opgrid_core::Error> {
    let ((first, input), rest) = arguments.split_first()?;
    let (name, other) = rest.iter().find(|(_, other)| broadcast(&[input.sizes(), other.sizes()]).is_err())?;
    let message = format!(
        "argument `{name}` has shape {:?}, which does not broadcast with `{first}` of shape {:?}",
        other.sizes(),
        input.sizes()
    );
    Some(argument(message))
}

/// Samples of element-wise operators.
#[cfg(feature = "samples")]
pub mod samples {

    use super::*;
    use opgrid_samples::prelude::*;

    /// The difference that torch's results are row-major where they have the input's memory format here.
    pub const fn lies_as_input(id: &'static str, what: &'static str) -> Difference {
        Difference {
            id,
            what,
            why: "all operators behave alike",
            test: (
                "opgrid-operators/tests/all/differences/layouts.rs",
                "results_do_not_depend_on_the_layout",
            ),
            when: |seen| seen.lies_in_rows_there(),
            directed: None,
        }
    }

    /// The roundings of arithmetic that is exact for real numbers.
    pub const COMPLEX_ARITHMETIC: Roundings = Roundings::all(Rounding::Exact).complex(Rounding::Result(4));

    /// Rounding of elementary functions: polynomials or a system's library here, vector libraries there.
    pub const ELEMENTARY: Roundings = Roundings::all(Rounding::Result(8)).complex(Rounding::Result(64));

    /// Rounding of a sum, of which a part may be scaled.
    pub const SCALED_SUM: Roundings = COMPLEX_ARITHMETIC.scaled(Rounding::Sum(2));

    /// Differences for numbers that are converted to the dtype of the result.
    pub const NUMBER_IN_RANGE: Difference = Difference {
        id: "numbers-beside-tensors-are-in-range",
        what: "torch rejects numbers that overflow the dtype only for CPU tensors with elements; here \
             also for meta tensors and empty ones",
        why: "whether a call is valid must not depend on sizes or elements",
        test: (
            "opgrid-operators/tests/all/differences/refused.rs",
            "what_is_refused_with_elements_is_refused_without",
        ),
        when: |seen| seen.we_refuse("without overflow"),
        directed: Some(Directed {
            operator: "aten::threshold",
            arguments: || {
                vec![
                    ("self", Operand::rows(0, DType::F16, &[0], &[]).into()),
                    ("threshold", Scalar::Float(1e10).into()),
                    ("value", Scalar::Float(0.0).into()),
                ]
            },
            needs: None,
        }),
    };

    /// Differences for operators that test whether numbers are zero.
    pub const TRUTH_OF_WHOLE: Difference = Difference {
        id: "truth-of-whole-numbers",
        what: "torch converts elements to a common dtype, where they may become zero, before it tests \
             them; here the original number is tested",
        why: "256 is nonzero",
        test: ("opgrid-operators/tests/all/differences/numbers.rs", "truth_is_that_of_the_whole_integer"),
        when: |seen| {
            let inputs = seen.inputs();
            !seen.elements.is_empty() && inputs.iter().any(|input| input.dtype != inputs[0].dtype)
        },
        directed: Some(Directed {
            operator: "aten::logical_xor",
            arguments: || {
                vec![
                    ("self", Operand::rows(0, DType::I64, &[], &[256.0]).into()),
                    ("other", Operand::rows(1, DType::U8, &[1], &[0.0]).into()),
                ]
            },
            needs: None,
        }),
    };
}
