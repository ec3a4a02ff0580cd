//! Calls whose results nobody uses.

use std::collections::BTreeSet;

use opgrid_core::{Dispatcher, Result};

use super::effects::effects;
use crate::graph::{Block, Graph, Node};

/// Removes calls that have no effect and whose results nobody uses. Calls that write, check or draw random numbers stay.
///
/// # Errors
///
/// An operator that is not there.
///
/// # Examples
///
/// ```
/// use opgrid_graph::{Graph, passes};
/// # let _ = opgrid::home();
/// let graph: Graph = r#"
/// graph(%x: float32[3] = input)
/// takes ((*,), {}) gives *
/// {
///   %y: float32[3] = aten::exp(%x)
///   %z: float32[3] = aten::neg(%x)
///   return %z
/// }
/// "#.parse()?;
/// assert_eq!(passes::remove_dead_code(&graph)?.block.nodes.len(), 1);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn remove_dead_code(graph: &Graph) -> Result<Graph> {
    let mut graph = graph.clone();
    opgrid_tensor::home()?;
    within(&Dispatcher::current(), &mut graph.block)?;
    Ok(graph)
}

fn within(dispatcher: &Dispatcher, block: &mut Block) -> Result<()> {
    let mut used: BTreeSet<String> = BTreeSet::new();
    for result in &block.results {
        used.extend(result.references().into_iter().map(str::to_owned));
    }
    let mut kept: Vec<Node> = Vec::with_capacity(block.nodes.len());
    for node in std::mem::take(&mut block.nodes).into_iter().rev() {
        let is_used = node.variables().any(|variable| used.contains(&variable.name));
        if !is_used && effects(dispatcher, &node)?.is_pure {
            continue;
        }
        for argument in node.arguments() {
            used.extend(argument.references().into_iter().map(str::to_owned));
        }
        kept.push(node);
    }
    kept.reverse();
    block.nodes = kept;
    Ok(())
}
