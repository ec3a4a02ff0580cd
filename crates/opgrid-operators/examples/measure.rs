//! Measures memory guards and loops: `cargo run --release -p opgrid-operators --example measure`.
//!
//! Prints the best of several runs in nanoseconds, so that a figure in a doc comment can be checked.

use opgrid_operators as _;

use std::hint::black_box;
use std::sync::Barrier;
use std::time::Instant;

use opgrid_core::{DType, Device, Result};
use opgrid_kernels::{copy, elementwise, products, reduce};
use opgrid_tensor::{Array, Storage, TensorSpec};

/// The best time of one call, in nanoseconds, over 15 rounds of `calls` calls.
fn best(calls: u32, mut call: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..15 {
        let start = Instant::now();
        for _ in 0..calls {
            call()?;
        }
        best = best.min(start.elapsed().as_nanos() as f64 / f64::from(calls));
    }
    Ok(best)
}

fn report(name: &str, calls: u32, call: impl FnMut() -> Result<()>) -> Result<()> {
    println!("{name:<44} {:>14.1} ns", best(calls, call)?);
    Ok(())
}

fn filled(sizes: &[i64]) -> Result<Array> {
    let array = empty(sizes)?;
    elementwise::fill(&array, 1.0f32)?;
    Ok(array)
}

fn empty(sizes: &[i64]) -> Result<Array> {
    Array::empty(TensorSpec::contiguous(sizes, DType::F32, Device::CPU)?)
}

fn guards() -> Result<()> {
    let storage = Storage::cpu(64)?;
    storage.write()?.bytes();
    report("read guard, taken and dropped", 100_000, || {
        black_box(&storage).read().map(|guard| drop(black_box(guard)))
    })?;
    report("write guard, taken and dropped", 100_000, || {
        black_box(&storage).write().map(|guard| drop(black_box(guard)))
    })?;
    report("write guard of a new storage", 100_000, || {
        Storage::cpu(64).map(|storage| drop(black_box(storage)))
    })?;
    two_readers(&storage)
}

/// Rounds begin together, so that both threads read all the time; the slower one counts.
fn two_readers(storage: &Storage) -> Result<()> {
    let barrier = Barrier::new(2);
    let round = || {
        barrier.wait();
        let start = Instant::now();
        let reads = (0..1_000_000).try_for_each(|_| black_box(storage).read().map(drop));
        reads.map(|()| start.elapsed().as_nanos() as f64 / 1e6)
    };
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let (one, other) = std::thread::scope(|scope| {
            let other = scope.spawn(round);
            (round(), other.join().expect("the round does not panic"))
        });
        best = best.min(one?.max(other?));
    }
    println!("{:<44} {best:>14.1} ns", "read guard, two threads at once");
    Ok(())
}

fn elementwise_loops() -> Result<()> {
    let add = |a: f32, b: f32| a + b;
    for numel in [3, 1000, 100_000, 10_000_000] {
        let (a, b) = (filled(&[numel])?, filled(&[numel])?);
        let calls = (20_000_000 / numel).clamp(1, 100_000) as u32;
        let out = empty(&[numel])?;
        report(&format!("add {numel} to an output"), calls, || {
            elementwise::binary::<f32, f32, f32>(&out, &a, &b, add)
        })?;
        report(&format!("add {numel} to a new output"), calls, || {
            elementwise::binary::<f32, f32, f32>(&empty(&[numel])?, &a, &b, add)
        })?;
        report(&format!("add {numel} in place"), calls, || {
            elementwise::binary::<f32, f32, f32>(&a, &a, &b, add)
        })?;
        report(&format!("copy {numel}"), calls, || copy::copy(&out, &a))?;
        report(&format!("sum {numel}"), calls, || reduce::sum(&empty(&[])?, &a, &[], DType::F32))?;
    }
    for side in [1024, 2048] {
        let (a, b) = (filled(&[side, side])?, filled(&[side, side])?);
        let turned = b.view(b.geometry().transpose(0, 1)?)?;
        let out = empty(&[side, side])?;
        report(&format!("a + b.t() {side}"), 5, || {
            elementwise::binary::<f32, f32, f32>(&out, &a, &turned, add)
        })?;
        report(&format!("a + b {side}"), 5, || elementwise::binary::<f32, f32, f32>(&out, &a, &b, add))?;
        let (rows, columns) = (empty(&[side])?, empty(&[side])?);
        report(&format!("sum rows {side}"), 5, || reduce::sum(&rows, &a, &[1], DType::F32))?;
        report(&format!("sum columns {side}"), 5, || reduce::sum(&columns, &a, &[0], DType::F32))?;
    }
    Ok(())
}

fn products() -> Result<()> {
    for side in [8, 64, 256, 1024] {
        let (a, b, out) = (filled(&[side, side])?, filled(&[side, side])?, empty(&[side, side])?);
        let calls = (100_000_000 / (side * side * side)).clamp(1, 100_000) as u32;
        let ns = best(calls, || products::multiply(&out, &a, &b))?;
        println!(
            "{:<44} {ns:>14.1} ns {:>8.1} GFLOP/s",
            format!("mm {side}"),
            2.0 * (side * side * side) as f64 / ns
        );
    }
    Ok(())
}

fn main() -> Result<()> {
    guards()?;
    elementwise_loops()?;
    products()
}
