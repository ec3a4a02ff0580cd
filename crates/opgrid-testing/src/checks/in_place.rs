//! The overload that writes its first argument writes there what the functional one gives, or refuses.

use opgrid_core::{TensorType, Value};
use opgrid_tensor::Tensor;
use opgrid_tensor::samples::{Expected, Given, Plain};
use opgrid_tensor::tensor::can_cast;

use super::{Fault, Verdict};
use crate::agreement;
use crate::memory::Memory;
use crate::subject::Case;
use crate::target::is_panic;
use crate::variants::Variant;

pub(super) fn on_case(case: &Case<'_>) -> Vec<Verdict> {
    let Expected::Tensor(result) = &case.expected else { return Vec::new() };
    let Some(Given::Tensor(input)) = case.sample.positional.first() else { return Vec::new() };
    let layouts = [Memory::Contiguous, Memory::Stepped, Memory::Transposed];
    let Some(variant) = &case.subject.variants.in_place else { return Vec::new() };
    let tried = layouts.map(|memory| {
        let about = format!("{} in {memory:?} memory", variant.operator.name());
        on_variant(case, variant, memory, input, result).map_err(|fault| fault.of(about))
    });
    tried.into()
}

fn on_variant(case: &Case<'_>, variant: &Variant, memory: Memory, input: &Plain, result: &Plain) -> Verdict {
    let subject = case.subject;
    let target = &subject.target;
    let arguments = subject.arguments(target, &case.sample, memory).map_err(Fault::error)?;
    let written = match arguments.first() {
        Some(Value::Tensor(first)) => Tensor::try_from(first.clone()).map_err(Fault::error)?,
        _ => return Err(Fault::skipped("the first argument is no tensor")),
    };
    let fits = result.sizes() == input.sizes()
        && can_cast(result.dtype(), input.dtype())
        && subject.samples.in_place_takes(input.dtype());
    match (target.call(&variant.operator, &arguments), fits) {
        (Err(error), _) if is_panic(&error) => Err(Fault::error(error)),
        (Ok(values), false) => {
            let expected = format!("an error, for the result is {} {:?}", result.dtype(), result.sizes());
            Err(Fault::wrong(format!("{values:?}"), expected))
        }
        (Err(_), false) => agreement::elements(&target.read(&written)?, input, 0.0)
            .map_err(|fault| fault.of("after it was refused")),
        (Err(error), true) => Err(Fault::error(error)),
        (Ok(values), true) => {
            if !matches!(values.as_slice(), [Value::Tensor(first)] if first.is_same(written.as_any())) {
                return Err(Fault::wrong(format!("{values:?}"), "the first argument itself"));
            }
            let expected = result.to(input.dtype());
            agreement::elements(&target.read(&written)?, &expected, subject.samples.eps_count())
        }
    }
}
