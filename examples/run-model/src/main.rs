//! Runs a model that torch exported, with only the operators of that model linked.
//!
//! ```console
//! $ opgrid graph ops model.pt2           # the operators to name below
//! $ cargo run --release -p run-model -- model.pt2 input.npy output.npy
//! ```

use opgrid::ops::{Linear, Relu, SoftmaxInt};
use opgrid::prelude::*;
use opgrid_graph::Program;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, input, output] = arguments.as_slice() else {
        eprintln!("usage: run-model MODEL.pt2 INPUT.npy OUTPUT.npy");
        std::process::exit(2);
    };
    let dispatcher = Dispatcher::global();
    dispatcher.operator(Linear)?;
    dispatcher.operator(Relu)?;
    dispatcher.operator(SoftmaxInt)?;
    let results = Program::load(model)?.run(&[&Tensor::load(input)?])?;
    results[0].save(output)
}
