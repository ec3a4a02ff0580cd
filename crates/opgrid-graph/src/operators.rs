//! The operators that graphs name.

use opgrid_core::{Operator, Result};
use opgrid_tensor::ops::Detach;

/// Gives the global dispatcher the operators that programs find there by name: all of them with the feature `all-operators` of
/// `opgrid`, else those that the program names in Rust.
///
/// `opgrid_tensor::ensure_registered` would name all in both cases, so that every program that runs a graph linked them.
///
/// # Errors
///
/// Somebody else has taken the namespace `aten`.
pub(crate) fn ensure_registered() -> Result<()> {
    Detach::ensure_registered()
}
