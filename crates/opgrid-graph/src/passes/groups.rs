//! Groups of pointwise nodes that a compiler can make one loop of.

use std::collections::{BTreeMap, BTreeSet};

use opgrid_core::{Dispatcher, Result};

use crate::graph::types::{Size, ValueType};
use crate::graph::{Argument, Block, Graph, Node, Outcome};
use crate::program::effects::{effects, is_pointwise, maybe_written};
use crate::program::target::{Target, resolve};
use crate::sets::Sets;

/// Pointwise nodes that can run as one loop over elements.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Group {
    /// The places of the nodes in the graph's block, in their order.
    pub nodes: Vec<usize>,
    /// The shape that they have in common, to which what they read is broadcast.
    pub sizes: Vec<Size>,
    /// The values that they read and that no node of the group gives, in the order of their first use.
    pub inputs: Vec<String>,
    /// The values that somebody outside of the group reads.
    pub outputs: Vec<String>,
}

/// The groups of two or more pointwise nodes that give tensors of one shape to each other, as large as they can be: no value goes from a
/// group to a node outside and from there back. Random and written values belong to no group. The types of the graph say what the shapes
/// are; [`propagate_types`](super::propagate_types) finds them where they are not known.
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
/// let groups = passes::fusible_groups(&graph)?;
/// assert_eq!(groups.len(), 1);
/// assert_eq!((&groups[0].nodes, &groups[0].inputs, &groups[0].outputs), (&vec![0, 1], &vec!["x".into(), "b".into()], &vec!["z".into()]));
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn fusible_groups(graph: &Graph) -> Result<Vec<Group>> {
    crate::operators::ensure_registered()?;
    let dispatcher = Dispatcher::current();
    let groups = find(&dispatcher, &graph.block, &|node| is_fusible(&dispatcher, node))?;
    Ok(groups.into_iter().filter(|group| group.nodes.len() > 1).collect())
}

/// The groups of a block, with those of one node, among the nodes that `accepts` says. What has effects keeps its order.
pub(super) fn find(
    dispatcher: &Dispatcher,
    block: &Block,
    accepts: &dyn Fn(&Node) -> Result<bool>,
) -> Result<Vec<Group>> {
    let written = maybe_written(dispatcher, block)?;
    let nodes = &block.nodes;
    let dependencies = dependencies(dispatcher, block)?;
    let mut makers: BTreeMap<&str, usize> = BTreeMap::new();
    let mut shapes: Vec<Option<&[Size]>> = Vec::with_capacity(nodes.len());
    let mut units = Units::new(nodes.len());
    for (place, node) in nodes.iter().enumerate() {
        let shape = if accepts(node)? { shape(node, &written) } else { None };
        shapes.push(shape);
        let given = node.arguments().flat_map(Argument::references);
        let from: BTreeSet<usize> = given.filter_map(|name| makers.get(name).copied()).collect();
        units.from[place].clone_from(&dependencies[place]);
        for maker in from {
            if shape.is_some() && shapes[maker] == shape {
                units.join(maker, place);
            }
        }
        for variable in node.variables() {
            makers.insert(&variable.name, place);
        }
    }
    let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (place, shape) in shapes.iter().enumerate() {
        if shape.is_some() {
            members.entry(units.unit(place)).or_default().push(place);
        }
    }
    Ok(members.into_values().map(|members| group(block, members, &shapes)).collect())
}

/// For each node of a block those that it has to run after: what gives its values, and, if it has effects, the one before that has some.
pub(super) fn dependencies(dispatcher: &Dispatcher, block: &Block) -> Result<Vec<BTreeSet<usize>>> {
    let written = maybe_written(dispatcher, block)?;
    let mut makers: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut last_effect, mut all) = (None, Vec::with_capacity(block.nodes.len()));
    for (place, node) in block.nodes.iter().enumerate() {
        let given = node.arguments().flat_map(Argument::references);
        let mut from: BTreeSet<usize> = given.filter_map(|name| makers.get(name).copied()).collect();
        if has_effects(dispatcher, node, &written)? {
            from.extend(last_effect.replace(place));
        }
        all.push(from);
        makers.extend(node.variables().map(|variable| (variable.name.as_str(), place)));
    }
    Ok(all)
}

fn group(block: &Block, members: Vec<usize>, shapes: &[Option<&[Size]>]) -> Group {
    let nodes = &block.nodes;
    let made: BTreeSet<&str> = members
        .iter()
        .flat_map(|place| nodes[*place].variables())
        .map(|variable| variable.name.as_str())
        .collect();
    let mut inputs: Vec<String> = Vec::new();
    for name in members.iter().flat_map(|place| nodes[*place].arguments()).flat_map(Argument::references) {
        if !made.contains(name) && !inputs.iter().any(|known| known == name) {
            inputs.push(name.to_owned());
        }
    }
    let others = nodes.iter().enumerate().filter(|(place, _)| !members.contains(place));
    let read: BTreeSet<&str> = others
        .flat_map(|(_, node)| node.arguments())
        .chain(&block.results)
        .flat_map(Argument::references)
        .collect();
    let given = members.iter().flat_map(|place| nodes[*place].variables());
    let outputs = given.filter(|variable| read.contains(variable.name.as_str()));
    let outputs = outputs.map(|variable| variable.name.clone()).collect();
    let sizes = members.first().and_then(|place| shapes[*place]).unwrap_or_default().to_vec();
    Group { nodes: members, sizes, inputs, outputs }
}

