//! Passes: functions from a program to one that gives the same and does less.
//!
//! A pass knows operators by their schemas only: which arguments a call writes, whether it draws random numbers, whether it
//! checks something. Values that may share memory with one that is written are left alone.

mod batch_norm;
mod constants;
mod dead_code;
mod effects;
mod identities;
mod repeats;

use std::collections::BTreeMap;

use opgrid_core::Result;
use opgrid_tensor::Tensor;

use crate::graph::{Argument, Block, Graph, Node};

pub use batch_norm::fold_batch_norms;
pub use constants::fold_constants;
pub use dead_code::remove_dead_code;
pub use identities::remove_identities;
pub use repeats::share_repeats;

/// A program and its tensors, as passes change them.
#[derive(Clone, Debug)]
pub struct Module {
    /// What it does.
    pub graph: Graph,
    /// Its parameters, buffers and constants by name.
    pub tensors: BTreeMap<String, Tensor>,
}

/// Runs all passes, for a program whose parameters do not change any more.
///
/// # Errors
///
/// Those of the passes.
///
/// # Examples
///
/// ```
/// use opgrid_graph::{Program, passes, read};
///
/// let archive = read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/models/convolutions.pt2").as_ref())?;
/// let before = archive.graph.block.nodes.len();
/// let module = passes::optimize(passes::Module { graph: archive.graph, tensors: archive.tensors })?;
/// assert!(module.graph.block.nodes.len() <= before);
/// let program = Program::new(module.graph, module.tensors)?;
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn optimize(mut module: Module) -> Result<Module> {
    module.graph = remove_identities(&module.graph)?;
    module = fold_batch_norms(&module)?;
    module = fold_constants(&module)?;
    module.graph = share_repeats(&module.graph)?;
    module.graph = remove_dead_code(&module.graph)?;
    Ok(remove_unused_tensors(module))
}

/// Removes constants, and tensors without an input, that nothing refers to any more. Parameters and buffers stay inputs only if they are
/// used: their names are no longer those of the state that was saved.
fn remove_unused_tensors(mut module: Module) -> Module {
    let mut used = std::collections::BTreeSet::new();
    each_reference(&module.graph.block, &mut |name| {
        used.insert(name.to_owned());
    });
    let graph = &mut module.graph;
    let kinds = std::mem::take(&mut graph.inputs);
    let variables = std::mem::take(&mut graph.block.parameters);
    for (kind, variable) in kinds.into_iter().zip(variables) {
        let mut written = graph.outputs.iter().filter_map(|output| output.stored_name());
        let is_written = written.any(|name| kind.stored_name() == Some(name));
        if kind.stored_name().is_none() || used.contains(&variable.name) || is_written {
            graph.inputs.push(kind);
            graph.block.parameters.push(variable);
        }
    }
    let inputs = &module.graph.inputs;
    let is_named = |name: &String| inputs.iter().any(|kind| kind.stored_name() == Some(name));
    module.tensors.retain(|name, _| is_named(name));
    module
}

/// Shows the name of every value that something refers to, in blocks within the block too.
fn each_reference<'b>(block: &'b Block, look: &mut impl FnMut(&'b str)) {
    let mut blocks = vec![block];
    while let Some(block) = blocks.pop() {
        for argument in block.nodes.iter().flat_map(Node::arguments).chain(&block.results) {
            argument.references().into_iter().for_each(&mut *look);
            blocks.extend(argument.as_block());
        }
    }
}

/// Lets everything that refers to a value of the block refer to another one.
fn replace(block: &mut Block, others: &BTreeMap<String, String>) {
    if others.is_empty() {
        return;
    }
    let nodes = block.nodes.iter_mut();
    let arguments = nodes.flat_map(|node| {
        node.positional.iter_mut().chain(node.named.iter_mut().map(|(_, argument)| argument))
    });
    let mut left: Vec<&mut Argument> = arguments.chain(&mut block.results).collect();
    while let Some(argument) = left.pop() {
        match argument {
            Argument::Value(name) => {
                if let Some(other) = others.get(name) {
                    *name = other.clone();
                }
            }
            Argument::List(items) => left.extend(items),
            _ => {}
        }
    }
}
