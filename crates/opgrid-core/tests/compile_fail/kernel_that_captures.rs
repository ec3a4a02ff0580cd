//! A kernel given as a function cannot carry state; `closure` takes those that do.
use opgrid_core::{AnyTensor as Tensor, DispatchKey, Dispatcher, operator};

operator! {
    pub Same = "t::same(Tensor self) -> Tensor";
}

fn main() {
    let state = String::from("state");
    let mut library = Dispatcher::new().library("t");
    library.define(Same).kernel(DispatchKey::Cpu, move |input| {
        drop(state.clone());
        Ok(input.clone())
    });
}
