//! The overload that writes its first argument, or the tensors of that list, writes there what the functional one gives, or refuses.

use opgrid_core::{TensorType, Value};
use opgrid_samples::{Expected, Given, Plain};
use opgrid_tensor::tensor::can_cast;

use crate::agreement;
use crate::fault::{Fault, Verdict};
use crate::memory::Memory;
use crate::subject::{Case, tensors};
use crate::target::is_panic;
use crate::variants::Variant;

pub(super) fn on_case(case: &Case<'_>) -> Vec<Verdict> {
    let Some(pairs) = pairs(case) else { return Vec::new() };
    let layouts = [Memory::Contiguous, Memory::Stepped, Memory::Transposed];
    let Some(variant) = &case.subject.variants.in_place else { return Vec::new() };
    let subject = case.subject;
    let tried = layouts.map(|memory| {
        let arguments = subject.arguments(&subject.target, &case.sample, memory);
        (format!("{memory:?} memory"), arguments)
    });
    let dtype = pairs.first().map_or(case.dtype, |(input, _)| input.dtype());
    let beside = subject.neighbours(&case.sample, dtype, &[]).map(|(arguments, _)| arguments);
    let tried = tried.into_iter().chain([("one memory with the other tensors".to_owned(), beside)]);
    let judged = tried.map(|(place, arguments)| {
        let about = format!("{} in {place}", variant.operator.name());
        let arguments = arguments.map_err(Fault::error);
        arguments
            .and_then(|arguments| on_variant(case, variant, arguments, &pairs))
            .map_err(|fault| fault.about(about))
    });
    judged.collect()
}

/// What is written, the first argument or the tensors of that list, each with what it becomes.
fn pairs<'c>(case: &'c Case<'_>) -> Option<Vec<(&'c Plain, &'c Plain)>> {
    match (case.sample.positional.first()?, &case.expected) {
        (Given::Tensor(input), Expected::Tensor(result)) => Some(vec![(input, result)]),
        (Given::Tensors(inputs), Expected::Several(results)) if inputs.len() == results.len() => {
            let pair = |(input, result): (&'c Plain, &'c Expected)| match result {
                Expected::Tensor(result) => Some((input, result)),
                _ => None,
            };
            inputs.iter().zip(results).map(pair).collect()
        }
        _ => None,
    }
}

fn on_variant(
    case: &Case<'_>,
    variant: &Variant,
    arguments: Vec<Value>,
    pairs: &[(&Plain, &Plain)],
) -> Verdict {
    let subject = case.subject;
    let target = &subject.target;
    let is_list = matches!(arguments.first(), Some(Value::List(_)));
    let written = arguments.first().and_then(|first| tensors(std::slice::from_ref(first)));
    let Some(written) = written.filter(|written| written.len() == pairs.len()) else {
        return Err(Fault::skipped("the first argument is neither a tensor nor a list of them"));
    };
    let takes = |(input, result): &(&Plain, &Plain)| {
        result.sizes() == input.sizes()
            && can_cast(result.dtype(), input.dtype())
            && subject.samples.in_place_takes(input.dtype())
    };
    match (target.call(&variant.operator, &arguments), pairs.iter().all(takes)) {
        (Err(error), _) if is_panic(&error) => Err(Fault::error(error)),
        (Ok(values), false) => {
            let results: Vec<_> = pairs.iter().map(|(_, result)| (result.dtype(), result.sizes())).collect();
            Err(Fault::wrong(format!("{values:?}"), format!("an error, for the result is {results:?}")))
        }
        // Of a list those before the one that is refused are written.
        (Err(_), false) if is_list => Ok(()),
        (Err(_), false) => written.iter().zip(pairs).try_for_each(|(written, (input, _))| {
            agreement::elements(&target.read(written)?, input, 0.0)
                .map_err(|fault| fault.about("after it was refused"))
        }),
        (Err(error), true) => Err(Fault::error(error)),
        (Ok(values), true) => {
            let returned = match values.as_slice() {
                [] => is_list,
                [Value::Tensor(first)] => !is_list && first.is_same(written[0].as_any()),
                _ => false,
            };
            if !returned {
                let expected = if is_list { "nothing" } else { "the first argument itself" };
                return Err(Fault::wrong(format!("{values:?}"), expected));
            }
            written.iter().zip(pairs).try_for_each(|(written, (input, result))| {
                let expected = result.to(input.dtype());
                agreement::elements(&target.read(written)?, &expected, subject.samples.eps_count())
            })
        }
    }
}
