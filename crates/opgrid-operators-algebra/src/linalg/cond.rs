//! `aten::linalg_cond`: how much errors of equations with matrices may grow.
//!
//! `out = norm(self) * norm(inverse(self))`, the largest singular value divided by the smallest one for no `p` and for 2, and the smallest one
//! by the largest for -2
//!
//! - Shapes: matrices, or batches of them, which are square but for 2 and -2; a number for each.
//! - Dtypes: float32, float64, complex64, complex128; the result is real.
//! - Values: infinite for singular matrices; zero for those without elements.
//! - Dispatch: composites of `linalg_svdvals`, `linalg_inv_ex` and `linalg_matrix_norm`.
//! - Aliasing: the `out` forms write `out`, converted.
//! - Errors: other shapes or dtypes; a `p` that is no norm of matrices.
//! - Source: torch.linalg.cond, PyTorch 2.15.

use crate::kinds::matrices::{Stack, real};
use crate::prelude::*;
use opgrid_tensor::ops::{
    LinalgInvEx, LinalgMatrixNorm, LinalgMatrixNormStrOrd, LinalgSvdvals, MaskedFillScalar,
};

pub use opgrid_tensor::ops::linalg::cond::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(LinalgCond, &kind::FACTORIZATION).implicit(of_number);
    library
        .implement(LinalgCondOut)
        .implicit(|input, p, out| result::converted(&[(out, &of_number(input, p)?)]));
    library.define_with_forms(LinalgCondPStr, &kind::FACTORIZATION).implicit(of_name);
    library
        .implement(LinalgCondPStrOut)
        .implicit(|input, p, out| result::converted(&[(out, &of_name(input, p)?)]));
}

fn of_number(input: &Tensor, p: Option<Scalar>) -> Result<Tensor> {
    let stack = Stack::new("self", input.spec()?)?;
    let order = match p {
        Some(Scalar::Complex(_)) => f64::NAN,
        Some(real) => real.to_f64()?,
        None => 2.0,
    };
    let p = Scalar::Float(order);
    if ![1.0, 2.0, f64::INFINITY].contains(&order.abs()) {
        return Err(argument(format!("argument `p` is {p}, expected 1, -1, 2, -2, inf or -inf")));
    }
    if input.numel() == 0 {
        return none(input, &stack);
    }
    if order.abs() != 2.0 {
        return by_inverse(input, |matrix| LinalgMatrixNorm.call(matrix, p, &[-2, -1], false, None));
    }
    let values = LinalgSvdvals.call(input, None)?;
    let (largest, smallest) = (values.select(-1, 0)?, values.select(-1, stack.least() - 1)?);
    if order > 0.0 { largest.div(&smallest) } else { smallest.div(&largest) }
}

fn of_name(input: &Tensor, p: &str) -> Result<Tensor> {
    let stack = Stack::square("self", input.spec()?)?;
    if !["fro", "nuc"].contains(&p) {
        return Err(argument(format!("argument `p` is `{p}`, expected `fro` or `nuc`")));
    }
    if input.numel() == 0 {
        return none(input, &stack);
    }
    if p == "fro" {
        return by_inverse(input, |matrix| {
            LinalgMatrixNormStrOrd.call(matrix, "fro", &[-2, -1], false, None)
        });
    }
    // An inverse with infinities has no singular values.
    let values = LinalgSvdvals.call(input, None)?;
    let inverses = values.reciprocal()?.sum_dim([-1], false)?;
    values.sum_dim([-1], false)?.mul(&inverses)
}

fn by_inverse(input: &Tensor, norm: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    Stack::square("self", input.spec()?)?;
    let (inverse, info) = LinalgInvEx.call(input, false)?;
    let is_singular = info.gt(0)?.unsqueeze(-1)?.unsqueeze(-1)?;
    let inverse = MaskedFillScalar.call(&inverse, &is_singular, Scalar::Float(f64::INFINITY))?;
    norm(input)?.mul(&norm(&inverse)?)
}

fn none(input: &Tensor, stack: &Stack<'_>) -> Result<Tensor> {
    derivatives::zeros_of(stack.batch, input)?.to_dtype(real(input.dtype()))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::super::matrix_norm::samples::{NUMBERS, nuclear, of_matrix, root_of_squares};
    use super::*;
    use crate::kinds::matrices::DTYPES;
    use crate::kinds::matrices::samples::{Matrix, batch, matrices, well_conditioned};
    use opgrid_samples::prelude::*;

    /// Stacks of matrices that stay far from singular when their elements are exchanged.
    const SMALL: [&[i64]; 5] = [&[3, 3], &[2, 2, 2], &[0, 0], &[0, 2, 2], &[1, 1]];

    pub(crate) fn collect(samples: &mut Samples) {
        let x = |sizes: &[i64]| given(generate::numbers(DType::F32, sizes, 0));
        samples
            .operator(LinalgCond, DTYPES, of_numbers, |it| {
                let order = it.option::<Scalar>("p")?.map_or(Ok(2.0), |p| p.to_f64())?;
                if order.abs() != 2.0 {
                    return reference(it, |matrix| of_matrix(matrix, order));
                }
                let quotient = |matrix: &Matrix| of_matrix(matrix, order) / of_matrix(matrix, -order);
                numbers(it, quotient)
            })
            .tolerance(512.0)
            .needs_distinct()
            .refuses("2 dimensions or more", x(&[3]))
            .refuses("square ones", x(&[2, 3]).and(1))
            .refuses("expected 1, -1, 2, -2", x(&[2, 2]).and(3));
        samples
            .operator(LinalgCondPStr, DTYPES, of_names, |it| {
                let order: String = it.value("p")?;
                reference(it, if order == "nuc" { nuclear } else { root_of_squares })
            })
            .tolerance(512.0)
            .needs_distinct()
            .refuses("square ones", x(&[2, 3]).and("fro"))
            .refuses("`fro` or `nuc`", x(&[2, 2]).and("two"));
        samples.rounds(LinalgCond, Roundings::all(Rounding::Sum(256)));
    }

    fn of_numbers(dtype: DType) -> Vec<Sample> {
        let of = |sizes: &&[i64]| {
            let x = || given(well_conditioned(dtype, sizes, 1));
            NUMBERS.iter().map(|p| x().and(*p)).chain([x()]).collect::<Vec<_>>()
        };
        let tall = given(well_conditioned(dtype, &[4, 2], 1)).and(2);
        SMALL.iter().flat_map(of).chain([tall]).collect()
    }

    fn of_names(dtype: DType) -> Vec<Sample> {
        let of = |sizes: &&[i64]| ["fro", "nuc"].map(|p| given(well_conditioned(dtype, sizes, 1)).and(p));
        SMALL.iter().flat_map(of).collect()
    }

    fn reference(it: &Inputs, norm: impl Fn(&Matrix) -> f64) -> Result<Expected> {
        numbers(it, |matrix| norm(matrix) * norm(&matrix.solve(&Matrix::identity(matrix.rows))))
    }

    fn numbers(it: &Inputs, number: impl Fn(&Matrix) -> f64) -> Result<Expected> {
        let x = it.tensor("self")?;
        let of = |matrix: &Matrix| {
            Scalar::Float(if matrix.rows * matrix.columns == 0 { 0.0 } else { number(matrix) })
        };
        let all: Vec<Scalar> = matrices(x).iter().map(of).collect();
        Ok(Plain::from_elements(real(x.dtype()), batch(x), &all).into())
    }
}
