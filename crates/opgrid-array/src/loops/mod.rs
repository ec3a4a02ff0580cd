//! Loops over elements: iteration over arrays of any geometry, on threads and with vector instructions, and what is applied to
//! each element.
//!
//! Functions take [`Array`](crate::Array)s and a closure over elements, so that an operator's kernel is one line. They borrow the
//! arrays' memory, refuse overlaps that would make the result depend on the order of the loop, and broadcast inputs to the output.
//! A kernel picks the closure's types with [`with_dtype!`](crate::with_dtype).

pub mod access;
pub mod arithmetic;
pub mod copy;
pub mod elementwise;
#[doc(hidden)]
pub mod function;
pub mod isa;
pub mod iter;
pub mod math;
#[doc(hidden)]
pub mod polynomials;
#[doc(hidden)]
pub mod simd;

pub use function::{Function, InPlace};
pub use isa::{Isa, isa};
pub use iter::parallel::{num_threads, parallel_for, set_num_threads};
pub use iter::{Input, Output, Source};
