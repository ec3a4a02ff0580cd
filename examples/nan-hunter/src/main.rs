//! Finds out where a variance that is computed in one pass goes wrong, in its forward and in its backward pass.

use nan_hunter::{Anomaly, hunt};
use opgrid::prelude::*;

/// The deviation as the root of the mean of squares less the square of the mean, which rounding makes negative.
fn deviation(x: &Tensor) -> Result<Tensor> {
    x.square()?.mean()?.sub(&x.mean()?.square()?)?.sqrt()
}

fn main() -> Result<()> {
    let _modes = opgrid::layers::modes::install(opgrid::dispatcher()?)?;
    let x = Tensor::from_slice(&[4096.1f32, 4096.2, 4096.3], 3)?;
    match hunt(Anomaly::NonFinite, || deviation(&x)) {
        Ok(result) => println!("{result}"),
        Err(error) => println!("{error}"),
    }
    // Equal elements have no deviation, and its derivative is infinite.
    let x = Tensor::ones(3, DType::F32, Device::CPU)?;
    x.requires_grad_(true)?;
    if let Err(error) = hunt(Anomaly::NonFinite, || deviation(&x)?.backward()) {
        println!("{error}");
    }
    Ok(())
}
