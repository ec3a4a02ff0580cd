//! Graphs as text.

use std::fmt::{self, Formatter};

use opgrid_core::Scalar;

use crate::graph::expression::is_identifier;
use crate::graph::tree::Quoted;
use crate::graph::{Argument, Block, Graph, InputKind, Node, Outcome, OutputKind, Variable};

impl fmt::Display for Graph {
    /// The text form, which [`parse`](str::parse) reads; its grammar stands in the documentation of the [crate](crate).
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("graph(\n")?;
        for (index, parameter) in self.block.parameters.iter().enumerate() {
            write!(f, "  {parameter} = ")?;
            match self.inputs.get(index) {
                Some(kind) => input_kind(f, kind)?,
                None => f.write_str("input")?,
            }
            f.write_str(",\n")?;
        }
        f.write_str(")\n")?;
        for (index, (symbol, range)) in self.symbols.iter().enumerate() {
            write!(f, "{}{symbol} in {range}", if index == 0 { "where " } else { ", " })?;
        }
        if !self.symbols.is_empty() {
            f.write_str("\n")?;
        }
        writeln!(f, "takes {}\ngives {}", self.input_tree, self.output_tree)?;
        f.write_str("{\n")?;
        nodes(f, &self.block, 1)?;
        f.write_str("  return")?;
        for (index, result) in self.block.results.iter().enumerate() {
            f.write_str(if index == 0 { " " } else { ", " })?;
            output_kind(f, self.outputs.get(index).unwrap_or(&OutputKind::User))?;
            argument(f, result, 1)?;
        }
        f.write_str("\n}\n")
    }
}

fn input_kind(f: &mut Formatter<'_>, kind: &InputKind) -> fmt::Result {
    match kind {
        InputKind::Parameter(name) => write!(f, "parameter {}", Quoted(name)),
        InputKind::Buffer { name, persistent: true } => write!(f, "buffer {}", Quoted(name)),
        InputKind::Buffer { name, persistent: false } => write!(f, "buffer {} unsaved", Quoted(name)),
        InputKind::Constant(name) => write!(f, "constant {}", Quoted(name)),
        InputKind::User => f.write_str("input"),
        InputKind::Fixed(value) => {
            f.write_str("fixed ")?;
            argument(f, value, 1)
        }
    }
}

/// What a result is, in front of it.
fn output_kind(f: &mut Formatter<'_>, kind: &OutputKind) -> fmt::Result {
    match kind {
        OutputKind::User => Ok(()),
        OutputKind::Loss => f.write_str("loss "),
        OutputKind::BufferMutation(name) => write!(f, "buffer {} = ", Quoted(name)),
        OutputKind::ParameterMutation(name) => write!(f, "parameter {} = ", Quoted(name)),
        OutputKind::InputMutation(name) => write!(f, "input {} = ", Quoted(name)),
        OutputKind::ParameterGradient(name) => write!(f, "gradient parameter {} = ", Quoted(name)),
        OutputKind::InputGradient(name) => write!(f, "gradient input {} = ", Quoted(name)),
    }
}

fn indent(f: &mut Formatter<'_>, depth: usize) -> fmt::Result {
    (0..depth).try_for_each(|_| f.write_str("  "))
}

fn nodes(f: &mut Formatter<'_>, block: &Block, depth: usize) -> fmt::Result {
    for node in &block.nodes {
        indent(f, depth)?;
        print_node(f, node, depth)?;
        f.write_str("\n")?;
    }
    Ok(())
}

