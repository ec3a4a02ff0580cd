//! Calls whose results nobody uses.

use std::collections::BTreeSet;

use opgrid_core::{Dispatcher, Result};

use crate::graph::{Graph, Node};
use crate::program::effects::effects;

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
/// # let _ = opgrid::ops::ensure_registered();
/// let graph: Graph = r#"
/// graph(%x: float32[3] = input)
/// takes ((*,), {}) gives *
/// {
///   %y: float32[3] = aten::exp(%x)
///   %z: float32[3] = aten::neg(%x)
///   return %z
/// }
/// "#.parse()?;
/// assert_eq!(passes::remove_dead_code(graph)?.block.nodes.len(), 1);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn remove_dead_code(mut graph: Graph) -> Result<Graph> {
    crate::operators::ensure_registered()?;
    let dispatcher = Dispatcher::current();
    let mut used: BTreeSet<String> = BTreeSet::new();
    used.extend(graph.block.results.iter().flat_map(|result| result.references()).map(str::to_owned));
    let mut kept: Vec<Node> = Vec::with_capacity(graph.block.nodes.len());
    for node in std::mem::take(&mut graph.block.nodes).into_iter().rev() {
        let is_used = node.variables().any(|variable| used.contains(&variable.name));
        if is_used || !effects(&dispatcher, &node)?.is_pure {
            used.extend(node.arguments().flat_map(|argument| argument.references()).map(str::to_owned));
            kept.push(node);
        }
    }
    kept.reverse();
    graph.block.nodes = kept;
    Ok(graph)
}
