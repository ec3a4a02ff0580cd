//! `aten::linalg_lstsq`: solutions of equations with any number of rows, as good as there are.
//!
//! `solution = the X of the smallest norm for which the norm of self * X - b is smallest`
//!
//! - Shapes: `self` `[.., m, n]`, `b` `[.., m, k]`, where batches broadcast, or a vector of `m` elements for each matrix; `solution`
//!   `[.., n, k]`, or `[.., n]`. `residuals` `[.., k]`, `rank` `[..]` and `singular_values` `[.., min(m, n)]` have no elements where a driver
//!   does not give them.
//! - Dtypes: float32, float64, complex64, complex128, one for both; residuals and singular values are real, `rank` is int64.
//! - Values: singular values up to `rcond` times the largest one count as zero; without `rcond` that is the distance of 1 to the next number of
//!   the dtype, times the larger size. `residuals` are the sums of squares of what is left over, by `gels`, `gelsd` and `gelss`, where there are
//!   more rows than columns and every matrix has the rank `n`. The driver `gels` takes each matrix to have full rank.
//! - Strides: `solution` is column-major, with the rows of `b` where these are more, as in torch.
//! - Dispatch: composites of `linalg_svd`, and of `linalg_qr` by `gels`.
//! - Aliasing: `linalg_lstsq.out` writes its outputs, converted.
//! - Errors: other shapes or dtypes, another driver; elements that are not finite; residuals of tensors without data, which the ranks decide.
//! - Derivative: of `solution` and `residuals`, as long as the rank stays; of `residuals` for full rank, without which there are none.
//! - Source: torch.linalg.lstsq, PyTorch 2.15.

use super::pinv;
use crate::kinds::matrices::{
    Stack, Triangle, adjoint, column_major, common_batch, default_rtol, real, solve_left,
};
use crate::prelude::*;
use opgrid_tensor::ops::{
    CopyInplace, EmptyMemoryFormat, EmptyStrided, Expand, LinalgPinvAtolRtolFloat, LinalgQr, LinalgSvd,
    Narrow, WhereScalarOther,
};

pub use opgrid_tensor::ops::linalg::lstsq::*;

/// By what equations are solved: names of LAPACK's functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Driver {
    /// Reflections, for matrices of full rank.
    Gels,
    /// A rank, and no more.
    Gelsy,
    /// Singular values.
    Gelsd,
}

impl Driver {
    /// # Errors
    ///
    /// Another name.
    fn new(name: Option<&str>) -> Result<Self> {
        match name {
            Some("gels") => Ok(Self::Gels),
            None | Some("gelsy") => Ok(Self::Gelsy),
            Some("gelsd" | "gelss") => Ok(Self::Gelsd),
            Some(other) => Err(argument(format!(
                "argument `driver` is `{other}`, expected `gels`, `gelsy`, `gelsd` or `gelss`"
            ))),
        }
    }
}

/// Solutions, residuals, ranks, singular values.
type Found = (Tensor, Tensor, Tensor, Tensor);

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(LinalgLstsq, &kind::FACTORIZATION).composite(solve).derivative(
        |d, (a, b, rcond, _)| {
            d.differentiable(2);
            let keep = [Some(a), Some(b), Some(d.result(0))];
            d.together([Some(a), Some(b)], keep, move |grads, kept, needs| {
                let [Some(a), Some(b), Some(x)] = kept else { return Ok([None, None]) };
                let is_vector = is_vector(a, b);
                let column = |x: &Tensor| if is_vector { x.unsqueeze(-1) } else { Ok(x.clone()) };
                let of_solution = grads.for_result(0).map(column).transpose()?;
                let of_residuals = grads.for_result(1).filter(|grad| grad.numel() > 0);
                let grads = [of_solution.as_ref(), of_residuals];
                let [by_a, by_b] = gradient(a, &column(b)?, &column(x)?, grads, rcond, needs[0])?;
                let by_b = by_b.map(|grad| if is_vector { grad.squeeze(-1) } else { Ok(grad) });
                Ok([by_a, by_b.transpose()?])
            })
        },
    );
    library.implement(LinalgLstsqOut).composite(|a, b, rcond, driver, x, residuals, rank, values| {
        let made = solve(a, b, rcond, driver)?;
        result::converted(&[(x, &made.0), (residuals, &made.1), (rank, &made.2), (values, &made.3)])
    });
}

