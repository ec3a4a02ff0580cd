//! Programs of operators as values: read, checked, printed and run.
#![forbid(unsafe_code)]

mod archive;
mod check;
mod error;
mod graph;
mod program;

pub use archive::{Archive, read, read_graph};
pub use check::check;
pub use graph::expression::Expression;
pub use graph::tree::Tree;
pub use graph::types::{Range, Size, TensorType, ValueType};
pub use graph::{Argument, Block, Graph, InputKind, Node, Outcome, OutputKind, Source, Variable};
pub use program::Program;
