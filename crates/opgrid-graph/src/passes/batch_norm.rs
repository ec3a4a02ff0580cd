//! Batch normalization behind a convolution.

use std::collections::BTreeMap;

use opgrid_core::{Dispatcher, Result, Scalar};
use opgrid_tensor::layers::autograd::no_grad;
use opgrid_tensor::{Tensor, ops};

use super::Module;
use super::effects::touched;
use crate::graph::types::ValueType;
use crate::graph::{Argument, InputKind, Node, Outcome, Variable};

const CONVOLUTIONS: [&str; 3] = ["aten::conv1d", "aten::conv2d", "aten::conv3d"];

/// Computes what a batch normalization does with known statistics into the weights of the convolution before it.
///
/// Results differ by rounding. The new weights are constants; parameters that nothing else uses are left without a use.
///
/// # Errors
///
/// An operator that is not there, and those of the computations.
pub fn fold_batch_norms(module: &Module) -> Result<Module> {
    opgrid_tensor::home()?;
    let touched = touched(&Dispatcher::current(), &module.graph.block)?;
    let mut module = module.clone();
    let mut uses: BTreeMap<String, usize> = BTreeMap::new();
    super::each_reference(&module.graph.block, &mut |name| *uses.entry(name.to_owned()).or_insert(0) += 1);
    let mut stored: BTreeMap<String, Tensor> = stored(&module);
    stored.retain(|name, _| !touched.contains(name));
    let mut makers: BTreeMap<String, usize> = BTreeMap::new();
    for place in 0..module.graph.block.nodes.len() {
        let nodes = &module.graph.block.nodes;
        let [Outcome::One(result)] = nodes[place].results.as_slice() else { continue };
        let found = normalization(&nodes[place], &stored).and_then(|(input, norm)| {
            let maker = *makers.get(input)?;
            let convolution = convolution(&nodes[maker], &stored)?;
            let is_alone = uses.get(input) == Some(&1) && !touched.contains(input);
            is_alone.then_some((maker, convolution, norm))
        });
        makers.insert(result.name.clone(), place);
        let Some((maker, (weight, bias), norm)) = found else { continue };
        let (weight, bias) = no_grad(|| folded(&weight, bias.as_ref(), &norm))?;
        let result = result.clone();
        let weight = add(&mut module, &result.name, "weight", weight);
        let bias = add(&mut module, &result.name, "bias", bias);
        makers.insert(result.name.clone(), maker);
        // The convolution gives what the normalization gave, which is gone.
        let nodes = &mut module.graph.block.nodes;
        nodes[place].target = REMOVED.to_owned();
        let node = &mut nodes[maker];
        node.results = vec![Outcome::One(result)];
        node.positional[1] = Argument::Value(weight);
        node.positional.resize(node.positional.len().max(3), Argument::None);
        node.positional[2] = Argument::Value(bias);
    }
    module.graph.block.nodes.retain(|node| node.target != REMOVED);
    Ok(module)
}

const REMOVED: &str = "";

/// A batch normalization with known statistics.
struct Normalization {
    weight: Option<Tensor>,
    bias: Option<Tensor>,
    mean: Tensor,
    variance: Tensor,
    eps: f64,
}

/// The tensors of the program that nothing writes, by the names of their values.
fn stored(module: &Module) -> BTreeMap<String, Tensor> {
    let outputs = &module.graph.outputs;
    let pairs = module.graph.block.parameters.iter().zip(&module.graph.inputs);
    let known = pairs.filter_map(|(variable, kind)| {
        let name = kind.stored_name()?;
        let is_written = outputs.iter().any(|output| output.stored_name() == Some(name));
        let tensor = module.tensors.get(name).filter(|_| !is_written)?;
        Some((variable.name.clone(), tensor.clone()))
    });
    known.collect()
}

/// The tensor that an argument names, if it is there: `Some(None)` for no tensor.
fn tensor(argument: Option<&Argument>, stored: &BTreeMap<String, Tensor>) -> Option<Option<Tensor>> {
    match argument {
        None | Some(Argument::None) => Some(None),
        Some(Argument::Value(name)) => stored.get(name).cloned().map(Some),
        Some(_) => None,
    }
}

/// The input of a batch normalization and what it does, if the node is one that does not train.
fn normalization<'n>(node: &'n Node, stored: &BTreeMap<String, Tensor>) -> Option<(&'n str, Normalization)> {
    let training = match node.target.as_str() {
        "aten::batch_norm" => 5,
        _ => return None,
    };
    let given = &node.positional;
    let Some(Argument::Value(input)) = given.first() else { return None };
    if !node.named.is_empty() || given.get(training) != Some(&Argument::Number(Scalar::Bool(false))) {
        return None;
    }
    let Some(Argument::Number(eps)) = given.get(training + 2) else { return None };
    let norm = Normalization {
        weight: tensor(given.get(1), stored)?,
        bias: tensor(given.get(2), stored)?,
        mean: tensor(given.get(3), stored)??,
        variance: tensor(given.get(4), stored)??,
        eps: eps.to_f64().ok()?,
    };
    Some((input, norm))
}

/// Weight and bias of a convolution.
fn convolution(node: &Node, stored: &BTreeMap<String, Tensor>) -> Option<(Tensor, Option<Tensor>)> {
    if !CONVOLUTIONS.contains(&node.target.as_str()) || !node.named.is_empty() {
        return None;
    }
    Some((tensor(node.positional.get(1), stored)??, tensor(node.positional.get(2), stored)?))
}

/// Weight and bias of the convolution that does both.
fn folded(weight: &Tensor, bias: Option<&Tensor>, norm: &Normalization) -> Result<(Tensor, Tensor)> {
    let dtype = weight.dtype();
    let exact = |tensor: &Tensor| tensor.to(opgrid_core::DType::F64);
    let eps = Tensor::number(norm.eps);
    let mut scale = ops::Rsqrt.call(&exact(&norm.variance)?.add(&eps, 1)?)?;
    if let Some(weight) = &norm.weight {
        scale = scale.mul(&exact(weight)?)?;
    }
    let mut shape = vec![1; weight.dim()];
    shape[0] = -1;
    let weight = exact(weight)?.mul(&scale.reshape(&shape)?)?;
    let mut offset = exact(&norm.mean)?.neg()?;
    if let Some(bias) = bias {
        offset = offset.add(&exact(bias)?, 1)?;
    }
    offset = offset.mul(&scale)?;
    if let Some(bias) = &norm.bias {
        offset = offset.add(&exact(bias)?, 1)?;
    }
    Ok((weight.to(dtype)?, offset.to(dtype)?))
}

/// Takes up a new constant, and gives the name of its value.
fn add(module: &mut Module, result: &str, part: &str, tensor: Tensor) -> String {
    let mut name = format!("folded_{result}_{part}");
    while module.tensors.contains_key(&name) {
        name.push('_');
    }
    let graph = &mut module.graph;
    let place = graph.inputs.iter().position(|kind| *kind == InputKind::User).unwrap_or(graph.inputs.len());
    let value = format!("c_{name}");
    graph.inputs.insert(place, InputKind::Constant(name.clone()));
    graph.block.parameters.insert(place, Variable { name: value.clone(), kind: ValueType::of(&tensor) });
    module.tensors.insert(name, tensor);
    value
}