/// Whether what stands on the right of matrices is a vector for each.
fn is_vector(a: &Tensor, b: &Tensor) -> bool {
    a.dim() == b.dim() + 1
}

/// # Errors
///
/// Matrices or vectors that do not fit.
fn check(a: &TensorSpec, b: &TensorSpec) -> Result<()> {
    let stack = Stack::new("self", a)?;
    let (sizes, found) = (a.sizes(), b.sizes());
    let fits = if found.len() + 1 == sizes.len() {
        found == &sizes[..sizes.len() - 1]
    } else {
        found.len() == sizes.len() && found[found.len() - 2] == stack.rows
    };
    if !fits {
        let message = format!(
            "argument `b` has shape {found:?}, expected matrices of {} rows as those of `self` of shape {sizes:?}, or a vector for each",
            stack.rows
        );
        return Err(argument(message));
    }
    common_batch(("self", a), ("b", b)).map(drop)
}

fn solve(a: &Tensor, b: &Tensor, rcond: Option<f64>, driver: Option<&str>) -> Result<Found> {
    let (driver, is_vector) = (Driver::new(driver)?, is_vector(a, b));
    check(a.spec()?, b.spec()?)?;
    let b = if is_vector { b.unsqueeze(-1)? } else { b.clone() };
    let stack = Stack::new("self", a.spec()?)?;
    let right = Stack::new("b", b.spec()?)?;
    let batch = common_batch(("self", a.spec()?), ("b", b.spec()?))?;
    let expanded = |x: &Tensor, own: [i64; 2]| Expand.call(x, &[&batch[..], &own].concat(), false);
    let a = expanded(a, [stack.rows, stack.columns])?;
    let b = expanded(&b, [right.rows, right.columns])?;
    let none = |dtype| EmptyMemoryFormat.call(&[0], Some(dtype), None, Some(a.device()), None, None);
    let real = real(a.dtype());
    if batch.contains(&0) {
        let x = with_strides_of_lapack(
            &derivatives::zeros_of(&[&batch[..], &[stack.columns, right.columns]].concat(), &a)?,
            stack.rows,
        )?;
        let ranks = || derivatives::zeros_of(&batch, &a)?.to_dtype(DType::I64);
        let values = || derivatives::zeros_of(&[&batch[..], &[stack.least()]].concat(), &a)?.to_dtype(real);
        return Ok(match driver {
            Driver::Gels => (x, none(real)?, none(DType::I64)?, none(real)?),
            Driver::Gelsy => (x, none(real)?, ranks()?, none(real)?),
            Driver::Gelsd => (x, none(real)?, ranks()?, values()?),
        });
    }
    let (x, found) = match driver {
        Driver::Gels => (by_reflections(&a, &b, &stack)?, None),
        Driver::Gelsy | Driver::Gelsd => {
            let (x, rank, values) = by_singular_values(&a, &b, rcond)?;
            (x, Some((rank, values)))
        }
    };
    let is_over_determined = stack.rows > stack.columns && driver != Driver::Gelsy;
    let is_full = |rank: &Tensor| rank.eq(stack.columns)?.all()?.is_nonzero();
    let has_residuals = is_over_determined && found.as_ref().map_or(Ok(true), |(rank, _)| is_full(rank))?;
    let residuals = if has_residuals { squares_left(&a, &b, &x)? } else { none(real)? };
    let x = with_strides_of_lapack(&x, stack.rows)?;
    let x = if is_vector { x.squeeze(-1)? } else { x };
    let (rank, values) = match found {
        Some((rank, values)) if driver == Driver::Gelsd => (rank, values),
        Some((rank, _)) => (rank, none(real)?),
        None => (none(DType::I64)?, none(real)?),
    };
    Ok((x, residuals, rank, values))
}

