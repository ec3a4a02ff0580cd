//! What a step of a recurrent cell computes of the sums of its gates, as one loop.

use opgrid_core::Result;

use crate::parts;
use opgrid_array::Array;
use opgrid_array::loops::math::Inexact;
use opgrid_array::loops::simd::VectorLoop;

/// Steps of work for each element: five exponentials.
const WORK: usize = 64;

/// The next states of a cell with long and short memory, from the sums of its gates and the state `before` of the cell.
/// All are in single precision: states `[batch, size]`, sums `[batch, 4 * size]`.
///
/// # Errors
///
/// Overlap, tensors without data or used by others.
pub fn lstm(hidden: &Array, cell: &Array, sums: &Array, before: &Array) -> Result<()> {
    let size = cell.sizes().last().map_or(0, |size| *size as usize);
    parts::read::<f32, _>(cell, sums, |sums| {
        parts::read::<f32, _>(cell, before, |before| {
            let work = WORK.saturating_mul(size);
            parts::produce_two::<f32, f32>([hidden, cell], size, work, |row, hidden, cell| {
                let (sums, before) = (&sums[4 * size * row..][..4 * size], &before[size * row..][..size]);
                Lstm { sums, before, hidden, cell }.vectorised();
            })
        })
    })
}

/// A row of [`lstm`].
struct Lstm<'a> {
    sums: &'a [f32],
    before: &'a [f32],
    hidden: &'a mut [f32],
    cell: &'a mut [f32],
}

impl VectorLoop for Lstm<'_> {
    type Output = ();
    const IS_WIDE: bool = true;

    #[inline(always)]
    fn run(self) {
        let Self { sums, before, hidden, cell } = self;
        let size = before.len();
        let (through, rest) = sums.split_at(size);
        let (kept, rest) = rest.split_at(size);
        let (new, out) = rest.split_at(size);
        let gates = through.iter().zip(kept).zip(new).zip(out).zip(before);
        for ((hidden, cell), ((((through, kept), new), out), before)) in
            hidden.iter_mut().zip(cell).zip(gates)
        {
            let next = kept.sigmoid() * before + through.sigmoid() * Inexact::tanh(*new);
            *cell = next;
            *hidden = out.sigmoid() * Inexact::tanh(next);
        }
    }
}
