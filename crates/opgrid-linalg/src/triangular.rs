//! Solves systems of equations with triangular matrices.

use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place_with_conj, solve_unit_lower_triangular_in_place_with_conj,
    solve_unit_upper_triangular_in_place_with_conj, solve_upper_triangular_in_place_with_conj,
};
use faer::{Conj, MatMut, MatRef, Par};

use crate::number::Number;

/// Which part of a matrix is the triangle, and how it is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Triangle {
    /// Whether it lies above the diagonal.
    pub is_upper: bool,
    /// Whether its diagonal counts as ones, whatever is stored there.
    pub is_unit: bool,
    /// Whether the transposed triangle is meant.
    pub is_transposed: bool,
    /// Whether conjugates of its elements are meant.
    pub is_conjugated: bool,
}

impl Triangle {
    /// The diagonal and what lies below it.
    pub const LOWER: Self =
        Self { is_upper: false, is_unit: false, is_transposed: false, is_conjugated: false };
    /// The diagonal and what lies above it.
    pub const UPPER: Self = Self { is_upper: true, ..Self::LOWER };

    /// This triangle with ones on its diagonal.
    #[must_use]
    pub const fn unit(self) -> Self {
        Self { is_unit: true, ..self }
    }

    /// The conjugate of the transposed triangle.
    #[must_use]
    pub const fn adjoint(self) -> Self {
        Self { is_transposed: !self.is_transposed, is_conjugated: !self.is_conjugated, ..self }
    }
}

/// Up to this many rows the loops below are faster than those that work in blocks.
const FEW: usize = 16;

/// Replaces each column `b` of `right` by the solution `x` of `triangle * x = b`.
///
/// # Panics
///
/// The lengths of the slices are not those of `n * n` and `n * columns` elements.
pub(crate) fn solve<T: Number>(matrix: &[T], n: usize, triangle: Triangle, right: &mut [T], columns: usize) {
    assert_eq!((matrix.len(), right.len()), (n * n, n * columns), "elements of the triangle and right of it");
    if n == 0 || columns == 0 {
        return;
    }
    if n <= FEW {
        return right.chunks_exact_mut(n).for_each(|column| solve_one(matrix, triangle, column));
    }
    let matrix = MatRef::from_column_major_slice(matrix, n, n);
    solve_in_blocks(matrix, triangle, MatMut::from_column_major_slice_mut(right, n, columns));
}

/// Solves with a triangle that is part of a larger matrix, or for a matrix that is.
pub(crate) fn solve_in_blocks<T: Number>(matrix: MatRef<'_, T>, triangle: Triangle, right: MatMut<'_, T>) {
    let Triangle { is_upper, is_unit, is_transposed, is_conjugated } = triangle;
    let matrix = if is_transposed { matrix.transpose() } else { matrix };
    let conj = if is_conjugated { Conj::Yes } else { Conj::No };
    let solve = match (is_upper != is_transposed, is_unit) {
        (false, false) => solve_lower_triangular_in_place_with_conj,
        (false, true) => solve_unit_lower_triangular_in_place_with_conj,
        (true, false) => solve_upper_triangular_in_place_with_conj,
        (true, true) => solve_unit_upper_triangular_in_place_with_conj,
    };
    solve(matrix, conj, right, Par::Seq);
}

/// Solves for one column: along the columns of the triangle, or with products of them if it is transposed.
fn solve_one<T: Number>(matrix: &[T], triangle: Triangle, x: &mut [T]) {
    let n = x.len();
    let Triangle { is_upper, is_unit, is_transposed, is_conjugated } = triangle;
    let meant = |element: T| if is_conjugated { element.conjugate() } else { element };
    let is_downwards = is_upper == is_transposed;
    for step in 0..n {
        let j = if is_downwards { step } else { n - 1 - step };
        let column = &matrix[j * n..][..n];
        let below = if is_upper { 0..j } else { j + 1..n };
        if is_transposed {
            let sum = below.fold(x[j], |sum, i| sum - meant(column[i]) * x[i]);
            x[j] = if is_unit { sum } else { sum / meant(column[j]) };
        } else {
            if !is_unit {
                x[j] /= meant(column[j]);
            }
            let known = x[j];
            for (x, element) in x[below.clone()].iter_mut().zip(&column[below]) {
                *x -= meant(*element) * known;
            }
        }
    }
}
