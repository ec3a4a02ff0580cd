//! Cuts products of stacks of matrices into pieces of work, and shares them between threads.
//!
//! A piece is a block of the result, or some whole matrices where they are small. The caller takes pieces itself and
//! does not wait for a thread that has not started.
#![allow(unsafe_code)]

use std::ops::Range;

use opgrid_core::Result;

use super::blocked::{self, Cuts, Product, pack_cut};
use super::matrix::{Matrix, Memory, Room, Shared};
use super::scheme::{Narrow, Scheme};
use super::thin::{self, Thin};
use super::tile::ROWS;
use opgrid_array::Element;
use opgrid_array::error::argument;
use opgrid_array::loops::arithmetic::Arithmetic;
use opgrid_array::loops::iter::parallel::{for_each_piece, num_threads};
use opgrid_array::loops::iter::{Input, Output, Span};
use opgrid_array::loops::simd::{VectorLoop, vectorised};

/// Products that are worth a piece of their own.
const PIECE: usize = 1 << 19;
/// Pieces for each thread, so that one that comes late finds some.
const PIECES: usize = 8;
/// Panels up to so many bytes are made once for all pieces that need them.
const SHARED_BYTES: usize = 16 << 20;
/// The shortest rows that are multiplied by vectors as they are.
const SHORTEST: usize = 16;

/// Matrices of one shape.
#[derive(Debug)]
struct Stack<T> {
    first: Matrix<T>,
    count: usize,
    /// From a matrix to the next.
    stride: usize,
}

impl<T> Clone for Stack<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Stack<T> {}

impl<T> Stack<T> {
    /// The last two dimensions of the span are those of a matrix.
    fn new(span: Span<'_>) -> Result<Self> {
        let geometry = span.geometry();
        // Strides that lead to no element may be of any size. Where there are no elements at all they are not used;
        // elsewhere that of the only row or column says how the matrix is best read.
        let stride = |dim: usize| match geometry.numel() {
            0 => 0,
            _ => geometry.strides()[dim] as usize,
        };
        let (sizes, [apart, row, column]) = match *geometry.sizes() {
            [rows, columns] => ([1, rows, columns], [0, stride(0), stride(1)]),
            [count, rows, columns] => ([count, rows, columns], [stride(0), stride(1), stride(2)]),
            ref sizes => {
                return Err(argument(format!("expected matrices or stacks of them, found shape {sizes:?}")));
            }
        };
        let [count, rows, columns] = sizes.map(|size| size as usize);
        let start = span.first().cast();
        Ok(Self { first: Matrix { start, rows, columns, row, column }, count, stride: apart })
    }

    /// Matrices, rows and columns.
    fn sizes(&self) -> [usize; 3] {
        [self.count, self.first.rows, self.first.columns]
    }

    /// Whether the columns lie in one piece, and the rows do not.
    fn has_columns(&self) -> bool {
        self.first.row == 1 && self.first.column != 1
    }

    fn part(&self, Part { matrix, rows, columns }: Part) -> Matrix<T> {
        let start = self.first.start.wrapping_add(matrix.wrapping_mul(self.stride));
        Matrix { start, ..self.first }.part(rows, columns)
    }

    fn transposed(self) -> Self {
        Self { first: self.first.transposed(), ..self }
    }
}

/// Where sums go.
///
/// # Safety
///
/// Parts of the target that have no element in common may be written by several threads at once.
unsafe trait Target<S: Scheme>: Sync {
    /// The most rows of a piece.
    const ROWS: usize;

    /// Matrices, rows and columns.
    fn sizes(&self) -> [usize; 3];

    /// Whether the columns lie in one piece, and the rows do not.
    fn has_columns(&self) -> bool;

    fn transposed(self) -> Self;

    /// Lets `sums` compute this part of a matrix: `scale` times the product, or that is added to what is there.
    ///
    /// # Safety
    ///
    /// Nobody else uses this part.
    unsafe fn write(&self, part: Part, room: &mut Room, sums: impl FnOnce(Matrix<S::Sum>, S::Sum, bool));
}

