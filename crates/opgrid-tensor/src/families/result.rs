//! What every form checks of a result, and how an output gets its shape.

use opgrid_core::schema::{Argument, FunctionSchema};
use opgrid_core::{DType, DeviceType, Error, Result};
use smallvec::SmallVec;

use crate::error::argument;
use crate::ops::CopyInplace;
use crate::tensor::check_apart;
use crate::tensor::{Array, Tensor, TensorSpec, can_cast};
use opgrid_array::loops::access::check_written;

/// A new tensor of that spec, filled by `cpu` unless it is a meta tensor: for operators whose first argument is no
/// tensor, or whose shape takes work that the loop needs too.
pub fn compute(spec: TensorSpec, cpu: impl FnOnce(&Tensor) -> Result<()>) -> Result<Tensor> {
    let out = Tensor::allocate(spec)?;
    if out.device().kind() != DeviceType::Meta {
        cpu(&out)?;
        out.restart_version();
    }
    Ok(out)
}

/// Computes a result into an output, which gets the shape of `spec` if it has no elements.
pub fn compute_into(out: &Tensor, spec: &TensorSpec, cpu: impl FnOnce(&Tensor) -> Result<()>) -> Result<()> {
    let outputs = [(out, spec)];
    check_outputs(outputs.into_iter(), None)?;
    filled(&outputs, |outputs| cpu(&outputs[0]))
}

/// Computes results into several outputs, which have the dtypes of the results.
pub fn compute_all_into(
    outputs: &[(&Tensor, &TensorSpec)],
    cpu: impl FnOnce(&[Tensor]) -> Result<()>,
) -> Result<()> {
    outputs.iter().try_for_each(|(out, spec)| same_dtype(out, spec))?;
    check_outputs(outputs.iter().copied(), None)?;
    filled(outputs, cpu)
}

fn filled(outputs: &[(&Tensor, &TensorSpec)], cpu: impl FnOnce(&[Tensor]) -> Result<()>) -> Result<()> {
    let stand_ins: SmallVec<[Tensor; 4]> =
        outputs.iter().map(|(out, spec)| stand_in(out, spec, Array::empty)).collect::<Result<_>>()?;
    if stand_ins.iter().any(|out| out.device().kind() != DeviceType::Meta) {
        cpu(&stand_ins)?;
    }
    outputs.iter().zip(&stand_ins).try_for_each(|((out, _), filled)| take_over(out, filled))
}

/// Writes what the functional form gives to an output, which has its dtype: for operators made of others.
///
/// # Errors
///
/// As [`converted`]; an output of another dtype.
pub fn copied(out: &Tensor, result: &Tensor) -> Result<()> {
    same_dtype(out, result.spec()?)?;
    converted(&[(out, result)])
}

/// As [`copied`], for operators with several results. No output is written where one is refused.
///
/// # Errors
///
/// As [`converted`]; an output of another dtype.
pub fn all_copied(outputs: &[(&Tensor, &Tensor)]) -> Result<()> {
    outputs.iter().try_for_each(|(out, made)| same_dtype(out, made.spec()?))?;
    converted(outputs)
}

/// As [`all_copied`], for operators whose result is a list.
///
/// # Errors
///
/// As [`all_copied`]; another number of outputs.
pub fn list_copied(outputs: &[Tensor], results: &[Tensor]) -> Result<()> {
    if outputs.len() != results.len() {
        return Err(argument(format!(
            "argument `out` has {} tensors, expected {}, one for each result",
            outputs.len(),
            results.len()
        )));
    }
    all_copied(&outputs.iter().zip(results).collect::<Vec<_>>())
}

/// Writes results to outputs, converted: for operators that are made of others.
///
/// # Errors
///
/// An output of another shape, device, or lower kind of dtype; one that repeats elements or shares memory with another one.
pub fn converted(outputs: &[(&Tensor, &Tensor)]) -> Result<()> {
    outputs.iter().try_for_each(|(_, made)| made.spec().map(drop))?;
    check_outputs(outputs.iter().map(|(out, made)| (*out, made.known_spec())), None)?;
    outputs.iter().try_for_each(|(out, made)| {
        give_shape(out, made.known_spec())?;
        CopyInplace.call(out, made, false)
    })
}

/// Checks outputs, each beside what its result is like, before any is touched. `schema` names them in errors if there are
/// several.
///
/// # Errors
///
/// An output of another shape, device, or lower kind of dtype; one that repeats elements or shares memory with another one.
pub(super) fn check_outputs<'a, 's>(
    outputs: impl Iterator<Item = (&'a Tensor, &'s TensorSpec)> + Clone,
    schema: Option<&str>,
) -> Result<()> {
    for (place, (out, spec)) in outputs.clone().enumerate() {
        check_result(out, spec)?;
        if !takes_shape(out, spec) {
            return Err(wrong_shape(&output_name(schema, place), out, spec));
        }
    }
    check_apart(outputs.map(|(out, _)| out))
}

