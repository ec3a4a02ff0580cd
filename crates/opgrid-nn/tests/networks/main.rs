//! Networks and optimizers, by numbers that torch computed, by what they hold, and by what they say of mistakes.

mod conversions;
mod drops;
mod holding;
mod numbers;
mod optimizers;
mod schedules;

use opgrid::Tensor;
use opgrid_core::{DType, Device, Result};
use opgrid_nn::ModuleOptions;

/// Parameters of float64.
fn doubles() -> ModuleOptions {
    ModuleOptions::new().dtype(DType::F64)
}

/// `sin(start + 0.7 i)`: numbers without a pattern, which torch computes too.
fn ramp(sizes: &[i64], start: f64) -> Result<Tensor> {
    let count = sizes.iter().product();
    let numbers: Vec<f64> = (0..count).map(|place: i64| (place as f64 * 0.7 + start).sin()).collect();
    Tensor::from_slice(&numbers, sizes)
}

fn number(tensor: &Tensor) -> Result<f64> {
    tensor.item()?.to_f64()
}

/// Whether numbers are those, up to a relative or an absolute difference.
fn check_close(name: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{name}: found {found:?}, expected {expected:?}");
    for (place, (found, expected)) in found.iter().zip(expected).enumerate() {
        let differs = (found - expected).abs();
        assert!(
            differs <= tolerance * expected.abs().max(1.0),
            "{name}, number {place}: found {found}, expected {expected}"
        );
    }
}

fn ones(sizes: &[i64]) -> Result<Tensor> {
    Tensor::ones(sizes, DType::F32, Device::CPU)
}

/// What an error says.
fn message<T>(result: Result<T>) -> String {
    result.err().map_or("no error".to_owned(), |error| error.to_string())
}
