//! Calls `myops::myadd` typed, boxed and by name, wrongly, and through an Autograd kernel.

use custom_operator::{MyAdd, register, register_autograd};
use opgrid::Value;
use opgrid::dispatch::{Returns, ValueRef};
use opgrid::prelude::*;

fn main() -> Result<()> {
    let dispatcher = opgrid::dispatcher()?;
    let _operator = register(dispatcher)?;
    let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
    let y = Tensor::from_slice(&[10.0f32, 20.0, 30.0, 40.0], &[2, 2])?;

    println!("typed    {}", MyAdd.call(&x, &y)?);

    let operator = dispatcher.find("myops::myadd")?;
    let arguments = [Value::from(x.clone()), Value::from(y.clone())];
    let mut returns = Returns::new();
    operator.call_boxed(&arguments.each_ref().map(ValueRef::from), &mut returns)?;
    println!("boxed    {}", returns.into_single()?);

    let by_name = operator.typed::<fn(Tensor, Tensor) -> Tensor>()?;
    println!("by name  {}", by_name.call((&x, &y))?);

    let column = y.select(1, 0)?;
    println!("strided  {}", MyAdd.call(&x.select(1, 0)?, &column)?);

    match MyAdd.call(&x, &column) {
        Ok(_) => println!("the wrong size was not noticed"),
        Err(error) => println!("refused  {error}"),
    }

    let _autograd = register_autograd(dispatcher)?;
    let (result, explanation) =
        operator.call_explained(&arguments.each_ref().map(ValueRef::from), &mut Returns::new())?;
    result?;
    println!("\n{explanation}");
    Ok(())
}
