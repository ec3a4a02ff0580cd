//! A run-time signature can only name types that are arguments.
use opgrid_core::{Dispatcher, Result};

struct Mine;

fn main() -> Result<()> {
    let operator = Dispatcher::new().find("t::op")?;
    operator.typed::<fn(Mine) -> ()>()?;
    Ok(())
}
