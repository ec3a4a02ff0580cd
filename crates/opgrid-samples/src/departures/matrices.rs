//! Matrices whose factors, inverses or solutions are not determined by their elements.

use num_complex::Complex64;
use opgrid_tensor::tensor::finfo;

use crate::Difference;
use crate::differences::{Operand, Seen};

/// The differences from torch that come of it.
pub const DIFFERENCES: &[Difference] = &[
    Difference {
        id: "what-singular-matrices-give",
        what: "neither torch nor opgrid specifies the digits of what is computed of matrices that are singular up to \
             rounding, whose smallest singular values are rounding errors; `cholesky_inverse` in torch raises for a zero on the \
             diagonal, here its result is not finite, as that of `cholesky_solve`",
        why: "there is no correct result",
        test: ("opgrid-operators/tests/all/differences/kernels.rs", "singular_matrices"),
        when: |seen| {
            let is_such = matches!(
                seen.family(),
                "_linalg_det"
                    | "_linalg_slogdet"
                    | "_linalg_solve_ex"
                    | "cholesky_inverse"
                    | "geqrf"
                    | "linalg_cond"
                    | "linalg_ldl_solve"
                    | "linalg_lstsq"
                    | "linalg_lu_solve"
                    | "linalg_matrix_sqrth"
                    | "linalg_polar"
                    | "linalg_qr"
                    | "linalg_slogdet"
                    | "linalg_solve"
                    | "linalg_solve_ex"
                    | "pinverse"
            );
            let is_met = !seen.elements.is_empty() || seen.torch_refuses("is singular");
            is_such && is_met && has(seen, |matrix, precision| matrix.is_singular(precision))
        },
        directed: None,
    },
    Difference {
        id: "factors-of-what-is-not-positive",
        what: "torch leaves the rows of a Cholesky factor behind the first minor that is not positive as the blocks of its \
             library have left them; here they are those of the matrix, as far as columns were eliminated",
        why: "there is no such factor",
        test: ("opgrid-operators/tests/all/differences/kernels.rs", "singular_matrices"),
        when: |seen| {
            let is_met = seen.family() == "linalg_cholesky_ex" && !seen.elements.is_empty();
            is_met && has(seen, |matrix, precision| !matrix.is_positive(precision))
        },
        directed: None,
    },
];

/// Whether one of the matrices that are read is such, which is asked with the precision of its dtype.
fn has(seen: &Seen<'_>, is_such: fn(&Matrix, f64) -> bool) -> bool {
    let each = |input: &Operand| {
        let precision = finfo(input.dtype).map_or(f64::EPSILON, |limits| limits.eps);
        matrices(input).iter().any(|matrix| is_such(matrix, precision))
    };
    seen.inputs().into_iter().any(each)
}

/// A matrix by its rows.
struct Matrix(Vec<Vec<Complex64>>);

/// The matrices of the last two dimensions.
fn matrices(input: &Operand) -> Vec<Matrix> {
    let [.., rows, columns] = input.geometry.sizes() else { return Vec::new() };
    let (rows, columns) = (*rows as usize, *columns as usize);
    let each = input.elements.chunks_exact((rows * columns).max(1));
    each.map(|elements| Matrix(elements.chunks_exact(columns.max(1)).map(<[_]>::to_vec).collect())).collect()
}

impl Matrix {
    /// Whether it has not as many ranks as it could, up to rounding: by an elimination with the largest element that is left.
    fn is_singular(&self, precision: f64) -> bool {
        let mut rows = self.0.clone();
        let count = rows.first().map_or(0, |row| row.len().min(rows.len()));
        let (mut columns, mut largest) = ((0..rows.first().map_or(0, Vec::len)).collect::<Vec<_>>(), 0.0);
        for _ in 0..count {
            let places = (0..rows.len()).flat_map(|row| columns.iter().map(move |column| (row, *column)));
            let norm = |(row, column): (usize, usize)| rows[row][column].norm();
            let Some((row, column)) = places.max_by(|one, other| norm(*one).total_cmp(&norm(*other))) else {
                return true;
            };
            let pivot = rows.swap_remove(row);
            let size = pivot[column].norm();
            largest = f64::max(largest, size);
            // What elimination and the singular values of small matrices lose.
            if size.is_nan() || size <= 1e3 * precision * largest {
                return true;
            }
            columns.retain(|other| *other != column);
            for row in &mut rows {
                let factor = row[column] / pivot[column];
                for other in &columns {
                    row[*other] -= factor * pivot[*other];
                }
            }
        }
        false
    }

    /// Whether both triangles are those of a Hermitian matrix with a Cholesky factor.
    fn is_positive(&self, precision: f64) -> bool {
        let transposed = (0..self.0.len()).map(|at| self.0.iter().map(|row| row[at].conj()).collect());
        [self.0.clone(), transposed.collect()].into_iter().all(|mut rows: Vec<Vec<Complex64>>| {
            (0..rows.len()).all(|at| {
                let pivot = rows[at][at].re;
                for below in at + 1..rows.len() {
                    let factor = rows[below][at] / pivot;
                    let (above, rest) = rows.split_at_mut(below);
                    let row = &mut rest[0];
                    for (column, other) in above.iter().enumerate().skip(at + 1) {
                        row[column] -= factor * other[at].conj();
                    }
                    let own = row[at].conj();
                    row[below] -= factor * own;
                }
                pivot > 1e3 * precision
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(rows: [[f64; 2]; 2]) -> Matrix {
        Matrix(rows.map(|row| row.map(Complex64::from).to_vec()).to_vec())
    }

    #[test]
    fn matrices_are_judged_up_to_rounding() {
        assert!(matrix([[1.0, 2.0], [2.0, 4.0 + 1e-15]]).is_singular(f64::EPSILON));
        assert!(!matrix([[1.0, 2.0], [2.0, 3.0]]).is_singular(f64::EPSILON));
        assert!(matrix([[2.0, 1.0], [1.0, 2.0]]).is_positive(f64::EPSILON));
        assert!(!matrix([[1.0, 2.0], [2.0, 1.0]]).is_positive(f64::EPSILON));
    }
}
