//! A view shares the memory of what it is a view of, and what is written to it is in the graph of that.

use opgrid_core::{DType, Device, ErrorKind, Result, Scalar, TensorType, Value};
use opgrid_samples::{Given, Plain};
use opgrid_tensor::layers::autograd::{self, BackwardOptions, enable_grad};
use opgrid_tensor::{Complex, Storage, Tensor, ops};

use super::gradients::{has_gradients, smooth};
use crate::fault::{Fault, Verdict};
use crate::memory::Memory;
use crate::subject::{Case, tensors};
use crate::target::guarded;

pub(super) fn on_case(case: &Case<'_>) -> Vec<Verdict> {
    if !case.subject.samples.is_view() {
        return Vec::new();
    }
    let mut verdicts = vec![shares(case)];
    let is_exact = matches!(case.dtype, DType::F64 | DType::Complex128);
    // Those that the schema does not declare are for programs that write to only one of both.
    let is_declared = case.subject.schema.arguments.first().is_some_and(|argument| argument.alias.is_some());
    if is_declared && is_exact && case.subject.target.device == Device::CPU && has_gradients(case) {
        verdicts.extend([Taken::Recorded, Taken::WithoutRecording, Taken::InInferenceMode].map(|taken| {
            written(case, taken).map_err(|fault| fault.about(format!("a write to a view taken {taken:?}")))
        }));
    }
    verdicts
}

/// How a view is taken that is then written.
#[derive(Clone, Copy, Debug)]
enum Taken {
    Recorded,
    WithoutRecording,
    InInferenceMode,
}

/// Writes to a view of a tensor in a graph: it is refused, or the gradient of each element that was written has changed.
fn written(case: &Case<'_>, taken: Taken) -> Verdict {
    let subject = case.subject;
    // No element is zero, so that those that are written change.
    let sample = smooth(&case.sample, (1.1, 2.4));
    let arguments = subject.arguments(&subject.target, &sample, Memory::Contiguous).map_err(Fault::error)?;
    let Some(Given::Tensor(before)) = sample.arguments().next() else { return Ok(()) };
    let Some(Value::Tensor(leaf)) = arguments.first() else { return Ok(()) };
    let leaf = Tensor::try_from(leaf.clone()).map_err(Fault::error)?;
    if !matches!(leaf.dtype(), DType::F64 | DType::Complex128) {
        return Ok(());
    }
    let run = || -> Result<Option<(Plain, Option<Tensor>)>> {
        leaf.requires_grad_(true)?;
        let base = ops::MulScalar.call(&leaf, Scalar::Int(1))?;
        let mut arguments = arguments.clone();
        arguments[0] = Value::Tensor(base.clone().into_any());
        let call = || subject.target.call(&subject.operator, &arguments);
        let views = match taken {
            Taken::Recorded => call()?,
            Taken::WithoutRecording => autograd::no_grad(call)?,
            Taken::InInferenceMode => {
                let _inference = opgrid_core::inference_mode();
                call()?
            }
        };
        let views = tensors(&views).unwrap_or_default();
        let Some(view) = views.first().filter(|view| view.numel() > 0) else { return Ok(None) };
        ops::MulInplaceScalar.call(view, Scalar::Int(3))?;
        let after = Plain::from_tensor(&base.detach()?)?;
        // The parts of complex numbers have gradients of their own.
        let one = if base.dtype().is_complex() {
            Scalar::Complex(Complex::new(1.0, 1.0))
        } else {
            Scalar::Float(1.0)
        };
        let one = Plain::from_elements(base.dtype(), &[], &[one]).to_tensor()?;
        autograd::backward(&[&base.sum()?], &[Some(one)], None, BackwardOptions::default())?;
        Ok(Some((after, leaf.grad())))
    };
    let found = match guarded(|| subject.target.dispatcher.within(|| enable_grad(run))) {
        Ok(Some((after, Some(grad)))) => (after, Plain::from_tensor(&grad).map_err(Fault::error)?),
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == ErrorKind::Internal => return Err(Fault::error(error)),
        Err(_) => return Ok(()),
    };
    let (after, grad) = found;
    let is_complex = grad.dtype().is_complex();
    for (at, (before, after)) in before.elements().iter().zip(after.elements()).enumerate() {
        let (before, after, found) =
            (before.to_complex(), after.to_complex(), grad.elements()[at].to_complex());
        let expected = |before: f64, after: f64| if before == after { 1.0 } else { 3.0 };
        let expected = Complex::new(
            expected(before.re, after.re),
            if is_complex { expected(before.im, after.im) } else { 0.0 },
        );
        if found != expected {
            return Err(Fault::wrong(
                format!("gradient {found} of element {at}"),
                format!("{expected}, or an error"),
            ));
        }
    }
    Ok(())
}

fn shares(case: &Case<'_>) -> Verdict {
    let subject = case.subject;
    let arguments =
        subject.arguments(&subject.target, &case.sample, Memory::Contiguous).map_err(Fault::error)?;
    let results = subject.target.call(&subject.operator, &arguments).map_err(Fault::error)?;
    let input = arguments.first().map(storage_of);
    let results = tensors(&results).unwrap_or_default();
    let shares =
        |input: &Storage, result: &Tensor| result.array().is_ok_and(|array| array.storage().is_same(input));
    match input.flatten() {
        Some(input) if results.iter().all(|result| shares(&input, result)) => Ok(()),
        _ => Err(Fault::wrong("a result with memory of its own", "one that shares that of its argument")),
    }
}

fn storage_of(value: &Value) -> Option<Storage> {
    let Value::Tensor(tensor) = value else { return None };
    let tensor = Tensor::try_from(tensor.clone()).ok()?;
    Some(tensor.array().ok()?.storage().clone())
}
