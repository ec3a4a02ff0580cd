//! Copies matrices with zeros on one side of a diagonal.

use opgrid_core::Result;

use crate::indexing::{raw_elements as elements, with_size_of};
use opgrid_array::Array;
use opgrid_array::Geometry;
use opgrid_array::array::positions;
use opgrid_array::loops::access::{Distinct, check_written};
use opgrid_array::loops::copy;
use opgrid_array::loops::iter::walk::Overlap;
use opgrid_array::loops::iter::{Output, Target};

/// What stays of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// What lies on a diagonal and below it.
    Lower,
    /// What lies on a diagonal and above it.
    Upper,
}

impl Side {
    /// The columns of a row that do not stay.
    fn cleared(self, row: i64, columns: i64, diagonal: i64) -> std::ops::Range<i64> {
        let at = row.saturating_add(diagonal);
        match self {
            Self::Lower => at.saturating_add(1).clamp(0, columns)..columns,
            Self::Upper => 0..at.clamp(0, columns),
        }
    }
}

/// Writes the matrices of `input` with zeros where elements do not lie on that side of the diagonal. `out` may be `input`.
///
/// # Errors
///
/// As [`copy::copy`].
pub fn one_side(out: &Array, input: &Array, diagonal: i64, side: Side) -> Result<()> {
    let sizes = out.sizes();
    let (&[.., rows, columns], true) = (sizes, is_plain(out, input)) else {
        copy::copy(out, input)?;
        return clear(out, diagonal, side);
    };
    with_size_of!(out.dtype(), T => {
        let reader = input.storage().read()?;
        let mut rest = elements::<T>(input, &reader)?;
        let (distinct, mut writer) = (Distinct::new(out)?, out.storage().write()?);
        Output::of_size(Target::new(&mut writer, distinct, Overlap::Apart))?.produce(|sequence| {
            let mut number = 0;
            while let Some((row, later)) = rest.split_at_checked(columns as usize).filter(|_| columns > 0) {
                let cleared = side.cleared(number % rows, columns, diagonal);
                let (from, to) = (cleared.start as usize, cleared.end as usize);
                sequence.extend_from_slice(&row[..from]);
                sequence.extend_with(to - from, |_| T::default());
                sequence.extend_from_slice(&row[to..]);
                (rest, number) = (later, number + 1);
            }
            Ok(())
        })
    })
}

/// Whether rows of one lie as those of the other, elsewhere.
fn is_plain(out: &Array, input: &Array) -> bool {
    out.dtype() == input.dtype()
        && out.sizes() == input.sizes()
        && [out, input].iter().all(|array| array.geometry().is_contiguous())
        && !out.storage().is_same(input.storage())
}

/// Sets all elements of the matrices in `out` to zero that do not lie on that side of the diagonal.
///
/// # Errors
///
/// An output that repeats elements, has no data, or is used by others.
fn clear(out: &Array, diagonal: i64, side: Side) -> Result<()> {
    let geometry = out.geometry();
    check_written(geometry)?;
    let (Some((&columns, outer)), false) = (geometry.sizes().split_last(), out.spec().numel() == 0) else {
        return Ok(());
    };
    let Some(&count) = outer.last() else { return Ok(()) };
    let steps: Vec<i64> = (0..outer.len()).map(|dim| geometry.step(dim) as i64).collect();
    let rows = Geometry::strided(outer, &steps, geometry.start() as i64)?;
    let step = geometry.step(outer.len());
    let mut writer = out.storage().write()?;
    with_size_of!(out.dtype(), T => {
        let elements = writer.slice::<T>()?;
        for (number, start) in (0i64..).zip(positions(&rows)) {
            let cleared = side.cleared(number % count, columns, diagonal);
            let (from, to) = (cleared.start as usize, cleared.end as usize);
            match step {
                1 => elements[start + from..start + to].fill(T::default()),
                _ => (from..to).for_each(|column| elements[start + column * step] = T::default()),
            }
        }
        Ok(())
    })
}
