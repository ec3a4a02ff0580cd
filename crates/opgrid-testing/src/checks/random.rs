//! Random numbers are the same after the same seed, and others after another; many of them show their distribution.

use std::sync::{Mutex, MutexGuard, PoisonError};

use opgrid_core::{Scalar, Value};
use opgrid_tensor::manual_seed;
use opgrid_tensor::samples::{Distribution, Expected, Plain, Sample};

use super::{Fault, Verdict};
use crate::agreement;
use crate::memory::Memory;
use crate::subject::{Case, tensors};

/// The stream of numbers is that of the process: one operator at a time seeds it and draws.
static SEEDED: Mutex<()> = Mutex::new(());

/// Keeps others from drawing numbers while an operator is checked that draws.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    SEEDED.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn on_case(case: &Case<'_>) -> Vec<Verdict> {
    match is_random(&case.expected) {
        true => vec![repeats(case)],
        false => Vec::new(),
    }
}

/// Whether a result is random.
pub(crate) fn is_random(expected: &Expected) -> bool {
    match expected {
        Expected::Random(..) => true,
        Expected::Several(results) => results.iter().any(is_random),
        _ => false,
    }
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

fn is_generator(given: &opgrid_tensor::samples::Given) -> bool {
    matches!(given, opgrid_tensor::samples::Given::Value(Value::Generator(_)))
}

/// Compares numbers with what is known of them: bounds, and with many of them mean and deviation.
///
/// # Errors
///
/// They cannot be such numbers, or only with a probability of less than one in a million.
pub(crate) fn check(found: &Plain, distribution: &Distribution) -> Verdict {
    const ENOUGH: usize = 1000;
    let Distribution { least, most, mean, deviation } = *distribution;
    let numbers: Vec<f64> = found.elements().iter().map(|element| real(*element)).collect();
    if let Some(outside) = numbers.iter().find(|number| !(least..=most).contains(number)) {
        return Err(Fault::wrong(format!("{outside}"), format!("numbers from {least} to {most}")));
    }
    if numbers.len() < ENOUGH {
        return Ok(());
    }
    let count = numbers.len() as f64;
    let average = numbers.iter().sum::<f64>() / count;
    let spread = (numbers.iter().map(|number| (number - average).powi(2)).sum::<f64>() / count).sqrt();
    let is_complex_normal = found.dtype().is_complex() && least.is_infinite();
    let deviation = if is_complex_normal { deviation * std::f64::consts::FRAC_1_SQRT_2 } else { deviation };
    let error = 5.0 * deviation / count.sqrt();
    match (average - mean).abs() <= error && (spread - deviation).abs() <= error {
        true => Ok(()),
        false => Err(Fault::wrong(
            format!("mean {average}, deviation {spread}"),
            format!("mean {mean}, deviation {deviation}"),
        )),
    }
}

fn real(number: Scalar) -> f64 {
    number.to_complex().re
}
