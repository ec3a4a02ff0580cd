//! Writes arrays one behind the other.

use opgrid_core::Result;

use super::access::{self, Aliasing};
use super::elementwise;
use crate::tensor::Array;

/// Writes `inputs`, converted, one behind the other along dimension `dim` of `out`, whose sizes they fill.
///
/// # Errors
///
/// Overlap of an input with the output, tensors without data or used by others, sizes that do not fit.
pub fn join(out: &Array, inputs: &[&Array], dim: usize) -> Result<()> {
    access::check_written(out.geometry())?;
    for input in inputs {
        access::check(out, input, Aliasing::Never)?;
    }
    let mut start = 0;
    for input in inputs {
        let end = start + input.sizes().get(dim).copied().unwrap_or(0);
        let piece = out.view(out.geometry().slice(dim as i64, start, end, 1)?)?;
        elementwise::copy(&piece, *input)?;
        start = end;
    }
    Ok(())
}
