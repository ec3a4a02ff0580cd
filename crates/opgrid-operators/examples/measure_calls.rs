//! Measures calls of operators on small tensors: `cargo run --release -p opgrid-operators --example measure_calls`.
//!
//! Prints the best of several runs in nanoseconds.

use opgrid_operators as _;

use std::hint::black_box;
use std::time::Instant;

use opgrid_core::{DType, Device, Result};
use opgrid_tensor::Tensor;

/// The best time of one call, in nanoseconds, over 15 rounds of 100,000 calls.
fn report(name: &str, mut call: impl FnMut() -> Result<Tensor>) -> Result<()> {
    const CALLS: u32 = 100_000;
    let mut best = f64::INFINITY;
    for _ in 0..15 {
        let start = Instant::now();
        for _ in 0..CALLS {
            black_box(call()?);
        }
        best = best.min(start.elapsed().as_nanos() as f64 / f64::from(CALLS));
    }
    println!("{name:<20} {best:>8.1} ns");
    Ok(())
}

fn main() -> Result<()> {
    let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0], &[3])?;
    let square = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
    report("empty([3])", || Tensor::empty(&[3], DType::F32, Device::CPU))?;
    report("add", || x.add(&x))?;
    report("add_", || x.add_with_(&x, 0).cloned())?;
    report("add of a number", || x.add(1))?;
    report("mul", || x.mul(&x))?;
    report("sum", || x.sum())?;
    report("view", || square.view(&[4]))?;
    report("select", || square.select(0, 1))?;
    report("mm", || square.mm(&square))
}
