//! The kinds of operators that this crate knows. Libraries add their own, under these or beside them.

use opgrid_core::Kind;

/// Computes each element of the result from the elements at the same place of its inputs, which broadcast.
pub static POINTWISE: Kind = Kind::new("pointwise");
/// Of one input.
pub static POINTWISE_UNARY: Kind = Kind::under("pointwise unary", &POINTWISE);
/// Of two inputs.
pub static POINTWISE_BINARY: Kind = Kind::under("pointwise binary", &POINTWISE);
/// Of three inputs.
pub static POINTWISE_TERNARY: Kind = Kind::under("pointwise ternary", &POINTWISE);
/// Of two inputs, with a bool as the result.
pub static COMPARISON: Kind = Kind::under("comparison", &POINTWISE_BINARY);
/// Makes one element of many, along dimensions or over all of them.
pub static REDUCTION: Kind = Kind::new("reduction");
/// Multiplies matrices.
pub static PRODUCT: Kind = Kind::new("product");
/// Multiplies stacks of as many matrices.
pub static PRODUCT_OF_STACKS: Kind = Kind::under("product of stacks", &PRODUCT);
/// Gives other sizes and strides to the memory of its first input.
pub static VIEW: Kind = Kind::new("view");
/// Makes a new tensor of sizes and options.
pub static FACTORY: Kind = Kind::new("factory");
/// Draws random numbers.
pub static RANDOM: Kind = Kind::under("random", &FACTORY);
/// Copies elements, to a new tensor or another one, perhaps to another dtype or device.
pub static COPY: Kind = Kind::new("copy");
/// Reads or writes elements that indices choose.
pub static INDEXING: Kind = Kind::new("indexing");
/// Puts tensors together along a dimension.
pub static JOINING: Kind = Kind::new("joining");
/// Looks at elements and answers with a number instead of a tensor.
pub static QUESTION: Kind = Kind::new("question");