/// A part of one of the matrices.
#[derive(Clone)]
struct Part {
    matrix: usize,
    rows: Range<usize>,
    columns: Range<usize>,
}

/// Sums are elements of the result, as they are.
struct Direct<T> {
    out: Stack<T>,
    scale: T,
    add: bool,
}

// SAFETY: it is made of an `Output`, no two of whose indices lead to one element, so that parts which have no index in
// common have no element in common either.
unsafe impl<T: Element> Sync for Direct<T> {}

// SAFETY: only the part is written.
unsafe impl<S: Scheme> Target<S> for Direct<S::Sum> {
    const ROWS: usize = usize::MAX;

    fn sizes(&self) -> [usize; 3] {
        self.out.sizes()
    }

    fn has_columns(&self) -> bool {
        self.out.has_columns()
    }

    fn transposed(self) -> Self {
        Self { out: self.out.transposed(), ..self }
    }

    unsafe fn write(&self, part: Part, _: &mut Room, sums: impl FnOnce(Matrix<S::Sum>, S::Sum, bool)) {
        sums(self.out.part(part), self.scale, self.add);
    }
}

/// Sums become elements of another type, perhaps together with elements that are added.
struct Narrowed<E, F> {
    out: Stack<E>,
    added: Option<Stack<E>>,
    narrow: F,
}

// SAFETY: the output is made of an `Output`, no two of whose indices lead to one element, so that parts which have no index in
// common have no element in common either. What is added is made of an `Input`, which is the output itself, element by
// element, or apart from it: `products::readable` copies what is neither.
unsafe impl<E: Element, F: Sync> Sync for Narrowed<E, F> {}

// SAFETY: only the part is written.
unsafe impl<S, F> Target<S> for Narrowed<S::Element, F>
where
    S: Scheme,
    F: Fn(S::Sum, Option<S::Element>) -> S::Element + Copy + Sync,
{
    const ROWS: usize = 256;

    fn sizes(&self) -> [usize; 3] {
        self.out.sizes()
    }

    fn has_columns(&self) -> bool {
        self.out.has_columns()
    }

    fn transposed(self) -> Self {
        Self { out: self.out.transposed(), added: self.added.map(Stack::transposed), ..self }
    }

    unsafe fn write(&self, part: Part, room: &mut Room, sums: impl FnOnce(Matrix<S::Sum>, S::Sum, bool)) {
        let (rows, columns) = (part.rows.len(), part.columns.len());
        let wide = room.slice::<S::Sum>(rows * columns);
        sums(Matrix { start: wide.as_mut_ptr(), rows, columns, row: columns, column: 1 }, S::Sum::ONE, false);
        let added = self.added.map(|added| added.part(part.clone()));
        let out = self.out.part(part);
        // A copy, which the compiler need not read again for each element.
        let narrow = self.narrow;
        for (row, wide) in wide.chunks_exact(columns.max(1)).enumerate() {
            if out.column == 1 && added.is_none() {
                // SAFETY: elements of the result, which lie beside each other.
                let places = unsafe { std::slice::from_raw_parts_mut(out.at(row, 0).cast(), columns) };
                Narrow(move |sum| narrow(sum, None), wide, places).vectorised();
                continue;
            }
            for (block, wide) in wide.chunks(BLOCK).enumerate() {
                let column = block * BLOCK;
                let mut elements = [S::Element::default(); BLOCK];
                let elements = &mut elements[..wide.len()];
                if let Some(added) = added {
                    // SAFETY: elements that are added.
                    unsafe { copy_from(elements, added.at(row, column), added.column) };
                    let narrowed = |(element, sum): (&mut S::Element, &S::Sum)| {
                        *element = narrow(*sum, Some(*element));
                    };
                    vectorised(|| elements.iter_mut().zip(wide).for_each(narrowed));
                } else {
                    let narrowed = |(element, sum): (&mut S::Element, &S::Sum)| {
                        *element = narrow(*sum, None);
                    };
                    vectorised(|| elements.iter_mut().zip(wide).for_each(narrowed));
                }
                // SAFETY: elements of the result.
                unsafe { copy_to(out.at(row, column), out.column, elements) };
            }
        }
    }
}

