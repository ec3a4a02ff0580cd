//! Says where the elements of matrices lie, and copies them to panels.
//!
//! ```text
//! panel    k = 0: element of each lane │ k = 1: element of each lane │ …     lanes that are missing are zero
//! pairs    k = 0, 1: two elements of each lane │ k = 2, 3: …
//! rows     k = 0 … 31: 32 elements of each lane │ k = 32 … 63: …
//! ```
//!
//! Lanes are the rows of the left factor and the columns of the right one. What is read as a panel lies one after the
//! other in memory.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ops::Range;

use super::scheme::Scheme;
use super::tile::{Layout, TILE_BYTES};
use opgrid_array::Element;
use opgrid_array::loops::iter::transpose;
use opgrid_array::loops::simd::VectorLoop;

/// A matrix in memory; strides count elements. That of the only row or column may be of any size, so that addresses are
/// reckoned by numbers that wrap around: what leads to an element does not.
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
        let (down, right) = (row.wrapping_mul(self.row), column.wrapping_mul(self.column));
        self.start.wrapping_add(down.wrapping_add(right))
    }

    pub fn part(self, rows: Range<usize>, columns: Range<usize>) -> Self {
        let start = self.at(rows.start, columns.start);
        Self { start, rows: rows.len(), columns: columns.len(), ..self }
    }
}

/// The right factor of a product: a matrix in memory, or what is packed as if it were one.
pub(super) trait Factor<S: Scheme>: Copy {
    /// Rows and columns.
    fn sizes(&self) -> [usize; 2];

    /// Some rows and columns of it.
    fn part(self, rows: Range<usize>, columns: Range<usize>) -> Self;

    /// The factor itself, if it is a matrix in memory.
    fn matrix(&self) -> Option<Matrix<S::Element>>;

    /// The factor itself, if its columns are whole tiles, and its rows lie in one piece each, as they are packed: their start, and
    /// where each begins behind it, in numbers.
    fn rows_apart(&self) -> Option<(*const S::Packed, &[usize])> {
        None
    }

    /// Copies its columns to panels.
    ///
    /// # Safety
    ///
    /// The elements may be read.
    unsafe fn pack(self, to: &mut [S::Packed], layout: Layout);
}

impl<S: Scheme> Factor<S> for Matrix<S::Element> {
    fn sizes(&self) -> [usize; 2] {
        [self.rows, self.columns]
    }

    fn part(self, rows: Range<usize>, columns: Range<usize>) -> Self {
        Matrix::part(self, rows, columns)
    }

    fn matrix(&self) -> Option<Self> {
        Some(*self)
    }

    unsafe fn pack(self, to: &mut [S::Packed], layout: Layout) {
        // SAFETY: passed on.
        unsafe { pack::<S>(to, layout, self) }
    }
}

/// Copies a matrix of lanes, one per column, to panels.
///
/// # Safety
///
/// The elements may be read. `to` has room for the panels.
pub(super) unsafe fn pack<S: Scheme>(to: &mut [S::Packed], layout: Layout, from: Matrix<S::Element>) {
    if from.rows == 0 || from.columns == 0 {
        return;
    }
    let (size, width) = (layout.size(from.rows), layout.lanes);
    // Long rows are read in the order of memory, some at a time.
    let high = if from.column == 1 { STRIP.next_multiple_of(layout.unit) } else { from.rows };
    for top in (0..from.rows).step_by(high) {
        let bottom = from.rows.min(top + high);
        for (number, first) in (0..from.columns).step_by(width).enumerate() {
            let part = from.part(top..bottom, first..from.columns.min(first + width));
            let to = &mut to[number * size + top * width..][..layout.size(bottom - top)];
            // SAFETY: passed on; a part of the matrix.
            unsafe { pack_panel::<S>(to, layout, part) }
        }
    }
}

/// Rows that are copied to all panels before the next ones.
const STRIP: usize = 16;
/// Elements of a lane that lie beside each other where they are more than a pair.
const LONG: usize = 32;

/// Copies some steps of one panel.
///
/// # Safety
///
/// The elements may be read.
unsafe fn pack_panel<S: Scheme>(to: &mut [S::Packed], layout: Layout, from: Matrix<S::Element>) {
    let Layout { lanes: width, depth, unit } = layout;
    if from.columns < width || !from.rows.is_multiple_of(unit) {
        to.fill(S::Packed::default());
    }
    Panel::<S> { to, width, depth, from }.vectorised();
}

/// Some steps of a panel, and what goes there.
///
/// Invariant: the elements of the matrix may be read, as `pack_panel` asks.
struct Panel<'a, S: Scheme> {
    to: &'a mut [S::Packed],
    width: usize,
    depth: usize,
    from: Matrix<S::Element>,
}

