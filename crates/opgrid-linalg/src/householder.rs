//! `A = Q * R` by reflections, as LAPACK keeps them: `Q` is the product of `1 - tau * v * vᴴ`, where `v` is 1 at the diagonal and stored
//! below it.

use std::cmp::Ordering;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, Par};

use crate::number::{Number, Scale, one, zero};

/// How many reflections are applied together.
const BLOCK: usize = 32;

/// Which side of a matrix `Q` is multiplied from, and which `Q` that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Application {
    /// Whether `Q` stands on the left.
    pub is_left: bool,
    /// Whether its conjugate transpose is meant.
    pub is_adjoint: bool,
}

/// Replaces the matrix by `R` and, below its diagonal, the reflections, whose factors are `tau`.
pub(crate) fn factor<T: Number>(matrix: &mut [T], rows: usize, columns: usize, tau: &mut [T]) {
    assert!((matrix.len(), tau.len()) == (rows * columns, rows.min(columns)), "elements and factors");
    let count = tau.len();
    let scale = Scale::new(matrix);
    scale.apply(matrix);
    for start in (0..count).step_by(BLOCK) {
        let width = BLOCK.min(count - start);
        for j in start..start + width {
            let (before, after) = matrix.split_at_mut((j + 1) * rows);
            let column = &mut before[j * rows + j..];
            tau[j] = reflect(column);
            for later in after.chunks_exact_mut(rows).take(start + width - j - 1) {
                let later = &mut later[j..];
                let along = column[1..].iter().zip(&later[1..]);
                let product = along.fold(later[0], |sum, (v, x)| sum + v.conjugate() * *x);
                let step = tau[j].conjugate() * product;
                later[0] -= step;
                for (x, v) in later[1..].iter_mut().zip(&column[1..]) {
                    *x -= *v * step;
                }
            }
        }
        if start + width < columns {
            let (before, after) = matrix.split_at_mut((start + width) * rows);
            let block = Block::new(&before[start * rows..], rows, start, &tau[start..start + width]);
            let others = columns - start - width;
            let after = MatMut::from_column_major_slice_mut(after, rows, others);
            block.apply_left(true, after.subrows_mut(start, rows - start));
        }
    }
    for (j, column) in matrix.chunks_exact_mut(rows.max(1)).enumerate() {
        column.iter_mut().take(j + 1).for_each(|element| *element = scale.undone(*element));
    }
}

/// Makes the reflection that turns a column into a multiple of its first unit vector: leaves that multiple, which is real, and the rest
/// of `v`, and returns `tau`. The conjugate of the reflection is what is applied.
fn reflect<T: Number>(column: &mut [T]) -> T {
    // Columns may be as far from each other as the elements of a matrix are.
    let scale = Scale::new(column);
    scale.apply(column);
    let Some((head, tail)) = column.split_first_mut() else { return zero() };
    let square = |element: &T| {
        let (real, imaginary) = (element.real(), element.imaginary());
        real * real + imaginary * imaginary
    };
    let rest = tail.iter().fold(zero::<T::Real>(), |sum, element| sum + square(element));
    if rest == zero() && head.imaginary() == zero() {
        *head = scale.undone(*head);
        return zero();
    }
    let length = (square(head) + rest).root();
    let beta = if head.real() < zero() { length } else { -length };
    let tau = (T::from_real(beta) - *head) / T::from_real(beta);
    let divisor = *head - T::from_real(beta);
    tail.iter_mut().for_each(|element| *element /= divisor);
    *head = scale.undone(T::from_real(beta));
    tau
}

/// Some reflections as one: `1 - V * T * Vᴴ`.
struct Block<T> {
    v: Mat<T>,
    t: Mat<T>,
}

impl<T: Number> Block<T> {
    /// Joins the reflections of some columns of a factored matrix, the first of which has its diagonal in row `first`.
    fn new(columns: &[T], rows: usize, first: usize, tau: &[T]) -> Self {
        let (height, width) = (rows - first, tau.len());
        let v = Mat::from_fn(height, width, |i, j| match i.cmp(&j) {
            Ordering::Less => zero(),
            Ordering::Equal => one(),
            Ordering::Greater => columns[j * rows + first + i],
        });
        let mut products: Mat<T> = Mat::zeros(width, width);
        matmul(products.as_mut(), Accum::Replace, v.as_ref().adjoint(), v.as_ref(), one::<T>(), Par::Seq);
        let mut t: Mat<T> = Mat::zeros(width, width);
        for j in 0..width {
            t[(j, j)] = tau[j];
            for i in 0..j {
                let sum = (i..j).fold(zero::<T>(), |sum, k| sum + t[(i, k)] * products[(k, j)]);
                t[(i, j)] = -(tau[j] * sum);
            }
        }
        Self { v, t }
    }

