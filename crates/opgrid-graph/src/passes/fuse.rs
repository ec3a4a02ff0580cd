//! Puts groups of pointwise nodes into blocks that run as one loop each.

use std::collections::{BTreeMap, BTreeSet};

use opgrid_core::{Dispatcher, Result};

use super::groups::{self, Group};
use crate::graph::types::ValueType;
use crate::graph::{Argument, Block, Graph, Node, Outcome, Source, Variable};
use crate::program::Unfused;
use crate::program::compile::check_lowered;
use crate::program::effects::{effects, is_pointwise, maybe_written};
use crate::program::lowering::{has_rule, targets};
use crate::program::target::{FUSED, Target, resolve};

/// A program whose groups are fused, and what is not fused of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Fusion {
    /// The program, with a node `higher_order::fused` for each group.
    pub graph: Graph,
    /// The calls of operators that are in no group, in their order; those of blocks within the block come first.
    pub unfused: Vec<Unfused>,
}

/// Fuses the groups of two or more pointwise nodes whose operators, dtypes and arguments loops have. The types of the graph say what
/// the shapes and dtypes are; [`propagate_types`](super::propagate_types) finds them where they are not known. Values that may be
/// written belong to no group; [`functionalize`](super::functionalize) leaves fewer of them.
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
/// let graph: Graph = "graph(%x: float32[2, 3] = input, %b: float32[3] = input) takes ((*, *), {}) gives * {
///   %y: float32[2, 3] = aten::add.Tensor(%x, %b)
///   %z: float32[2, 3] = aten::relu(%y)
///   %s: float32[2] = aten::sum.dim_IntList(%z, [1])
///   return %s
/// }".parse()?;
/// let fusion = passes::fuse(graph)?;
/// let targets: Vec<_> = fusion.graph.block.nodes.iter().map(|node| node.target.as_str()).collect();
/// assert_eq!(targets, ["higher_order::fused", "aten::sum.dim_IntList"]);
/// assert_eq!(fusion.unfused[0].reason, "it is not element-wise");
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn fuse(graph: Graph) -> Result<Fusion> {
    fuse_from(graph, 2)
}

/// As [`fuse`], with groups of at least so many nodes: with one, every node that loops have is fused, also where that gains nothing.
///
/// # Errors
///
/// As [`fuse`].
pub fn fuse_from(mut graph: Graph, least: usize) -> Result<Fusion> {
    crate::operators::ensure_registered()?;
    let dispatcher = Dispatcher::current();
    let mut fuser = Fuser { dispatcher, least, groups: 0, unfused: Vec::new() };
    fuser.block(&mut graph.block)?;
    Ok(Fusion { graph, unfused: fuser.unfused })
}

/// The overloads that loops can compute, for some of their dtypes and arguments.
pub fn fusible_operators() -> impl Iterator<Item = &'static str> {
    targets()
}

struct Fuser {
    dispatcher: Dispatcher,
    least: usize,
    /// How many groups there are, for their names.
    groups: usize,
    unfused: Vec<Unfused>,
}

impl Fuser {
    fn block(&mut self, block: &mut Block) -> Result<()> {
        for inner in block.nodes.iter_mut().filter(|node| node.target != FUSED).flat_map(Node::blocks_mut) {
            self.block(inner)?;
        }
        let written = maybe_written(&self.dispatcher, block)?;
        let kinds = kinds(block);
        let mut refused: BTreeMap<String, String> = BTreeMap::new();
        for (index, node) in block.nodes.iter().enumerate() {
            if let Err(reason) = self.fits(node, &kinds, &written)? {
                refused.insert(node.subject(index), reason);
            }
        }
        let accepted: BTreeSet<&str> = block
            .nodes
            .iter()
            .enumerate()
            .filter(|(index, node)| !refused.contains_key(&node.subject(*index)))
            .flat_map(|(_, node)| node.variables())
            .map(|variable| variable.name.as_str())
            .collect();
        let accepts = |node: &Node| Ok(node.variables().any(|it| accepted.contains(it.name.as_str())));
        let mut groups = groups::find(&self.dispatcher, block, &accepts)?;
        groups.retain(|group| group.nodes.len() >= self.least && !group.outputs.is_empty());
        let members: BTreeSet<usize> = groups.iter().flat_map(|group| &group.nodes).copied().collect();
        for (index, node) in block.nodes.iter().enumerate().filter(|(index, _)| !members.contains(index)) {
            if !matches!(resolve(&self.dispatcher, &node.target)?, Target::Operator(_)) {
                continue;
            }
            let subject = node.subject(index);
            let reason = refused.remove(&subject).unwrap_or_else(|| {
                "no node that can be fused gives it its values, or takes its result in the same shape".into()
            });
            self.unfused.push(Unfused { node: subject, target: node.target.clone(), reason });
        }
        self.replace(block, &groups)
    }

