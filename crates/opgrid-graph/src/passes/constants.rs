//! Calls whose arguments are all known.

use std::collections::{BTreeMap, BTreeSet};

use opgrid_core::{Dispatcher, Result, Value};
use opgrid_tensor::Tensor;
use opgrid_tensor::layers::autograd::no_grad;

use super::unwritten_tensors;
use crate::archive::Archive;
use crate::graph::types::ValueType;
use crate::graph::{Argument, Block, Graph, InputKind, Node, Outcome, OutputKind, Variable};
use crate::program::Program;
use crate::program::effects::{effects, maybe_written};

/// How many bytes more than its arguments a result may have: it is kept instead of being computed.
const MOST_GROWTH: usize = 1 << 16;

/// Makes calls whose arguments are constants, parameters and buffers now, and keeps their results as constants. What the program writes
/// or gives back is computed when it runs.
///
/// # Errors
///
/// An operator that is not there, and those of the calls.
///
/// # Examples
///
/// ```
/// use opgrid::Tensor;
/// use opgrid_graph::{Archive, Graph, Program, passes};
///
/// let graph: Graph = r#"graph(%w: float32[2] = parameter "w", %x: float32[2] = input) takes ((*,), {}) gives * {
///   %e: float32[2] = aten::exp(%w)
///   %y: float32[2] = aten::mul.Tensor(%x, %e)
///   return %y
/// }"#.parse()?;
/// let w = Tensor::from_slice(&[0.0f32, 0.0], &[2])?;
/// let archive = passes::fold_constants(Archive::new(graph, [("w".to_owned(), w)].into()))?;
/// assert_eq!(archive.graph.block.nodes.len(), 1);
/// assert_eq!(archive.tensors["folded_e"].to_vec::<f32>()?, [1.0, 1.0]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn fold_constants(mut archive: Archive) -> Result<Archive> {
    crate::operators::ensure_registered()?;
    let dispatcher = Dispatcher::current();
    let mut untouchable = maybe_written(&dispatcher, &archive.graph.block)?;
    let mut known = unwritten_tensors(&archive, &untouchable);
    aliases_of_results(&dispatcher, &archive.graph.block, &mut untouchable)?;
    let mut kept = Vec::with_capacity(archive.graph.block.nodes.len());
    let mut folded: Vec<String> = Vec::new();
    for node in std::mem::take(&mut archive.graph.block.nodes) {
        match fold(&dispatcher, &node, &known, &untouchable)? {
            Some(results) => {
                for (variable, result) in node.variables().zip(results) {
                    known.insert(variable.name.clone(), result);
                    folded.push(variable.name.clone());
                }
            }
            None => kept.push(node),
        }
    }
    archive.graph.block.nodes = kept;
    let mut used = BTreeSet::new();
    super::each_reference(&archive.graph.block, &mut |name| {
        used.insert(name.to_owned());
    });
    folded.retain(|name| used.contains(name));
    for name in folded {
        let tensor = known[&name].clone();
        super::add_constant(&mut archive, name, tensor);
    }
    Ok(archive)
}

/// The results of a call whose arguments are all known, where they are worth keeping.
fn fold(
    dispatcher: &Dispatcher,
    node: &Node,
    known: &BTreeMap<String, Tensor>,
    untouchable: &BTreeSet<String>,
) -> Result<Option<Vec<Tensor>>> {
    let arguments: Vec<&str> = node.arguments().flat_map(|argument| argument.references()).collect();
    let is_foldable = effects(dispatcher, node)?.is_pure
        && node.target.contains("::")
        && arguments.iter().all(|name| known.contains_key(*name) && !untouchable.contains(*name))
        && node.results.iter().all(|outcome| matches!(outcome, Outcome::One(_)))
        && node.variables().all(|variable| {
            matches!(variable.kind, ValueType::Tensor(_)) && !untouchable.contains(&variable.name)
        });
    if !is_foldable {
        return Ok(None);
    }
    let results = run(node, &arguments, known)?;
    let given: usize = arguments.iter().map(|name| bytes(&known[*name])).sum();
    let made: usize = results.iter().map(bytes).sum();
    Ok((made <= given.saturating_add(MOST_GROWTH)).then_some(results))
}

/// Runs one call as a program of its own.
fn run(node: &Node, arguments: &[&str], known: &BTreeMap<String, Tensor>) -> Result<Vec<Tensor>> {
    let mut graph = Graph::default();
    let mut inputs = Vec::new();
    let mut names: Vec<&str> = arguments.to_vec();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let tensor = &known[name];
        graph.block.parameters.push(Variable { name: name.to_owned(), kind: ValueType::from_tensor(tensor) });
        graph.inputs.push(InputKind::User);
        inputs.push(tensor);
    }
    let results = node.variables().map(|variable| Argument::Value(variable.name.clone())).collect();
    graph.block = Block { nodes: vec![node.clone()], results, ..graph.block };
    graph.outputs = vec![OutputKind::User; graph.block.results.len()];
    let program = Program::new(graph, BTreeMap::new())?;
    let values = inputs.into_iter().map(Value::from).collect();
    let results = no_grad(|| program.run_values(values))?;
    results.into_iter().map(Tensor::try_from).collect()
}

/// Adds the values that results may share memory with: whoever gets one may write it.
fn aliases_of_results(
    dispatcher: &Dispatcher,
    block: &Block,
    untouchable: &mut BTreeSet<String>,
) -> Result<()> {
    let mut may_return: BTreeSet<String> =
        block.results.iter().flat_map(|result| result.references()).map(str::to_owned).collect();
    for node in block.nodes.iter().rev() {
        let is_returned = node.variables().any(|variable| may_return.contains(&variable.name));
        if is_returned && effects(dispatcher, node)?.may_alias {
            let arguments = node.arguments().flat_map(|argument| argument.references());
            may_return.extend(arguments.map(str::to_owned));
        }
    }
    untouchable.extend(may_return);
    Ok(())
}

fn bytes(tensor: &Tensor) -> usize {
    usize::try_from(tensor.numel()).unwrap_or(usize::MAX).saturating_mul(tensor.dtype().size_in_bytes())
}
