//! A typed call gives what a boxed one gives.

use opgrid_tensor::samples::Expected;

use super::{Fault, Verdict};
use crate::agreement;
use crate::memory::Memory;
use crate::subject::{Case, single_tensor};

pub(super) fn on_case(case: &Case<'_>) -> Verdict {
    let subject = case.subject;
    if let Expected::Random(..) = case.expected {
        return Err(Fault::skipped("two calls draw other numbers"));
    }
    let typed = subject.call_typed(&case.sample);
    let typed =
        typed.ok_or_else(|| Fault::skipped("the operator has no Rust type"))?.map_err(Fault::error)?;
    let boxed = subject.call(&subject.place, &case.sample, Memory::Contiguous).map_err(Fault::error)?;
    let (Some(found), Some(expected)) = (single_tensor(&typed), single_tensor(&boxed)) else {
        return agreement::check(&subject.place, &typed, &case.expected, subject.samples.eps_count());
    };
    if found.strides() != expected.strides() {
        return Err(Fault::wrong(
            format!("strides {:?}", found.strides()),
            format!("{:?}", expected.strides()),
        ));
    }
    if let Expected::Shape(..) = case.expected {
        return agreement::check(&subject.place, &typed, &case.expected, 0.0);
    }
    agreement::elements(&subject.place.read(&found)?, &subject.place.read(&expected)?, 0.0)
}