    /// Why a node can be in no group.
    fn fits(
        &self,
        node: &Node,
        kinds: &BTreeMap<&str, &ValueType>,
        written: &BTreeSet<String>,
    ) -> Result<std::result::Result<(), String>> {
        let Target::Operator(operator) = resolve(&self.dispatcher, &node.target)? else {
            return Ok(Err("it is no operator".into()));
        };
        let refuse = |reason: &str| Ok(Err(reason.to_owned()));
        if !effects(&self.dispatcher, node)?.is_pure {
            return refuse("it writes its argument, or is random");
        }
        if !has_rule(&node.target) {
            return refuse(if is_pointwise(&operator) {
                "no rule says how a loop computes it"
            } else {
                "it is not element-wise"
            });
        }
        let names = node.arguments().flat_map(Argument::references);
        let mut names = names.chain(node.variables().map(|variable| variable.name.as_str()));
        if let Some(name) = names.find(|name| written.contains(*name)) {
            return refuse(&format!("`%{name}` may be written"));
        }
        let Some(candidate) = single(node, kinds) else { return refuse("its types are not known") };
        Ok(check_lowered(&self.dispatcher, &candidate).map_err(|error| error.message().to_owned()))
    }

    /// Puts a node for each group in the place of its nodes.
    fn replace(&mut self, block: &mut Block, groups: &[Group]) -> Result<()> {
        let mut of: Vec<Option<usize>> = vec![None; block.nodes.len()];
        for (number, group) in groups.iter().enumerate() {
            group.nodes.iter().for_each(|place| of[*place] = Some(number));
        }
        let order = self.order(block, &of)?;
        let kinds: BTreeMap<String, ValueType> =
            kinds(block).into_iter().map(|(name, kind)| (name.to_owned(), kind.clone())).collect();
        let mut nodes: Vec<Option<Node>> = std::mem::take(&mut block.nodes).into_iter().map(Some).collect();
        let mut taken = |place: usize| nodes[place].take();
        for places in order {
            let group = places.first().and_then(|place| of[*place]).map(|number| &groups[number]);
            let members = places.iter().filter_map(|place| taken(*place));
            match group {
                None => block.nodes.extend(members),
                Some(group) => {
                    let members = members.collect();
                    block.nodes.push(fused(self.groups, group, members, &kinds));
                    self.groups += 1;
                }
            }
        }
        Ok(())
    }

    /// The nodes in an order in which groups are whole: the nodes of each group, or one other node.
    fn order(&self, block: &Block, of: &[Option<usize>]) -> Result<Vec<Vec<usize>>> {
        let after = groups::dependencies(&self.dispatcher, block)?;
        let unit =
            |place: usize| of[place].and_then(|group| of.iter().position(|other| *other == Some(group)));
        let unit = |place: usize| unit(place).unwrap_or(place);
        let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        (0..block.nodes.len()).for_each(|place| members.entry(unit(place)).or_default().push(place));
        let mut waits: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (place, sources) in after.iter().enumerate() {
            let sources = sources.iter().map(|source| unit(*source)).filter(|source| *source != unit(place));
            waits.entry(unit(place)).or_default().extend(sources);
        }
        // The unit whose last node comes first, so that nodes stay where they are as far as they can.
        let mut left: Vec<(usize, usize)> =
            members.iter().map(|(unit, places)| (places.last().copied().unwrap_or(*unit), *unit)).collect();
        left.sort_unstable();
        let mut order = Vec::with_capacity(members.len());
        while !left.is_empty() {
            let ready = left.iter().position(|(_, unit)| waits[unit].is_empty());
            let ready = ready.expect("no value goes from a group to another node and back");
            let (_, unit) = left.remove(ready);
            waits.values_mut().for_each(|sources| {
                sources.remove(&unit);
            });
            order.extend(members.remove(&unit));
        }
        Ok(order)
    }
}

/// The types of the values of a block.
fn kinds(block: &Block) -> BTreeMap<&str, &ValueType> {
    let variables = block.parameters.iter().chain(block.nodes.iter().flat_map(Node::variables));
    variables.map(|variable| (variable.name.as_str(), &variable.kind)).collect()
}

/// A block that holds one node; `None` where a type is not known.
fn single(node: &Node, kinds: &BTreeMap<&str, &ValueType>) -> Option<Block> {
    let mut parameters: Vec<Variable> = Vec::new();
    for name in node.arguments().flat_map(Argument::references) {
        if parameters.iter().all(|known| known.name != name) {
            parameters.push(Variable { name: name.to_owned(), kind: (*kinds.get(name)?).clone() });
        }
    }
    let results = node.variables().map(|variable| Argument::Value(variable.name.clone())).collect();
    Some(Block { parameters, nodes: vec![node.clone()], results })
}

/// The node of a group.
fn fused(number: usize, group: &Group, nodes: Vec<Node>, kinds: &BTreeMap<String, ValueType>) -> Node {
    let kind = |name: &String| kinds.get(name).cloned().unwrap_or(ValueType::Unknown);
    let variables = |names: &[String]| -> Vec<Variable> {
        names.iter().map(|name| Variable { name: name.clone(), kind: kind(name) }).collect()
    };
    let values = |names: &[String]| names.iter().cloned().map(Argument::Value).collect::<Vec<_>>();
    let source = nodes.last().map_or_else(Source::default, |node| node.source.clone());
    let block = Block { parameters: variables(&group.inputs), nodes, results: values(&group.outputs) };
    let mut positional = vec![Argument::Block(format!("fused_{number}"), Box::new(block))];
    positional.extend(values(&group.inputs));
    let results = variables(&group.outputs).into_iter().map(Outcome::One).collect();
    Node { target: FUSED.into(), positional, named: Vec::new(), results, source }
}
