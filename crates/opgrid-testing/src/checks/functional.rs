//! Without writes, an operator gives what it gives with them: the forms in place, and writes through views.

use opgrid_core::schema::Argument;
use opgrid_core::{DType, Device, OperatorHandle, Result, Value};
use opgrid_tensor::Tensor;
use opgrid_tensor::layers::functional::{Functional, Kept, value, wrap};
use opgrid_tensor::ops::{CloneTensor, FillInplaceScalar};

use super::with_tensors;
use crate::agreement;
use crate::draws::is_random;
use crate::fault::{Fault, Verdict};
use crate::memory::Memory;
use crate::subject::{Case, tensors};
use crate::target::guarded;

/// How far results may be from those of the operator in place, which may sum in another order, in steps of the dtype.
const TOLERANCE: f64 = 1e-9 / f64::EPSILON;

/// What the errors of writes say that have no form without, and why that is so.
const REFUSED: [(&str, &str); 4] = [
    ("which tensors in functionalize keep", "the sizes of the tensor would change"),
    ("no overload computes the same without", "there is no overload that writes nothing"),
    ("as_strided took of a part", "it writes memory around the tensor"),
    ("which has no memory of its own", "it reads the elements of a tensor"),
];

pub(super) fn on_case(case: &Case<'_>) -> Vec<Verdict> {
    let is_exact = matches!(case.dtype, DType::F64 | DType::I64 | DType::Bool | DType::Complex128);
    let writes_output = case.subject.schema.arguments.iter().any(Argument::is_out);
    if !is_exact || writes_output || case.subject.target.device != Device::CPU || is_random(&case.expected) {
        return Vec::new();
    }
    let has_level = case.subject.target.dispatcher.within(|| Functional::enter(Kept::Views).is_ok());
    let Ok(arguments) = case.subject.arguments(&case.subject.target, &case.sample, Memory::Contiguous) else {
        return Vec::new();
    };
    if !has_level {
        return Vec::new();
    }
    let mut verdicts = Vec::new();
    let in_place = case.subject.variants.in_place.as_ref().map(|variant| &variant.operator);
    let is_writing = case.subject.schema.arguments.iter().any(Argument::is_write);
    let gives_views = !is_writing && case.subject.schema.returns.iter().any(|it| it.alias.is_some());
    let own = (is_writing || gives_views).then_some(&case.subject.operator);
    for operator in in_place.into_iter().chain(own) {
        for kept in [Kept::Views, Kept::Nothing] {
            verdicts.extend(compared(case, operator, &arguments, kept));
        }
    }
    verdicts
}

fn compared(case: &Case<'_>, operator: &OperatorHandle, arguments: &[Value], kept: Kept) -> Option<Verdict> {
    let target = &case.subject.target;
    let copies = || {
        let each =
            arguments.iter().map(|argument| with_tensors(argument, &mut |it| CloneTensor.call(&it, None)));
        each.collect::<Result<Vec<_>>>()
    };
    // Whether a sample is right is for other checks.
    let expected = target.dispatcher.within(|| guarded(|| run(case, operator, &copies()?))).ok()?;
    let found = target.dispatcher.within(|| {
        guarded(|| {
            let entered = Functional::enter(kept)?;
            let level = entered.level();
            let wrapped = copies()?
                .iter()
                .map(|it| with_tensors(it, &mut |it| wrap(it, level)))
                .collect::<Result<Vec<_>>>()?;
            run(case, operator, &wrapped)?
                .iter()
                .map(|it| Ok(value(it, level)?.0))
                .collect::<Result<Vec<_>>>()
        })
    });
    let about = format!("{} without writes, with {kept:?} kept", operator.name());
    let verdict = match found {
        Err(error) => {
            let known = REFUSED.iter().find(|(text, _)| error.message().contains(text));
            Err(known.map_or_else(|| Fault::error(error), |(_, reason)| Fault::skipped(*reason)))
        }
        Ok(found) if found.len() != expected.len() => {
            Err(Fault::wrong(format!("{} tensors", found.len()), expected.len().to_string()))
        }
        Ok(found) => found.iter().zip(&expected).try_for_each(|(found, expected)| {
            if (found.sizes(), found.dtype()) != (expected.sizes(), expected.dtype()) {
                let text = |it: &Tensor| format!("{} {:?}", it.dtype(), it.sizes());
                return Err(Fault::wrong(text(found), text(expected)));
            }
            agreement::elements(&target.read(found)?, &target.read(expected)?, TOLERANCE)
        }),
    };
    Some(verdict.map_err(|fault| fault.about(about)))
}

/// Calls the operator, writes the views that it gives, and returns its results and arguments.
fn run(case: &Case<'_>, operator: &OperatorHandle, arguments: &[Value]) -> Result<Vec<Tensor>> {
    let results = case.subject.target.call(operator, arguments)?;
    let results = tensors(&results).unwrap_or_default();
    let schema = operator.schema()?;
    if !schema.arguments.iter().any(Argument::is_write) {
        for view in results.iter().filter(|view| view.is_defined() && view.dtype() == case.dtype) {
            FillInplaceScalar.call(view, 1.into())?;
        }
    }
    let mut all: Vec<Tensor> = results.into_iter().filter(Tensor::is_defined).collect();
    for argument in arguments {
        with_tensors(argument, &mut |tensor| {
            if tensor.is_defined() {
                all.push(tensor.clone());
            }
            Ok(tensor)
        })?;
    }
    Ok(all)
}
