//! A program as a value: nodes that name overloads, what they are given, what comes in and what goes out.

pub(crate) mod expression;
pub(crate) mod tree;
pub(crate) mod types;

use std::collections::BTreeMap;

use opgrid_core::{DType, Device, Layout, MemoryFormat, Result, Scalar, Value};
use opgrid_tensor::Tensor;

use crate::error;
use expression::Expression;
use tree::Tree;
use types::{Range, ValueType};

/// A program of operators.
///
/// The block is what runs; everything else says what its parameters and results are to whoever calls it. A graph is plain data:
/// whether it is one that can run says [`check`](crate::check()).
///
/// # Examples
///
/// ```
/// use opgrid_graph::Graph;
///
/// let graph: Graph = r#"
/// graph(
///   %w: float32[3] = parameter "scale",
///   %x: float32[n, 3] = input,
/// )
/// where n in 1..64
/// takes ((*,), {})
/// gives *
/// {
///   %y: float32[n, 3] = aten::mul.Tensor(%x, %w)
///   return %y
/// }
/// "#.parse()?;
/// assert_eq!(graph.block.nodes[0].target, "aten::mul.Tensor");
/// assert_eq!(graph.to_string().parse::<Graph>()?, graph);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// The nodes, with the names and types of all inputs.
    pub block: Block,
    /// What each parameter of the block is, in their order.
    pub inputs: Vec<InputKind>,
    /// What each result of the block is, in their order.
    pub outputs: Vec<OutputKind>,
    /// The sizes that vary, and from where to where.
    pub symbols: BTreeMap<String, Range>,
    /// How the caller's arguments are nested: a tuple of the positional ones and a dict of those by name.
    pub input_tree: Tree,
    /// How the results for the caller are nested.
    pub output_tree: Tree,
}

/// Nodes with parameters and results: the body of a graph or of a branch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// The values that come in.
    pub parameters: Vec<Variable>,
    /// The nodes in the order in which they run.
    pub nodes: Vec<Node>,
    /// The values that go out: references or constants.
    pub results: Vec<Argument>,
}

/// A value that has a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// The name, unique in its block.
    pub name: String,
    /// What is known of the value.
    pub kind: ValueType,
}

/// One call of an operator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    /// What is called: an overload such as `aten::add.Tensor`, a function of numbers such as `_operator.mul`, or a higher-order
    /// operator such as `higher_order::cond`.
    pub target: String,
    /// The arguments by position.
    pub positional: Vec<Argument>,
    /// The arguments by name.
    pub named: Vec<(String, Argument)>,
    /// What it gives: one entry for each result of the schema.
    pub results: Vec<Outcome>,
    /// Where the call stood in the program that was exported.
    pub source: Source,
}

/// What becomes of one result of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It gets a name.
    One(Variable),
    /// It is a list, whose elements get names.
    List(Vec<Variable>),
    /// Nobody uses it.
    Unused,
}

/// Where a node comes from; both strings are empty where that is not known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// The module whose code it was, as in `encoder.layers.0`.
    pub module: String,
    /// The innermost line, as in `model.py:12`.
    pub place: String,
}

/// What a node is given, or what a block gives back.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Argument {
    /// Nothing.
    None,
    /// The value of that name.
    Value(String),
    /// A number that is known.
    Number(Scalar),
    /// A text.
    Str(String),
    /// A dtype.
    DType(DType),
    /// A layout.
    Layout(Layout),
    /// A memory format.
    MemoryFormat(MemoryFormat),
    /// A device.
    Device(Device),
    /// A list of any of these.
    List(Vec<Argument>),
    /// A branch or the body of a loop, with its name.
    Block(String, Box<Block>),
}

