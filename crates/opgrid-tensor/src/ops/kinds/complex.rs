//! What operators on parts of complex numbers share: dtypes, shape rules and references.

use num_complex::Complex64;
use opgrid_core::{DType, Error, Result, Scalar};

use super::pointwise;
use crate::error::argument;
use crate::samples::{Difference, Expected, Inputs, Part, Plain, naive};
use crate::tensor::choose::unsupported;
use crate::tensor::{Tensor, TensorSpec, complex_of, part_of};

/// The dtypes that complex numbers are made of; those of 16 bits give complex64.
pub(crate) const PARTS: &[DType] = &[DType::F16, DType::F32, DType::F64];

/// Of conjugates.
pub(crate) const COMPUTED: Difference = Difference {
    id: "conjugates-are-computed",
    what: "torch gives a view with a mark of a complex tensor, which views of other dtypes refuse and which has to be resolved; \
           here a new tensor has the conjugates",
    why: "no operator has to ask for the mark",
    test: ("opgrid-tensor/tests/differences/computed.rs", "conjugates_are_computed"),
    when: |seen| {
        let is_real = seen.tensor("self").is_some_and(|input| !input.dtype.is_complex());
        let is_layout = matches!(seen.part, Part::Identity | Part::Strides | Part::Offset | Part::Written);
        !is_real && is_layout || is_real && seen.torch_refuses("isComplexType")
    },
    directed: None,
};

/// The same, of views of other dtypes.
pub(crate) const NO_MARK: Difference = Difference {
    when: |seen| seen.torch_refuses("unresolved conjugated") || seen.torch_refuses("conjugate view tensors"),
    ..COMPUTED
};

/// The same, where the mark is asked for.
pub(crate) const RESOLVED: Difference = Difference {
    when: |seen| matches!(seen.part, Part::Identity | Part::Strides | Part::Offset),
    ..COMPUTED
};

/// The same, of memory that is looked at whatever lies there: a mark leaves the imaginary parts as they were.
pub(crate) const IN_MEMORY: Difference = Difference {
    when: |seen| seen.each(|(dtype, ours, torch)| dtype.is_floating_point() && (ours + torch).norm() == 0.0),
    ..COMPUTED
};

/// Of complex numbers that are made of parts.
pub(crate) const SIXTEEN_BITS: Difference = Difference {
    id: "parts-of-16-bits",
    what: "torch has complex numbers of two 16-bit floats; here there are none",
    why: "no processor computes in them",
    test: ("opgrid-tensor/tests/differences/refused.rs", "what_torch_does_not_check_is_refused"),
    when: |seen| {
        let is_refused = seen.we_refuse("which complex dtypes have as parts");
        seen.torch.contains("complex32") && (is_refused || seen.part == Part::Kind)
    },
    directed: None,
};

/// # Errors
///
/// A dtype of which no complex numbers have parts.
pub(crate) fn check_part(name: &str, dtype: DType) -> Result<()> {
    match PARTS.contains(&dtype) {
        true => Ok(()),
        false => Err(unsupported(dtype, "float16, float32 or float64, of which complex numbers are made")
            .within(format!("argument `{name}`"))),
    }
}

/// Complex numbers that are made of two tensors.
pub(crate) fn of_two((first, a): (&str, &Tensor), (second, b): (&str, &Tensor)) -> Result<TensorSpec> {
    check_part(first, a.spec()?.dtype())?;
    pointwise::check_one_dtype((first, a), (second, b))?;
    pointwise::of_dtype([(first, a), (second, b)], complex_of(a.dtype()))
}

/// The error for sizes or strides that are too large when they are doubled.
pub(crate) fn too_many() -> Error {
    argument("argument `self` has strides or an offset that cannot be counted in parts")
}

/// What a part of each element of `self` is; real numbers are their own.
pub(crate) fn parts(it: &Inputs, of: fn(Complex64) -> f64) -> Result<Expected> {
    let x = it.tensor("self")?;
    let one = |x: Scalar| match x {
        Scalar::Complex(x) => Scalar::Float(of(x)),
        x => x,
    };
    Ok(Plain::from_fn(part_of(x.dtype()), x.sizes(), |position| one(x.at(position))).into())
}

/// What a function of two real numbers gives for the tensors of these names.
pub(crate) fn of_parts(it: &Inputs, names: [&str; 2], of: fn(f64, f64) -> Complex64) -> Result<Expected> {
    let [a, b] = [it.tensor(names[0])?, it.tensor(names[1])?];
    let sizes = naive::broadcast([a.sizes(), b.sizes()].into_iter())?;
    let at = |x: &Plain, position: &[i64]| x.at(position).to_complex().re;
    let one = |position: &[i64]| Scalar::Complex(of(at(a, position), at(b, position)));
    Ok(Plain::from_fn(complex_of(a.dtype()), &sizes, one).into())
}
