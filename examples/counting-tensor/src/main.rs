//! Counts how often a weight is used in a small network.

use counting_tensor::{counted, install, uses};
use opgrid::prelude::*;

fn main() -> Result<()> {
    let _layer = install(opgrid::dispatcher()?)?;
    let weight = counted(&Tensor::ones(&[3, 3], DType::F32, Device::CPU)?)?;
    let mut x = Tensor::ones(&[2, 3], DType::F32, Device::CPU)?;
    for _ in 0..3 {
        x = x.mm(&weight)?.relu()?;
    }
    println!("{x}\nthe weight was used {} times", uses(&weight).unwrap_or_default());
    Ok(())
}
