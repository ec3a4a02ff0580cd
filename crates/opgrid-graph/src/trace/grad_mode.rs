//! Code that ran while gradients were not recorded, as blocks of the program.

use std::collections::BTreeSet;

use opgrid_core::Scalar;

use crate::graph::{Argument, Block, Graph, Node, Outcome, Source, Variable};

/// The node that says whether gradients are recorded from here on, until [`blocks`] has taken it out.
pub(super) const MARK: &str = "_set_grad_enabled";

/// Puts the nodes between two marks into a block, which runs as they did.
pub(super) fn blocks(graph: &mut Graph) {
    let nodes = std::mem::take(&mut graph.block.nodes);
    let mut rest: Vec<(Option<bool>, Vec<Node>)> = vec![(None, Vec::new())];
    for node in nodes {
        match node.positional.as_slice() {
            [Argument::Number(Scalar::Bool(records))] if node.target == MARK => {
                // The second mark goes back to how it was when the trace began.
                let mode =
                    if rest.last().is_some_and(|(mode, _)| mode.is_some()) { None } else { Some(*records) };
                rest.push((mode, Vec::new()));
            }
            _ => rest.last_mut().into_iter().for_each(|(_, nodes)| nodes.push(node.clone())),
        }
    }
    for place in 0..rest.len() {
        let (mode, nodes) = std::mem::take(&mut rest[place]);
        let Some(records) = mode.filter(|_| !nodes.is_empty()) else {
            graph.block.nodes.extend(nodes);
            continue;
        };
        let later = rest[place + 1..].iter().flat_map(|(_, nodes)| nodes);
        let needed: BTreeSet<&str> = later
            .flat_map(Node::arguments)
            .chain(&graph.block.results)
            .flat_map(|argument| argument.references())
            .collect();
        let node = block(records, nodes, &needed, &graph.block);
        graph.block.nodes.push(node);
    }
}

/// One node that runs these nodes and gives what is needed of them.
fn block(records: bool, nodes: Vec<Node>, needed: &BTreeSet<&str>, around: &Block) -> Node {
    let made: BTreeSet<&str> = nodes.iter().flat_map(Node::variables).map(|it| it.name.as_str()).collect();
    let mut given: Vec<&str> = Vec::new();
    for name in nodes.iter().flat_map(Node::arguments).flat_map(|argument| argument.references()) {
        if !made.contains(name) && !given.contains(&name) {
            given.push(name);
        }
    }
    let before = around.nodes.iter().flat_map(Node::variables);
    let known: Vec<&Variable> = around.parameters.iter().chain(before).collect();
    let parameters =
        given.iter().filter_map(|name| known.iter().find(|it| it.name == *name).map(|it| (*it).clone()));
    let results: Vec<Variable> = nodes
        .iter()
        .flat_map(Node::variables)
        .filter(|it| needed.contains(it.name.as_str()))
        .cloned()
        .collect();
    let operands = given.iter().map(|name| Argument::Value((*name).to_owned()));
    let source = nodes.first().map_or_else(Source::default, |node| node.source.clone());
    let inner = Block {
        parameters: parameters.collect(),
        results: results.iter().map(|it| Argument::Value(it.name.clone())).collect(),
        nodes: nodes.clone(),
    };
    let name = if records { "with_gradients" } else { "without_gradients" };
    let head = [Argument::Number(Scalar::Bool(records)), Argument::Block(name.to_owned(), Box::new(inner))];
    Node {
        target: "higher_order::wrap_with_set_grad_enabled".to_owned(),
        positional: head.into_iter().chain(operands).collect(),
        named: Vec::new(),
        results: results.into_iter().map(Outcome::One).collect(),
        source,
    }
}
