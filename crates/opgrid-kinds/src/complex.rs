//! What operators on parts of complex numbers share: dtypes, shape rules and references.

use opgrid_core::{DType, Error, Result};

use crate::pointwise;
use opgrid_array::error::argument;
use opgrid_array::with_dtype;
use opgrid_kernels::elementwise;
use opgrid_kernels::math::Conjugate;
use opgrid_tensor::families::result;
use opgrid_tensor::ops::ConjPhysicalKernel;
use opgrid_tensor::tensor::choose::unsupported;
use opgrid_tensor::tensor::{Tensor, TensorSpec, complex_of, part_of};

/// The dtypes that complex numbers are made of; those of 16 bits give complex64.
pub const PARTS: &[DType] = &[DType::F16, DType::F32, DType::F64];

/// # Errors
///
/// A dtype of which no complex numbers have parts.
pub(crate) fn check_part(name: &str, dtype: DType) -> Result<()> {
    if PARTS.contains(&dtype) {
        Ok(())
    } else {
        Err(unsupported(dtype, "float16, float32 or float64, the parts of complex numbers")
            .within(format!("argument `{name}`")))
    }
}

/// Complex numbers that are made of two tensors.
pub fn of_two((first, a): (&str, &Tensor), (second, b): (&str, &Tensor)) -> Result<TensorSpec> {
    check_part(first, a.spec()?.dtype())?;
    pointwise::check_one_dtype((first, a), (second, b))?;
    pointwise::of_dtype([(first, a), (second, b)], complex_of(a.dtype()))
}

/// The distances of numbers from zero, which are real.
pub fn distance(input: &Tensor) -> Result<TensorSpec> {
    pointwise::check_numbers(input.dtype())?;
    pointwise::of_dtype([("self", input)], part_of(input.dtype()))
}

/// The spec of a distance, computed in place.
pub fn distance_in_place(input: &Tensor) -> Result<TensorSpec> {
    if input.dtype().is_complex() {
        let message = format!(
            "argument `self` is {}, whose absolute values are real; use `abs`, which returns a new tensor",
            input.dtype()
        );
        return Err(argument(message));
    }
    distance(input)
}

/// Complex numbers give real ones or, as an exception, numbers of their own dtype; others their own dtype only.
pub fn distance_into(input: &Tensor, out: &Tensor) -> Result<TensorSpec> {
    if !input.dtype().is_complex() || out.dtype().is_complex() {
        pointwise::check_out_dtype(out, input.dtype())?;
    }
    distance(input)
}

/// The conjugates, which real numbers are themselves.
///
/// # Errors
///
/// Those of the operator; an undefined tensor.
pub fn conjugate(input: &Tensor) -> Result<Tensor> {
    if input.spec()?.dtype().is_complex() { ConjPhysicalKernel.call(input) } else { Ok(input.clone()) }
}

/// Conjugates into memory of that dtype.
///
/// # Errors
///
/// Those of the loop; an output of another dtype.
pub fn conjugate_into(input: &Tensor, out: &Tensor) -> Result<()> {
    let spec = pointwise::unary(input)?;
    result::same_dtype(out, &spec)?;
    result::compute_into(out, &spec, |out| conjugates(input, out))
}

/// The loop for conjugates.
///
/// # Errors
///
/// Those of memory.
pub fn conjugates(input: &Tensor, out: &Tensor) -> Result<()> {
    match input.dtype() {
        dtype if dtype.is_complex() => with_dtype!(dtype, T: Complex => {
            elementwise::unary::<T, T>(out, input, Conjugate::conjugate)
        }),
        _ => elementwise::copy(out, input),
    }
}

/// The error for sizes or strides that are too large when they are doubled.
pub fn too_many() -> Error {
    argument("argument `self` has strides or an offset that overflow when counted in real numbers")
}

/// Samples of complex parts.
#[cfg(feature = "samples")]
pub mod samples {
    use num_complex::Complex64;
    use opgrid_core::Scalar;

