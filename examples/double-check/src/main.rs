//! Says which operators of a normalization lose digits, and which of its gradient.

use double_check::double_check;
use opgrid::func::grad;
use opgrid::prelude::*;

/// The naive deviation: the mean of squares less the square of the mean.
fn deviation(x: &Tensor) -> Result<Tensor> {
    x.square()?.mean()?.sub(&x.mean()?.square()?)?.sqrt()
}

fn main() -> Result<()> {
    let _transforms = opgrid::func::install(opgrid::dispatcher()?)?;
    let x = Tensor::from_slice(&[1000.1f32, 1000.2, 1000.3, 1000.4], 4)?;
    let (result, losses) = double_check(&x, deviation)?;
    println!("{result}\n{losses}");
    let (gradient, losses) = double_check(&x, |x| grad(x, deviation))?;
    println!("{gradient}\n{losses}");
    Ok(())
}
