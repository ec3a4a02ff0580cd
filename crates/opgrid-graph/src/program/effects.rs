//! What a call does besides giving results, and which values may share memory.

use std::collections::{BTreeMap, BTreeSet};

use opgrid_core::schema::Type;
use opgrid_core::{DispatchKey, Dispatcher, Kind, OperatorHandle, Result};
use opgrid_tensor::families::kind;

use super::target::{HigherOrder, Target, resolve};
use crate::graph::{Argument, Block, Node};
use crate::sets::Sets;

/// Parts of the names of operators that draw random numbers, or may, without a generator among their arguments.
const RANDOM: [&str; 10] =
    ["attention", "bernoulli", "dropout", "gru", "lstm", "multinomial", "normal", "rand", "rnn_", "rrelu"];

/// Composites whose results always have memory of their own.
const FRESH: [&str; 12] = [
    "aten::batch_norm",
    "aten::conv1d",
    "aten::conv2d",
    "aten::conv3d",
    "aten::group_norm",
    "aten::instance_norm",
    "aten::layer_norm",
    "aten::linear",
    "aten::log_softmax.int",
    "aten::matmul",
    "aten::scaled_dot_product_attention",
    "aten::softmax.int",
];

/// What a node does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Effects {
    /// The values that it writes.
    pub(crate) writes: Vec<String>,
    /// Whether two calls give the same, and a call that nobody looks at can be left out.
    pub(crate) is_pure: bool,
    /// Whether a result may be an argument, or share memory with one.
    pub(crate) may_alias: bool,
}

/// What the node does, as the schema of its operator says.
///
/// # Errors
///
/// There is no operator of that name.
pub(crate) fn effects(dispatcher: &Dispatcher, node: &Node) -> Result<Effects> {
    let operator = match resolve(dispatcher, &node.target)? {
        Target::Operator(operator) => operator,
        Target::Number(_) => return Ok(Effects { is_pure: true, ..Default::default() }),
        Target::Higher(HigherOrder::Fused) if is_pure_block(dispatcher, node)? => {
            return Ok(Effects { is_pure: true, ..Default::default() });
        }
        // Blocks may do anything to what they are given.
        Target::Higher(_) => {
            let writes = node.arguments().flat_map(|argument| argument.references());
            return Ok(Effects {
                writes: writes.map(str::to_owned).collect(),
                is_pure: false,
                may_alias: true,
            });
        }
    };
    let schema = operator.schema()?;
    let mut writes = Vec::new();
    for (index, argument) in schema.arguments.iter().enumerate().filter(|(_, argument)| argument.is_write()) {
        let by_name = node.named.iter().find(|(name, _)| *name == argument.name).map(|(_, value)| value);
        let given = node.positional.get(index).or(by_name);
        writes.extend(given.into_iter().flat_map(|given| given.references()).map(str::to_owned));
    }
    let name = schema.name.name.rsplit("::").next().unwrap_or_default();
    let takes_generator =
        schema.arguments.iter().any(|argument| *argument.real_type.without_optional() == Type::Generator);
    let is_random = takes_generator || RANDOM.iter().any(|part| name.contains(part));
    let is_pure = writes.is_empty() && !is_random && !schema.returns.is_empty();
    // What a kernel of a backend gives shares memory with an argument only where the schema says so. Composites give what
    // they please, `reshape` and `dropout` for example their argument.
    let is_composite = operator.has_kernel_for(DispatchKey::CompositeImplicitAutograd)
        && !FRESH.contains(&node.target.as_str());
    let may_alias = is_composite || schema.returns.iter().any(|given| given.alias.is_some());
    Ok(Effects { writes, is_pure, may_alias })
}

/// Whether the nodes of a node's blocks do nothing but give tensors of their own.
fn is_pure_block(dispatcher: &Dispatcher, node: &Node) -> Result<bool> {
    for block in node.arguments().filter_map(Argument::as_block) {
        for inner in &block.nodes {
            let effects = effects(dispatcher, inner)?;
            if !effects.is_pure || effects.may_alias {
                return Ok(false);
            }
        }
        let own: BTreeSet<&str> =
            block.nodes.iter().flat_map(Node::variables).map(|it| it.name.as_str()).collect();
        if !block.results.iter().flat_map(Argument::references).all(|name| own.contains(name)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether every element of the result is a function of the elements at its place.
pub(crate) fn is_pointwise(operator: &OperatorHandle) -> bool {
    operator.column::<Kind>().ok().flatten().is_some_and(|found| found.is(&kind::POINTWISE))
}

/// The values of a block that may share memory with one that is written.
///
/// # Errors
///
/// As [`effects`].
pub(crate) fn maybe_written(dispatcher: &Dispatcher, block: &Block) -> Result<BTreeSet<String>> {
    let (mut sets, mut places) = (Sets::default(), BTreeMap::new());
    let mut written = Vec::new();
    for node in &block.nodes {
        let effects = effects(dispatcher, node)?;
        let names = node.arguments().flat_map(Argument::references);
        let names = names.chain(node.variables().map(|variable| variable.name.as_str()));
        let all: Vec<usize> =
            names.map(|name| *places.entry(name.to_owned()).or_insert_with(|| sets.push())).collect();
        if effects.may_alias {
            all.windows(2).for_each(|pair| sets.join(pair[0], pair[1]));
        }
        written.extend(effects.writes);
    }
    let roots: BTreeSet<usize> =
        written.iter().filter_map(|name| places.get(name)).map(|place| sets.root(*place)).collect();
    Ok(places
        .into_iter()
        .filter(|(_, place)| roots.contains(&sets.root(*place)))
        .map(|(name, _)| name)
        .collect())
}
