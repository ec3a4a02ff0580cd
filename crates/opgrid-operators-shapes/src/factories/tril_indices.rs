//! `aten::tril_indices`, `aten::triu_indices`: the indices of what lies on one side of a matrix's diagonal.
//!
//! - Shapes: two rows, with the row and the column of each element, in row-major order of the matrix.
//! - Dtypes: `dtype`, int64 without it; int32 otherwise.
//! - Aliasing: the `out` forms write `out`, in its dtype, and give it its shape if it has no elements.
//! - Dispatch: as [`EmptyMemoryFormat`](opgrid_tensor::ops::EmptyMemoryFormat).
//! - Errors: negative numbers of rows or columns; another dtype; what `empty` refuses.
//! - Source: torch.tril_indices, torch.triu_indices, PyTorch 2.15.

use crate::factories::empty::check_options;
use crate::prelude::*;
use opgrid_kernels::iter::produce::Sequence;
use opgrid_kernels::sequence;
use opgrid_kernels::triangle::Side;
use opgrid_kinds::factory::Factories;
use opgrid_tensor::families::result::{compute, compute_into};
use opgrid_tensor::tensor::{Element, Number};

pub use opgrid_tensor::ops::factories::tril_indices::*;

pub(super) fn register(library: &mut Library) {
    library
        .define_with_forms(TrilIndices, &kind::FACTORY)
        .on_cpu_and_meta(|row, col, offset, dtype, layout, device, pin_memory| {
            check_options(layout)?;
            let made = indices(Part { row, col, offset, side: Side::Lower }, dtype, device)?;
            if pin_memory == Some(true) { made.pin_memory() } else { Ok(made) }
        })
        .by_options();
    library
        .define_with_forms(TriuIndices, &kind::FACTORY)
        .on_cpu_and_meta(|row, col, offset, dtype, layout, device, pin_memory| {
            check_options(layout)?;
            let made = indices(Part { row, col, offset, side: Side::Upper }, dtype, device)?;
            if pin_memory == Some(true) { made.pin_memory() } else { Ok(made) }
        })
        .by_options();
    library
        .implement(TrilIndicesOut)
        .on_cpu_and_meta(|row, col, offset, out| into(Part { row, col, offset, side: Side::Lower }, out));
    library
        .implement(TriuIndicesOut)
        .on_cpu_and_meta(|row, col, offset, out| into(Part { row, col, offset, side: Side::Upper }, out));
}

const DTYPES: &[DType] = &[DType::I32, DType::I64];

/// One side of the diagonal of a matrix with so many rows and columns.
#[derive(Clone, Copy)]
struct Part {
    row: i64,
    col: i64,
    offset: i64,
    side: Side,
}

impl Part {
    /// How many elements there are.
    ///
    /// # Errors
    ///
    /// A negative number of rows or columns; more elements than can be counted.
    fn count(&self) -> Result<i64> {
        let Self { row, col, .. } = *self;
        if row < 0 || col < 0 {
            return Err(argument(format!("found {row} rows and {col} columns, expected 0 or more of each")));
        }
        let (rows, columns, offset) = (i128::from(row), i128::from(col), i128::from(self.offset));
        let below = |offset: i128| {
            // From the first row with an element on, each has one more than the row before, up to all columns.
            let first = (-offset).clamp(0, rows);
            let left = rows - first;
            let shortest = (first + offset + 1).clamp(0, columns);
            let growing = left.min(columns - shortest);
            growing * (2 * shortest + growing - 1) / 2 + (left - growing) * columns
        };
        let found = match self.side {
            Side::Lower => below(offset),
            Side::Upper => rows * columns - below(offset - 1),
        };
        found.try_into().map_err(|_| argument(format!("the number of elements, {found}, overflows 64 bits")))
    }

    /// Calls `f` with each row that has elements, and its columns.
    fn for_each(&self, mut f: impl FnMut(i64, std::ops::Range<i64>)) {
        let Self { row, col, offset, side } = *self;
        let rows = match side {
            // Rows without columns would be counted for as long as there are some.
            _ if col == 0 => 0..0,
            Side::Lower => offset.saturating_neg().clamp(0, row)..row,
            Side::Upper => 0..row.min(col.saturating_sub(offset)).max(0),
        };
        for row in rows {
            let at = row.saturating_add(offset);
            f(
                row,
                match side {
                    Side::Lower => 0..at.saturating_add(1).clamp(0, col),
                    Side::Upper => at.clamp(0, col)..col,
                },
            );
        }
    }

