//! The overload that writes its first argument writes there what the functional one gives, or refuses.

use opgrid_core::{TensorType, Value};
use opgrid_samples::{Expected, Given, Plain};
use opgrid_tensor::Tensor;
use opgrid_tensor::tensor::can_cast;

use crate::agreement;
use crate::fault::{Fault, Verdict};
use crate::memory::Memory;
use crate::subject::Case;
use crate::target::is_panic;
use crate::variants::Variant;

pub(super) fn on_case(case: &Case<'_>) -> Vec<Verdict> {
    let Expected::Tensor(result) = &case.expected else { return Vec::new() };
    let Some(Given::Tensor(input)) = case.sample.positional.first() else { return Vec::new() };
    let layouts = [Memory::Contiguous, Memory::Stepped, Memory::Transposed];
    let Some(variant) = &case.subject.variants.in_place else { return Vec::new() };
    let subject = case.subject;
    let tried = layouts.map(|memory| {
        let arguments = subject.arguments(&subject.target, &case.sample, memory);
        (format!("{memory:?} memory"), arguments)
    });
    let beside = subject.neighbours(&case.sample, input.dtype(), &[]).map(|(arguments, _)| arguments);
    let tried = tried.into_iter().chain([("one memory with the other tensors".to_owned(), beside)]);
    let judged = tried.map(|(place, arguments)| {
        let about = format!("{} in {place}", variant.operator.name());
        let arguments = arguments.map_err(Fault::error);
        arguments
            .and_then(|arguments| on_variant(case, variant, arguments, input, result))
            .map_err(|fault| fault.about(about))
    });
    judged.collect()
}

fn on_variant(
    case: &Case<'_>,
    variant: &Variant,
    arguments: Vec<Value>,
    input: &Plain,
    result: &Plain,
) -> Verdict {
    let subject = case.subject;
    let target = &subject.target;
    let written = match arguments.first() {
        Some(Value::Tensor(first)) => Tensor::try_from(first.clone()).map_err(Fault::error)?,
        _ => return Err(Fault::skipped("the first argument is not a tensor")),
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
            .map_err(|fault| fault.about("after it was refused")),
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