/// Elements that are narrowed at a time.
const BLOCK: usize = 128;

/// # Safety
///
/// As many elements, `stride` from each to the next, may be read.
unsafe fn copy_from<T: Copy>(to: &mut [T], from: *const T, stride: usize) {
    if stride == 1 {
        // SAFETY: the caller's promise; `to` is apart from everything else.
        return unsafe { std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len()) };
    }
    for (at, to) in to.iter_mut().enumerate() {
        // SAFETY: the caller's promise.
        *to = unsafe { from.wrapping_add(at.wrapping_mul(stride)).read() };
    }
}

/// # Safety
///
/// As many elements, `stride` from each to the next, may be written.
unsafe fn copy_to<T: Copy>(to: *mut T, stride: usize, from: &[T]) {
    if stride == 1 {
        // SAFETY: the caller's promise; `from` is apart from everything else.
        return unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
    }
    for (at, from) in from.iter().enumerate() {
        // SAFETY: the caller's promise.
        unsafe { to.wrapping_add(at.wrapping_mul(stride)).write(*from) };
    }
}

/// Where threads make panels.
struct Panels<T>(*mut T);

impl<T> Panels<T> {
    fn at(&self, element: usize) -> *mut T {
        self.0.wrapping_add(element)
    }
}

// SAFETY: of a slice that `packed` borrows mutably, of which each thread uses a part of its own.
unsafe impl<T: Send> Sync for Panels<T> {}

/// Products of two stacks.
struct Job<S: Scheme, T> {
    scheme: S,
    a: Stack<S::Element>,
    b: Stack<S::Element>,
    target: T,
}

// SAFETY: threads read the factors, which are made of `Input`s whose guards live until the job has ended, and which
// `Access::new` found apart from the output.
unsafe impl<S: Scheme, T: Sync> Sync for Job<S, T> {}

