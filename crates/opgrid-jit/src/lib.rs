//! Fused element-wise loops: an expression language, an interpreter over blocks, and machine code.
//!
//! An [`Expression`] says what a loop computes of one element of each input. A [`Program`] runs it over arrays of any strides, on
//! threads: as machine code for AVX2 or AVX-512 that is generated in microseconds, or by an interpreter, which computes one block of
//! elements after the other and is the reference for that code.
//!
//! Results equal those of eager operators bit for bit, by construction. The interpreter computes with the arithmetic of
//! [`opgrid_array::loops::arithmetic`], which is that of the operators; machine code has the same operations in the same order, and
//! no product is fused with a sum. Elementary functions, as the exponential, are [`Function`]s: the code of the operators, called with
//! blocks that lie in the first cache; [`functions`] has some. One NaN may stand for another, as in eager operators: the compiler
//! promises neither its sign nor its payload, and no operation of an expression makes them visible.
//!
//! Results depend neither on the number of threads nor on the [`Level`]. On the processor they depend as far as the functions do: eager
//! loops of elementary functions give other bits before x86-64-v3, which has products and sums at once.
//!
//! | level | nodes are computed |
//! |---|---|
//! | [`Level::Interpreter`] | one after the other, a block of 1024 elements at a time |
//! | [`Level::Avx2`], [`Level::Avx512`] | in registers, in one loop; by the interpreter what has no code there, as functions |
//!
//! The feature `machine-code`, which is on by default, adds code generation. Without it, on other processors, and where the system
//! refuses memory that is executable, programs are interpreted.

#![deny(unsafe_code)]

mod assembler;
mod element;
mod expression;
mod function;
pub mod functions;
mod generators;
mod interpret;
mod layout;
mod level;
mod operand;
mod plan;
mod program;
mod worker;
#[cfg(all(feature = "machine-code", target_arch = "x86_64", target_os = "linux"))]
mod x86;

pub use element::is_supported;
pub use expression::{Access, Binary, Comparison, Expression, Unary, Value};
pub use function::{BlockFunction, Function};
pub use level::Level;
pub use program::Program;

/// What the expansion of [`elementary_function!`] names.
#[doc(hidden)]
pub mod elementary {
    pub use opgrid_array::loops::elementwise::unary_slice;
    pub use opgrid_core::DType;
}
