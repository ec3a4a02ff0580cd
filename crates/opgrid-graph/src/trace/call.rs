//! One call traced at several sizes: what a composite operator does, as a graph.

use opgrid_core::{DType, Device, Result};
use opgrid_tensor::Tensor;

use super::record::Way;
use super::vary::{self, Failure, Run};
use super::{Symbol, Trace, untraceable};
use crate::graph::Graph;
use crate::graph::types::Range;

/// What a call is given at one size: tensors, and integers that may depend on sizes.
pub(crate) struct Example {
    pub(crate) tensors: Vec<Tensor>,
    pub(crate) numbers: Vec<i64>,
}

/// The graph of a call below autograd, whose inputs are the tensors of the examples and then, for each integer, a tensor that has so many
/// elements. Sizes and integers that differ between the examples vary. `call` is given the number of the example.
///
/// # Errors
///
/// Those of the call; calls that differ in another way than by their sizes; integers below zero.
pub(crate) fn trace_call(
    examples: &[Example],
    mut call: impl FnMut(usize, &[Tensor]) -> Result<Vec<Tensor>>,
) -> Result<Graph> {
    let trace = Trace::new().below_autograd();
    let mut inputs: Vec<Vec<Tensor>> = Vec::with_capacity(examples.len());
    for example in examples {
        let mut all = example.tensors.clone();
        for number in &example.numbers {
            all.push(Tensor::allocate_contiguous(&[*number], DType::Bool, Device::META)?);
        }
        inputs.push(all);
    }
    let symbols = symbols(&inputs);
    // What does not vary is traced once.
    let count = if symbols.is_empty() { 1 } else { examples.len() };
    let mut runs = Vec::with_capacity(count);
    for (index, inputs) in inputs.iter().enumerate().take(count) {
        let tensors = examples[index].tensors.len();
        let borrowed: Vec<&Tensor> = inputs.iter().collect();
        let run =
            trace.once(&borrowed, &mut |stand_ins| call(index, &stand_ins[..tensors]), &Way::default())?;
        if !run.elements.is_empty() {
            return Err(untraceable("sizes of a result depend on elements, expected ones that are known"));
        }
        let sizes = symbols.iter().map(|symbol| size(inputs, symbol.places[0])).collect();
        runs.push(Run { graph: run.graph, tensors: run.tensors, sizes });
    }
    let Some(first) = runs.first() else { return Err(untraceable("found no example, expected one")) };
    // A tensor that the operator makes without a call would be a constant, and these have no memory.
    if let Some(name) = runs.iter().find_map(|run| run.tensors.keys().next()) {
        return Err(untraceable(format_args!(
            "the operator has the tensor `{name}`, expected none of its own"
        )));
    }
    if symbols.is_empty() {
        return Ok(first.graph.clone());
    }
    let sources = vary::sources(&first.graph, &symbols);
    vary::unify(&runs, &symbols, &sources, &[], &[]).map_err(|failure| match failure {
        Failure::NoRule(error) | Failure::Error(error) => error,
    })
}

fn size(inputs: &[Tensor], (input, dimension): (usize, usize)) -> i64 {
    inputs.get(input).and_then(|input| input.sizes().get(dimension)).copied().unwrap_or_default()
}

/// The sizes that differ between the examples. Of those that are always the same only the first counts.
fn symbols(inputs: &[Vec<Tensor>]) -> Vec<Symbol> {
    let mut symbols: Vec<Symbol> = Vec::new();
    let mut seen: Vec<Vec<i64>> = Vec::new();
    let Some(first) = inputs.first() else { return symbols };
    for (input, tensor) in first.iter().enumerate() {
        for dimension in 0..tensor.dim() {
            let place = (input, dimension);
            let sizes: Vec<i64> = inputs.iter().map(|inputs| size(inputs, place)).collect();
            if sizes.iter().any(|size| *size != sizes[0]) && !seen.contains(&sizes) {
                symbols.push(Symbol {
                    name: symbol(place),
                    range: Range::default(),
                    given: Range::default(),
                    places: vec![place],
                });
                seen.push(sizes);
            }
        }
    }
    symbols
}

/// The name of the size of a dimension of an input.
pub(crate) fn symbol((input, dimension): (usize, usize)) -> String {
    format!("size_{input}_{dimension}")
}
