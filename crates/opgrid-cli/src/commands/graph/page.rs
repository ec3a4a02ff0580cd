//! Graphs as markup: what comes in, the nodes folded by module, and what goes out.

use std::fmt::Write as _;

use opgrid_graph::{Argument, Block, Graph, InputKind, Node, Outcome, OutputKind, Size, ValueType, Variable};

use crate::html::escaped;

/// The body of the page.
pub(super) fn body(graph: &Graph) -> String {
    let mut page = Page { text: String::new(), blocks: 0 };
    let (mut weights, mut bytes) = (0usize, 0i128);
    for (variable, kind) in graph.block.parameters.iter().zip(&graph.inputs) {
        if kind.stored_name().is_some() {
            weights += 1;
            bytes += known_bytes(&variable.kind).unwrap_or_default();
        }
    }
    let nodes: usize = graph.targets().values().sum();
    let _ = writeln!(
        page.text,
        "<p class=\"quiet\">{}; {} with {}</p>",
        super::counted(nodes, "node"),
        super::counted(weights, "tensor"),
        readable(bytes)
    );
    let scope = page.scope();
    let (stored, given): (Vec<_>, Vec<_>) = graph
        .block
        .parameters
        .iter()
        .enumerate()
        .map(|(index, variable)| (variable, graph.inputs.get(index).unwrap_or(&InputKind::User)))
        .partition(|(_, kind)| kind.stored_name().is_some());
    for (title, inputs, is_open) in
        [("Weights, buffers and constants", stored, false), ("Inputs", given, true)]
    {
        if inputs.is_empty() {
            continue;
        }
        page.open(title, inputs.len(), is_open);
        for (variable, kind) in inputs {
            page.row(&scope, &[variable], &format!("{}{}", definition(variable), escaped(&input(kind))), "");
        }
        page.text.push_str("</details>\n");
    }
    if !graph.symbols.is_empty() {
        page.open("Sizes that vary", graph.symbols.len(), true);
        for (name, range) in &graph.symbols {
            page.row(&scope, &[], &format!("{} in {range}", escaped(name)), "");
        }
        page.text.push_str("</details>\n");
    }
    page.open("Nodes", graph.block.nodes.len(), true);
    page.nodes(&graph.block, &scope);
    page.text.push_str("</details>\n");
    page.open("Results", graph.block.results.len(), true);
    for (index, result) in graph.block.results.iter().enumerate() {
        let kind = graph.outputs.get(index).unwrap_or(&OutputKind::User);
        page.row(&scope, &[], &format!("{}{}", escaped(&output(kind)), argument(&scope, result)), "");
    }
    page.text.push_str("</details>\n");
    page.text
}

/// What a value of a block goes by in links: its name behind the number of the block.
struct Scope {
    block: usize,
}

struct Page {
    text: String,
    blocks: usize,
}

impl Page {
    fn scope(&mut self) -> Scope {
        self.blocks += 1;
        Scope { block: self.blocks - 1 }
    }

    fn open(&mut self, title: &str, count: usize, is_open: bool) {
        let open = if is_open { " open" } else { "" };
        let _ = writeln!(
            self.text,
            "<details{open}><summary>{} <span class=\"quiet\">{count}</span></summary>",
            escaped(title)
        );
    }

    /// A line: `code` is markup, the values that it defines can be linked to.
    fn row(&mut self, scope: &Scope, values: &[&Variable], code: &str, place: &str) {
        let id = values
            .first()
            .map_or_else(String::new, |first| format!(" id=\"{}-{}\"", scope.block, escaped(&first.name)));
        // Further values of the line are places of their own.
        let more: String = values
            .iter()
            .skip(1)
            .map(|value| format!("<span id=\"{}-{}\"></span>", scope.block, escaped(&value.name)))
            .collect();
        let bytes: Vec<_> = values.iter().filter_map(|value| bytes(&value.kind)).collect();
        let _ = writeln!(
            self.text,
            "<div class=\"row\"{id}>{more}<span class=\"code\">{code}</span><span class=\"bytes quiet\">{}</span>\
             <span class=\"place quiet\">{}</span></div>",
            escaped(&bytes.join(", ")),
            escaped(place)
        );
    }

    /// Nodes in their order; those that follow each other in one module are folded into it.
    fn nodes(&mut self, block: &Block, scope: &Scope) {
        let parts = |node: &'_ Node| -> Vec<String> {
            node.source.module.split('.').filter(|part| !part.is_empty()).map(str::to_owned).collect()
        };
        let paths: Vec<_> = block.nodes.iter().map(parts).collect();
        let mut open: Vec<String> = Vec::new();
        for (index, node) in block.nodes.iter().enumerate() {
            let path = &paths[index];
            let common = open.iter().zip(path).take_while(|(a, b)| a == b).count();
            self.text.push_str(&"</details>\n".repeat(open.len() - common));
            open.truncate(common);
            for part in &path[common..] {
                open.push(part.clone());
                let follow = paths[index..].iter().take_while(|path| path.starts_with(&open)).count();
                self.open(part, follow, false);
            }
            self.node(node, scope);
        }
        self.text.push_str(&"</details>\n".repeat(open.len()));
    }

    fn node(&mut self, node: &Node, scope: &Scope) {
        let outcomes: Vec<_> = node
            .results
            .iter()
            .map(|outcome| match outcome {
                Outcome::Unused => "_".to_owned(),
                Outcome::One(variable) => definition(variable),
                Outcome::List(variables) => {
                    let all: Vec<_> = variables.iter().map(definition).collect();
                    format!("[{}]", all.join(", "))
                }
            })
            .collect();
        let gives = if outcomes.is_empty() { String::new() } else { format!("{} = ", outcomes.join(", ")) };
        let positional = node.positional.iter().map(|value| argument(scope, value));
        let named =
            node.named.iter().map(|(name, value)| format!("{}={}", escaped(name), argument(scope, value)));
        let arguments: Vec<_> = positional.chain(named).collect();
        let code = format!(
            "{gives}<span class=\"target\">{}</span>({})",
            escaped(&node.target),
            arguments.join(", ")
        );
        let values: Vec<_> = node.variables().collect();
        self.row(scope, &values, &code, &node.source.place);
        for value in node.arguments() {
            let Argument::Block(name, block) = value else { continue };
            let inner = self.scope();
            self.open(&format!("block {name}"), block.nodes.len(), false);
            for parameter in &block.parameters {
                self.row(&inner, &[parameter], &definition(parameter), "");
            }
            self.nodes(block, &inner);
            let results: Vec<_> = block.results.iter().map(|result| argument(&inner, result)).collect();
            self.row(&inner, &[], &format!("return {}", results.join(", ")), "");
            self.text.push_str("</details>\n");
        }
    }
}