    /// Multiplies a matrix by the reflections, or by their conjugate transpose, from the left.
    fn apply_left(&self, is_adjoint: bool, to: MatMut<'_, T>) {
        let (mut to, v) = (to, self.v.as_ref());
        let (width, columns) = (v.ncols(), to.ncols());
        let (mut first, mut second): (Mat<T>, Mat<T>) =
            (Mat::zeros(width, columns), Mat::zeros(width, columns));
        matmul(first.as_mut(), Accum::Replace, v.adjoint(), to.as_ref(), one::<T>(), Par::Seq);
        let t = self.t.as_ref();
        if is_adjoint {
            matmul(second.as_mut(), Accum::Replace, t.adjoint(), first.as_ref(), one::<T>(), Par::Seq);
        } else {
            matmul(second.as_mut(), Accum::Replace, t, first.as_ref(), one::<T>(), Par::Seq);
        }
        matmul(to.as_mut(), Accum::Add, v, second.as_ref(), -one::<T>(), Par::Seq);
    }

    /// As [`apply_left`](Self::apply_left), from the right.
    fn apply_right(&self, is_adjoint: bool, to: MatMut<'_, T>) {
        let (mut to, v) = (to, self.v.as_ref());
        let (width, rows) = (v.ncols(), to.nrows());
        let (mut first, mut second): (Mat<T>, Mat<T>) = (Mat::zeros(rows, width), Mat::zeros(rows, width));
        matmul(first.as_mut(), Accum::Replace, to.as_ref(), v, one::<T>(), Par::Seq);
        let t = self.t.as_ref();
        if is_adjoint {
            matmul(second.as_mut(), Accum::Replace, first.as_ref(), t.adjoint(), one::<T>(), Par::Seq);
        } else {
            matmul(second.as_mut(), Accum::Replace, first.as_ref(), t, one::<T>(), Par::Seq);
        }
        matmul(to.as_mut(), Accum::Add, second.as_ref(), v.adjoint(), -one::<T>(), Par::Seq);
    }
}

/// Multiplies a matrix of `sizes` by `Q`, which the columns of a factored matrix of `rows` rows say.
pub(crate) fn multiply<T: Number>(
    reflections: &[T],
    rows: usize,
    tau: &[T],
    application: Application,
    other: &mut [T],
    sizes: [usize; 2],
) {
    let Application { is_left, is_adjoint } = application;
    assert!(reflections.len() >= rows * tau.len(), "a column for each factor");
    assert_eq!((other.len(), sizes[usize::from(!is_left)]), (sizes[0] * sizes[1], rows), "elements");
    let mut starts: Vec<usize> = (0..tau.len()).step_by(BLOCK).collect();
    // The last reflections are those beside the matrix, or the first ones.
    if is_left != is_adjoint {
        starts.reverse();
    }
    for start in starts {
        let width = BLOCK.min(tau.len() - start);
        let block = Block::new(&reflections[start * rows..], rows, start, &tau[start..start + width]);
        let other = MatMut::from_column_major_slice_mut(other, sizes[0], sizes[1]);
        if is_left {
            block.apply_left(is_adjoint, other.subrows_mut(start, rows - start));
        } else {
            block.apply_right(is_adjoint, other.subcols_mut(start, rows - start));
        }
    }
}

/// Writes the first `columns` columns of `Q`.
pub(crate) fn product<T: Number>(reflections: &[T], rows: usize, tau: &[T], q: &mut [T], columns: usize) {
    q.fill(zero());
    (0..rows.min(columns)).for_each(|j| q[j * rows + j] = one());
    let from_left = Application { is_left: true, is_adjoint: false };
    multiply(reflections, rows, tau, from_left, q, [rows, columns]);
}
