//! A view shares the memory of what it is a view of.

use opgrid_core::Value;
use opgrid_tensor::{Storage, Tensor};

use super::{Fault, Verdict};
use crate::memory::Memory;
use crate::subject::{Case, tensors};

pub(super) fn on_case(case: &Case<'_>) -> Vec<Verdict> {
    match case.subject.samples.is_view() {
        true => vec![shares(case)],
        false => Vec::new(),
    }
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