impl<S: Scheme> VectorLoop for Panel<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { to, width, depth, from } = self;
        // SAFETY: the invariant of `Panel`.
        unsafe {
            match (depth, from.column, from.row) {
                (1, 1, _) => rows::<S>(to, width, from),
                (2, 1, _) => pairs_of_rows::<S>(to, width, from),
                (1, _, 1) if S::SAME && from.columns == width && size_of::<S::Packed>() >= 4 => {
                    whole_columns::<S, 1>(to, from);
                }
                (2, _, 1) if S::SAME && from.columns == width => whole_columns::<S, 2>(to, from),
                (1, _, 1) => columns::<S, 1>(to, width, from),
                (2, _, 1) => columns::<S, 2>(to, width, from),
                (LONG, _, 1) => pieces_of_columns::<S>(to, width, from),
                (LONG, 1, _) => turned_rows::<S>(to, width, from),
                _ => any::<S>(to, width, depth, from),
            }
        }
    }
}

/// Rows that lie in one piece, as in the panel.
///
/// # Safety
///
/// The elements may be read.
#[inline(always)]
unsafe fn rows<S: Scheme>(to: &mut [S::Packed], width: usize, from: Matrix<S::Element>) {
    for (row, to) in to.chunks_exact_mut(width).enumerate() {
        // SAFETY: the elements of a row may be read and lie beside each other.
        let from = unsafe { std::slice::from_raw_parts(from.at(row, 0), from.columns) };
        S::pack_row(&mut to[..from.len()], from);
    }
}

/// Rows that lie in one piece, interleaved with the next ones.
///
/// # Safety
///
/// The elements may be read.
#[inline(always)]
unsafe fn pairs_of_rows<S: Scheme>(to: &mut [S::Packed], width: usize, from: Matrix<S::Element>) {
    for (pair, to) in to.chunks_exact_mut(2 * width).enumerate().take(from.rows.div_ceil(2)) {
        let (to, _) = to.as_chunks_mut::<2>();
        // SAFETY: the elements of a row may be read and lie beside each other.
        let row = |row| unsafe { std::slice::from_raw_parts(from.at(row, 0), from.columns) };
        let first = row(2 * pair);
        if 2 * pair + 1 == from.rows {
            to.iter_mut().zip(first).for_each(|(to, first)| to[0] = S::pack(*first));
            return;
        }
        for ((to, first), second) in to.iter_mut().zip(first).zip(row(2 * pair + 1)) {
            *to = [S::pack(*first), S::pack(*second)];
        }
    }
}

/// Columns that lie in one piece: some of them are turned at a time, in registers.
///
/// # Safety
///
/// The elements may be read.
#[inline(always)]
unsafe fn columns<S: Scheme, const DEPTH: usize>(
    to: &mut [S::Packed],
    width: usize,
    from: Matrix<S::Element>,
) {
    /// Steps, of `DEPTH` elements each, and columns that are turned.
    const STEPS: usize = 8;
    const COLUMNS: usize = 4;
    let high = from.rows - from.rows % (STEPS * DEPTH);
    let wide = from.columns - from.columns % COLUMNS;
    let (places, _) = to.as_chunks_mut::<DEPTH>();
    for (row, places) in (0..high).step_by(STEPS * DEPTH).zip(places.chunks_exact_mut(STEPS * width)) {
        for column in (0..wide).step_by(COLUMNS) {
            let taken: [[[S::Element; DEPTH]; STEPS]; COLUMNS] = std::array::from_fn(|lane| {
                // SAFETY: the elements of a column may be read and lie beside each other.
                unsafe { from.at(row, column + lane).cast::<[[S::Element; DEPTH]; STEPS]>().read() }
            });
            for (step, places) in places.chunks_exact_mut(width).enumerate() {
                let turned: [_; COLUMNS] = std::array::from_fn(|lane| taken[lane][step].map(S::pack));
                places[column..column + COLUMNS].copy_from_slice(&turned);
            }
        }
    }
    let right = from.part(0..high, wide..from.columns);
    let below = from.part(high..from.rows, 0..from.columns);
    // SAFETY: parts of the matrix.
    unsafe {
        any::<S>(&mut to[wide * DEPTH..], width, DEPTH, right);
        any::<S>(&mut to[high * width..], width, DEPTH, below);
    }
}

/// Columns that lie in one piece, as many as the panel has lanes: `DEPTH` elements at a time are turned as they are.
///
/// # Safety
///
/// The elements may be read. They are packed as they are.
#[inline(always)]
unsafe fn whole_columns<S: Scheme, const DEPTH: usize>(to: &mut [S::Packed], from: Matrix<S::Element>) {
    let (width, steps) = (from.columns, from.rows / DEPTH);
    let (start, size) = (to[..DEPTH * steps * width].as_mut_ptr(), DEPTH * size_of::<S::Element>());
    let stride = from.column.wrapping_mul(size_of::<S::Element>());
    // SAFETY: the elements of each column may be read, as the caller promises; the panel has room for them, as was just asked.
    unsafe { transpose(start.cast(), from.start.cast_const().cast(), stride, steps, width, size) };
    let last = from.part(DEPTH * steps..from.rows, 0..width);
    // SAFETY: a part of the matrix.
    unsafe { any::<S>(&mut to[DEPTH * steps * width..], width, DEPTH, last) };
}

