//! What a call does besides giving results, and which values may share memory.

use std::collections::{BTreeMap, BTreeSet};

use opgrid_core::schema::Type;
use opgrid_core::{DispatchKey, Dispatcher, Result};

use super::target::{Target, resolve};
use crate::graph::{Block, Node};

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

/// The values of a block that may share memory with one that is written.
///
/// # Errors
///
/// As [`effects`].
pub(crate) fn maybe_written(dispatcher: &Dispatcher, block: &Block) -> Result<BTreeSet<String>> {
    let mut groups = Groups::default();
    let mut written = Vec::new();
    for node in &block.nodes {
        let effects = effects(dispatcher, node)?;
        if effects.may_alias {
            let arguments: Vec<&str> = node.arguments().flat_map(|argument| argument.references()).collect();
            let results = node.variables().map(|variable| variable.name.as_str());
            let all: Vec<&str> = arguments.into_iter().chain(results).collect();
            all.windows(2).for_each(|pair| groups.join(pair[0], pair[1]));
        }
        written.extend(effects.writes);
    }
    let roots: BTreeSet<usize> = written.iter().map(|name| groups.root(name)).collect();
    let names: Vec<String> = groups.places.keys().cloned().collect();
    Ok(names.into_iter().filter(|name| roots.contains(&groups.root(name))).collect())
}

/// Sets of names that are joined step by step.
#[derive(Default)]
struct Groups {
    places: BTreeMap<String, usize>,
    parents: Vec<usize>,
}

impl Groups {
    fn root(&mut self, name: &str) -> usize {
        let next = self.parents.len();
        let mut place = *self.places.entry(name.to_owned()).or_insert(next);
        if place == next {
            self.parents.push(next);
        }
        while self.parents[place] != place {
            self.parents[place] = self.parents[self.parents[place]];
            place = self.parents[place];
        }
        place
    }

    fn join(&mut self, a: &str, b: &str) {
        let (a, b) = (self.root(a), self.root(b));
        self.parents[a] = b;
    }
}
