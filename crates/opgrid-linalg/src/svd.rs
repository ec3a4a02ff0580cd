//! `A = U * S * Vᴴ` with orthonormal columns of `U` and `V`, and `S` from the largest to the smallest.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::svd::{ComputeSvdVectors, svd, svd_scratch};
use faer::{Col, MatMut, MatRef, Par};

use crate::number::{Number, Scale};

/// Writes `S`, and with `vectors` the columns of `U` and of `V`: as many as there are singular values, or rows and columns. Returns
/// whether they were found.
pub(crate) fn decompose<T: Number>(
    matrix: &[T],
    rows: usize,
    columns: usize,
    values: &mut [T::Real],
    vectors: Option<[&mut [T]; 2]>,
) -> bool {
    let count = rows.min(columns);
    assert!((matrix.len(), values.len()) == (rows * columns, count), "elements of the matrix and the values");
    if !matrix.iter().all(|element| element.is_finite()) {
        return false;
    }
    let is_full =
        vectors.as_ref().is_some_and(|[u, v]| u.len() == rows * rows && v.len() == columns * columns);
    let asked = match &vectors {
        None => ComputeSvdVectors::No,
        Some(_) if is_full => ComputeSvdVectors::Full,
        Some(_) => ComputeSvdVectors::Thin,
    };
    let scale = Scale::new(matrix);
    let matrix = scale.applied(matrix);
    let matrix = MatRef::from_column_major_slice(&matrix, rows, columns);
    let mut found: Col<T> = Col::zeros(count);
    let request = svd_scratch::<T>(rows, columns, asked, asked, Par::Seq, Default::default());
    let (u, v) = match vectors {
        Some([u, v]) => {
            let (of_u, of_v) = if is_full { (rows, columns) } else { (count, count) };
            (
                Some(MatMut::from_column_major_slice_mut(u, rows, of_u)),
                Some(MatMut::from_column_major_slice_mut(v, columns, of_v)),
            )
        }
        None => (None, None),
    };
    let mut memory = MemBuffer::new(request);
    let stack = MemStack::new(&mut memory);
    let done = svd(matrix, found.as_diagonal_mut(), u, v, Par::Seq, stack, Default::default());
    for (value, found) in values.iter_mut().zip(found.iter()) {
        *value = scale.undone(found.real());
    }
    done.is_ok()
}