fn print_node(f: &mut Formatter<'_>, node: &Node, depth: usize) -> fmt::Result {
    for (index, outcome) in node.results.iter().enumerate() {
        f.write_str(if index == 0 { "" } else { ", " })?;
        match outcome {
            Outcome::One(variable) => write!(f, "{variable}")?,
            Outcome::Unused => f.write_str("_")?,
            Outcome::List(variables) => {
                f.write_str("[")?;
                for (index, variable) in variables.iter().enumerate() {
                    write!(f, "{}{variable}", if index == 0 { "" } else { ", " })?;
                }
                f.write_str("]")?;
            }
        }
    }
    if !node.results.is_empty() {
        f.write_str(" = ")?;
    }
    if is_target(&node.target) {
        f.write_str(&node.target)?
    } else {
        write!(f, "{}", Quoted(&node.target))?
    }
    f.write_str("(")?;
    let mut between = "";
    for value in &node.positional {
        f.write_str(std::mem::replace(&mut between, ", "))?;
        argument(f, value, depth)?;
    }
    for (name, value) in &node.named {
        write!(f, "{}{}=", std::mem::replace(&mut between, ", "), Name(name))?;
        argument(f, value, depth)?;
    }
    f.write_str(")")?;
    if node.source != Default::default() {
        write!(f, " from {} {}", Quoted(&node.source.module), Quoted(&node.source.place))?;
    }
    Ok(())
}

/// Whether a target needs no quotes.
pub(super) fn is_target(text: &str) -> bool {
    let starts_well = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    starts_well && text != "return" && text != "_" && text.bytes().all(is_target_byte)
}

pub(super) fn is_target_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':')
}

fn argument(f: &mut Formatter<'_>, value: &Argument, depth: usize) -> fmt::Result {
    match value {
        Argument::None => f.write_str("none"),
        Argument::Value(name) => write!(f, "%{}", Name(name)),
        Argument::Number(Scalar::Int(value)) => write!(f, "{value}"),
        Argument::Number(Scalar::UInt(value)) => write!(f, "{value}"),
        Argument::Number(Scalar::Float(value)) => float(f, *value),
        Argument::Number(Scalar::Bool(value)) => write!(f, "{value}"),
        Argument::Number(Scalar::Complex(value)) => {
            f.write_str("complex(")?;
            float(f, value.re)?;
            f.write_str(", ")?;
            float(f, value.im)?;
            f.write_str(")")
        }
        Argument::Str(text) => write!(f, "{}", Quoted(text)),
        Argument::DType(dtype) => write!(f, "torch.{}", dtype.name()),
        Argument::Layout(layout) => write!(f, "torch.{}", layout.name()),
        Argument::MemoryFormat(format) => write!(f, "torch.{}", format.name()),
        Argument::Device(device) => write!(f, "device {}", Quoted(&device.to_string())),
        Argument::List(items) => {
            f.write_str("[")?;
            for (index, item) in items.iter().enumerate() {
                f.write_str(if index == 0 { "" } else { ", " })?;
                argument(f, item, depth)?;
            }
            f.write_str("]")
        }
        Argument::Block(name, block) => {
            write!(f, "block {}(", Name(name))?;
            for (index, parameter) in block.parameters.iter().enumerate() {
                write!(f, "{}{parameter}", if index == 0 { "" } else { ", " })?;
            }
            f.write_str(") {\n")?;
            nodes(f, block, depth + 1)?;
            indent(f, depth + 1)?;
            f.write_str("return")?;
            for (index, result) in block.results.iter().enumerate() {
                f.write_str(if index == 0 { " " } else { ", " })?;
                argument(f, result, depth + 1)?;
            }
            f.write_str("\n")?;
            indent(f, depth)?;
            f.write_str("}")
        }
    }
}

/// A float that reads as one: with a point, an exponent, or as `inf` or `nan`.
fn float(f: &mut Formatter<'_>, value: f64) -> fmt::Result {
    if value.is_nan() { f.write_str("nan") } else { write!(f, "{value:?}") }
}

impl fmt::Display for Variable {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "%{}: {}", Name(&self.name), self.kind)
    }
}

impl fmt::Display for Argument {
    /// The argument as it stands in the text form.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        argument(f, self, 0)
    }
}

/// A name, in quotes where it is no identifier.
struct Name<'t>(&'t str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if is_identifier(self.0) { f.write_str(self.0) } else { write!(f, "{}", Quoted(self.0)) }
    }
}
