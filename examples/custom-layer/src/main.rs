//! Switches the meter on and off around a small network.

use custom_layer::{install, metered, off};
use opgrid::dispatch::Returns;
use opgrid::prelude::*;

/// A layer of a network, and the sum of what it gives.
fn network(x: &Tensor, weights: &Tensor) -> Result<Tensor> {
    x.mm(weights)?.add(1)?.sum()
}

fn main() -> Result<()> {
    let dispatcher = opgrid::dispatcher()?;
    let _meter = install(dispatcher)?;
    let x = Tensor::from_slice(&[1.0f32; 6], &[2, 3])?;
    let weights = Tensor::from_slice(&[0.5f32; 12], &[3, 4])?;

    let (result, tally) = metered(|| network(&x, &weights))?;
    println!("{}\ncalls     work  operator\n{tally}", result?);

    let (result, tally) = metered(|| {
        let _pause = off()?;
        network(&x, &weights)
    })?;
    println!("paused: {}, {} operators counted", result?, tally.operators().count());

    let add = dispatcher.find("aten::add.Scalar")?;
    let arguments = [Value::from(&x), Value::from(1), Value::from(1)];
    let lent: Vec<_> = arguments.iter().map(Value::borrow).collect();
    let (explained, _) = metered(|| add.call_explained(&lent, &mut Returns::new()))?;
    let (result, explanation) = explained?;
    result?;
    print!("\n{explanation}");
    Ok(())
}
