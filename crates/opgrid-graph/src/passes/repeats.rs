//! Calls that are made twice.

use std::collections::BTreeMap;

use opgrid_core::{Dispatcher, Result};

use super::rename;
use crate::graph::{Graph, Outcome};
use crate::program::effects::{effects, maybe_written};

/// Makes calls of one operator with the same arguments once. Values that are written, or may share memory with such, are left alone, as
/// are results of the program: whoever gets two of them may write one.
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
/// let graph: Graph = "graph(%x: float32[3] = input) takes ((*,), {}) gives * {
///   %a: float32[3] = aten::exp(%x)
///   %b: float32[3] = aten::exp(%x)
///   %c: float32[3] = aten::mul.Tensor(%a, %b)
///   return %c
/// }".parse()?;
/// let graph = passes::share_repeats(graph)?;
/// assert_eq!(graph.targets()["aten::exp"], 1);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn share_repeats(mut graph: Graph) -> Result<Graph> {
    crate::operators::ensure_registered()?;
    let dispatcher = Dispatcher::current();
    let maybe_written = maybe_written(&dispatcher, &graph.block)?;
    let returned: Vec<String> =
        graph.block.results.iter().flat_map(|result| result.references()).map(str::to_owned).collect();
    let mut known: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut others: BTreeMap<String, String> = BTreeMap::new();
    let mut kept = Vec::with_capacity(graph.block.nodes.len());
    for mut node in std::mem::take(&mut graph.block.nodes) {
        rename(node.arguments_mut(), &others);
        let results: Vec<String> = node.variables().map(|variable| variable.name.clone()).collect();
        let is_shared = effects(&dispatcher, &node)?.is_pure
            && !results.iter().any(|name| maybe_written.contains(name) || returned.contains(name))
            && !node
                .arguments()
                .any(|given| given.references().iter().any(|name| maybe_written.contains(*name)))
            && !node.results.contains(&Outcome::Unused);
        if is_shared {
            let call = format!("{} {:?} {:?}", node.target, node.positional, node.named);
            if let Some(first) = known.get(&call).filter(|first| first.len() == results.len()) {
                others.extend(results.into_iter().zip(first.iter().cloned()));
                continue;
            }
            known.insert(call, results);
        }
        kept.push(node);
    }
    graph.block.nodes = kept;
    rename(&mut graph.block.results, &others);
    Ok(graph)
}
