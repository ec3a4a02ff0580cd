//! A typed call gives what a boxed one gives.

use opgrid_samples::Expected;
use opgrid_tensor::Tensor;

use crate::agreement;
use crate::draws::is_random;
use crate::fault::{Fault, Verdict};
use crate::memory::Memory;
use crate::subject::{Case, tensors};

pub(super) fn on_case(case: &Case<'_>) -> Verdict {
    let subject = case.subject;
    if is_random(&case.expected) {
        return Err(Fault::skipped("two calls draw other numbers"));
    }
    let typed = subject.call_typed(&case.sample);
    let typed =
        typed.ok_or_else(|| Fault::skipped("the operator has no Rust type"))?.map_err(Fault::error)?;
    let boxed = subject.call(&subject.target, &case.sample, Memory::Contiguous).map_err(Fault::error)?;
    let (Some(found), Some(expected)) = (tensors(&typed), tensors(&boxed)) else {
        return agreement::check(&subject.target, &typed, &case.expected, subject.samples.eps_count());
    };
    let strides =
        |tensors: &[Tensor]| format!("strides {:?}", tensors.iter().map(Tensor::strides).collect::<Vec<_>>());
    if strides(&found) != strides(&expected) {
        return Err(Fault::wrong(strides(&found), strides(&expected)));
    }
    if has_any_elements(&case.expected) {
        return agreement::check(&subject.target, &typed, &case.expected, subject.samples.eps_count());
    }
    for (found, expected) in found.iter().zip(&expected) {
        agreement::elements(&subject.target.read(found)?, &subject.target.read(expected)?, 0.0)?;
    }
    Ok(())
}

/// Whether only shapes are known of some results, so that memory that nobody wrote is not compared.
fn has_any_elements(expected: &Expected) -> bool {
    match expected {
        Expected::Shape(..) => true,
        Expected::Several(results) => results.iter().any(has_any_elements),
        _ => false,
    }
}