/// Columns that lie in one piece, and lie so in the panel, [`LONG`] elements at a time.
///
/// # Safety
///
/// The elements may be read.
#[inline(always)]
unsafe fn pieces_of_columns<S: Scheme>(to: &mut [S::Packed], width: usize, from: Matrix<S::Element>) {
    let high = from.rows - from.rows % LONG;
    let (places, _) = to.as_chunks_mut::<LONG>();
    for (row, places) in (0..high).step_by(LONG).zip(places.chunks_exact_mut(width)) {
        for (column, place) in places[..from.columns].iter_mut().enumerate() {
            // SAFETY: the elements of a column may be read and lie beside each other.
            let piece = unsafe { from.at(row, column).cast::<[S::Element; LONG]>().read() };
            *place = piece.map(S::pack);
        }
    }
    // SAFETY: a part of the matrix.
    unsafe { any::<S>(&mut to[high * width..], width, LONG, from.part(high..from.rows, 0..from.columns)) };
}

/// Rows that lie in one piece, where columns lie so in the panel: they are interleaved, and the pairs turned.
///
/// # Safety
///
/// The elements may be read.
#[inline(always)]
unsafe fn turned_rows<S: Scheme>(to: &mut [S::Packed], width: usize, from: Matrix<S::Element>) {
    let mut pairs = [S::Packed::default(); LONG * LONG];
    let pairs = &mut pairs[..LONG * width];
    for (row, to) in (0..from.rows).step_by(LONG).zip(to.chunks_exact_mut(LONG * width)) {
        let part = from.part(row..from.rows.min(row + LONG), 0..from.columns);
        if part.rows < LONG {
            pairs.fill(S::Packed::default());
        }
        // SAFETY: a part of the matrix.
        unsafe { pairs_of_rows::<S>(pairs, width, part) };
        let size = 2 * size_of::<S::Packed>();
        // SAFETY: both have `LONG / 2` pairs for each of the lanes, which may be moved byte by byte.
        unsafe {
            transpose(to.as_mut_ptr().cast(), pairs.as_ptr().cast(), width * size, width, LONG / 2, size)
        };
    }
}

/// Element by element.
///
/// # Safety
///
/// The elements may be read.
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
    static KEPT: Cell<[Vec<Line>; 3]> = const { Cell::new([const { Vec::new() }; 3]) };
    /// Panels that several threads read.
    static SHARED: Cell<Vec<Line>> = const { Cell::new(Vec::new()) };
}

/// Memory that a thread keeps from product to product.
pub(super) struct Memory {
    /// For panels.
    pub panels: Room,
    /// For sums that are not written to the result as they are.
    pub sums: Room,
    /// For elements that are copied beside each other.
    pub copies: Room,
}

/// Memory for elements of any type, which grows.
pub(super) struct Room(Vec<Line>);

impl Memory {
    pub fn take() -> Self {
        let [panels, sums, copies] = KEPT.try_with(Cell::take).unwrap_or_default().map(Room);
        Self { panels, sums, copies }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let kept =
            [&mut self.panels, &mut self.sums, &mut self.copies].map(|room| std::mem::take(&mut room.0));
        // A thread that ends frees it.
        let _ = KEPT.try_with(|cell| cell.set(kept));
    }
}

/// Memory for panels that the pieces of a product share, which the thread that cuts it keeps.
pub(super) struct Shared(Room);

impl Shared {
    pub fn take() -> Self {
        Self(Room(SHARED.try_with(Cell::take).unwrap_or_default()))
    }

    /// So many elements, of any value.
    pub fn slice<T: Element>(&mut self, count: usize) -> &mut [T] {
        self.0.slice(count)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let kept = std::mem::take(&mut self.0.0);
        // A thread that ends frees it.
        let _ = SHARED.try_with(|cell| cell.set(kept));
    }
}

impl Room {
    /// So many elements, of any value.
    pub fn slice<T: Element>(&mut self, count: usize) -> &mut [T] {
        self.slices([count, 0]).0
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
pub(super) struct Spare {
    lines: [MaybeUninit<Line>; TILE_BYTES / size_of::<Line>()],
    /// Invariant: so many lines have been written.
    written: usize,
}

impl Spare {
    pub fn new() -> Self {
        Self { lines: [const { MaybeUninit::uninit() }; TILE_BYTES / size_of::<Line>()], written: 0 }
    }

    /// So many numbers, of any value.
    pub fn numbers<T: Element>(&mut self, count: usize) -> &mut [T] {
        let lines = &mut self.lines[..(count * size_of::<T>()).div_ceil(size_of::<Line>())];
        if self.written < lines.len() {
            lines.fill(MaybeUninit::new(Line([0; 8])));
            self.written = lines.len();
        }
        // SAFETY: the invariant of `written`.
        as_elements(unsafe { lines.assume_init_mut() }, count)
    }
}

fn as_elements<T: Element>(lines: &mut [Line], count: usize) -> &mut [T] {
    assert!(count * size_of::<T>() <= size_of_val(lines), "the lines have room for the elements");
    // SAFETY:
    // - the lines have as many bytes, all initialised, and are aligned for every element.
    // - `Element` promises that every pattern of bytes is one.
    unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), count) }
}
