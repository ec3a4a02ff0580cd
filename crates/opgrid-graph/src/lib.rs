//! Programs of operators as values: read from what PyTorch exports, checked, printed and run.
//!
//! ```python
//! program = torch.export.export(model, (x,))
//! torch.export.save(program, "model.pt2")
//! ```
//!
//! [`Program::load`] reads such a file and runs it: no Python, no libtorch, and each node an ordinary call of the dispatcher, so that
//! layers, hooks, profiles and gradients work on a program as on code. A [`Graph`] is what the program does, as plain data: [`read`]
//! takes it from a file, [`check()`] says what is wrong with it, and it has a text form and [one in JSON](Graph::to_json). [`Archive::write`] and [`Program::save`] write
//! files that torch loads and runs.
//!
//! # Examples
//!
//! ```
//! use opgrid::{DType, Device, Tensor};
//! use opgrid_graph::Program;
//!
//! let program = Program::load(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/models/mlp.pt2"))?;
//! let x = Tensor::zeros(&[2, 8], DType::F32, Device::CPU)?;
//! assert_eq!(program.run(&[&x])?[0].sizes(), [2, 4]);
//!
//! let wrong = Tensor::zeros(&[100, 8], DType::F32, Device::CPU)?;
//! let error = program.run(&[&wrong]).unwrap_err();
//! assert!(error.message().starts_with("input `input`: found 100 for the size `s"), "{error}");
//! # Ok::<(), opgrid_core::Error>(())
//! ```
//!
//! # What is read
//!
//! Version 8 of torch.export's schema, which torch 2.8 to 2.15 write: weights of all dtypes with their strides and shared storages,
//! sizes that vary with their ranges, trees of tuples, lists, dicts and named tuples, written buffers and inputs, `cond`, `while_loop`, `map`, `scan`, and
//! blocks under `no_grad` or autocast. Nothing that an archive holds is run, and no pickle is read. Refused by name are pickled weights,
//! objects of custom classes, other higher-order operators, and archives of TorchScript, AOTInductor or an older torch.
//!
//! Values that the caller gave as plain numbers or strings when the program was exported are fixed in it: they are not given again.
//!
//! # The text form
//!
//! ```text
//! graph    = "graph" "(" { input "," } ")" [ "where" symbol "in" range { "," symbol "in" range } ]
//!            [ "takes" tree ] [ "gives" tree ] "{" { node } "return" [ output { "," output } ] "}"
//! input    = variable "=" ( "parameter" string | "buffer" string [ "unsaved" ] | "constant" string | "input" | "fixed" value )
//! output   = [ "loss" | ( "buffer" | "parameter" | "input" | "gradient parameter" | "gradient input" ) string "=" ] value
//! variable = "%" name ":" type
//! type     = dtype "[" [ size { "," size } ] "]" | "int" [ "(" size ")" ] | "float" | "bool" | "any"
//! size     = product { "+" product }          product = factor { "*" factor }
//! factor   = integer | symbol | function "(" [ size { "," size } ] ")" | "(" size ")"
//! range    = [ integer ] ".." [ integer ]     both ends included
//! node     = [ outcome { "," outcome } "=" ] target "(" { value "," } { name "=" value "," } ")" [ "from" string string ]
//! outcome  = variable | "[" { variable "," } "]" | "_"
//! target   = letters, digits, "_", "." and ":" | string
//! value    = "%" name | integer | float | "true" | "false" | "none" | string | "[" { value "," } "]" | "complex" "(" float "," float ")"
//!          | "torch." ( dtype | layout | format ) | "device" string
//!          | "block" name "(" { variable "," } ")" "{" { node } "return" [ value { "," value } ] "}"
//! tree     = "*" | "None" | "(" { tree "," } ")" | "[" { tree "," } "]" | [ kind string ] "{" { string ":" tree "," } "}"
//! kind     = "named" | "namedtuple" | "dataclass"
//! name     = identifier | string              string = as in JSON
//! ```
//!
//! The comma behind the last thing of a list may be left out. A `#` begins a comment that ends with its line. The strings behind `from`
//! are the module and the line that a node comes from. Printing what was parsed gives the same text for the same graph.
#![deny(unsafe_code)]

mod archive;
mod check;
mod compiled;
mod convert;
mod error;
mod graph;
mod json;
mod meta;
mod operators;
pub mod passes;
mod program;
mod rules;
mod sets;
mod text;
mod trace;
mod typing;

pub use archive::{Archive, read, read_graph};
pub use check::{check, find_target};
pub use graph::expression::Expression;
pub use graph::tree::Tree;
pub use graph::types::{Range, Size, TensorType, ValueType};
pub use graph::{Argument, Block, Graph, InputKind, Node, Outcome, OutputKind, Source, Variable};
pub use program::{ExecutedNode, FusedGroup, Limits, Program, Report, Unfused};
pub use trace::{Comparison, Scope, Trace, record_comparison, scope, size_symbol};

/// Unit tests call operators.
#[cfg(test)]
use opgrid as _;

/// The examples of README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