/// `out = scale * (a @ b)` for matrices or stacks of them, or `out += …`.
///
/// # Errors
///
/// Shapes that do not fit each other.
pub(super) fn multiply<S: Scheme>(
    scheme: S,
    out: Output<'_, S::Sum>,
    factors: [Input<'_, S::Element>; 2],
    scale: S::Sum,
    add: bool,
) -> Result<()> {
    if add {
        out.make_readable();
    }
    let target = Direct { out: Stack::new(out.span())?, scale, add };
    run(scheme, &out, factors, target)
}

/// `out = narrow(a @ b, added)` for matrices or stacks of them; `added` may be `out`, element by element.
///
/// # Errors
///
/// Shapes that do not fit each other.
pub(super) fn multiply_narrowed<S: Scheme>(
    scheme: S,
    out: Output<'_, S::Element>,
    factors: [Input<'_, S::Element>; 2],
    added: Option<Input<'_, S::Element>>,
    narrow: impl Fn(S::Sum, Option<S::Element>) -> S::Element + Copy + Sync,
) -> Result<()> {
    let added = match added {
        Some(added) if added.span().geometry().sizes() != out.span().geometry().sizes() => {
            let (found, expected) = (added.span().geometry().sizes(), out.span().geometry().sizes());
            return Err(argument(format!("what is added has shape {found:?}, expected {expected:?}")));
        }
        Some(added) => Some(Stack::new(added.span())?),
        None => None,
    };
    let target = Narrowed { out: Stack::new(out.span())?, added, narrow };
    run(scheme, &out, factors, target)
}

fn run<S: Scheme, O: Element>(
    scheme: S,
    out: &Output<'_, O>,
    [a, b]: [Input<'_, S::Element>; 2],
    target: impl Target<S>,
) -> Result<()> {
    super::check_sizes(out.span().geometry(), a.span().geometry(), b.span().geometry())?;
    let factor = |input: Input<'_, S::Element>| Stack::new(input.span());
    Job { scheme, a: factor(a)?, b: factor(b)?, target }.turned().run();
    // SAFETY: the pieces are all of the result; `run` goes on in this thread only after all are done.
    unsafe { out.complete() };
    Ok(())
}

/// How a job is cut.
struct Grid {
    /// Matrices of a piece.
    matrices: usize,
    /// Rows of a piece.
    rows: usize,
    /// Columns of a piece.
    columns: usize,
}

/// The pieces that a grid cuts a result into: matrices, rows and columns.
struct Pieces {
    sizes: [usize; 3],
    each: [usize; 3],
    counts: [usize; 3],
}

impl Pieces {
    fn new(grid: Grid, sizes: [usize; 3]) -> Self {
        let each = [grid.matrices, grid.rows, grid.columns].map(|each| each.max(1));
        Self { sizes, each, counts: std::array::from_fn(|dim| sizes[dim].div_ceil(each[dim])) }
    }

    fn count(&self) -> usize {
        self.counts.iter().product()
    }

    /// The matrices, rows and columns of a piece.
    fn piece(&self, piece: usize) -> [Range<usize>; 3] {
        let [_, bands, blocks] = self.counts;
        let numbers = [piece / (bands * blocks), piece / blocks % bands, piece % blocks];
        std::array::from_fn(|dim| {
            let start = numbers[dim] * self.each[dim];
            start..self.sizes[dim].min(start + self.each[dim])
        })
    }
}

impl<S: Scheme, T: Target<S>> Job<S, T> {
    /// The transposed product, if the result has few columns or they lie in one piece.
    fn turned(self) -> Self {
        let [_, rows, columns] = self.target.sizes();
        let turn = if rows.min(columns) <= thin::FEW { columns < rows } else { self.target.has_columns() };
        if turn {
            let (a, b) = (self.b.transposed(), self.a.transposed());
            Self { a, b, target: self.target.transposed(), ..self }
        } else {
            self
        }
    }

    /// Whether the rows on the left are few, and the columns on the right lie in one piece.
    fn is_thin(&self) -> bool {
        let (a, b) = (self.a.first, self.b.first);
        a.rows <= thin::FEW && b.row == 1 && b.rows >= SHORTEST
    }

    fn run(&self) {
        let pieces = Pieces::new(self.grid(), self.target.sizes());
        let mut shared = None;
        let packed = self.packed(&pieces, &mut shared);
        for_each_piece(pieces.count(), &|piece| {
            let [matrices, rows, columns] = pieces.piece(piece);
            let mut memory = Memory::take();
            for matrix in matrices {
                let part = Part { matrix, rows: rows.clone(), columns: columns.clone() };
                let packed = packed.map(|(panels, each)| &panels[piece % pieces.counts[2] * each..]);
                // SAFETY: `for_each_piece` gives out each number once, and pieces have no index in common.
                unsafe { self.piece(part, packed, &mut memory) }
            }
        });
    }

    /// The panels of the right factor, block by block of columns, and how many elements those of a block take: where several
    /// bands of rows need the same ones, threads make them together, and once.
    fn packed<'a>(
        &self,
        pieces: &Pieces,
        shared: &'a mut Option<Shared>,
    ) -> Option<(&'a [S::Packed], usize)> {
        let [count, _, columns] = pieces.sizes;
        let [_, bands, blocks] = pieces.counts;
        let inner = self.b.first.rows;
        if count != 1 || bands < 2 || inner == 0 || self.is_thin() {
            return None;
        }
        // A factor that repeats elements may have more rows than panels can be counted for.
        let least = inner.saturating_mul(columns.max(1)).saturating_mul(size_of::<S::Packed>());
        if least > SHARED_BYTES {
            return None;
        }
        let cuts = Cuts::new(self.scheme, inner);
        let each = cuts.panels(self.scheme, cuts.count - 1, pieces.each[2].min(columns)).end;
        let bytes = each.saturating_mul(blocks).saturating_mul(size_of::<S::Packed>());
        if bytes > SHARED_BYTES {
            return None;
        }
        let panels = shared.get_or_insert_with(Shared::take).slice::<S::Packed>(each * blocks);
        let to = Panels(panels.as_mut_ptr());
        for_each_piece(blocks * cuts.count, &|piece| {
            let (block, cut) = (piece / cuts.count, piece % cuts.count);
            let [_, _, own] = pieces.piece(block);
            let range = cuts.panels(self.scheme, cut, own.len());
            let start = to.at(block * each + range.start);
            // SAFETY: blocks have `each` elements of the slice, in which cuts lie one after the other; each number is given out
            // once.
            let to = unsafe { std::slice::from_raw_parts_mut(start, range.len()) };
            let block = self.b.first.part(0..inner, own);
            // SAFETY: part of a matrix made of an `Input`.
            unsafe { pack_cut(self.scheme, block, cuts, cut, to) }
        });
        Some((panels, each))
    }

    fn grid(&self) -> Grid {
        let [count, rows, columns] = self.target.sizes();
        // Factors that repeat elements may have more steps than can be counted.
        let each = (rows * columns).saturating_mul(self.a.first.columns.max(1));
        let wanted = match num_threads() {
            1 => 1,
            threads => (each.saturating_mul(count) / PIECE).clamp(1, PIECES * threads),
        };
        // Stacks are cut before matrices are.
        let of_each = wanted.div_ceil(count.max(1));
        let matrices = if of_each > 1 { 1 } else { count / wanted };
        if self.is_thin() {
            let columns = columns.div_ceil(of_each).next_multiple_of(ROWS);
            return Grid { matrices, rows, columns };
        }
        let wide = blocked::columns_of_blocks(self.scheme, columns);
        let bands = of_each.div_ceil(columns.div_ceil(wide.max(1)).max(1));
        let tallest = self.scheme.kernel().tallest() / S::PARTS;
        let high = rows.div_ceil(bands).next_multiple_of(tallest).max(4 * tallest);
        Grid { matrices, rows: high.min(T::ROWS), columns: wide }
    }

    /// # Safety
    ///
    /// Nobody else uses this part of the result.
    unsafe fn piece(&self, part: Part, packed: Option<&[S::Packed]>, memory: &mut Memory) {
        let Memory { panels, sums, .. } = memory;
        let (scheme, inner) = (self.scheme, 0..self.a.first.columns);
        let a = self.a.part(Part { columns: inner.clone(), ..part.clone() });
        let b = self.b.part(Part { rows: inner, ..part.clone() });
        let compute = |out, scale, add| {
            if self.is_thin() {
                let thin = Thin { scheme, out, vectors: a, rows: b.transposed(), scale, add };
                // SAFETY: parts of matrices made of `Input`s and an `Output`, whose sizes `run` has compared; `is_thin` says
                // that vectors are few and rows lie in one piece. `multiply` has made readable what is added to.
                unsafe { thin.compute(panels) }
            } else {
                // SAFETY: parts of matrices made of `Input`s and an `Output`, whose sizes `run` has compared; `multiply` has
                // made readable what is added to.
                unsafe { Product { scheme, out, a, b, scale, add, packed }.compute(panels) }
            }
        };
        // SAFETY: passed on.
        unsafe { self.target.write(part, sums, compute) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::products::scheme::Plain;

    #[test]
    fn panels_that_cannot_be_counted_are_not_shared() {
        let mut element = 1.0f32;
        let start = &raw mut element;
        let repeated = |rows, columns| {
            let first = Matrix { start, rows, columns, row: 0, column: 0 };
            Stack { first, count: 1, stride: 0 }
        };
        for inner in [1 << 30, 1 << 60, usize::MAX >> 1] {
            let (a, b) = (repeated(256, inner), repeated(inner, 64));
            let target = Direct { out: repeated(256, 64), scale: 1.0, add: false };
            let job = Job { scheme: Plain::<f32>::new(), a, b, target };
            let pieces = Pieces::new(Grid { matrices: 1, rows: 32, columns: 64 }, [1, 256, 64]);
            assert!(job.packed(&pieces, &mut None).is_none(), "{inner} steps");
        }
    }
}
