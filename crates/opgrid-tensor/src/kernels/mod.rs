//! Loops over elements, shared by operators.
//!
//! Functions take [`Array`](crate::Array)s and a closure over elements, so that an operator's kernel is one line.
//! They borrow the arrays' memory, refuse overlaps that would make the result depend on the order of the loop, and
//! broadcast inputs to the output. A kernel picks the closure's types with [`with_dtype!`](crate::with_dtype).

pub(crate) mod access;
pub mod activations;
pub mod arithmetic;
pub(crate) mod attention;
pub mod bits;
pub mod choice;
pub mod clamp;
mod complex;
pub mod copy;
pub(crate) mod count;
pub mod distances;
pub mod division;
pub mod divisors;
mod double;
pub mod elementwise;
pub(crate) mod embedding;
pub mod fourier;
mod function;
pub mod functions;
pub(crate) mod indexing;
mod isa;
pub mod iter;
pub mod join;
pub(crate) mod lines;
pub(crate) mod log_sum;
pub mod math;
pub mod mean;
pub mod neighbours;
pub(crate) mod norm;
pub(crate) mod normalise;
pub(crate) mod parts;
mod philox;
mod polynomials;
pub mod pooling;
pub mod power;
pub(crate) mod product;
pub mod products;
pub mod random;
pub(crate) mod recurrent;
pub mod reduce;
pub mod resampling;
pub mod rounding;
pub(crate) mod runs;
pub mod sampling;
pub(crate) mod scan;
pub(crate) mod scatter;
pub(crate) mod searching;
pub mod sequence;
pub(crate) mod simd;
mod single;
pub(crate) mod softmax;
pub(crate) mod sorting;
pub mod special;
pub(crate) mod triangle;
mod trigonometric;
pub(crate) mod variance;

pub use function::{Function, InPlace};
pub use isa::{Isa, isa};
pub use iter::parallel::{num_threads, parallel_for, set_num_threads};
pub(crate) use iter::pool::{forget_helpers, hold_helpers_at_fork};
pub use iter::{Input, Output, Source};
pub(crate) use random::hold_generator_at_fork;

/// The instructions in use, for people: the level of [`isa`], and AMX where [`products::uses_amx`].
///
/// # Examples
///
/// ```
/// use opgrid_tensor::kernels::{instructions, isa};
///
/// assert!(instructions().starts_with(&isa().to_string())); // such as "x86-64-v4, AMX"
/// ```
pub fn instructions() -> String {
    let amx = if products::uses_amx() { ", AMX" } else { "" };
    format!("{}{amx}", isa())
}
