//! What is wrong with a graph.

use opgrid_core::{Dispatcher, Error, Result};

use crate::graph::Graph;
use crate::program::compile::compile;

/// Everything that is wrong with a graph, in the order of its nodes; nothing where it can run.
///
/// Operators are looked up in the dispatcher that is the thread's. Found are targets that do not exist, values that are used before
/// they are defined or not defined at all, names that are defined twice, arguments that the schema does not have or whose kinds it
/// does not take, and results and blocks in the wrong number.
///
/// # Errors
///
/// The operators could not be registered.
///
/// # Examples
///
/// ```
/// use opgrid_graph::{Graph, check};
///
/// let graph: Graph = "graph(%x: float32[2] = input) gives * {
///   %y: float32[2] = aten::add.Tensr(%x, %z)
///   return %y
/// }".parse()?;
/// let errors = check(&graph)?;
/// assert!(errors[0].message().contains("aten::add.Tensor"), "{}", errors[0]);
/// # use opgrid as _;
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn check(graph: &Graph) -> Result<Vec<Error>> {
    opgrid_tensor::home()?;
    Ok(compile(graph, &Dispatcher::current()).1)
}
