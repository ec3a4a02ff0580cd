//! Graphs in the language of Graphviz.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use opgrid_graph::{Argument, Block, Graph, InputKind, OutputKind};

/// The graph: a box for each node, grouped by module, and an arrow for each value that one gives to another.
pub(super) fn text(graph: &Graph) -> String {
    let mut drawing = Drawing { text: String::new(), arrows: String::new(), next: 0 };
    drawing.text.push_str(
        "digraph {\n  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n  edge [fontname=\"sans-serif\", fontsize=8];\n",
    );
    let kinds = |index: usize| match graph.inputs.get(index) {
        None | Some(InputKind::User) => "shape=ellipse",
        Some(_) => "shape=ellipse, style=dashed",
    };
    let ids = drawing.block(&graph.block, "  ", kinds);
    for (index, result) in graph.block.results.iter().enumerate() {
        let what = match graph.outputs.get(index) {
            None | Some(OutputKind::User) => format!("result {index}"),
            Some(OutputKind::Loss) => "loss".to_owned(),
            Some(OutputKind::BufferMutation(name)) => format!("writes buffer {name}"),
            Some(OutputKind::ParameterMutation(name)) => format!("writes parameter {name}"),
            Some(OutputKind::InputMutation(name)) => format!("writes input {name}"),
            Some(OutputKind::ParameterGradient(name)) => format!("gradient of parameter {name}"),
            Some(OutputKind::InputGradient(name)) => format!("gradient of input {name}"),
            Some(_) => "result".to_owned(),
        };
        let id = drawing.node("  ", &what, "shape=ellipse, style=bold");
        drawing.references(result, id, &ids);
    }
    format!("{}{}}}\n", drawing.text, drawing.arrows)
}

struct Drawing {
    text: String,
    arrows: String,
    next: usize,
}

/// Who gives each value, and what is known of it.
type Givers<'g> = HashMap<&'g str, (usize, String)>;

impl Drawing {
    fn node(&mut self, indent: &str, label: &str, style: &str) -> usize {
        let id = self.next;
        self.next += 1;
        let comma = if style.is_empty() { "" } else { ", " };
        let _ = writeln!(self.text, "{indent}n{id} [label={}{comma}{style}];", quoted(label));
        id
    }

    /// Draws parameters and nodes; those of one module stand in a frame.
    fn block<'g>(
        &mut self,
        block: &'g Block,
        indent: &str,
        style: impl Fn(usize) -> &'static str,
    ) -> Givers<'g> {
        let mut givers = Givers::new();
        for (index, parameter) in block.parameters.iter().enumerate() {
            let id = self.node(indent, &format!("{}\n{}", parameter.name, parameter.kind), style(index));
            givers.insert(&parameter.name, (id, parameter.kind.to_string()));
        }
        let mut modules: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, node) in block.nodes.iter().enumerate() {
            modules.entry(&node.source.module).or_default().push(index);
        }
        let mut ids = vec![0; block.nodes.len()];
        for (module, members) in modules {
            let inner = if module.is_empty() { indent.to_owned() } else { format!("{indent}  ") };
            if !module.is_empty() {
                let id = self.next;
                self.next += 1;
                let _ = writeln!(
                    self.text,
                    "{indent}subgraph cluster_{id} {{\n{inner}label={}; color=gray; fontname=\"sans-serif\"; fontsize=10;",
                    quoted(module)
                );
            }
            for index in members {
                let node = &block.nodes[index];
                let results: Vec<_> = node.variables().map(ToString::to_string).collect();
                let id = self.node(&inner, &format!("{}\n{}", node.target, results.join("\n")), "");
                ids[index] = id;
                for variable in node.variables() {
                    givers.insert(&variable.name, (id, variable.kind.to_string()));
                }
                for argument in node.arguments() {
                    let Argument::Block(name, body) = argument else { continue };
                    self.inner_block(name, body, &inner, id);
                }
            }
            if !module.is_empty() {
                let _ = writeln!(self.text, "{indent}}}");
            }
        }
        for (node, id) in block.nodes.iter().zip(ids) {
            node.arguments().for_each(|argument| self.references(argument, id, &givers));
        }
        givers
    }

    /// The body of a branch or a loop, in a frame, with what it gives to the node that has it.
    fn inner_block(&mut self, name: &str, body: &Block, indent: &str, owner: usize) {
        let id = self.next;
        self.next += 1;
        let _ = writeln!(
            self.text,
            "{indent}subgraph cluster_{id} {{\n{indent}  label={}; style=dashed; fontname=\"sans-serif\"; fontsize=10;",
            quoted(&format!("block {name}"))
        );
        let givers = self.block(body, &format!("{indent}  "), |_| "shape=ellipse");
        let _ = writeln!(self.text, "{indent}}}");
        body.results.iter().for_each(|result| self.references(result, owner, &givers));
    }

    fn references(&mut self, argument: &Argument, to: usize, givers: &Givers<'_>) {
        for name in argument.references() {
            let Some((from, kind)) = givers.get(name) else { continue };
            let _ = writeln!(self.arrows, "  n{from} -> n{to} [label={}];", quoted(kind));
        }
    }
}

/// A text in quotes.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_arrows_and_modules_frames() {
        let graph: Graph = r#"graph(%w: float32[2] = parameter "a\"w", %x: float32[2] = input) {
            %y: float32[2] = aten::mul.Tensor(%x, %w) from "layer.0" ""
            %c: bool = _operator.gt(1, 2)
            %z: float32[2] = higher_order::cond(%c, block yes(%v: float32[2]) { return %v }, block no(%v: float32[2]) { return %v }, [%y])
            return %z, buffer "b" = %y }"#
            .parse()
            .unwrap();
        let text = text(&graph);
        for part in [
            "n1 [label=\"x\\nfloat32[2]\", shape=ellipse];",
            "label=\"layer.0\"",
            "label=\"block yes\"",
            "label=\"writes buffer b\"",
            "label=\"aten::mul.Tensor\\n%y: float32[2]\"",
        ] {
            assert!(text.contains(part), "`{part}` is not in {text}");
        }
        // Two arguments, the condition and the operand of the branches, a result of each branch, two results.
        assert_eq!(text.matches("->").count(), 8, "{text}");
        assert_eq!(text.matches('{').count(), text.matches('}').count());
    }
}
