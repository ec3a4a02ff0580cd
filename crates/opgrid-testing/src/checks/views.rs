//! A view shares the memory of what it is a view of.

use opgrid_core::Value;
use opgrid_tensor::{Storage, Tensor};

use super::{Fault, Verdict};
use crate::memory::Memory;
use crate::subject::{Case, single_tensor};

pub(super) fn on_case(case: &Case<'_>) -> Vec<Verdict> {
    match case.subject.samples.is_view() {
        true => vec![shares(case)],
        false => Vec::new(),
    }
}

fn shares(case: &Case<'_>) -> Verdict {
    let subject = case.subject;
    let arguments =
        subject.arguments(&subject.place, &case.sample, Memory::Contiguous).map_err(Fault::error)?;
    let results = subject.place.call(&subject.operator, &arguments).map_err(Fault::error)?;
    let input = arguments.first().map(storage_of);
    let result = single_tensor(&results).map(|tensor| storage_of(&Value::from(tensor)));
    match (input, result) {
        (Some(Some(input)), Some(Some(result))) if input.is_same(&result) => Ok(()),
        _ => Err(Fault::wrong("a result with memory of its own", "one that shares that of its argument")),
    }
}

fn storage_of(value: &Value) -> Option<Storage> {
    let Value::Tensor(tensor) = value else { return None };
    let tensor = Tensor::try_from(tensor.clone()).ok()?;
    Some(tensor.array().ok()?.storage().clone())
}
