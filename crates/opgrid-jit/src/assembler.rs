//! What plans ask of generators of machine code.
#![allow(unsafe_code)]

use std::fmt;

use opgrid_core::Result;

use crate::expression::{Access, Expression, Value};

/// Where a value that code does not compute comes from.
#[cfg_attr(
    not(all(feature = "machine-code", target_arch = "x86_64", target_os = "linux")),
    expect(dead_code, reason = "this build has no generator")
)]
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    /// Memory: one of the addresses that the code is called with.
    Memory { place: usize, access: Access },
    /// A number, by its bits.
    Number(u64),
}

/// What an address leads to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    Input(usize),
    Output(usize),
    /// The block of a value between steps.
    Block(usize),
}

/// What code is generated for.
#[cfg_attr(
    not(all(feature = "machine-code", target_arch = "x86_64", target_os = "linux")),
    expect(dead_code, reason = "this build has no generator")
)]
#[derive(Debug)]
pub(crate) struct Body {
    /// The values that are computed, each after those that it is computed from.
    pub values: Vec<Value>,
    /// Where each value that is read comes from.
    pub sources: Vec<Option<Source>>,
    /// The values that are written, and the numbers of the addresses.
    pub stores: Vec<(Value, usize)>,
}

/// A generator of machine code.
pub(crate) trait Assemble {
    /// Whether there are instructions that load a leaf, or compute a node from operands that it has code for.
    fn has_code(&self, expression: &Expression, value: Value) -> bool;

    /// Code for some values of an expression; `None` if there is none, because the system gives no executable memory or more values
    /// are needed at a time than code has room for.
    ///
    /// # Errors
    ///
    /// Instructions that cannot be encoded, which is an error of the generator.
    fn assemble(&self, expression: &Expression, body: &Body) -> Result<Option<Box<dyn BlockCode>>>;
}

/// Elements of which code computes a multiple.
pub(crate) const LANES: usize = 16;

/// Machine code for blocks of elements.
pub(crate) trait BlockCode: fmt::Debug + Send + Sync {
    /// Computes `n` elements, a multiple of [`LANES`].
    ///
    /// # Safety
    ///
    /// There is an address for each place of the body, of `n` elements of the value's dtype, or of one element where the access is
    /// [`Access::Scalar`]. Those that are read are initialised; those that are written may be, and lie apart from all others.
    unsafe fn run(&self, addresses: &[*mut u8], n: usize);

    /// The length in bytes.
    fn bytes(&self) -> usize;
}
