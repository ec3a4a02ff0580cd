//! The graph as indented lines.

use std::fmt;

use super::{Graph, GraphNode, counted, saved_line, shape};

/// Deeper nodes are not indented further: a graph may be a long chain.
const DEEPEST: usize = 24;

impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.summary())?;
        let mut is_printed = vec![false; self.nodes().len()];
        // The result number beside the node is that through which it was reached.
        let mut waiting: Vec<(usize, usize, usize)> = Vec::new();
        waiting.extend(self.results().iter().rev().map(|node| (*node, 0, 0)));
        while let Some((place, output, depth)) = waiting.pop() {
            let node = &self.nodes()[place];
            write!(f, "{:indent$}[{place}] ", "", indent = 2 * depth.min(DEEPEST))?;
            if is_printed[place] {
                writeln!(f, "{}, above", described(node, output))?;
                continue;
            }
            is_printed[place] = true;
            writeln!(f, "{}{}", described(node, output), saved(node))?;
            let targets = node.targets.iter().rev();
            waiting.extend(targets.filter_map(|target| Some((target.node?, target.output, depth + 1))));
        }
        match self.hidden() {
            0 => Ok(()),
            hidden => writeln!(f, "cut: {} not shown", counted(hidden, "more node is", "more nodes are")),
        }
    }
}

fn described(node: &GraphNode, output: usize) -> String {
    let result = node.results.get(output);
    let mut text = node.name.clone();
    if node.results.len() > 1 {
        text += &format!(" result {output}");
    }
    if let Some(name) = result.and_then(|result| result.name.as_deref()) {
        text += &format!(" `{}`", name.escape_debug());
    }
    if let Some((sizes, dtype)) = result.and_then(|result| result.shape.as_ref()) {
        text += &format!(" {}", shape(sizes, *dtype));
    }
    text
}

fn saved(node: &GraphNode) -> String {
    if node.is_freed {
        return "; freed".to_owned();
    }
    if node.saved.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = node.saved.iter().map(saved_line).collect();
    format!("; saves {}", lines.join("; "))
}