/// Whether a node does more than to give values of its own, or touches a value that may be written.
fn has_effects(dispatcher: &Dispatcher, node: &Node, written: &BTreeSet<String>) -> Result<bool> {
    let names = node.arguments().flat_map(Argument::references);
    let mut names = names.chain(node.variables().map(|variable| variable.name.as_str()));
    Ok(!effects(dispatcher, node)?.is_pure || names.any(|name| written.contains(name)))
}

/// Whether a node is pointwise and does nothing besides.
fn is_fusible(dispatcher: &Dispatcher, node: &Node) -> Result<bool> {
    let Target::Operator(operator) = resolve(dispatcher, &node.target)? else { return Ok(false) };
    Ok(is_pointwise(&operator) && effects(dispatcher, node)?.is_pure)
}

/// The shape of the only result, unless that may be written.
fn shape<'n>(node: &'n Node, written: &BTreeSet<String>) -> Option<&'n [Size]> {
    let [Outcome::One(result)] = node.results.as_slice() else { return None };
    let names = node.arguments().flat_map(Argument::references);
    if written.contains(&result.name) || names.into_iter().any(|name| written.contains(name)) {
        return None;
    }
    match &result.kind {
        ValueType::Tensor(tensor) => Some(&tensor.sizes),
        _ => None,
    }
}

/// Nodes that are joined step by step.
struct Units {
    sets: Sets,
    /// The nodes of each unit, by its first one.
    members: Vec<Vec<usize>>,
    /// The nodes whose results each node reads.
    from: Vec<BTreeSet<usize>>,
}

impl Units {
    fn new(count: usize) -> Self {
        let members = (0..count).map(|place| vec![place]).collect();
        Self { sets: Sets::new(count), members, from: vec![BTreeSet::new(); count] }
    }

    /// The unit of a node: the first of its nodes.
    fn unit(&self, place: usize) -> usize {
        self.sets.root(place)
    }

    /// The units whose results a unit reads.
    fn sources(&self, unit: usize) -> BTreeSet<usize> {
        let sources =
            self.members[unit].iter().flat_map(|place| &self.from[*place]).map(|place| self.unit(*place));
        sources.filter(|source| *source != unit).collect()
    }

    /// Joins the units of two nodes, unless a third one stands between them.
    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.unit(a), self.unit(b));
        if a == b || self.is_between(a, b) || self.is_between(b, a) {
            return;
        }
        let (first, second) = (a.min(b), a.max(b));
        self.sets.join(first, second);
        let more = std::mem::take(&mut self.members[second]);
        self.members[first].extend(more);
        self.members[first].sort_unstable();
    }

    /// The place from which on nodes can read of a unit, also through units that have nodes before and behind a place.
    fn start(&self, unit: usize) -> usize {
        let mut start = unit;
        loop {
            let spans =
                |members: &&Vec<usize>| members.len() > 1 && members.last().is_some_and(|last| *last > start);
            let before =
                self.members.iter().filter(spans).filter_map(|members| members.first().copied()).min();
            match before.filter(|before| *before < start) {
                Some(before) => start = before,
                None => return start,
            }
        }
    }

    /// Whether values go from `first` to another unit and from there to `last`.
    fn is_between(&self, first: usize, last: usize) -> bool {
        let start = self.start(first);
        let may_read = |unit: &usize| self.members[*unit].last().is_some_and(|place| *place > start);
        let mut left: Vec<usize> =
            self.sources(last).into_iter().filter(|unit| *unit != first && may_read(unit)).collect();
        let mut seen: BTreeSet<usize> = left.iter().copied().collect();
        while let Some(unit) = left.pop() {
            for source in self.sources(unit) {
                if source == first {
                    return true;
                }
                if may_read(&source) && seen.insert(source) {
                    left.push(source);
                }
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_with_another_between_them_stay_apart() {
        // 0 → 1 → 2 and 0 → 2: joined with 0, 2 would need 1 in the middle of itself.
        let mut units = Units::new(4);
        units.from[1] = [0].into();
        units.from[2] = [0, 1].into();
        units.from[3] = [2].into();
        units.join(0, 2);
        assert_ne!(units.unit(0), units.unit(2));
        units.join(0, 1);
        units.join(1, 2);
        units.join(2, 3);
        assert!((0..4).all(|place| units.unit(place) == 0));
    }

    #[test]
    fn units_with_nodes_on_both_sides_lead_from_a_later_node_to_an_earlier_one() {
        // 4 → 5 and 0 → 1 → 3, with 0 and 5 in one unit: so 4 → {0, 5} → 1 → 3, and 4 and 3 stay apart.
        let mut units = Units::new(7);
        units.from[5] = [0, 4].into();
        units.from[1] = [0].into();
        units.from[3] = [1].into();
        units.from[6] = [3, 4].into();
        units.join(0, 5);
        units.join(3, 6);
        units.join(4, 6);
        assert_ne!(units.unit(4), units.unit(6));
    }
}
