//! Samples: what an operator is called with in tests, what it has to answer, and what it refuses.
//!
//! Every operator file ends in a module `samples`; `opgrid_operators::samples` collects them.
//! They are data and name no device, so that the suite of `opgrid-testing` runs them on any backend. The expected
//! results come from plain loops over numbers ([`Plain`], [`Inputs`]), which share no code with the kernels.
//!
//! # Examples
//!
//! The samples of an operator of one's own:
//!
//! ```
//! use opgrid_core::operator;
//! use opgrid_tensor::Tensor;
//! use opgrid_samples::{NUMBERS, DTypeRule, Samples, generate, number};
//!
//! operator! {
//!     pub Double = "docs::double(Tensor self) -> Tensor";
//! }
//!
//! fn samples(samples: &mut Samples) {
//!     samples.operator(Double, NUMBERS, generate::unary, |it| it.unary(DTypeRule::Promoted, |x| number::plus(x, x)));
//! }
//!
//! let mut own = Samples::new();
//! samples(&mut own);
//! assert_eq!(own.operators()[0].name(), "docs::double");
//! ```

mod collection;
pub mod departures;
pub mod differences;
pub mod generate;
pub mod indexing;
mod inputs;
mod lists;
pub mod naive;
pub mod number;
mod plain;
pub mod prelude;
mod rounding;
mod sample;

pub use collection::{OperatorSamples, Refusal, Samples};
pub use differences::{Argument, Difference, Directed, Operand, Part, Seen};
pub use inputs::Inputs;
pub use naive::DTypeRule;
pub use plain::Plain;
pub use rounding::{Rounding, Roundings};
pub use sample::{Distribution, Expected, Given, Sample, given};

pub use opgrid_tensor::tensor::choose::{
    ANY, COMPLEX, FLOATS, INEXACT, INTEGERS, INTEGRAL, NUMBERS, ORDERED, REAL, STORED,
};
