//! `aten::cholesky_solve`, `cholesky_inverse`: solutions of equations by what `cholesky` made of a matrix.
//!
//! `L * Lᴴ * X = B`, or `Uᴴ * U * X = B` with `upper`
//!
//! - Shapes: `input2` of square matrices, `self` of matrices with as many rows; batches broadcast. `cholesky_inverse` takes the triangles
//!   themselves, with the unit matrix for `B`.
//! - Dtypes: float32, float64, complex64, complex128, one for both.
//! - Dispatch: composites of `linalg_solve_triangular`, whose derivative they have.
//! - Aliasing: the `out` forms write `out`, converted; `cholesky_solve.out` gives it rows where it has no elements.
//! - Errors: other shapes or dtypes.
//! - Source: torch.cholesky_solve, torch.cholesky_inverse, PyTorch 2.15.

use crate::kinds::matrices::{Stack, Triangle, adjoint, identity, solve_left};
use crate::prelude::*;

pub use opgrid_tensor::ops::linalg::cholesky_solve::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(CholeskySolve, &kind::FACTORIZATION).implicit(solve);
    library.implement(CholeskySolveOut).implicit(|b, factor, is_upper, out| {
        result::converted(&[(out, &solve(b, factor, is_upper)?.contiguous()?)])
    });
    library.define_with_forms(CholeskyInverse, &kind::FACTORIZATION).implicit(inverse);
    library
        .implement(CholeskyInverseOut)
        .implicit(|factor, is_upper, out| result::converted(&[(out, &inverse(factor, is_upper)?)]));
}

fn solve(b: &Tensor, factor: &Tensor, is_upper: bool) -> Result<Tensor> {
    let (first, second) =
        if is_upper { (adjoint(factor)?, factor.clone()) } else { (factor.clone(), adjoint(factor)?) };
    let half = solve_left(&first, Triangle::LOWER, b)?;
    solve_left(&second, Triangle::UPPER, &half)
}

fn inverse(factor: &Tensor, is_upper: bool) -> Result<Tensor> {
    let n = Stack::square("self", factor.spec()?)?.rows;
    solve(&identity(factor, n)?, factor, is_upper)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::super::lu_solve::samples::{EQUATIONS, solve_each};
    use super::*;
    use crate::kinds::matrices::DTYPES;
    use crate::kinds::matrices::samples::{Matrix, STACKS, map_matrices, positive_definite};
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = || generate::numbers(DType::F32, &[2, 2], 0);
        samples
            .operator(CholeskySolve, DTYPES, inputs, |it| {
                let (b, factor, is_upper): (_, _, bool) =
                    (it.tensor("self")?, it.tensor("input2")?, it.value("upper")?);
                Ok(solve_each(factor, b, true, |factor, b| whole(factor, is_upper).solve(b))?.into())
            })
            .tolerance(1024.0)
            // Triangles with repeated rows are nearly singular.
            .needs_distinct()
            .refuses("square ones", given(x()).and(generate::numbers(DType::F32, &[2, 3], 0)))
            .refuses("convert one of them", given(x()).and(x().to(DType::F64)));
        samples
            .operator(
                CholeskyInverse,
                DTYPES,
                |dtype| {
                    let one = |sizes: &&[i64]| {
                        [false, true].map(|upper| given(triangles(dtype, sizes, upper)).and(upper))
                    };
                    STACKS.iter().flat_map(one).collect()
                },
                |it| {
                    let (factor, is_upper): (_, bool) = (it.tensor("self")?, it.value("upper")?);
                    Ok(map_matrices(factor, |factor| {
                        whole(factor, is_upper).solve(&Matrix::identity(factor.rows))
                    })
                    .into())
                },
            )
            .tolerance(1024.0)
            // Triangles with repeated rows are nearly singular.
            .needs_distinct()
            .refuses("square ones", given(generate::numbers(DType::F32, &[2, 3], 0)));
        samples.rounds(CholeskySolve, Roundings::all(Rounding::Sum(1024)));
        samples.rounds(CholeskyInverse, Roundings::all(Rounding::Sum(1024)));
    }

    fn triangles(dtype: DType, sizes: &[i64], is_upper: bool) -> Plain {
        map_matrices(&positive_definite(dtype, sizes), |matrix| {
            let factor = matrix.cholesky();
            if is_upper { factor.adjoint() } else { factor }
        })
    }

    fn whole(factor: &Matrix, is_upper: bool) -> Matrix {
        let factor = factor.triangle(is_upper, false);
        if is_upper { factor.adjoint().times(&factor) } else { factor.times(&factor.adjoint()) }
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let one = |(a, b): &(&[i64], &[i64])| {
            [false, true]
                .map(|upper| given(generate::numbers(dtype, b, 3)).and(triangles(dtype, a, upper)).and(upper))
        };
        EQUATIONS.iter().flat_map(one).collect()
    }
}
