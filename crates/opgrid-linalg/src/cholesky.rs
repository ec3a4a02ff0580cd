//! `A = L * Lᴴ` of Hermitian matrices that are positive definite.

use std::cmp::Ordering;
use std::num::NonZeroUsize;

use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::{Accum, MatMut, Par};

use crate::number::{Number, one, zero};
use crate::triangular::{Triangle, solve_in_blocks};

/// Up to this many columns are factored one by one.
const FEW: usize = 16;

/// Replaces the lower triangle by `L`; what lies above it is neither read nor written. Returns the order of the first leading minor
/// that is not positive definite, where the factorization ends.
pub(crate) fn factor<T: Number>(matrix: &mut [T], n: usize) -> Option<NonZeroUsize> {
    assert_eq!(matrix.len(), n * n, "elements of the matrix");
    factor_part(matrix, n, n)
}

/// Factors `n` columns of a matrix whose columns begin `step` elements apart.
fn factor_part<T: Number>(matrix: &mut [T], step: usize, n: usize) -> Option<NonZeroUsize> {
    if n <= FEW {
        return factor_few(matrix, step, n);
    }
    let half = n / 2;
    if let failed @ Some(_) = factor_part(matrix, step, half) {
        return failed;
    }
    let rest = n - half;
    let all = MatMut::from_column_major_slice_with_stride_mut(&mut matrix[..(n - 1) * step + n], n, n, step);
    let (first, _, mut below, later) = all.split_at_mut(half, half);
    // The rows below are solutions of X * Lᴴ = A, which is conj(L) * Xᵀ = Aᵀ.
    let conjugated = Triangle { is_conjugated: true, ..Triangle::LOWER };
    solve_in_blocks(first.as_ref(), conjugated, below.as_mut().transpose_mut());
    matmul(
        later,
        BlockStructure::TriangularLower,
        Accum::Add,
        below.as_ref(),
        BlockStructure::Rectangular,
        below.as_ref().adjoint(),
        BlockStructure::Rectangular,
        -one::<T>(),
        Par::Seq,
    );
    let failed = factor_part(&mut matrix[half * step + half..], step, rest);
    failed.and_then(|order| order.checked_add(half))
}

fn factor_few<T: Number>(matrix: &mut [T], step: usize, n: usize) -> Option<NonZeroUsize> {
    for j in 0..n {
        let (before, column) = matrix.split_at_mut(j * step);
        let column = &mut column[..n];
        for earlier in before.chunks(step).take(j) {
            let factor = earlier[j].conjugate();
            for (element, earlier) in column[j..].iter_mut().zip(&earlier[j..n]) {
                *element -= *earlier * factor;
            }
        }
        let pivot = column[j].real();
        // A NaN is not positive either.
        if pivot.partial_cmp(&zero()) != Some(Ordering::Greater) {
            return NonZeroUsize::new(j + 1);
        }
        let root = pivot.root();
        column[j] = T::from_real(root);
        for element in &mut column[j + 1..] {
            *element /= T::from_real(root);
        }
    }
    None
}
