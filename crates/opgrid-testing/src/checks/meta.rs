//! The same call on meta tensors, and on fake ones, gives sizes, strides and dtype of the result.

use opgrid_core::schema::Argument;
use opgrid_core::{Device, Reason, Value};
use opgrid_tensor::Tensor;
use opgrid_tensor::layers::fake;

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
    let without_data: Vec<Target<'_>> =
        devices(&subject.target).into_iter().map(|device| Target { device, ..subject.target }).collect();
    if !subject.samples.is_on_meta() {
        return without_data.iter().try_for_each(|target| {
            match subject.call(target, &case.sample, Memory::Contiguous) {
                Err(error) if !is_panic(&error) => Ok(()),
                Err(error) => Err(Fault::error(error)),
                Ok(values) => Err(Fault::wrong(
                    format!("{values:?}"),
                    "an error, for there is no answer on meta tensors",
                )),
            }
        });
    }
    let all = [Memory::Contiguous, Memory::Transposed, Memory::ChannelsLast];
    let layouts = if subject.samples.takes_strides() { &all[..] } else { &all[..1] };
    for &memory in layouts {
        compare(case, &without_data, memory).map_err(|fault| fault.about(format!("{memory:?}")))?;
    }
    without_data
        .iter()
        .filter(|target| target.device.is_fake())
        .try_for_each(|target| beside_data(case, target))
}

/// Calls with one fake tensor beside others that have data. Those that write are refused, or write one that has none.
fn beside_data(case: &Case<'_>, target: &Target<'_>) -> Verdict {
    let subject = case.subject;
    if subject.schema.arguments.iter().any(Argument::is_write) {
        return Ok(());
    }
    let arguments =
        |target| subject.arguments(target, &case.sample, Memory::Contiguous).map_err(Fault::error);
    let (there, here) = (arguments(&subject.target)?, arguments(target)?);
    let expected = target.call(&subject.operator, &here).map_err(Fault::error)?;
    let places: Vec<usize> = (0..here.len()).filter(|at| matches!(here[*at], Value::Tensor(_))).collect();
    if places.len() < 2 {
        return Ok(());
    }
    places.into_iter().try_for_each(|at| {
        let mut mixed = there.clone();
        mixed[at] = here[at].clone();
        let about = |fault: Fault| fault.about(format!("fake is argument {at}"));
        let found = target.call(&subject.operator, &mixed).map_err(|error| about(Fault::error(error)))?;
        // What does not depend on the fake one may have data.
        is_like(&found, &expected, &[target.device, subject.target.device]).map_err(about)
    })
}

/// The devices without data: also that which passes for the subject's, if the dispatcher has the layer of such tensors.
fn devices(target: &Target<'_>) -> Vec<Device> {
    let slot = target.dispatcher.default_slot(fake::KEY);
    let has_fakes = slot.is_ok_and(|slot| slot.reason == Reason::Fallback);
    [Device::META].into_iter().chain(has_fakes.then(|| target.device.fake())).collect()
}

fn compare(case: &Case<'_>, without_data: &[Target<'_>], memory: Memory) -> Verdict {
    let subject = case.subject;
    let there = subject.call(&subject.target, &case.sample, memory).map_err(Fault::error)?;
    without_data.iter().try_for_each(|target| {
        let here = subject.call(target, &case.sample, memory).map_err(Fault::error)?;
        is_like(&here, &there, &[target.device])
    })
}

/// What was given, beside what is expected on one of the devices.
fn is_like(here: &[Value], there: &[Value], devices: &[Device]) -> Verdict {
    let (Some(expected), Some(found)) = (tensors(there), tensors(here)) else {
        // Answers that are no tensors are the same.
        return if here == there { Ok(()) } else { Err(Fault::wrong(texts(here), texts(there))) };
    };
    if let Some(elsewhere) = found.iter().find(|tensor| !devices.contains(&tensor.device())) {
        return Err(Fault::wrong(
            format!("a result on {:?}", elsewhere.device()),
            format!("one on {devices:?}"),
        ));
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
