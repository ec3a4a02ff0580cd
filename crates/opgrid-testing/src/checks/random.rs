//! Random numbers are the same after the same seed, and others after another; many of them show their distribution.

use opgrid_core::Value;
use opgrid_samples::{Plain, Sample};
use opgrid_tensor::manual_seed;

use crate::agreement;
use crate::draws::is_random;
use crate::fault::{Fault, Verdict};
use crate::memory::Memory;
use crate::subject::{Case, tensors};

pub(super) fn on_case(case: &Case<'_>) -> Vec<Verdict> {
    if is_random(&case.expected) { vec![repeats(case)] } else { Vec::new() }
}

fn repeats(case: &Case<'_>) -> Verdict {
    let (first, second, other) = (drawn(case, 7)?, drawn(case, 7)?, drawn(case, 8)?);
    for (second, first) in second.iter().zip(&first) {
        agreement::elements(second, first, 0.0)?;
    }
    let takes_generator = case.sample.arguments().any(is_generator);
    if !takes_generator && first.iter().any(|first| first.elements().len() > 1) && first == other {
        return Err(Fault::wrong("the same numbers after another seed", "others"));
    }
    Ok(())
}

/// The numbers that come after a seed. A sample is made anew, for a generator in it has moved on.
fn drawn(case: &Case<'_>, seed: u64) -> Result<Vec<Plain>, Fault> {
    let subject = case.subject;
    manual_seed(seed);
    let sample: Option<Sample> = subject.samples.samples(case.dtype).into_iter().nth(case.number);
    let sample = sample.unwrap_or_else(|| case.sample.clone());
    let results = subject.call(&subject.target, &sample, Memory::Contiguous).map_err(Fault::error)?;
    let drawn = tensors(&results).ok_or_else(|| Fault::wrong(format!("{results:?}"), "tensors"))?;
    drawn.iter().map(|tensor| subject.target.read(tensor)).collect()
}

fn is_generator(given: &opgrid_samples::Given) -> bool {
    matches!(given, opgrid_samples::Given::Value(Value::Generator(_)))
}
