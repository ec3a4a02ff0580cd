//! What is wrong with a graph.

use opgrid_core::{Dispatcher, Error, OperatorHandle, Result};

use crate::graph::Graph;
use crate::program::compile::compile;
use crate::program::target::{Target, resolve};
use crate::typing::contradictions;

/// Everything that is wrong with a graph, in the order of its nodes; nothing where it can run.
///
/// Operators are looked up in the dispatcher that is the thread's. Found are targets that do not exist, values that are used before
/// they are defined or not defined at all, names that are defined twice, arguments that the schema does not have or whose kinds it
/// does not take, and results and blocks in the wrong number. Where nothing of that is found, the nodes run on tensors without memory: found are
/// calls that refuse shapes or dtypes, and types that are declared wrong.
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
///
/// let graph: Graph = "graph(%x: float32[2] = input) gives * {
///   %y: float32[3] = aten::exp(%x)
///   return %y
/// }".parse()?;
/// let errors = check(&graph)?;
/// assert!(errors[0].message().contains("declared as float32[3], expected float32[2]"), "{}", errors[0]);
/// # use opgrid as _;
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn check(graph: &Graph) -> Result<Vec<Error>> {
    crate::operators::ensure_registered()?;
    let dispatcher = Dispatcher::current();
    let errors = compile(graph, &dispatcher).1;
    if errors.is_empty() { contradictions(graph, &dispatcher) } else { Ok(errors) }
}

/// The operator that a node's target names; `None` for functions of numbers and higher-order operators, which the interpreter runs
/// itself.
///
/// # Errors
///
/// There is nothing of that name, with the one that was probably meant.
///
/// # Examples
///
/// ```
/// use opgrid_graph::find_target;
///
/// assert_eq!(find_target("aten::relu")?.unwrap().name().to_string(), "aten::relu");
/// assert!(find_target("math.sqrt")?.is_none());
/// assert!(find_target("aten::rellu").is_err());
/// # use opgrid as _;
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn find_target(target: &str) -> Result<Option<OperatorHandle>> {
    crate::operators::ensure_registered()?;
    Ok(match resolve(&Dispatcher::current(), target)? {
        Target::Operator(operator) => Some(operator),
        Target::Number(_) | Target::Higher(_) => None,
    })
}
