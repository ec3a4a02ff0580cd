//! Says where the elements of matrices lie, and copies them to panels.
//!
//! ```text
//! panel    k = 0: element of each lane │ k = 1: element of each lane │ …     lanes that are missing are zero
//! pairs    k = 0, 1: two elements of each lane │ k = 2, 3: …
//! ```
//!
//! Lanes are the rows of the left factor and the columns of the right one. What is read as a panel lies one after the
//! other in memory.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ops::Range;

use super::scheme::Scheme;
use super::tile::TILE_BYTES;
use crate::kernels::simd::vectorised;
use crate::tensor::Element;

/// A matrix in memory; strides count elements.
#[derive(Debug)]
pub(super) struct Matrix<T> {
    pub start: *mut T,
    pub rows: usize,
    pub columns: usize,
    /// From a row to the next.
    pub row: usize,
    /// From a column to the next.
    pub column: usize,
}

impl<T> Clone for Matrix<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Matrix<T> {}

impl<T> Matrix<T> {
    pub fn transposed(self) -> Self {
        let Self { start, rows, columns, row, column } = self;
        Self { start, rows: columns, columns: rows, row: column, column: row }
    }

    /// The address of an element.
    #[inline]
    pub fn at(&self, row: usize, column: usize) -> *mut T {
        self.start.wrapping_add(row * self.row + column * self.column)
    }

    pub fn part(self, rows: Range<usize>, columns: Range<usize>) -> Self {
        let start = self.at(rows.start, columns.start);
        Self { start, rows: rows.len(), columns: columns.len(), ..self }
    }
}

/// Copies a matrix of lanes, one per column, to panels of `width` lanes.
///
/// # Safety
///
/// The elements may be read. `to` has room for the panels.
pub(super) unsafe fn pack<S: Scheme>(
    to: &mut [S::Packed],
    width: usize,
    depth: usize,
    from: Matrix<S::Element>,
) {
    let size = panel_size(from.rows, width, depth);
    for (number, first) in (0..from.columns).step_by(width).enumerate() {
        let lanes = width.min(from.columns - first);
        let to = &mut to[number * size..][..size];
        let from = from.part(0..from.rows, first..first + lanes);
        if lanes < width || !from.rows.is_multiple_of(depth) {
            to.fill(S::Packed::default());
        }
        // SAFETY: passed on; a part of the matrix.
        vectorised(|| unsafe {
            match (depth, from.column, from.row) {
                (1, 1, _) => rows::<S>(to, width, from),
                (2, 1, _) => pairs_of_rows::<S>(to, width, from),
                (_, _, 1) => columns::<S>(to, width, depth, from),
                _ => any::<S>(to, width, depth, from),
            }
        });
    }
}

/// Elements in a panel.
pub(super) fn panel_size(steps: usize, width: usize, depth: usize) -> usize {
    steps.next_multiple_of(depth) * width
}

/// Rows that lie in one piece, as in the panel.
#[inline(always)]
unsafe fn rows<S: Scheme>(to: &mut [S::Packed], width: usize, from: Matrix<S::Element>) {
    for (row, to) in to.chunks_exact_mut(width).enumerate() {
        // SAFETY: the elements of a row may be read and lie beside each other.
        let from = unsafe { std::slice::from_raw_parts(from.at(row, 0), from.columns) };
        for (to, from) in to.iter_mut().zip(from) {
            *to = S::pack(*from);
        }
    }
}

/// Rows that lie in one piece, interleaved with the next ones.
#[inline(always)]
unsafe fn pairs_of_rows<S: Scheme>(to: &mut [S::Packed], width: usize, from: Matrix<S::Element>) {
    for (pair, to) in to.chunks_exact_mut(2 * width).enumerate() {
        // SAFETY: the elements of a row may be read and lie beside each other.
        let first = unsafe { std::slice::from_raw_parts(from.at(2 * pair, 0), from.columns) };
        let (to, _) = to.as_chunks_mut::<2>();
        if 2 * pair + 1 == from.rows {
            for (to, first) in to.iter_mut().zip(first) {
                to[0] = S::pack(*first);
            }
            return;
        }
        // SAFETY: as above.
        let second = unsafe { std::slice::from_raw_parts(from.at(2 * pair + 1, 0), from.columns) };
        for ((to, first), second) in to.iter_mut().zip(first).zip(second) {
            *to = [S::pack(*first), S::pack(*second)];
        }
    }
}

