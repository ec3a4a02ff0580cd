//! Multiplies matrices block by block, so that factors are in a near cache when they are used again.
//!
//! A block of the result is one thread's work. The inner dimension is cut, too: for each cut the right factor becomes
//! panels that stay in the second-level cache; then tiles of the result are summed, row by row of tiles. Blocks with the
//! same columns may share the panels.
//! Factors that are small, or lie in memory as they are needed, are read where they are.
#![allow(unsafe_code)]

use std::ops::Range;

use super::matrix::{Factor, Matrix, Room, Spare, pack};
use super::scheme::Scheme;
use super::tile::{Kernel, Work};
use opgrid_array::loops::arithmetic::Arithmetic;
use opgrid_array::loops::isa::second_cache;

/// Bytes along the inner dimension for which panels are made, and steps at least.
const DEEP_BYTES: usize = 1280;
const DEEP: usize = 128;
/// The number of steps for few rows, where the right factor is read once, in memory order.
const SHALLOW: usize = 8;
/// So many rows are few.
const FEW: usize = 4;
/// Rows of tiles whose panels are made together where the left factor's columns lie in one piece: lines of the cache hold more
/// rows than a tile has, up to so many rows.
const TOGETHER: usize = 8;
const ROWS_TOGETHER: usize = 96;
/// A right factor of so many bytes is in a near cache where it is.
const SMALL_BYTES: usize = 64 << 10;

/// `out = scale * (a @ b)`, or `out += …`.
pub(super) struct Product<'a, S: Scheme, B = Matrix<<S as Scheme>::Element>> {
    pub scheme: S,
    pub out: Matrix<S::Sum>,
    pub a: Matrix<S::Element>,
    pub b: B,
    pub scale: S::Sum,
    pub add: bool,
    /// The panels of `b`, as [`pack_cut`] made them of each cut of the inner dimension, if several products share them.
    pub packed: Option<&'a [S::Packed]>,
}

/// Steps along the inner dimension for which panels are made.
fn deep<S: Scheme>() -> usize {
    DEEP.max(DEEP_BYTES / size_of::<S::Packed>())
}

/// Columns of a block, for results of so many.
pub(super) fn columns_of_blocks<S: Scheme>(scheme: S, columns: usize) -> usize {
    let width = scheme.kernel().width / S::PARTS;
    // The panels of a block take half of the second-level cache.
    let most = second_cache() / 2 / (deep::<S>() * size_of::<S::Packed>());
    let blocks = columns.div_ceil(most).max(1);
    columns.div_ceil(blocks).next_multiple_of(width)
}

/// The inner dimension of a product, cut into pieces for which panels are made.
#[derive(Clone, Copy)]
pub(super) struct Cuts {
    inner: usize,
    /// Steps of each but the last one.
    deep: usize,
    pub count: usize,
}

impl Cuts {
    pub fn new<S: Scheme>(scheme: S, inner: usize) -> Self {
        Self::of_depth(scheme, inner, deep::<S>())
    }

    fn of_depth<S: Scheme>(scheme: S, inner: usize, deep: usize) -> Self {
        let unit = scheme.kernel().unit.max(2);
        let count = inner.div_ceil(deep).max(1);
        Self { inner, deep: inner.div_ceil(count).next_multiple_of(unit), count }
    }

    fn get(&self, number: usize) -> Range<usize> {
        (number * self.deep).min(self.inner)..((number + 1) * self.deep).min(self.inner)
    }

    /// Where the panels of a cut lie among those of all cuts, for a right factor of so many columns.
    pub fn panels<S: Scheme>(&self, scheme: S, number: usize, columns: usize) -> Range<usize> {
        let kernel = scheme.kernel();
        let width = kernel.width / S::PARTS;
        let size = |steps| columns.div_ceil(width) * kernel.right(width).size(steps);
        let before = number * size(self.deep);
        before..before + size(self.get(number).len())
    }
}

/// Makes the panels of one cut of a right factor.
///
/// # Safety
///
/// The elements may be read.
pub(super) unsafe fn pack_cut<S: Scheme>(
    scheme: S,
    b: Matrix<S::Element>,
    cuts: Cuts,
    number: usize,
    to: &mut [S::Packed],
) {
    let kernel = scheme.kernel();
    let part = b.part(cuts.get(number), 0..b.columns);
    // SAFETY: passed on; a part of the matrix.
    unsafe { Factor::<S>::pack(part, to, kernel.right(kernel.width / S::PARTS)) }
}

/// A right factor's panels, or the factor itself.
struct Panels<F> {
    start: *const F,
    /// From a panel to the next, in factors.
    panel: usize,
    /// From a step to the next, in factors.
    step: usize,
    /// Where each step begins, if they lie apart.
    offsets: *const usize,
}

