//! Differences from torch that come of what operators share: promotion, conversion, memory, outputs, and functions of numbers.

pub(crate) mod access;
pub(crate) mod activations;
pub(crate) mod arithmetic;
pub(crate) mod element;
pub(crate) mod functions;
pub(crate) mod math;
pub(crate) mod promote;
pub(crate) mod reduce;
// It asks for kinds of operators, which unit tests are compiled without.
#[cfg(not(test))]
pub(crate) mod result;
pub(crate) mod special;
