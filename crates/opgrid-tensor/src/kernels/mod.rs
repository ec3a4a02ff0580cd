//! Loops over elements, shared by operators.
//!
//! Functions take [`Array`](crate::Array)s and a closure over elements, so that an operator's kernel is one line.
//! They borrow the arrays' memory, refuse overlaps that would make the result depend on the order of the loop, and
//! broadcast inputs to the output. A kernel picks the closure's types with [`with_dtype!`](crate::with_dtype).

pub(crate) mod access;
pub mod arithmetic;
pub mod choice;
pub mod copy;
pub mod division;
pub mod elementwise;
mod function;
pub(crate) mod indexing;
pub mod iter;
pub mod join;
pub mod math;
pub mod mean;
mod polynomials;
pub mod power;
pub mod products;
pub mod random;
pub mod reduce;
pub mod sequence;
pub(crate) mod simd;

pub use function::Function;
pub use iter::parallel::{num_threads, parallel_for, set_num_threads};
pub use iter::{Input, Output, Source};