/// Columns that lie in one piece: some elements of each are spread over as many rows of the panel.
#[inline(always)]
unsafe fn columns<S: Scheme>(to: &mut [S::Packed], width: usize, depth: usize, from: Matrix<S::Element>) {
    const TAKEN: usize = 16;
    let whole = from.rows - from.rows % TAKEN;
    for row in (0..whole).step_by(TAKEN) {
        let to = &mut to[row * width..][..TAKEN * width];
        for column in 0..from.columns {
            // SAFETY: the elements of a column may be read and lie beside each other.
            let from = unsafe { from.at(row, column).cast::<[S::Element; TAKEN]>().read() };
            match depth {
                1 => {
                    from.into_iter().enumerate().for_each(|(k, from)| to[k * width + column] = S::pack(from))
                }
                _ => from.as_chunks::<2>().0.iter().enumerate().for_each(|(k, pair)| {
                    to[2 * (k * width + column)..][..2].copy_from_slice(&pair.map(S::pack));
                }),
            }
        }
    }
    let rest = from.part(whole..from.rows, 0..from.columns);
    // SAFETY: a part of the matrix.
    unsafe { any::<S>(&mut to[whole * width..], width, depth, rest) }
}

/// Element by element.
#[inline(always)]
unsafe fn any<S: Scheme>(to: &mut [S::Packed], width: usize, depth: usize, from: Matrix<S::Element>) {
    for row in 0..from.rows {
        let (step, place) = (row / depth, row % depth);
        for column in 0..from.columns {
            // SAFETY: the elements may be read.
            let element = unsafe { from.at(row, column).read() };
            to[(step * width + column) * depth + place] = S::pack(element);
        }
    }
}

/// A cache line, which is seen as elements only.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "lines are seen as elements")] [u64; 8]);

thread_local! {
    /// What was used last, for the next product.
    static KEPT: Cell<Vec<Line>> = const { Cell::new(Vec::new()) };
}

/// Memory for panels, which a thread keeps.
pub(super) struct Buffer(Vec<Line>);

impl Buffer {
    pub fn take() -> Self {
        Self(KEPT.try_with(Cell::take).unwrap_or_default())
    }

    /// Two slices of so many elements.
    pub fn slices<T: Element>(&mut self, [first, second]: [usize; 2]) -> (&mut [T], &mut [T]) {
        let lines = |count: usize| (count * size_of::<T>()).div_ceil(size_of::<Line>());
        let all = lines(first) + lines(second);
        if self.0.len() < all {
            self.0.resize(all, Line([0; 8]));
        }
        let (front, back) = self.0.split_at_mut(lines(first));
        (as_elements(front, first), as_elements(back, second))
    }
}

/// Room for a tile.
pub(super) struct Spare([Line; TILE_BYTES / size_of::<Line>()]);

impl Spare {
    pub fn new() -> Self {
        Self([Line([0; 8]); TILE_BYTES / size_of::<Line>()])
    }

    pub fn numbers<T: Element>(&mut self) -> &mut [T] {
        as_elements(&mut self.0, TILE_BYTES / size_of::<T>())
    }
}

fn as_elements<T: Element>(lines: &mut [Line], count: usize) -> &mut [T] {
    assert!(count * size_of::<T>() <= size_of_val(lines), "the lines have room for the elements");
    // SAFETY:
    // - the lines have as many bytes, all initialised, and are aligned for every element.
    // - `Element` promises that every pattern of bytes is one.
    unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), count) }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let lines = std::mem::take(&mut self.0);
        // A thread that ends frees it.
        let _ = KEPT.try_with(|kept| kept.set(lines));
    }
}