    fn write(&self, out: &Tensor) -> Result<()> {
        with_dtype!(out.dtype(), T: Integer => sequence::produced::<T>(out.array()?, |places: &mut Sequence<'_, T>| {
            let element = |number: i64| T::from_number(Number::I64(number));
            self.for_each(|row, columns| {
                let row = element(row);
                places.extend_with((columns.end - columns.start) as usize, move |_| row);
            });
            self.for_each(|_, columns| {
                let start = columns.start;
                places.extend_with((columns.end - start) as usize, move |k| element(start + k as i64));
            });
            Ok(())
        }))
    }
}

/// # Errors
///
/// A dtype that indices do not have.
fn check(dtype: DType) -> Result<()> {
    if DTYPES.contains(&dtype) {
        Ok(())
    } else {
        Err(opgrid_tensor::tensor::choose::unsupported(dtype, "int32 or int64"))
    }
}

fn indices(part: Part, dtype: Option<DType>, device: Option<Device>) -> Result<Tensor> {
    let dtype = dtype.unwrap_or(DType::I64);
    check(dtype)?;
    let spec = TensorSpec::contiguous(&[2, part.count()?], dtype, device.unwrap_or_default())?;
    compute(spec, |out| part.write(out))
}

fn into(part: Part, out: &Tensor) -> Result<()> {
    let found = out.spec()?;
    check(found.dtype())?;
    let spec = TensorSpec::contiguous(&[2, part.count()?], found.dtype(), found.device())?;
    compute_into(out, &spec, |out| part.write(out))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.differs(
            TriuIndices,
            Difference {
                id: "diagonals-at-the-end-of-the-range",
                what: "torch overflows 64 bits if a diagonal is that far from a matrix, and allocates a \
                     tensor of negative size; here the whole matrix is on one side",
                why: "the mathematical result",
                test: (
                    "opgrid-operators/tests/all/differences/computed.rs",
                    "numbers_at_the_ends_of_the_range",
                ),
                when: |seen| {
                    let is_far =
                        matches!(seen.number("offset"), Some(Scalar::Int(offset)) if offset < -(1 << 62));
                    let words = ["Trying to create tensor with negative dimension", "calculation overflowed"];
                    is_far && words.iter().any(|words| seen.torch_refuses(words))
                },
                directed: None,
            },
        );
        let inputs = |dtype| {
            let cases: [[i64; 3]; 7] =
                [[3, 4, 0], [4, 3, -1], [2, 5, 2], [3, 3, -7], [3, 3, 9], [0, 2, 0], [1, 1, i64::MIN]];
            let one = |[row, col, offset]: [i64; 3]| given(row).and(col).and(offset).named("dtype", dtype);
            cases.map(one).to_vec()
        };
        samples
            .operator(TrilIndices, DTYPES, inputs, |it| reference(it, |column, end| column <= end))
            .output_decides()
            .refuses("0 or more", given(-1).and(2));
        samples
            .operator(TriuIndices, DTYPES, inputs, |it| reference(it, |column, end| column >= end))
            .output_decides()
            .refuses("0 or more", given(2).and(-1))
            .refuses("", given(i64::MAX).and(i64::MAX));
    }

    fn reference(it: &Inputs, stays: fn(i64, i64) -> bool) -> Result<Expected> {
        let (row, col, offset): (i64, i64, i64) = (it.value("row")?, it.value("col")?, it.value("offset")?);
        let matrix = [row, col];
        let found: Vec<_> = naive::positions(&matrix)
            .filter(|place| stays(place[1], place[0].saturating_add(offset)))
            .collect();
        let dtype: Option<DType> = it.value("dtype")?;
        let sizes = [2, found.len() as i64];
        Ok(Plain::from_fn(dtype.unwrap_or(DType::I64), &sizes, |at| {
            Scalar::Int(found[at[1] as usize][at[0] as usize])
        })
        .into())
    }
}
