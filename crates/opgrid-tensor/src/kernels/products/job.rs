//! Cuts products of stacks of matrices into pieces of work, and shares them between threads.
//!
//! A piece is a block of the result, or some whole matrices where they are small. The caller takes pieces itself and
//! does not wait for a thread that has not started.
#![allow(unsafe_code)]

use std::ops::Range;

use opgrid_core::Result;

use super::blocked::{self, Product};
use super::matrix::Matrix;
use super::scheme::Scheme;
use super::thin::{self, Thin};
use crate::error::argument;
use crate::kernels::iter::parallel::{for_each_piece, num_threads};
use crate::kernels::iter::{Input, Output};
use crate::tensor::Geometry;

/// Products that are worth a piece of their own.
const PIECE: usize = 1 << 19;
/// Pieces for each thread, so that one that comes late finds some.
const PIECES: usize = 4;
/// The shortest rows that are multiplied by vectors as they are.
const SHORTEST: usize = 16;

/// Matrices of one shape.
#[derive(Clone, Copy)]
struct Stack<T> {
    first: Matrix<T>,
    count: usize,
    /// From a matrix to the next.
    stride: usize,
}

impl<T> Stack<T> {
    /// The last two dimensions of `geometry` are those of a matrix.
    fn new(start: *mut T, geometry: &Geometry) -> Result<Self> {
        let (sizes, strides) = match (geometry.sizes(), geometry.strides()) {
            (&[rows, columns], &[row, column]) => ([1, rows, columns], [0, row, column]),
            (&[count, rows, columns], &[stride, row, column]) => {
                ([count, rows, columns], [stride, row, column])
            }
            (sizes, _) => {
                return Err(argument(format!("expected matrices or stacks of them, found shape {sizes:?}")));
            }
        };
        let ([count, rows, columns], [stride, row, column]) =
            (sizes.map(|size| size as usize), strides.map(|stride| stride as usize));
        Ok(Self { first: Matrix { start, rows, columns, row, column }, count, stride })
    }

    fn matrix(&self, number: usize) -> Matrix<T> {
        Matrix { start: self.first.start.wrapping_add(number * self.stride), ..self.first }
    }

    fn transposed(self) -> Self {
        Self { first: self.first.transposed(), ..self }
    }
}

/// Products of two stacks.
struct Job<S: Scheme> {
    scheme: S,
    out: Stack<S::Sum>,
    a: Stack<S::Element>,
    b: Stack<S::Element>,
    scale: S::Sum,
    add: bool,
}

// SAFETY: threads read the factors and write different parts of the result, while the caller waits for them.
unsafe impl<S: Scheme> Sync for Job<S> {}

/// `out = scale * (a @ b)` for matrices or stacks of them, or `out += …`.
///
/// # Errors
///
/// Shapes that do not fit each other.
pub(super) fn multiply<S: Scheme>(
    scheme: S,
    out: Output<'_, S::Sum>,
    [a, b]: [Input<'_, S::Element>; 2],
    scale: S::Sum,
    add: bool,
) -> Result<()> {
    super::check_sizes(out.geometry(), a.geometry(), b.geometry())?;
    let job = Job {
        scheme,
        out: Stack::new(out.first(), out.geometry())?,
        a: Stack::new(a.first().cast_mut(), a.geometry())?,
        b: Stack::new(b.first().cast_mut(), b.geometry())?,
        scale,
        add,
    };
    job.turned().run();
    // SAFETY: every element of the result was visited.
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

impl<S: Scheme> Job<S> {
    /// The transposed product, if the result has few columns or they lie in one piece.
    fn turned(self) -> Self {
        let out = self.out.first;
        let turn = match out.rows.min(out.columns) <= thin::FEW {
            true => out.columns < out.rows,
            false => out.row == 1 && out.column != 1,
        };
        match turn {
            true => {
                Self { out: self.out.transposed(), a: self.b.transposed(), b: self.a.transposed(), ..self }
            }
            false => self,
        }
    }

    /// Whether the rows on the left are few, and the columns on the right lie in one piece.
    fn is_thin(&self) -> bool {
        let (a, b) = (self.a.first, self.b.first);
        a.rows <= thin::FEW && b.row == 1 && b.rows >= SHORTEST
    }

    fn run(&self) {
        let out = self.out.first;
        let grid = self.grid();
        let pieces = [(self.out.count, grid.matrices), (out.rows, grid.rows), (out.columns, grid.columns)];
        let [stacks, bands, blocks] = pieces.map(|(all, each)| all.div_ceil(each.max(1)));
        for_each_piece(stacks * bands * blocks, &|piece| {
            let (stack, piece) = (piece / (bands * blocks), piece % (bands * blocks));
            let (band, block) = (piece / blocks, piece % blocks);
            let cut = |number: usize, each: usize, all: usize| number * each..((number + 1) * each).min(all);
            for matrix in cut(stack, grid.matrices, self.out.count) {
                let rows = cut(band, grid.rows, out.rows);
                // SAFETY: the matrices fit, and no other piece has this part of the result.
                unsafe { self.piece(matrix, rows, cut(block, grid.columns, out.columns)) }
            }
        });
    }

    fn grid(&self) -> Grid {
        let out = self.out.first;
        let each = out.rows * out.columns * self.a.first.columns.max(1);
        let wanted = match num_threads() {
            1 => 1,
            threads => (each * self.out.count / PIECE).clamp(1, PIECES * threads),
        };
        // Stacks are cut before matrices are.
        let of_each = wanted.div_ceil(self.out.count.max(1));
        let matrices = if of_each > 1 { 1 } else { self.out.count / wanted };
        if self.is_thin() {
            let columns = out.columns.div_ceil(of_each).next_multiple_of(super::tile::ROWS);
            return Grid { matrices, rows: out.rows, columns };
        }
        let columns = blocked::columns_of_blocks(self.scheme, out.columns);
        let bands = of_each.div_ceil(out.columns.div_ceil(columns.max(1)).max(1));
        let tallest = self.scheme.kernel().tallest() / S::PARTS;
        let rows = out.rows.div_ceil(bands).next_multiple_of(tallest).max(4 * tallest);
        Grid { matrices, rows, columns }
    }

    /// # Safety
    ///
    /// The matrices fit, and nobody else uses this part of the result.
    unsafe fn piece(&self, matrix: usize, rows: Range<usize>, columns: Range<usize>) {
        let (out, a, b) = (self.out.matrix(matrix), self.a.matrix(matrix), self.b.matrix(matrix));
        let &Self { scheme, scale, add, .. } = self;
        if self.is_thin() {
            let thin = Thin { scheme, out, vectors: a, rows: b.transposed(), scale, add };
            // SAFETY: `Input` and `Output` promise the elements; vectors are few, and rows lie in one piece.
            return unsafe { thin.compute(columns) };
        }
        let out = out.part(rows.clone(), columns.clone());
        let a = a.part(rows, 0..a.columns);
        let b = b.part(0..b.rows, columns);
        // SAFETY: `Input` and `Output` promise the elements.
        unsafe { Product { scheme, out, a, b, scale, add }.compute() }
    }
}
