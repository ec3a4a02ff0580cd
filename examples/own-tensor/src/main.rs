//! Calls operators on intervals: typed, by name, logged, and on a second dispatcher that rounds outwards.

use opgrid_core::{Dispatcher, Result, Value};
use own_tensor::{Curve, Hull, Intervals, Log, Mul, Rounding, Widths, register};

fn main() -> Result<()> {
    let global = Dispatcher::global();
    let _quick = register(global, Rounding::Nearest)?;
    let x = Intervals::new([(0.1, 0.2), (-1.0, 2.0)])?;
    println!("keys {}", x.keys());
    println!("x                  {x}");
    println!("x * x              {}", Mul.call(&x, &x)?);
    println!("hull(x, x * x)     {}", Hull.call(&[x.clone(), Mul.call(&x, &x)?])?);
    println!("widths             {:?}", Widths.call(&x)?);

    let careful = Dispatcher::new();
    let _careful = register(&careful, Rounding::Outwards)?;
    println!("x * x, outwards    {}", careful.call(Mul, (&x, &x))?);
    println!("curve, outwards    {}", careful.call(Curve, (&x,))?);

    let by_name =
        global.find("interval::add")?.call_values(vec![Value::from(x.clone()), Value::from(x.clone())])?;
    println!("add, by name       {}", by_name.first().map_or_else(String::new, Value::to_string));

    let log = Log::default();
    let _logging = log.attach(global)?;
    Curve.call(&x.under(Log::layer()?))?;
    Curve.call(&x)?;
    println!("\nlogged:\n{}", log.lines().join("\n"));
    Ok(())
}