/// The solution in columns that are as long as those of both sides, which is where LAPACK leaves it.
fn with_strides_of_lapack(x: &Tensor, rows: i64) -> Result<Tensor> {
    let [batch @ .., own, columns] = x.sizes() else { return Ok(x.clone()) };
    let spec = column_major(batch, [rows.max(*own), *columns], x.spec()?)?;
    let (sizes, strides) = (spec.sizes(), spec.geometry().strides());
    let out = EmptyStrided.call(sizes, strides, Some(x.dtype()), None, Some(x.device()), None)?;
    let out = Narrow.call(&out, -2, 0, *own)?;
    CopyInplace.call(&out, x, false)?;
    Ok(out)
}

fn by_reflections(a: &Tensor, b: &Tensor, stack: &Stack<'_>) -> Result<Tensor> {
    if stack.rows >= stack.columns {
        let (q, r) = LinalgQr.call(a, "reduced")?;
        return solve_left(&r, Triangle::UPPER, &adjoint(&q)?.matmul(b)?);
    }
    let (q, r) = LinalgQr.call(&adjoint(a)?, "reduced")?;
    q.matmul(&solve_left(&adjoint(&r)?, Triangle::LOWER, b)?)
}

/// Solutions, ranks, singular values.
fn by_singular_values(a: &Tensor, b: &Tensor, rcond: Option<f64>) -> Result<(Tensor, Tensor, Tensor)> {
    let (u, values, vh) = LinalgSvd.call(a, false, None)?;
    if values.sizes().last() == Some(&0) {
        let x = adjoint(&vh)?.matmul(&adjoint(&u)?.matmul(b)?)?;
        let rank = values.sum_dim([-1], false)?.to_dtype(DType::I64)?;
        return Ok((x, rank, values));
    }
    let part = rcond.map_or_else(|| default_rtol(a), Ok)?;
    let counts = values.gt(&values.amax([-1], true)?.mul(part)?)?;
    let inverses = WhereScalarOther.call(&counts, &values.reciprocal()?, Scalar::Int(0))?;
    let inverses = inverses.to_dtype(a.dtype())?.unsqueeze(-1)?;
    let x = adjoint(&vh)?.matmul(&adjoint(&u)?.matmul(b)?.mul(&inverses)?)?;
    Ok((x, counts.sum_dim([-1], false)?, values))
}

/// The sums of squares of what a solution leaves over.
fn squares_left(a: &Tensor, b: &Tensor, x: &Tensor) -> Result<Tensor> {
    let left = b.sub(&a.matmul(x)?)?.abs()?;
    left.mul(&left)?.sum_dim([-2], false)
}