/// What a parameter of a graph is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum InputKind {
    /// A weight that is trained, by its name in the state dict.
    Parameter(String),
    /// A tensor of the module that is not trained. One that is not persistent is no part of the state dict.
    Buffer {
        /// The name.
        name: String,
        /// Whether it is part of the state dict.
        persistent: bool,
    },
    /// A tensor that the program's code named.
    Constant(String),
    /// What the caller gives.
    User,
    /// A value that the caller gave when the program was exported, and that it cannot vary.
    Fixed(Argument),
}

/// What a result of a graph is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutputKind {
    /// For the caller.
    User,
    /// The loss, for the caller too.
    Loss,
    /// The new value of a buffer.
    BufferMutation(String),
    /// The new value of a parameter.
    ParameterMutation(String),
    /// The new value of a tensor that the caller gave, by the name of the input.
    InputMutation(String),
    /// The gradient for a parameter.
    ParameterGradient(String),
    /// The gradient for a tensor that the caller gave.
    InputGradient(String),
}

impl OutputKind {
    /// Whether the caller gets it among the results.
    pub fn is_returned(&self) -> bool {
        !matches!(self, Self::BufferMutation(_) | Self::ParameterMutation(_) | Self::InputMutation(_))
    }
}

impl OutputKind {
    /// The name of the program's tensor that gets the result as its new value, if it is one of these.
    pub fn stored_name(&self) -> Option<&str> {
        match self {
            Self::BufferMutation(name) | Self::ParameterMutation(name) => Some(name),
            _ => None,
        }
    }
}

impl InputKind {
    /// The name under which its tensor is kept, if it is one that belongs to the program.
    pub fn stored_name(&self) -> Option<&str> {
        match self {
            Self::Parameter(name) | Self::Constant(name) | Self::Buffer { name, .. } => Some(name),
            Self::User | Self::Fixed(_) => None,
        }
    }

    /// The program's tensor for the input `variable`, if it is one that belongs to the program.
    ///
    /// # Errors
    ///
    /// There is none of that name, or its dtype or sizes are not those that the graph says.
    pub(crate) fn tensor<'t>(
        &self,
        variable: &Variable,
        tensors: &'t BTreeMap<String, Tensor>,
    ) -> Result<Option<&'t Tensor>> {
        let Some(name) = self.stored_name() else { return Ok(None) };
        let Some(tensor) = tensors.get(name) else {
            return Err(error::file(format!(
                "tensor `{name}` is missing, which the graph needs as `%{}`",
                variable.name
            )));
        };
        let (found, expected) = (ValueType::from_tensor(tensor), &variable.kind);
        if found != *expected {
            return Err(error::file(format!(
                "tensor `{name}` is {found}, expected {expected} as the graph says"
            )));
        }
        Ok(Some(tensor))
    }
}

impl Graph {
    /// The inputs that the caller gives, in their order.
    pub fn user_inputs(&self) -> impl Iterator<Item = &Variable> {
        let pairs = self.block.parameters.iter().zip(&self.inputs);
        pairs.filter(|(_, kind)| **kind == InputKind::User).map(|(variable, _)| variable)
    }

    /// The results that the caller gets, in their order; `None` for one that is a constant.
    pub fn user_results(&self) -> impl Iterator<Item = Option<&Variable>> {
        let known: BTreeMap<&str, &Variable> = self
            .block
            .parameters
            .iter()
            .chain(self.block.nodes.iter().flat_map(Node::variables))
            .map(|variable| (variable.name.as_str(), variable))
            .collect();
        let pairs = self.block.results.iter().zip(&self.outputs);
        pairs.filter(|(_, kind)| kind.is_returned()).map(move |(result, _)| match result {
            Argument::Value(name) => known.get(name.as_str()).copied(),
            _ => None,
        })
    }

    /// Whether the program gives its tensor of that name a new value.
    pub(crate) fn writes(&self, name: &str) -> bool {
        self.outputs.iter().any(|output| output.stored_name() == Some(name))
    }

    /// How often each target is called, in blocks within blocks too, in alphabetical order.
    pub fn targets(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        self.block.visit(&mut |node| *counts.entry(node.target.as_str()).or_insert(0) += 1);
        counts
    }
}

