//! The graph in the language of Graphviz.

use std::fmt::Write;

use super::{Graph, GraphNode, counted, saved_line, shape};

impl Graph {
    /// The graph in the language of Graphviz: `dot -Tsvg` draws it.
    pub fn to_dot(&self) -> String {
        let mut text = String::from(
            "digraph gradients {\n  node [shape=box, style=\"rounded,filled\", fillcolor=\"#f6f8fa\", fontname=\"monospace\", fontsize=10];\n  \
             edge [fontname=\"monospace\", fontsize=9];\n",
        );
        // Writing to a string does not fail.
        let _ = writeln!(text, "  label={};", quoted(&self.summary()));
        for (place, node) in self.nodes().iter().enumerate() {
            let color = if node.is_leaf { ", fillcolor=\"#ddf4ff\"" } else { "" };
            let _ = writeln!(text, "  n{place} [label={}{color}];", quoted(&lines(node).join("\n")));
        }
        for (place, node) in self.nodes().iter().enumerate() {
            for target in &node.targets {
                let Some(to) = target.node else { continue };
                let label = match self.nodes()[to].results.len() {
                    1 => String::new(),
                    _ => format!(" [label={}]", quoted(&format!("result {}", target.output))),
                };
                let _ = writeln!(text, "  n{place} -> n{to}{label};");
            }
        }
        if self.hidden() > 0 {
            let more = format!("{} not shown", counted(self.hidden(), "more node", "more nodes"));
            let _ = writeln!(text, "  cut [label={}, shape=plaintext, style=\"\"];", quoted(&more));
            for (place, _) in self.nodes().iter().enumerate().filter(|(_, node)| is_cut(node)) {
                let _ = writeln!(text, "  n{place} -> cut [style=dashed];");
            }
        }
        text.push_str("}\n");
        text
    }
}

/// Whether a gradient goes on to a node that is not shown.
pub(super) fn is_cut(node: &GraphNode) -> bool {
    node.targets.iter().any(|target| target.node.is_none())
}

/// The lines of a node's box; the first is its title.
pub(super) fn lines(node: &GraphNode) -> Vec<String> {
    let mut lines = vec![node.title().to_owned()];
    for (output, result) in node.results.iter().enumerate() {
        let Some((sizes, dtype)) = &result.shape else { continue };
        let name = result.name.as_deref().filter(|_| !node.is_leaf);
        let number = if node.results.len() > 1 { format!("result {output} ") } else { String::new() };
        let name = name.map(|name| format!("{name} ")).unwrap_or_default();
        lines.push(format!("{number}{name}{}", shape(sizes, *dtype)));
    }
    if node.is_freed {
        lines.push("freed".to_owned());
    }
    lines.extend(node.saved.iter().map(|saved| format!("saves {}", saved_line(saved))));
    lines
}

/// A text in the quotes of the language; lines begin on the left.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\l"),
            control if control.is_control() => quoted.push('\u{fffd}'),
            other => quoted.push(other),
        }
    }
    if text.contains('\n') {
        quoted.push_str("\\l");
    }
    quoted.push('"');
    quoted
}
