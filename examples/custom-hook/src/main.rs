//! Calls `aten::add_1` without the hook and with it.

use custom_hook::{Hook, call_add_1, call_on, register_add_1};
use opgrid::prelude::*;

fn main() -> Result<()> {
    let dispatcher = opgrid::dispatcher()?;
    let _add_1 = register_add_1(dispatcher)?;
    let hook = Hook::install(dispatcher, call_on)?;

    let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0], &[3])?;
    println!("{}", call_add_1(dispatcher, &x)?);

    let enabled = hook.enable();
    let y = call_add_1(dispatcher, &x)?;
    let z = y.add(1)?;
    drop(enabled);
    println!("{z}");
    Ok(())
}