fn definition(variable: &Variable) -> String {
    escaped(&format!("%{}: {}", variable.name, variable.kind))
}

fn input(kind: &InputKind) -> String {
    match kind {
        InputKind::Parameter(name) => format!(" = parameter {name}"),
        InputKind::Buffer { name, persistent: true } => format!(" = buffer {name}"),
        InputKind::Buffer { name, persistent: false } => format!(" = buffer {name}, not saved"),
        InputKind::Constant(name) => format!(" = constant {name}"),
        InputKind::Fixed(value) => format!(" = {value}, fixed"),
        _ => String::new(),
    }
}

fn output(kind: &OutputKind) -> String {
    match kind {
        OutputKind::Loss => "loss ".to_owned(),
        OutputKind::BufferMutation(name) => format!("buffer {name} = "),
        OutputKind::ParameterMutation(name) => format!("parameter {name} = "),
        OutputKind::InputMutation(name) => format!("input {name} = "),
        OutputKind::ParameterGradient(name) => format!("gradient of parameter {name} = "),
        OutputKind::InputGradient(name) => format!("gradient of input {name} = "),
        _ => String::new(),
    }
}

/// What a node is given; values are links to where they come from.
fn argument(scope: &Scope, value: &Argument) -> String {
    match value {
        Argument::Value(name) => {
            format!("<a href=\"#{}-{}\">%{}</a>", scope.block, escaped(name), escaped(name))
        }
        Argument::List(items) => {
            let items: Vec<_> = items.iter().map(|item| argument(scope, item)).collect();
            format!("[{}]", items.join(", "))
        }
        Argument::Block(name, _) => escaped(&format!("block {name}")),
        constant => escaped(&constant.to_string()),
    }
}

/// The size of a tensor whose sizes are all known.
fn known_bytes(kind: &ValueType) -> Option<i128> {
    let ValueType::Tensor(tensor) = kind else { return None };
    let element = tensor.dtype.size_in_bytes() as i128;
    tensor.sizes.iter().try_fold(element, |bytes, size| match size {
        Size::Known(size) => bytes.checked_mul(i128::from(*size)),
        Size::Varying(_) => None,
    })
}

/// How many bytes a tensor has, as a number or as an expression of the sizes that vary.
fn bytes(kind: &ValueType) -> Option<String> {
    let ValueType::Tensor(tensor) = kind else { return None };
    if let Some(bytes) = known_bytes(kind) {
        return Some(readable(bytes));
    }
    let mut known = tensor.dtype.size_in_bytes() as i128;
    let mut factors = Vec::new();
    for size in &tensor.sizes {
        match size {
            Size::Known(size) => known = known.checked_mul(i128::from(*size))?,
            Size::Varying(expression) if expression.as_symbol().is_some() => {
                factors.push(expression.to_string())
            }
            Size::Varying(expression) => factors.push(format!("({expression})")),
        }
    }
    Some(format!("{known}*{} B", factors.join("*")))
}

/// A number of bytes with a unit.
fn readable(bytes: i128) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let (mut value, mut unit) = (bytes as f64 / 1024.0, 0);
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_folded_by_module_and_values_are_links() {
        let graph: Graph =
            r#"graph(%w: float32[2, 256] = parameter "w", %x: float32[n] = input) where n in 1..9 {
            %a: float32[n, 2] = aten::one(%x, "<b>") from "layer.0" "model.py:1"
            %b: float32[2*n] = aten::two(%a, [%w, none]) from "layer.1" ""
            %c: int = aten::three(%b) from "" ""
            return %c, loss %b }"#
                .parse()
                .unwrap();
        let body = body(&graph);
        for part in [
            "3 nodes; 1 tensor with 2.0 KiB",
            "<summary>layer <span class=\"quiet\">2</span></summary>",
            "<summary>0 <span class=\"quiet\">1</span></summary>",
            "<a href=\"#0-a\">%a</a>",
            "[<a href=\"#0-w\">%w</a>, none]",
            "id=\"0-b\"",
            "8*n B",
            "4*(2*n) B",
            "&lt;b&gt;",
            "model.py:1",
        ] {
            assert!(body.contains(part), "`{part}` is not in {body}");
        }
        assert_eq!(body.matches("<details").count(), body.matches("</details>").count());
        assert!(!body.contains("<b>"));
    }
}