/// Whether a result is written where the output lies. Unsigned integers are not that become another dtype there: loops that
/// compute them as other integers rely on the output for what is left of a result.
#[inline]
pub(super) fn is_filled_itself(out: &Tensor, spec: &TensorSpec) -> bool {
    out.sizes() == spec.sizes() && (!spec.dtype().is_wide_unsigned() || out.dtype() == spec.dtype())
}

/// What is filled in an output's place: the output, or a new tensor where it has no elements yet or is not [filled
/// itself](is_filled_itself). So an argument that is the same tensor keeps its shape, and a loop that fails leaves the output
/// as it was.
pub(super) fn stand_in(
    out: &Tensor,
    spec: &TensorSpec,
    allocate: impl FnOnce(TensorSpec) -> Result<Array>,
) -> Result<Tensor> {
    if is_filled_itself(out, spec) {
        Ok(out.clone())
    } else {
        // New memory begins with it, also where the result is a view.
        let geometry = spec.geometry().clone().at_offset(0)?;
        let dtype = if spec.dtype().is_wide_unsigned() { spec.dtype() } else { out.dtype() };
        Tensor::from_array(allocate(TensorSpec::new(geometry, dtype, out.device()))?)
    }
}

/// Gives an output the memory of what was filled in its place, or its elements where they have another dtype.
///
/// # Errors
///
/// Another thread gave the output a shape.
pub(super) fn take_over(out: &Tensor, filled: &Tensor) -> Result<()> {
    if out.is_same(filled) {
        return Ok(());
    }
    if out.dtype() == filled.dtype() {
        return out.replace_empty(filled.array()?.clone());
    }
    let spec = filled.spec()?;
    give_shape(out, &TensorSpec::new(spec.geometry().clone(), out.dtype(), spec.device()))?;
    CopyInplace.call(out, filled, false)
}

/// What an output is called: those of a schema are its written arguments.
#[cold]
fn output_name(schema: Option<&str>, place: usize) -> String {
    let schema = schema.and_then(|schema| FunctionSchema::parse(schema).ok());
    let named = |schema: FunctionSchema| {
        let mut outputs = schema.arguments.into_iter().filter(Argument::is_out);
        outputs.nth(place).map(|argument| argument.name)
    };
    schema.and_then(named).unwrap_or_else(|| "out".to_owned())
}

/// Checks that an output has the result's dtype.
///
/// # Errors
///
/// `out` has another dtype than the result: for operators that move elements and convert none.
pub fn same_dtype(out: &Tensor, spec: &TensorSpec) -> Result<()> {
    let (found, expected) = (out.spec()?.dtype(), spec.dtype());
    if found != expected {
        return Err(argument(format!("argument `out` has dtype {found}, expected {expected} as the result")));
    }
    Ok(())
}

/// Checks that an output can hold a result.
///
/// # Errors
///
/// `out` is on another device, repeats elements, or cannot hold results of the dtype.
pub fn check_result(out: &Tensor, spec: &TensorSpec) -> Result<()> {
    let found = out.spec()?;
    if found.device() != spec.device() {
        let message = format!("the output is on device {}, expected {}", found.device(), spec.device());
        return Err(argument(message));
    }
    check_written(found.geometry())?;
    check_cast(spec.dtype(), found.dtype())
}

/// Checks that a result converts to the dtype of an output.
///
/// # Errors
///
/// Numbers of the one dtype cannot be written as those of the other.
pub fn check_cast(from: DType, to: DType) -> Result<()> {
    if !can_cast(from, to) {
        return Err(argument(format!("result type {from} can't be cast to the desired output type {to}")));
    }
    Ok(())
}

/// Gives an output without elements the shape of the result: where no argument can be the output.
///
/// # Errors
///
/// Elements, and another shape. Torch warns and resizes.
pub fn give_shape(out: &Tensor, spec: &TensorSpec) -> Result<()> {
    if !takes_shape(out, spec) {
        return Err(wrong_shape("out", out, spec));
    }
    take_over(out, &stand_in(out, spec, Array::empty)?)
}

/// Whether an output has the shape of the result, or no elements, so that it can get it.
#[inline]
fn takes_shape(out: &Tensor, spec: &TensorSpec) -> bool {
    out.sizes() == spec.sizes() || out.numel() == 0
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
