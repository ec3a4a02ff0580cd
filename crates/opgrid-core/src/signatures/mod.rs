//! How Rust types stand for schemas: parameters, results, function types, and values in the order of a schema.

pub mod argument;
pub mod dict;
pub mod signature;
pub mod stack;
pub mod value_type;
