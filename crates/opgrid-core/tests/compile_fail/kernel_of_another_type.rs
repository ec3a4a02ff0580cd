//! A kernel has to take what the schema names.
use opgrid_core::{AnyTensor as Tensor, DispatchKey, Dispatcher, Result, operator};

operator! {
    pub Scale = "t::scale(Tensor self, float factor) -> Tensor";
}

fn scale(input: &Tensor, _factor: i64) -> Result<Tensor> {
    Ok(input.clone())
}

fn main() {
    let mut library = Dispatcher::new().library("t");
    library.define(Scale).kernel(DispatchKey::Cpu, scale);
}
