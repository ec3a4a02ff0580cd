//! The same call on meta tensors gives sizes, strides and dtype of the result.

use opgrid_core::{Device, Value};
use opgrid_tensor::Tensor;

use crate::fault::{Fault, Verdict};
use crate::memory::Memory;
use crate::subject::{Case, tensors};
use crate::target::{Target, is_panic};

pub(super) fn on_case(case: &Case<'_>) -> Verdict {
    let subject = case.subject;
    let has_tensors = case.sample.arguments().any(|given| !given.tensors().is_empty());
    if !has_tensors && subject.schema.argument_index("device").is_none() {
        return Err(Fault::skipped("no argument says where the result is"));
    }
    let meta = Target { device: Device::META, ..subject.target };
    if !subject.samples.is_on_meta() {
        return match subject.call(&meta, &case.sample, Memory::Contiguous) {
            Err(error) if !is_panic(&error) => Ok(()),
            Err(error) => Err(Fault::error(error)),
            Ok(values) => {
                Err(Fault::wrong(format!("{values:?}"), "an error, for there is no answer on meta tensors"))
            }
        };
    }
    let all = [Memory::Contiguous, Memory::Transposed, Memory::ChannelsLast];
    let layouts = if subject.samples.takes_strides() { &all[..] } else { &all[..1] };
    for &memory in layouts {
        compare(case, &meta, memory).map_err(|fault| fault.about(format!("{memory:?}")))?;
    }
    Ok(())
}

fn compare(case: &Case<'_>, meta: &Target<'_>, memory: Memory) -> Verdict {
    let subject = case.subject;
    let there = subject.call(&subject.target, &case.sample, memory).map_err(Fault::error)?;
    let here = subject.call(meta, &case.sample, memory).map_err(Fault::error)?;
    let (Some(expected), Some(found)) = (tensors(&there), tensors(&here)) else {
        // Answers that are no tensors are the same.
        return if here == there { Ok(()) } else { Err(Fault::wrong(texts(&here), texts(&there))) };
    };
    if let Some(elsewhere) = found.iter().find(|tensor| tensor.device() != Device::META) {
        return Err(Fault::wrong(format!("a result on {}", elsewhere.device()), "one on meta"));
    }
    if describe(&found) == describe(&expected) {
        Ok(())
    } else {
        Err(Fault::wrong(describe(&found), describe(&expected)))
    }
}

fn describe(tensors: &[Tensor]) -> String {
    let one = |tensor: &Tensor| {
        format!("{} of sizes {:?} and strides {:?}", tensor.dtype(), tensor.sizes(), tensor.strides())
    };
    tensors.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn texts(values: &[Value]) -> String {
    format!("{values:?}")
}
