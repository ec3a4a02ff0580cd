//! Runs one operator many times, for callgrind: `valgrind --tool=callgrind target/release/examples/one_call add`.

use opgrid_operators as _;

use std::hint::black_box;

use opgrid_core::{DType, Device, Result};
use opgrid_tensor::Tensor;

fn main() -> Result<()> {
    let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0], &[3])?;
    let square = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
    let which = std::env::args().nth(1).unwrap_or_default();
    for _ in 0..10_000 {
        match which.as_str() {
            "empty" => drop(black_box(Tensor::empty(&[3], DType::F32, Device::CPU)?)),
            "number" => drop(black_box(x.add(1)?)),
            "add_" => drop(black_box(x.add_with_(&x, 0)?)),
            "sum" => drop(black_box(x.sum()?)),
            "view" => drop(black_box(square.view(&[4])?)),
            _ => drop(black_box(x.add(&x)?)),
        }
    }
    Ok(())
}
