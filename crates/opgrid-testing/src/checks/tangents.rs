//! Tangents in forward mode are those of small differences.

use opgrid_core::schema::Argument;
use opgrid_core::{DType, Device, ErrorKind, Result, Scalar};
use opgrid_samples::Plain;
use opgrid_tensor::Tensor;
use opgrid_tensor::layers::autograd::no_grad;
use opgrid_transforms::jvp;

use super::gradients::{RANGES, call_with, has_gradients, is_fit, smooth, with_leaves};
use crate::agreement;
use crate::fault::{Fault, Verdict};
use crate::memory::Memory;
use crate::subject::Case;
use crate::target::guarded;

/// By how much inputs are moved.
const STEP: f64 = 1e-6;

/// How far tangents may be from the difference, in steps of the dtype.
const TOLERANCE: f64 = 1e-5 / f64::EPSILON;

pub(super) fn on_case(case: &Case<'_>) -> Vec<Verdict> {
    let is_exact = matches!(case.dtype, DType::F64 | DType::Complex128);
    let writes_output = case.subject.schema.arguments.iter().any(Argument::is_out);
    let is_fit = is_exact && !writes_output && case.subject.target.device == Device::CPU;
    if !is_fit || !has_transforms(case) || !has_gradients(case) {
        return Vec::new();
    }
    let ranges = RANGES.iter().cycle().skip(case.number % RANGES.len()).take(RANGES.len());
    for range in ranges {
        match checked(case, *range) {
            Ok(false) => {}
            Ok(true) => return vec![Ok(())],
            Err(fault) => return vec![Err(fault)],
        }
    }
    Vec::new()
}

fn has_transforms(case: &Case<'_>) -> bool {
    case.subject.target.dispatcher.within(|| jvp(&[], &[], |_| Ok(Vec::new())).is_ok())
}

/// Checks a sample with elements of a range; says whether there was something to check.
fn checked(case: &Case<'_>, range: (f64, f64)) -> Result<bool, Fault> {
    let subject = case.subject;
    let arguments = subject
        .arguments(&subject.target, &smooth(&case.sample, range), Memory::Contiguous)
        .map_err(Fault::error)?;
    let inputs = with_leaves(case, &arguments).map_err(Fault::error)?;
    let is_moved: Vec<bool> = inputs.iter().map(Tensor::requires_grad).collect();
    if !is_moved.contains(&true) || inputs.iter().map(Tensor::numel).sum::<i64>() > 2000 {
        return Ok(false);
    }
    let inputs: Vec<Tensor> =
        inputs.iter().map(Tensor::detach).collect::<Result<_>>().map_err(Fault::error)?;
    let directions: Vec<Tensor> =
        inputs.iter().map(direction).collect::<Result<_>>().map_err(Fault::error)?;
    let sought = |results: Vec<Tensor>| -> Vec<Tensor> {
        let is_sought = |at: usize| {
            let result = subject.schema.returns.get(at);
            result.is_none_or(|result| !subject.samples.constants().contains(&result.name.as_str()))
        };
        let is_smooth = |result: &Tensor| result.dtype().is_floating_point() || result.dtype().is_complex();
        let sought =
            results.into_iter().enumerate().filter(|(at, result)| is_sought(*at) && is_smooth(result));
        sought.map(|(_, result)| result).collect()
    };
    let at = |step: f64| -> Result<Vec<Tensor>> {
        let moved =
            inputs.iter().zip(&directions).zip(&is_moved).map(
                |((input, direction), is_moved)| match is_moved {
                    true => input.add(&direction.mul(step)?),
                    false => Ok(input.clone()),
                },
            );
        Ok(sought(no_grad(|| call_with(case, &arguments, &moved.collect::<Result<Vec<_>>>()?))?))
    };
    let ran = guarded(|| {
        subject.target.dispatcher.within(|| {
            // Elements of the range may be refused, such as numbers that are no probabilities.
            let (Ok(before), Ok(after)) = (at(-STEP), at(STEP)) else { return Ok(None) };
            if before.is_empty() || !before.iter().chain(&after).all(is_fit) {
                return Ok(None);
            }
            let (moved, along): (Vec<&Tensor>, Vec<&Tensor>) = inputs
                .iter()
                .zip(&directions)
                .zip(&is_moved)
                .filter(|(_, is_moved)| **is_moved)
                .map(|(both, _)| both)
                .unzip();
            let (_, tangents) = jvp(&moved, &along, |duals| {
                let mut duals = duals.iter();
                let each = inputs.iter().zip(&is_moved);
                let each = each.map(|(input, is_moved)| match is_moved {
                    true => duals.next().expect("one for each").clone(),
                    false => input.clone(),
                });
                Ok(sought(call_with(case, &arguments, &each.collect::<Vec<_>>())?))
            })?;
            let expected =
                before.iter().zip(&after).map(|(before, after)| after.sub(before)?.mul(0.5 / STEP));
            Ok(Some((tangents, expected.collect::<Result<Vec<_>>>()?)))
        })
    });
    match ran {
        Ok(None) => Ok(false),
        Ok(Some((tangents, expected))) => {
            for (place, (found, expected)) in tangents.iter().zip(&expected).enumerate() {
                let read = |tensor: &Tensor| subject.target.read(tensor);
                agreement::elements(&read(found)?, &read(expected)?, TOLERANCE)
                    .map_err(|fault| fault.about(format!("tangent {place}")))?;
            }
            Ok(true)
        }
        // Statistics that the call writes have no tangent.
        Err(error) if error.message().contains("comes from outside the function that `jvp` transforms") => {
            Err(Fault::skipped("it writes what is outside"))
        }
        Err(error) if error.kind() == ErrorKind::NotImplemented => {
            Err(Fault::skipped("there is no derivative"))
        }
        Err(error) => Err(Fault::error(error)),
    }
}

/// A direction like the tensor, all of whose elements differ.
fn direction(like: &Tensor) -> Result<Tensor> {
    let elements: Vec<Scalar> =
        (0..like.numel()).map(|at| Scalar::Float(((at * 7 + 3) % 11) as f64 / 5.0 - 1.1)).collect();
    Plain::from_elements(like.dtype(), like.sizes(), &elements).to_tensor()
}
