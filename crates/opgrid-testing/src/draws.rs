//! Random results: which they are, who may draw them now, and whether they show their distribution.

use std::sync::{Mutex, MutexGuard, PoisonError};

use opgrid_core::Scalar;
use opgrid_samples::{Distribution, Expected, Plain};

use crate::fault::{Fault, Verdict};

/// The stream of numbers is that of the process: one operator at a time seeds it and draws.
static SEEDED: Mutex<()> = Mutex::new(());

/// Keeps others from drawing numbers while an operator is checked that draws.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    SEEDED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a result is random.
pub(crate) fn is_random(expected: &Expected) -> bool {
    match expected {
        Expected::Random(..) => true,
        Expected::Several(results) => results.iter().any(is_random),
        _ => false,
    }
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
    if (average - mean).abs() <= error && (spread - deviation).abs() <= error {
        Ok(())
    } else {
        Err(Fault::wrong(
            format!("mean {average}, deviation {spread}"),
            format!("mean {mean}, deviation {deviation}"),
        ))
    }
}

fn real(number: Scalar) -> f64 {
    number.to_complex().re
}
