//! Calls that give what they are given.

use std::collections::BTreeMap;

use opgrid_core::{Dispatcher, Result, Scalar};

use super::rename;
use crate::graph::types::{Size, ValueType};
use crate::graph::{Argument, Graph, InputKind, Node, Outcome};
use crate::program::effects::maybe_written;

/// Removes calls that give their argument as it is: dropout that does not drop, views to the same sizes, conversions to the same
/// dtype, and assertions about dtypes and sizes that the types of the graph answer.
///
/// # Errors
///
/// An operator that is not there.
///
/// # Examples
///
/// ```
/// use opgrid_graph::{Graph, passes};
/// # let _ = opgrid::ops::ensure_registered();
/// let graph: Graph = "graph(%x: float32[2, 3] = input) takes ((*,), {}) gives * {
///   %y: float32[2, 3] = aten::exp(%x)
///   %z: float32[2, 3] = aten::view(%y, [2, 3])
///   %w: float32[2, 3] = aten::dropout(%z, 0.5, false)
///   return %w
/// }".parse()?;
/// let graph = passes::remove_identities(graph)?;
/// assert_eq!(graph.block.nodes.len(), 1);
/// assert_eq!(graph.block.results[0].to_string(), "%y");
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn remove_identities(mut graph: Graph) -> Result<Graph> {
    crate::operators::ensure_registered()?;
    let maybe_written = maybe_written(&Dispatcher::current(), &graph.block)?;
    let mut kinds: BTreeMap<String, ValueType> = BTreeMap::new();
    for variable in &graph.block.parameters {
        kinds.insert(variable.name.clone(), variable.kind.clone());
    }
    // A result that is an input would be another tensor than before.
    let inputs: Vec<String> = graph
        .block
        .parameters
        .iter()
        .zip(&graph.inputs)
        .filter(|(_, kind)| !matches!(kind, InputKind::Fixed(_)))
        .map(|(variable, _)| variable.name.clone())
        .collect();
    let returned: Vec<String> =
        graph.block.results.iter().flat_map(|result| result.references()).map(str::to_owned).collect();
    let mut others: BTreeMap<String, String> = BTreeMap::new();
    let mut kept = Vec::with_capacity(graph.block.nodes.len());
    for mut node in std::mem::take(&mut graph.block.nodes) {
        rename(node.arguments_mut(), &others);
        for variable in node.variables() {
            kinds.insert(variable.name.clone(), variable.kind.clone());
        }
        if is_answered(&node, &kinds) {
            continue;
        }
        if let Some((name, given)) = identity(&node, &kinds) {
            let root = others.get(given).cloned().unwrap_or_else(|| given.to_owned());
            let is_result = returned.iter().any(|other| other == name);
            if !maybe_written.contains(name)
                && !(is_result && (inputs.contains(&root) || returned.contains(&root)))
            {
                others.insert(name.to_owned(), root);
                continue;
            }
        }
        kept.push(node);
    }
    graph.block.nodes = kept;
    rename(&mut graph.block.results, &others);
    Ok(graph)
}

/// The result and the argument that it is, if the call does nothing.
fn identity<'n>(node: &'n Node, kinds: &BTreeMap<String, ValueType>) -> Option<(&'n str, &'n str)> {
    let [Outcome::One(result)] = node.results.as_slice() else { return None };
    let [Argument::Value(given), ..] = node.positional.as_slice() else { return None };
    let (before, after) = (kinds.get(given)?, &result.kind);
    let is_same = match node.target.as_str() {
        // Whether it drops is its third argument.
        "aten::dropout" | "aten::feature_dropout" | "aten::alpha_dropout" => {
            node.positional.get(2) == Some(&Argument::Number(Scalar::Bool(false)))
        }
        "aten::alias" => true,
        "aten::view" | "aten::reshape" | "aten::expand" | "aten::to.dtype" if node.named.is_empty() => {
            let is_plain = node.target != "aten::to.dtype" || node.positional.len() == 2;
            is_plain && before == after && has_known_sizes(before)
        }
        _ => false,
    };
    is_same.then_some((result.name.as_str(), given.as_str()))
}

/// Whether the types of the graph say that an assertion holds.
fn is_answered(node: &Node, kinds: &BTreeMap<String, ValueType>) -> bool {
    if node.target != "aten::_assert_tensor_metadata" {
        return false;
    }
    let [Argument::Value(given), sizes @ ..] = node.positional.as_slice() else { return false };
    let Some(ValueType::Tensor(tensor)) = kinds.get(given) else { return false };
    // Size, stride and dtype by position; device and layout, of which types say nothing, by name.
    let [Argument::None, Argument::None, Argument::DType(dtype)] = sizes else { return false };
    *dtype == tensor.dtype
        && node.named.iter().all(|(_, value)| match value {
            Argument::None => true,
            Argument::Device(device) => *device == opgrid_core::Device::CPU,
            Argument::Layout(layout) => *layout == opgrid_core::Layout::Strided,
            _ => false,
        })
}

fn has_known_sizes(kind: &ValueType) -> bool {
    matches!(kind, ValueType::Tensor(tensor) if tensor.sizes.iter().all(|size| matches!(size, Size::Known(_))))
}