impl Block {
    /// Shows every node to `look`, those of blocks within it after the node that has them.
    pub fn visit<'b>(&'b self, look: &mut impl FnMut(&'b Node)) {
        let mut blocks = vec![self];
        while let Some(block) = blocks.pop() {
            for node in &block.nodes {
                look(node);
                blocks.extend(node.arguments().filter_map(Argument::as_block));
            }
        }
    }
}

impl Node {
    /// All arguments, to be changed.
    pub(crate) fn arguments_mut(&mut self) -> impl Iterator<Item = &mut Argument> {
        self.positional.iter_mut().chain(self.named.iter_mut().map(|(_, argument)| argument))
    }

    /// All arguments, those by name last.
    pub fn arguments(&self) -> impl Iterator<Item = &Argument> {
        self.positional.iter().chain(self.named.iter().map(|(_, argument)| argument))
    }

    /// What it is called in errors: its number in the block, the name of its first result, and the line that it comes from.
    pub(crate) fn subject(&self, index: usize) -> String {
        let name =
            self.variables().next().map_or_else(String::new, |variable| format!(" `%{}`", variable.name));
        let place =
            if self.source.place.is_empty() { String::new() } else { format!(" ({})", self.source.place) };
        format!("node {index}{name}{place}")
    }

    /// The blocks among its arguments, to be changed.
    pub(crate) fn blocks_mut(&mut self) -> impl Iterator<Item = &mut Block> {
        self.arguments_mut().filter_map(|argument| match argument {
            Argument::Block(_, block) => Some(&mut **block),
            _ => None,
        })
    }

    /// The variables that it gives names to.
    pub fn variables(&self) -> impl Iterator<Item = &Variable> {
        self.results.iter().flat_map(Outcome::variables)
    }
}

impl Outcome {
    /// The variables of one result.
    pub fn variables(&self) -> &[Variable] {
        match self {
            Self::One(variable) => std::slice::from_ref(variable),
            Self::List(variables) => variables,
            Self::Unused => &[],
        }
    }

    /// The variables of one result, to be changed.
    pub(crate) fn variables_mut(&mut self) -> &mut [Variable] {
        match self {
            Self::One(variable) => std::slice::from_mut(variable),
            Self::List(variables) => variables,
            Self::Unused => &mut [],
        }
    }
}

impl Argument {
    /// The value that it always has; `None` where it names values or blocks, or is a list.
    pub(crate) fn constant(&self) -> Option<Value> {
        Some(match self {
            Self::None => Value::None,
            Self::Number(number) => Value::from(*number),
            Self::Str(text) => Value::from(text.as_str()),
            Self::DType(dtype) => Value::DType(*dtype),
            Self::Layout(layout) => Value::Layout(*layout),
            Self::MemoryFormat(format) => Value::MemoryFormat(*format),
            Self::Device(device) => Value::Device(*device),
            Self::Value(_) | Self::List(_) | Self::Block(..) => return None,
        })
    }

    /// The block, if it is one.
    pub fn as_block(&self) -> Option<&Block> {
        if let Self::Block(_, block) = self { Some(block) } else { None }
    }

    /// The names of the values that it refers to, from first to last.
    pub fn references(&self) -> Vec<&str> {
        let (mut names, mut left) = (Vec::new(), vec![self]);
        while let Some(argument) = left.pop() {
            match argument {
                Self::Value(name) => names.push(name.as_str()),
                Self::List(items) => left.extend(items.iter().rev()),
                _ => {}
            }
        }
        names
    }
}

impl From<i64> for Argument {
    fn from(value: i64) -> Self {
        Self::Number(Scalar::Int(value))
    }
}

impl From<Expression> for types::Size {
    fn from(expression: Expression) -> Self {
        match expression {
            Expression::Integer(value) => Self::Known(value),
            expression => Self::Varying(expression),
        }
    }
}