/// The gradients of both sides, by that of the solution and that of the residuals.
fn gradient(
    a: &Tensor,
    b: &Tensor,
    x: &Tensor,
    [of_solution, of_residuals]: [Option<&Tensor>; 2],
    rcond: Option<f64>,
    needs_a: bool,
) -> Result<[Option<Tensor>; 2]> {
    let (mut by_a, mut by_b) = (None, None);
    if let Some(grad) = of_solution {
        let inverse = LinalgPinvAtolRtolFloat.call(a, None, rcond, false)?;
        by_b = Some(adjoint(&inverse)?.matmul(grad)?);
        if needs_a {
            by_a = Some(pinv::gradient(&grad.matmul(&adjoint(b)?)?, a, &inverse)?);
        }
    }
    if let Some(grad) = of_residuals {
        // What moves the solution changes nothing, where the sum of squares is smallest.
        let left = b.sub(&a.matmul(x)?)?;
        let own = left.mul(&grad.mul(2)?.unsqueeze(-2)?.to_dtype(a.dtype())?)?;
        if needs_a {
            by_a = derivatives::sum(by_a, Some(own.matmul(&adjoint(x)?)?.neg()?))?;
        }
        by_b = derivatives::sum(by_b, Some(own))?;
    }
    Ok([by_a, by_b])
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::super::lu_solve::samples::for_each_pair;
    use super::super::pinv::samples::{full_rank, pseudo_inverse};
    use super::*;
    use crate::kinds::matrices::DTYPES;
    use crate::kinds::matrices::samples::{Matrix, batch, matrices, matrix_sizes, well_conditioned};
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = |sizes: &[i64]| generate::numbers(DType::F32, sizes, 0);
        let operator = samples.operator(LinalgLstsq, DTYPES, inputs, reference);
        operator
            .tolerance(512.0)
            // Matrices with repeated rows have a lower rank.
            .needs_distinct()
            // As in torch.
            .constant(&["singular_values"])
            .refuses("2 dimensions or more", given(x(&[3])).and(x(&[3])))
            .refuses("convert it", given(generate::numbers(DType::I64, &[2, 2], 0)).and(x(&[2, 2])))
            .refuses("matrices of 3 rows", given(x(&[3, 2])).and(x(&[2, 2])))
            .refuses("or a vector for each", given(x(&[2, 3, 2])).and(x(&[3])))
            .refuses("convert one of them", given(x(&[2, 2])).and(x(&[2, 2]).to(DType::F64)))
            .refuses("`gels`, `gelsy`", given(x(&[2, 2])).and(x(&[2, 2])).named("driver", "qr"))
            .refuses_data(
                "non-finite values",
                given(Plain::from_elements(DType::F32, &[1, 1], &[f64::NAN])).and(x(&[1, 1])),
            );
        samples.rounds(LinalgLstsq, Roundings::all(Rounding::Sum(512)));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let of = |a: Plain| {
            let [rows, columns] = matrix_sizes(&a);
            let right = [batch(&a), &[rows, 2]].concat();
            let sample = given(a).and(generate::numbers(dtype, &right, 3));
            // Of those by singular values the ranks decide whether there are residuals, which other tests look at.
            let drivers: &[&str] =
                if rows > columns { &["gels", "gelsy"] } else { &["gels", "gelsy", "gelsd", "gelss"] };
            drivers.iter().map(|driver| sample.clone().named("driver", *driver)).collect::<Vec<_>>()
        };
        let vectors = given(well_conditioned(dtype, &[2, 4, 2], 1)).and(generate::numbers(dtype, &[2, 4], 3));
        let broadcast =
            given(well_conditioned(dtype, &[1, 4, 2], 1)).and(generate::numbers(dtype, &[3, 4, 1], 3));
        full_rank(dtype).into_iter().flat_map(of).chain([vectors, broadcast]).collect()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (a, b) = (it.tensor("self")?, it.tensor("b")?);
        let driver = it.option::<String>("driver")?;
        let driver = driver.as_deref().unwrap_or("gelsy");
        let is_vector = a.sizes().len() == b.sizes().len() + 1;
        let right = if is_vector { b.with_sizes(&[b.sizes(), &[1]].concat()) } else { b.clone() };
        let ([m, n], [_, wide]) = (matrix_sizes(a), matrix_sizes(&right));
        let x = for_each_pair(&pseudo_inverse(a), &right, [n, wide], Matrix::times)?;
        let none = |dtype| Plain::from_fn(dtype, &[0], |_| Scalar::Int(0));
        let stack = batch(&x);
        let has_residuals = m > n && driver != "gelsy" && !stack.contains(&0);
        let residuals = if has_residuals {
            let product = for_each_pair(a, &x, [m, wide], Matrix::times)?;
            let squares = for_each_pair(&right, &product, [1, wide], |b, product| {
                let square = |i, j| (product.at(i, j) - b.at(i, j)).norm_sqr();
                Matrix::from_fn(1, b.columns, |_, j| (0..b.rows).map(|i| square(i, j)).sum::<f64>().into())
            })?;
            let all: Vec<Scalar> =
                squares.elements().iter().map(|x| Scalar::Float(x.to_complex().re)).collect();
            Plain::from_elements(real(x.dtype()), &[stack, &[wide]].concat(), &all)
        } else {
            none(real(x.dtype()))
        };
        let with_rank = driver != "gels";
        let ranks = || Plain::from_fn(DType::I64, stack, |_| Scalar::Int(m.min(n)));
        let values = || {
            let all: Vec<Scalar> =
                matrices(a).iter().flat_map(Matrix::singular_values).map(Scalar::Float).collect();
            Plain::from_elements(real(x.dtype()), &[stack, &[m.min(n)]].concat(), &all)
        };
        let has_values = driver == "gelsd" || driver == "gelss";
        let shape = if is_vector { &x.sizes()[..x.sizes().len() - 1] } else { x.sizes() };
        Ok([
            x.with_sizes(shape),
            residuals,
            if with_rank { ranks() } else { none(DType::I64) },
            if has_values { values() } else { none(real(a.dtype())) },
        ]
        .into())
    }
}
