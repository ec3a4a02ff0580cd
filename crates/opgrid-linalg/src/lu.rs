//! `A = P * L * U` with rows exchanged so that pivots are large.

use std::num::NonZeroUsize;

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, Par};

use crate::number::{Number, one, zero};
use crate::triangular::{Triangle, solve, solve_in_blocks};

/// Up to this many columns are factored one by one.
const FEW: usize = 8;

/// Replaces the matrix by `L`, without its ones on the diagonal, and `U`. `pivots[i]` is the row, counted from 1, that row `i` was
/// exchanged with, in that order. Returns the number, from 1, of the first pivot that is zero; the factorization goes on behind it.
pub(crate) fn factor<T: Number>(
    matrix: &mut [T],
    rows: usize,
    columns: usize,
    pivots: &mut [i32],
) -> Option<NonZeroUsize> {
    let fits = (matrix.len(), pivots.len()) == (rows * columns, rows.min(columns));
    assert!(fits, "elements of the matrix and pivots");
    factor_part(matrix, rows, rows, columns, pivots)
}

/// Factors the first `rows` of each of `columns` columns, which begin `step` elements apart.
fn factor_part<T: Number>(
    matrix: &mut [T],
    step: usize,
    rows: usize,
    columns: usize,
    pivots: &mut [i32],
) -> Option<NonZeroUsize> {
    let count = rows.min(columns);
    if count <= FEW {
        return factor_few(matrix, step, rows, columns, pivots);
    }
    let half = count / 2;
    let (early, late) = pivots.split_at_mut(half);
    let failed = factor_part(matrix, step, rows, half, early);
    exchange(&mut matrix[half * step..], step, columns - half, early);
    let length = (columns - 1) * step + rows;
    let all = MatMut::from_column_major_slice_with_stride_mut(&mut matrix[..length], rows, columns, step);
    let (first, mut above, below, later) = all.split_at_mut(half, half);
    solve_in_blocks(first.as_ref(), Triangle::LOWER.unit(), above.as_mut());
    matmul(later, Accum::Add, below.as_ref(), above.as_ref(), -one::<T>(), Par::Seq);
    let failed_later =
        factor_part(&mut matrix[half * step + half..], step, rows - half, columns - half, late);
    exchange(&mut matrix[half..], step, half, late);
    late.iter_mut().for_each(|pivot| *pivot += half as i32);
    failed.or(failed_later.and_then(|place| place.checked_add(half)))
}

/// Exchanges rows of some columns, as the pivots say one after the other.
fn exchange<T: Copy>(matrix: &mut [T], step: usize, columns: usize, pivots: &[i32]) {
    for column in matrix.chunks_mut(step).take(columns) {
        for (row, pivot) in pivots.iter().enumerate() {
            column.swap(row, *pivot as usize - 1);
        }
    }
}

fn factor_few<T: Number>(
    matrix: &mut [T],
    step: usize,
    rows: usize,
    columns: usize,
    pivots: &mut [i32],
) -> Option<NonZeroUsize> {
    let mut failed = None;
    for j in 0..rows.min(columns) {
        let column = &matrix[j * step..][..rows];
        let mut pivot = j;
        for row in j + 1..rows {
            if column[row].size_of_parts() > column[pivot].size_of_parts() {
                pivot = row;
            }
        }
        pivots[j] = pivot as i32 + 1;
        if column[pivot] == zero() {
            failed = failed.or(NonZeroUsize::new(j + 1));
            continue;
        }
        if pivot != j {
            (0..columns).for_each(|column| matrix.swap(column * step + j, column * step + pivot));
        }
        let (before, after) = matrix.split_at_mut((j * step + rows).min(matrix.len()));
        let column = &mut before[j * step..];
        let divisor = column[j];
        column[j + 1..].iter_mut().for_each(|element| *element /= divisor);
        for later in j + 1..columns {
            let start = later * step - (j * step + rows);
            let later = &mut after[start..][..rows];
            let factor = later[j];
            for (element, known) in later[j + 1..].iter_mut().zip(&column[j + 1..]) {
                *element -= *known * factor;
            }
        }
    }
    failed
}

/// Replaces the columns of `right` by solutions of `A * x = b`, or of `Aᴴ * x = b`, by what [`factor`] made of `A`.
pub(crate) fn solve_factored<T: Number>(
    factors: &[T],
    n: usize,
    pivots: &[i32],
    is_adjoint: bool,
    right: &mut [T],
    columns: usize,
) {
    assert!(pivots.iter().all(|pivot| (1..=n as i32).contains(pivot)), "pivots are rows");
    let (lower, upper) = (Triangle::LOWER.unit(), Triangle::UPPER);
    if is_adjoint {
        solve(factors, n, upper.adjoint(), right, columns);
        solve(factors, n, lower.adjoint(), right, columns);
        for column in right.chunks_exact_mut(n.max(1)) {
            for (row, pivot) in pivots.iter().enumerate().rev() {
                column.swap(row, *pivot as usize - 1);
            }
        }
    } else {
        exchange(right, n.max(1), columns, pivots);
        solve(factors, n, lower, right, columns);
        solve(factors, n, upper, right, columns);
    }
}
