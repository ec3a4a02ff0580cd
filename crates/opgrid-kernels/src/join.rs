//! Writes arrays one after another.

use opgrid_core::Result;

use crate::indexing::with_size_of;
use opgrid_array::Array;
use opgrid_array::loops::access::{self, Aliasing, Distinct};
use opgrid_array::loops::elementwise;
use opgrid_array::loops::iter::walk::Overlap;
use opgrid_array::loops::iter::{Output, Target};

/// Writes `inputs`, converted, one after another along dimension `dim` of `out`, whose sizes they fill.
///
/// # Errors
///
/// Overlap of an input with the output, tensors without data or used by others, sizes that do not fit.
pub fn join(out: &Array, inputs: &[&Array], dim: usize) -> Result<()> {
    let distinct = Distinct::new(out)?;
    for input in inputs {
        access::check(out, input, Aliasing::Never)?;
    }
    if out.spec().numel() == 0 {
        // There may be no end of rows without elements.
        return Ok(());
    }
    if let Some(joined) = join_slices(distinct, inputs, dim) {
        return joined;
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

/// Joins row-major arrays of one dtype that do not overlap with the output.
fn join_slices(distinct: Distinct<'_>, inputs: &[&Array], dim: usize) -> Option<Result<()>> {
    let out = distinct.array();
    let fits = |input: &&Array| {
        input.dtype() == out.dtype()
            && input.geometry().is_contiguous()
            && input.sizes().len() == out.sizes().len()
            && !input.storage().is_same(out.storage())
    };
    let filled = inputs.iter().map(|input| input.spec().numel()).sum::<i64>() == out.spec().numel();
    let all_fit = filled && out.geometry().is_contiguous() && inputs.iter().all(fits);
    all_fit.then(|| {
        with_size_of!(out.dtype(), T => {
            let readers = inputs.iter().map(|input| input.storage().read()).collect::<Result<Vec<_>>>()?;
            let rows = out.sizes()[..dim].iter().product::<i64>() as usize;
            let mut parts = Vec::with_capacity(inputs.len());
            for (input, reader) in inputs.iter().zip(&readers) {
                let (start, count) = (input.geometry().start(), input.spec().numel() as usize);
                let elements = reader.slice::<T>()?.get(start..start + count).unwrap_or_default();
                parts.push((elements, count / rows.max(1)));
            }
            let mut writer = out.storage().write()?;
            Output::of_size(Target::new(&mut writer, distinct, Overlap::Apart))?.produce(|sequence| {
                for row in 0..rows {
                    for (elements, length) in &parts {
                        sequence.extend_from_slice(&elements[row * length..(row + 1) * length]);
                    }
                }
                Ok(())
            })
        })
    })
}
