//! `aten::linalg_tensorinv`, `linalg_tensorsolve`: equations whose matrix is a tensor of more dimensions.
//!
//! `linalg_tensorsolve`: `tensordot(self, out, out.dim()) = other`; `linalg_tensorinv`: `tensordot(out, x, ind)` is that solution for `x`
//!
//! - Shapes: the sizes of `self` before dimension `ind` have the same product as those behind it, and stand behind these in the inverse. For
//!   solutions as many dimensions as `other` has stand in front; those of `dims` are moved to the end first.
//! - Dtypes: float32, float64, complex64, complex128.
//! - Dispatch: composites of `linalg_inv_ex` and `linalg_solve`, with views.
//! - Aliasing: the `out` forms write `out`, converted.
//! - Errors: sizes with other products, an `ind` that is not positive, other dtypes; a singular matrix.
//! - Source: torch.linalg.tensorinv, torch.linalg.tensorsolve, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{LinalgInv, LinalgSolve, MovedimIntlist, Reshape};

pub use opgrid_tensor::ops::linalg::tensorsolve::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(LinalgTensorinv, &kind::FACTORIZATION).implicit(invert);
    library
        .implement(LinalgTensorinvOut)
        .implicit(|input, ind, out| result::converted(&[(out, &invert(input, ind)?.contiguous()?)]));
    library.define_with_forms(LinalgTensorsolve, &kind::FACTORIZATION).implicit(solve);
    library
        .implement(LinalgTensorsolveOut)
        .implicit(|input, other, dims, out| result::converted(&[(out, &solve(input, other, dims)?)]));
}

fn invert(input: &Tensor, ind: i64) -> Result<Tensor> {
    input.spec()?;
    if ind < 1 {
        return Err(argument(format!("argument `ind` is {ind}, expected a number above zero")));
    }
    let (rows, columns) = input.sizes().split_at(input.dim().min(ind as usize));
    let inverse = LinalgInv.call(&square(input, rows, columns)?)?;
    Reshape.call(&inverse, &[columns, rows].concat())
}

fn solve(input: &Tensor, other: &Tensor, dims: Option<&[i64]>) -> Result<Tensor> {
    input.spec()?;
    other.spec()?;
    let moved = match dims {
        Some(dims) => {
            let first = input.dim() as i64 - dims.len() as i64;
            let ends: Vec<i64> = (0..dims.len() as i64).map(|place| first + place).collect();
            MovedimIntlist.call(input, dims, &ends)?
        }
        None => input.clone(),
    };
    if other.dim() > input.dim() {
        let message = format!(
            "argument `other` has shape {:?}, expected fewer dimensions than `self` of shape {:?}",
            other.sizes(),
            input.sizes()
        );
        return Err(argument(message));
    }
    let (rows, columns) = moved.sizes().split_at(other.dim());
    if other.numel() != columns.iter().product::<i64>() {
        let message = format!(
            "argument `other` has shape {:?}, expected as many elements as the solution of shape {columns:?}",
            other.sizes()
        );
        return Err(argument(message));
    }
    let matrix = square(&moved, rows, columns)?;
    let solution = LinalgSolve.call(&matrix, &Reshape.call(other, &[other.numel()])?, true)?;
    Reshape.call(&solution, columns)
}

/// The tensor as a matrix.
///
/// # Errors
///
/// Sizes whose products differ.
fn square(input: &Tensor, rows: &[i64], columns: &[i64]) -> Result<Tensor> {
    let [m, n] = [rows, columns].map(|sizes| sizes.iter().product::<i64>());
    if m != n {
        let message = format!(
            "argument `self` has shape {:?}, expected the same product of {rows:?} and of {columns:?}, found {m} and {n}",
            input.sizes()
        );
        return Err(argument(message));
    }
    Reshape.call(input, &[m, n])
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::matrices::DTYPES;
    use crate::kinds::matrices::samples::{Matrix, map_matrices, well_conditioned};
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = |sizes: &[i64]| given(generate::numbers(DType::F32, sizes, 0));
        samples
            .operator(LinalgTensorinv, DTYPES, inverse_inputs, |it| {
                let (x, ind): (_, i64) = (it.tensor("self")?, it.value("ind")?);
                let (rows, columns) = x.sizes().split_at(ind as usize);
                let inverse =
                    map_matrices(&as_matrix(x, rows), |matrix| matrix.solve(&Matrix::identity(matrix.rows)));
                Ok(inverse.with_sizes(&[columns, rows].concat()).into())
            })
            .tolerance(256.0)
            // Matrices with repeated rows are singular.
            .needs_distinct()
            .refuses("above zero", x(&[2, 2]).and(0))
            .refuses("the same product", x(&[2, 3]).and(1));
        samples
            .operator(LinalgTensorsolve, DTYPES, solved_inputs, |it| {
                let (x, other) = (it.tensor("self")?, it.tensor("other")?);
                let x = match it.option::<Vec<i64>>("dims")? {
                    // The one that samples move.
                    Some(_) => {
                        let [rows, columns] = [x.sizes()[1], x.sizes()[0]];
                        Plain::from_fn(x.dtype(), &[rows, columns], |at| x.at(&[at[1], at[0]]))
                    }
                    None => x.clone(),
                };
                let (rows, columns) = x.sizes().split_at(other.sizes().len());
                let column = other.with_sizes(&[other.elements().len() as i64, 1]);
                let solved = super::super::lu_solve::samples::solve_each(
                    &as_matrix(&x, rows),
                    &column,
                    true,
                    |a, b| a.solve(b),
                )?;
                Ok(solved.with_sizes(columns).into())
            })
            .tolerance(256.0)
            .needs_distinct()
            .refuses("fewer dimensions", x(&[2]).and(generate::numbers(DType::F32, &[1, 2], 0)))
            .refuses("as many elements", x(&[2, 2]).and(generate::numbers(DType::F32, &[3], 0)))
            .refuses("range", x(&[2, 2]).and(generate::numbers(DType::F32, &[2], 0)).and(vec![2]));
        samples.rounds(LinalgTensorinv, Roundings::all(Rounding::Sum(256)));
        samples.rounds(LinalgTensorsolve, Roundings::all(Rounding::Sum(256)));
    }

    fn as_matrix(x: &Plain, rows: &[i64]) -> Plain {
        let n = rows.iter().product();
        x.with_sizes(&[n, n])
    }

    fn inverse_inputs(dtype: DType) -> Vec<Sample> {
        let x = |n: i64, sizes: &[i64]| given(well_conditioned(dtype, &[n, n], 1).with_sizes(sizes));
        vec![x(4, &[2, 2, 4]), x(4, &[4, 2, 2]).and(1), x(6, &[2, 3, 3, 2]), x(0, &[0, 2, 0])]
    }

    fn solved_inputs(dtype: DType) -> Vec<Sample> {
        let x = |n: i64, sizes: &[i64], other: &[i64]| {
            given(well_conditioned(dtype, &[n, n], 1).with_sizes(sizes))
                .and(generate::numbers(dtype, other, 3))
        };
        vec![
            x(4, &[2, 2, 4], &[2, 2]),
            x(4, &[4, 2, 2], &[4]),
            x(3, &[3, 3], &[3]).and(vec![0]),
            x(1, &[1], &[1]),
        ]
    }
}
