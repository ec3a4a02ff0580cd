//! What every form checks of a result, and how an output gets its shape.

use opgrid_core::{DeviceType, Error, Result};

use crate::error::argument;
use crate::kernels::access::{check_apart, check_written};
use crate::ops::CopyInplace;
use crate::samples::{Difference, Operand, Part};
use crate::tensor::{Array, Tensor, TensorSpec, can_cast};

/// A new tensor of that spec, filled by `cpu` unless it is a meta tensor: for operators whose first argument is no
/// tensor, or whose shape takes work that the loop needs too.
pub(crate) fn made(spec: TensorSpec, cpu: impl FnOnce(&Tensor) -> Result<()>) -> Result<Tensor> {
    let out = Tensor::fresh(spec)?;
    if out.device().kind() != DeviceType::Meta {
        cpu(&out)?;
    }
    Ok(out.publish())
}

/// The same into an output, which gets the shape of `spec` if it has no elements.
pub(crate) fn written(
    out: &Tensor,
    spec: &TensorSpec,
    cpu: impl FnOnce(&Tensor) -> Result<()>,
) -> Result<()> {
    check_result(out, spec)?;
    give_shape(out, spec)?;
    if out.device().kind() != DeviceType::Meta {
        cpu(out)?;
    }
    Ok(())
}

/// Writes what the functional form gives to an output, which has its dtype: for operators made of others.
///
/// # Errors
///
/// As [`written`]; an output of another dtype.
pub(crate) fn copied(out: &Tensor, result: &Tensor) -> Result<()> {
    let spec = result.spec()?;
    same_dtype(out, spec)?;
    check_result(out, spec)?;
    give_shape(out, spec)?;
    CopyInplace.call(out, result, false)
}

/// Writes results to outputs, which get their shapes if they have no elements: for operators that are made of others.
///
/// # Errors
///
/// An output of another shape, device, or lower kind of dtype; one that repeats elements or shares memory with another one.
pub(crate) fn copied_each(outputs: &[(&Tensor, &Tensor)]) -> Result<()> {
    for (out, made) in outputs {
        check_result(out, made.spec()?)?;
        check_shape(out, made.spec()?)?;
    }
    check_apart(outputs.iter().map(|(out, _)| *out))?;
    for (out, made) in outputs {
        give_shape(out, made.spec()?)?;
        CopyInplace.call(out, made, false)?;
    }
    Ok(())
}

/// # Errors
///
/// `out` has another dtype than the result: for operators that move elements and convert none.
pub(crate) fn same_dtype(out: &Tensor, spec: &TensorSpec) -> Result<()> {
    let (found, expected) = (out.spec()?.dtype(), spec.dtype());
    if found != expected {
        return Err(argument(format!("argument `out` has dtype {found}, expected {expected} as the result")));
    }
    Ok(())
}

/// # Errors
///
/// `out` is on another device, repeats elements, or cannot hold results of the dtype.
pub(crate) fn check_result(out: &Tensor, spec: &TensorSpec) -> Result<()> {
    let found = out.spec()?;
    if found.device() != spec.device() {
        let message = format!("the output is on device {}, expected {}", found.device(), spec.device());
        return Err(argument(message));
    }
    check_written(found.geometry())?;
    if !can_cast(spec.dtype(), found.dtype()) {
        let message = format!(
            "result type {} can't be cast to the desired output type {}",
            spec.dtype(),
            found.dtype()
        );
        return Err(argument(message));
    }
    Ok(())
}

/// Gives an output without elements the shape of the result.
///
/// # Errors
///
/// Elements, and another shape. Torch warns and resizes.
pub(crate) fn give_shape(out: &Tensor, spec: &TensorSpec) -> Result<()> {
    give_shape_by(out, spec, Array::empty)
}

/// The same on a device whose memory `allocate` gives.
///
/// # Errors
///
/// As [`give_shape`]; those of `allocate`.
pub(crate) fn give_shape_by(
    out: &Tensor,
    spec: &TensorSpec,
    allocate: impl FnOnce(TensorSpec) -> Result<Array>,
) -> Result<()> {
    check_shape(out, spec)?;
    if out.sizes() == spec.sizes() {
        return Ok(());
    }
    out.replace_empty(allocate(TensorSpec::new(spec.geometry().clone(), out.dtype(), out.device()))?)
}

/// # Errors
///
/// An output with elements that has another shape than the result.
#[inline]
pub(crate) fn check_shape(out: &Tensor, spec: &TensorSpec) -> Result<()> {
    match out.sizes() == spec.sizes() || out.numel() == 0 {
        true => Ok(()),
        false => Err(wrong_shape("out", out, spec)),
    }
}

#[cold]
pub(crate) fn wrong_shape(name: &str, out: &Tensor, spec: &TensorSpec) -> Error {
    let message = format!(
        "argument `{name}` has shape {:?}, which doesn't match the result's shape {:?}",
        out.sizes(),
        spec.sizes()
    );
    argument(message)
}

/// The differences from torch that come of what stands here.
pub(crate) const DIFFERENCES: &[Difference] = &[
    Difference {
        id: "outputs-keep-their-shape",
        what: "torch gives an output of another shape the shape of the result, with a warning; here it is \
               refused unless it has no elements",
        why: "tensors would change under the hands of those who look at them",
        test: ("opgrid-tensor/tests/views.rs", "outputs_beside_their_inputs"),
        when: |seen| {
            let is_named = seen.we_refuse("argument `out`") && seen.we_refuse("shape");
            is_named && seen.out().is_some_and(|out| !out.is_empty())
        },
        directed: None,
    },
    Difference {
        id: "outputs-that-get-a-shape-get-memory",
        what: "torch enlarges the memory under an output without elements where it lies; here the output \
               gets memory of its own",
        why: "others who look at the memory keep what they see",
        test: ("opgrid-tensor/tests/differences.rs", "an_output_that_gets_a_shape_gets_memory"),
        when: |seen| {
            matches!(seen.part, Part::Offset | Part::Written) && seen.out().is_some_and(Operand::is_empty)
        },
        directed: None,
    },
    Difference {
        id: "refused-without-elements",
        what: "torch does not look at dtypes and numbers where there are no elements; here a call is \
               refused whatever the sizes are",
        why: "whether a program is right must not depend on its data",
        test: ("opgrid-tensor/tests/differences.rs", "what_is_refused_with_elements_is_refused_without"),
        when: |seen| seen.we_refuse("") && seen.torch_gives_nothing(),
        directed: None,
    },
];

/// Of operators that torch makes of others.
pub(crate) const ORDER_OF_INPUTS: Difference = Difference {
    id: "outputs-that-get-a-shape-get-an-order",
    what: "torch copies to an output without elements, which then lies in rows; here it gets the order of \
           the inputs as with all other operators",
    why: "one rule for all operators",
    test: ("opgrid-tensor/tests/differences.rs", "an_output_that_gets_a_shape_gets_memory"),
    when: |seen| seen.part == Part::Strides && seen.out().is_some_and(Operand::is_empty),
    directed: None,
};