    use super::*;
    use opgrid_samples::prelude::*;

    /// Differences for conjugates that torch computes later.
    pub const COMPUTED: Difference = Difference {
        id: "conjugates-are-computed",
        what: "torch returns a view of a complex tensor with the conjugate bit set, which views of \
             other dtypes reject and which has to be resolved; here `conj` returns a new tensor with \
             the conjugates",
        why: "no operator has to check the conjugate bit",
        test: ("opgrid-operators/tests/all/differences/computed.rs", "conjugates_are_computed"),
        when: |seen| {
            let is_real = seen.tensor("self").is_some_and(|input| !input.dtype.is_complex());
            let is_layout =
                matches!(seen.part, Part::Identity | Part::Strides | Part::Offset | Part::Written);
            !is_real && is_layout || is_real && seen.torch_refuses("isComplexType")
        },
        directed: None,
    };

    /// Differences for conjugate bits of views of other dtypes.
    pub const NO_MARK: Difference = Difference {
        when: |seen| {
            seen.torch_refuses("unresolved conjugated") || seen.torch_refuses("conjugate view tensors")
        },
        ..COMPUTED
    };

    /// Differences for conjugate bits that are asked for.
    pub const RESOLVED: Difference = Difference {
        when: |seen| matches!(seen.part, Part::Identity | Part::Strides | Part::Offset),
        ..COMPUTED
    };

    /// Differences for memory that is read as real numbers while the conjugate bit is set.
    pub const IN_MEMORY: Difference = Difference {
        when: |seen| {
            seen.each(|(dtype, ours, torch)| dtype.is_floating_point() && (ours + torch).norm() == 0.0)
        },
        ..COMPUTED
    };

    /// Differences for complex numbers that are made of two parts.
    pub const SIXTEEN_BITS: Difference = Difference {
        id: "parts-of-16-bits",
        what: "torch has complex numbers with 16-bit parts; here there are none",
        why: "no processor supports them",
        test: ("opgrid-operators/tests/all/differences/refused.rs", "what_torch_does_not_check_is_refused"),
        when: |seen| {
            let is_refused = seen.we_refuse("expected float32 or float64");
            seen.torch.contains("complex32") && (is_refused || seen.part == Part::Kind)
        },
        directed: None,
    };

    /// Differences for distances from zero.
    pub const DISTANCES_IN_ROWS: Difference = Difference {
        id: "distances-of-complex-numbers-lie-in-rows",
        what: "torch gives dimensions of size 1 or 0 other strides when it copies; here distances of \
             row-major complex tensors are row-major",
        why: "all operators behave alike",
        test: (
            "opgrid-operators/tests/all/differences/layouts.rs",
            "distances_of_complex_numbers_lie_in_rows",
        ),
        when: |seen| {
            let is_thin = |input: &Operand| {
                input.dtype.is_complex() && input.geometry.sizes().iter().any(|size| *size < 2)
            };
            seen.part == Part::Strides && seen.tensor("self").is_some_and(is_thin)
        },
        directed: None,
    };

    /// What a part of each element of `self` is; real numbers are their own.
    pub fn parts(it: &Inputs, of: fn(Complex64) -> f64) -> Result<Expected> {
        it.unary(DTypeRule::Part, |x| match x {
            Scalar::Complex(x) => Scalar::Float(of(x)),
            x => x,
        })
    }

    /// What a function of two real numbers gives for the tensors of these names.
    pub fn of_parts(it: &Inputs, names: [&str; 2], of: fn(f64, f64) -> Complex64) -> Result<Expected> {
        let [a, b] = [it.tensor(names[0])?, it.tensor(names[1])?];
        let sizes = naive::broadcast([a.sizes(), b.sizes()].into_iter())?;
        let at = |x: &Plain, position: &[i64]| x.at(position).to_complex().re;
        let one = |position: &[i64]| Scalar::Complex(of(at(a, position), at(b, position)));
        Ok(Plain::from_fn(complex_of(a.dtype()), &sizes, one).into())
    }
}
