//! Operators as Python calls them: one path for all of them.
//!
//! ```text
//! og.add(x, y)          function ┐
//! x.add(y), x + y       method   ├─► overloads of the name ─► choose ─► bind ─► call ─► objects of the results
//! og.ops.aten.add(x, y) packet   ┘
//! ```
//!
//! Nothing here knows an operator's name. What is registered, from wherever, is found when it is asked for.

pub(crate) mod arguments;
pub(crate) mod call;
pub(crate) mod candidates;
mod choose;
mod fastcall;
pub(crate) mod function_modes;
pub(crate) mod functions;
mod messages;
pub(crate) mod objects;
pub(crate) mod overload;
pub(crate) mod overriding;
pub(crate) mod packet;
mod plain;
pub(crate) mod schema;
mod signature;