impl<S: Scheme, B: Factor<S>> Product<'_, S, B> {
    /// Computes the whole product on this thread.
    ///
    /// # Safety
    ///
    /// The matrices fit each other; the factors may be read, and the result written and, if it is added to, read.
    pub unsafe fn compute(&self, room: &mut Room) {
        let deep = if self.is_streamed() { SHALLOW } else { deep::<S>() };
        let cuts = Cuts::of_depth(self.scheme, self.a.columns, deep);
        for cut in 0..cuts.count {
            let part = Self {
                a: self.a.part(0..self.a.rows, cuts.get(cut)),
                b: self.b.part(cuts.get(cut), 0..self.columns()),
                add: self.add || cut > 0,
                packed: self.packed.map(|all| &all[cuts.panels(self.scheme, cut, self.columns())]),
                ..*self
            };
            // SAFETY: passed on; the products of the cuts are added up.
            unsafe { part.cut(room) }
        }
    }

    fn kernel(&self) -> &'static Kernel<S::Factor, S::Number> {
        self.scheme.kernel()
    }

    /// Columns of the right factor.
    fn columns(&self) -> usize {
        let [_, columns] = self.b.sizes();
        columns
    }

    /// The right factor, if its rows lie in one piece each.
    fn rows(&self) -> Option<Matrix<S::Element>> {
        self.b.matrix().filter(|b| b.column == 1)
    }

    /// Rows and columns of the tallest tile, in elements.
    fn tile_sizes(&self) -> [usize; 2] {
        let kernel = self.kernel();
        [kernel.tallest() / S::PARTS, kernel.width / S::PARTS]
    }

    /// Whether the right factor is read once, row by row.
    fn is_streamed(&self) -> bool {
        self.packed.is_none() && self.a.rows <= FEW && self.rows().is_some()
    }

    /// The columns of the right factor that are read where they are, so many, and where that is.
    fn read_in_place(&self) -> (usize, Panels<S::Factor>) {
        let [tallest, width] = self.tile_sizes();
        let of_columns = |start, step, offsets| Panels { start, panel: width * S::PARTS, step, offsets };
        if let Some((start, offsets)) = self.b.rows_apart() {
            return (self.columns(), of_columns(start.cast(), 0, offsets.as_ptr()));
        }
        let can = self.packed.is_none() && S::SAME && self.kernel().depth == 1;
        let is_near = |b: &Matrix<S::Element>| {
            let bytes = b.rows * b.columns * size_of::<S::Element>();
            self.is_streamed() || (bytes <= SMALL_BYTES && self.a.rows <= 8 * tallest)
        };
        match self.rows().filter(|b| can && is_near(b)) {
            Some(b) => {
                let step = b.row.wrapping_mul(S::PARTS);
                (b.columns / width * width, of_columns(b.start.cast_const().cast(), step, std::ptr::null()))
            }
            None => (0, of_columns(std::ptr::null(), 0, std::ptr::null())),
        }
    }

    /// Whether full rows of tiles of the left factor are read where they are.
    fn reads_a(&self) -> bool {
        let [_, width] = self.tile_sizes();
        let unit = self.kernel().unit;
        let beside = unit == 1 || (self.a.column == 1 && self.a.columns.is_multiple_of(unit));
        let as_it_is = S::SAME && S::PARTS == 1 && beside;
        // Rows that are a multiple of this apart fight for the same lines of the cache.
        let apart = !self.a.row.wrapping_mul(size_of::<S::Element>()).is_multiple_of(4096);
        as_it_is && (self.columns() <= 4 * width || (self.a.column == 1 && apart))
    }

    /// The product for one cut of the inner dimension.
    ///
    /// # Safety
    ///
    /// As [`compute`](Self::compute).
    unsafe fn cut(&self, room: &mut Room) {
        let kernel = self.kernel();
        let [tallest, width] = self.tile_sizes();
        let steps = self.a.columns;
        let (split, read) = self.read_in_place();
        let rest = self.b.part(0..steps, split..self.columns());
        let columns = self.columns() - split;
        // Rows that are read once stay in one piece: as one panel, in which those of the tiles begin everywhere.
        let (wide, next) = if self.is_streamed() {
            (columns.next_multiple_of(width), kernel.width * kernel.depth)
        } else {
            (width, kernel.right(width).size(steps) * S::PARTS)
        };
        let all = match self.packed {
            Some(_) => 0,
            None => columns.div_ceil(wide.max(1)) * kernel.right(wide).size(steps),
        };
        let size = kernel.left(tallest).size(steps);
        let together = if self.a.row == 1 && !self.reads_a() {
            (ROWS_TOGETHER / kernel.tallest()).clamp(1, TOGETHER)
        } else {
            1
        };
        let (panels, left) = room.slices::<S::Packed>([all, together * size]);
        let panels = match self.packed {
            Some(packed) => packed,
            None => {
                // SAFETY: the elements may be read, as the caller promises.
                unsafe { rest.pack(panels, kernel.right(wide)) };
                panels
            }
        };
        let step = wide * S::PARTS * kernel.unit;
        let packed = Panels { start: panels.as_ptr().cast(), panel: next, step, offsets: std::ptr::null() };
        let mut spare = Spare::new();
        for row in (0..self.a.rows).step_by(tallest) {
            let rows = tallest.min(self.a.rows - row);
            let a = self.a.part(row..row + rows, 0..steps);
            let out = self.out.part(row..row + rows, 0..self.out.columns);
            // Full rows of tiles are packed with those that follow.
            let number = row / tallest % together;
            let full = if together > 1 { ((self.a.rows - row) / tallest).min(together) } else { 0 };
            // SAFETY: parts of the matrices; the panels hold the columns behind `split`.
            unsafe {
                if number == 0 && full > 0 {
                    let several = self.a.part(row..row + full * tallest, 0..steps);
                    pack::<S>(left, kernel.left(tallest), several.transposed());
                }
                let work = if together > 1 && rows == tallest {
                    self.work(
                        left[number * size..].as_ptr().cast(),
                        kernel.unit,
                        kernel.tallest() * kernel.unit,
                    )
                } else {
                    self.left(a, &mut left[..size])
                };
                self.tiles(&work, out.part(0..rows, 0..split), &read, &mut spare);
                self.tiles(&work, out.part(0..rows, split..out.columns), &packed, &mut spare);
            }
        }
    }

    /// What the tiles of some rows have in common.
    ///
    /// # Safety
    ///
    /// As [`compute`](Self::compute).
    unsafe fn left(&self, a: Matrix<S::Element>, panel: &mut [S::Packed]) -> Work<S::Factor, S::Number> {
        let kernel = self.kernel();
        let height = kernel.height(a.rows * S::PARTS);
        let (start, row, step) = if self.reads_a() && height == a.rows {
            (a.start.cast_const().cast(), a.row, a.column.wrapping_mul(kernel.unit))
        } else {
            // SAFETY: the elements may be read, as the caller promises.
            unsafe { pack::<S>(panel, kernel.left(height / S::PARTS), a.transposed()) };
            (panel.as_ptr().cast(), kernel.unit, height * kernel.unit)
        };
        self.work(start, row, step)
    }

    /// What the tiles of some rows have in common, whose left factor begins at `start`; from row to row, and from step to step.
    fn work(&self, start: *const S::Factor, row: usize, step: usize) -> Work<S::Factor, S::Number> {
        Work {
            tiles: 0,
            steps: self.a.columns.div_ceil(self.kernel().unit),
            a: start,
            a_row: row,
            a_step: step,
            b: std::ptr::null(),
            b_step: 0,
            b_offsets: std::ptr::null(),
            b_tile: 0,
            scale: S::scale(self.scale),
            out: std::ptr::null_mut(),
            out_row: 0,
            add: self.add,
        }
    }

    /// One row of tiles.
    ///
    /// # Safety
    ///
    /// As [`compute`](Self::compute), for this part of the result; the panels have its columns.
    unsafe fn tiles(
        &self,
        left: &Work<S::Factor, S::Number>,
        out: Matrix<S::Sum>,
        panels: &Panels<S::Factor>,
        spare: &mut Spare,
    ) {
        let kernel = self.kernel();
        let [_, width] = self.tile_sizes();
        let height = kernel.height(out.rows * S::PARTS);
        let right = Work { b_step: panels.step, b_offsets: panels.offsets, b_tile: panels.panel, ..*left };
        let whole =
            if S::PARTS == 1 && out.rows == height && out.column == 1 { out.columns / width } else { 0 };
        if whole > 0 {
            let (to, out_row) = (out.start.cast(), out.row);
            // SAFETY: sums are numbers, and whole tiles of them lie row by row in the result.
            unsafe {
                kernel.tile(height, &Work { tiles: whole, b: panels.start, out: to, out_row, ..right });
            }
        }
        if whole * width == out.columns {
            return;
        }
        let spare = spare.numbers::<S::Number>(kernel.tallest() * kernel.width);
        for (number, column) in (0..out.columns).step_by(width).enumerate().skip(whole) {
            let b = panels.start.wrapping_add(number * panels.panel);
            let (to, out_row) = (spare.as_mut_ptr(), kernel.width);
            let beside = Work { tiles: 1, b, out: to, out_row, add: false, ..right };
            // SAFETY: there is room for the largest tile.
            unsafe { kernel.tile(height, &beside) };
            let out = out.part(0..out.rows, column..out.columns.min(column + width));
            // SAFETY: passed on.
            unsafe { self.merge(out, spare) };
        }
    }

    /// Moves what the result needs of a tile there.
    ///
    /// # Safety
    ///
    /// As [`compute`](Self::compute), for this part of the result.
    unsafe fn merge(&self, out: Matrix<S::Sum>, tile: &[S::Number]) {
        let width = self.kernel().width;
        for row in 0..out.rows {
            for column in 0..out.columns {
                let sum = S::sum(|row, column| tile[row * width + column], row, column);
                let at = out.at(row, column);
                let sum = S::scaled(sum, self.scale);
                // SAFETY: an element of the result, which may be read if it is added to.
                let sum = if self.add { unsafe { at.read() }.plus(sum) } else { sum };
                // SAFETY: an element of the result.
                unsafe { at.write(sum) };
            }
        }
    }
}
