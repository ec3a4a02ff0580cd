//! The text form of graphs: printed and parsed to a fixed point.

mod cursor;
mod parse;
mod print;

pub(crate) use parse::{parse_tree, parse_type};
