//! The schema language of operators: text to data and back.
//!
//! A schema declares one overload of an operator:
//!
//! ```text
//! aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)
//! ```
//!
//! The language, its printed form and its messages are PyTorch's (version 2.15). Deliberate differences are few
//! and marked `DIFFERENCE` in the tests. This crate knows nothing of dispatching; it has no dependencies and no
//! unsafe code.
//!
//! - Reading: [`FunctionSchema::parse`], [`Declaration::parse`], [`OperatorName::parse`], [`Type::parse`].
//! - Writing: `Display`, where `{:#}` reads back to an equal schema.
//! - Comparing: [`FunctionSchema::is_backward_compatible_with`], [`check_signature`].
//! - Calling: [`FunctionSchema::bind`] puts positional and keyword values in order and checks their types.
//!
//! # Examples
//!
//! ```
//! use opgrid_schema::{FunctionSchema, Type};
//!
//! let schema = FunctionSchema::parse("my::scale(Tensor self, float by=2) -> Tensor")?;
//! assert_eq!(schema.name.namespace(), Some("my"));
//! assert_eq!(schema.arguments[1].real_type, Type::Float);
//! assert_eq!(schema.to_string(), "my::scale(Tensor self, float by=2.) -> Tensor");
//!
//! let error = FunctionSchema::parse("my::scale(Tensor self, float) -> Tensor").unwrap_err();
//! assert_eq!(error.message(), "expected ident but found ')' here");
//! # Ok::<(), opgrid_schema::ParseError>(())
//! ```
#![forbid(unsafe_code)]

mod alias;
mod aliasing;
mod binding;
mod compatibility;
mod constant;
mod default;
mod error;
mod forms;
mod lexer;
mod parser;
mod print;
mod schema;
mod signature;
mod type_parser;
mod types;

pub use alias::{AliasInfo, WILDCARD};
pub use aliasing::{SchemaValue, UnknownArgument};
pub use binding::{BindError, BindErrorKind, TypedValue};
pub use compatibility::{Difference, Incompatibility, Reason};
pub use constant::{Constant, print_float};
pub use error::{ParseError, ParseErrorKind};
pub use schema::{AliasAnalysis, Argument, Declaration, FunctionSchema, OperatorName, ParseOptions};
pub use signature::{SignatureMismatch, check_signature};
pub use types::Type;

/// The examples of README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
