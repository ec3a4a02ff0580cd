//! Kernels over arrays: the loops of operators, which know neither operators nor tensors.
//!
//! Element-wise functions, reductions, lines along a dimension and parts of an output ([`lines`], [`parts`]), products and
//! convolutions, sorting, indexing, resampling. Iteration itself is [`opgrid_array::loops`], whose modules are here as well.

#![deny(unsafe_code)]

pub mod activations;
pub mod attention;
pub mod bits;
pub mod choice;
pub mod clamp;
mod complex;
pub mod count;
pub mod ctc;
pub mod distances;
pub mod distributions;
pub mod division;
pub mod divisors;
mod double;
pub mod embedding;
pub mod fourier;
pub mod functions;
pub mod indexing;
pub mod join;
pub mod linalg;
pub mod lines;
pub mod log_sum;
pub mod margins;
pub mod mean;
pub mod neighbours;
pub mod norm;
pub mod normalise;
pub mod parts;
pub mod pooling;
pub mod power;
pub mod product;
pub mod products;
pub mod recurrent;
pub mod reduce;
pub mod resampling;
pub mod rounding;
pub mod runs;
pub mod sampling;
pub mod scan;
pub mod scatter;
pub mod searching;
pub mod sequence;
mod single;
pub mod softmax;
pub mod sorting;
pub mod special;
pub mod triangle;
mod trigonometric;
pub mod variance;

pub use opgrid_array::loops::{
    Function, InPlace, Input, Isa, Output, Source, access, arithmetic, copy, elementwise, isa, iter, math,
    num_threads, parallel_for, set_num_threads, simd,
};
pub use opgrid_array::random;

/// The instructions in use, for people: the level of [`isa()`], and AMX where [`products::uses_amx`].
///
/// # Examples
///
/// ```
/// use opgrid_kernels::{instructions, isa};
///
/// assert!(instructions().starts_with(&isa().to_string())); // such as "x86-64-v4, AMX"
/// ```
pub fn instructions() -> String {
    let amx = if products::uses_amx() { ", AMX" } else { "" };
    format!("{}{amx}", isa())
}
