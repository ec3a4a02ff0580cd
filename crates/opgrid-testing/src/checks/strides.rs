//! Inputs in another order in memory, with gaps, offsets and repeated elements, give the result of the reference.

use opgrid_samples::Sample;

use crate::agreement;
use crate::fault::{Fault, Verdict};
use crate::memory::Memory;
use crate::subject::Case;

pub(super) fn on_case(case: &Case<'_>) -> Vec<Verdict> {
    let has_tensors = case.sample.arguments().any(|given| !given.tensors().is_empty());
    if !has_tensors {
        return Vec::new();
    }
    if !case.subject.samples.takes_strides() {
        return vec![Err(Fault::skipped("the answer depends on strides"))];
    }
    let takes_repeated = case.subject.samples.takes_repeated();
    Memory::STRIDED
        .into_iter()
        .filter(|memory| takes_repeated || !memory.repeats())
        .map(|memory| in_memory(case, memory).map_err(|fault| fault.about(format!("{memory:?}"))))
        .collect()
}

fn in_memory(case: &Case<'_>, memory: Memory) -> Verdict {
    let subject = case.subject;
    let writes = subject.schema.is_mutable_at(0);
    // The numbers of what is written stay, for it is not repeated in memory.
    let held = case.sample.map_tensors(|tensor| memory.holds(tensor));
    let sample = match (writes, case.sample.positional.first()) {
        (true, Some(first)) => {
            let mut positional = held.positional;
            positional[0] = first.clone();
            Sample { positional, ..held }
        }
        _ => held,
    };
    let expected = subject.expected(&sample)?;
    let found = subject.call(&subject.target, &sample, memory).map_err(Fault::error)?;
    agreement::check(&subject.target, &found, &expected, subject.samples.eps_count())
}
