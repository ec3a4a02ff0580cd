//! What linear algebra shares: the checks of matrices, specs in column-major order, and errors of factorizations.

use opgrid_core::{DType, Error, ErrorKind, Result, Scalar};

use opgrid_array::error::argument;
pub(crate) use opgrid_kernels::linalg::Triangle;
use opgrid_tensor::layers::autograd::is_grad_enabled;
use opgrid_tensor::ops::{
    Adjoint, DiagEmbed, Expand, Eye, Full, LinalgSolveTriangular, Maximum, MovedimIntlist, WhereScalarSelf,
};
use opgrid_tensor::tensor::{Bool, Geometry, Tensor, TensorSpec, broadcast, finfo};

/// The dtypes of matrices that are factored.
#[cfg(feature = "samples")]
pub(crate) const DTYPES: &[DType] = &[DType::F32, DType::F64, DType::Complex64, DType::Complex128];

/// The sizes of a stack of matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stack<'s> {
    /// The sizes before those of the matrices.
    pub batch: &'s [i64],
    pub rows: i64,
    pub columns: i64,
}

impl<'s> Stack<'s> {
    /// # Errors
    ///
    /// Another dtype than those of matrices that are factored; fewer than two dimensions.
    pub(crate) fn new(name: &str, spec: &'s TensorSpec) -> Result<Self> {
        if !matches!(spec.dtype(), DType::F32 | DType::F64 | DType::Complex64 | DType::Complex128) {
            let message = format!(
                "argument `{name}` is {}, expected float32, float64, complex64 or complex128; convert it",
                spec.dtype()
            );
            return Err(argument(message));
        }
        match spec.sizes() {
            [batch @ .., rows, columns] => Ok(Self { batch, rows: *rows, columns: *columns }),
            sizes => Err(argument(format!(
                "argument `{name}` has shape {sizes:?}, expected matrices, with 2 dimensions or more"
            ))),
        }
    }

    /// As [`new`](Self::new), of matrices with as many rows as columns.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new); other matrices.
    pub(crate) fn square(name: &str, spec: &'s TensorSpec) -> Result<Self> {
        let stack = Self::new(name, spec)?;
        if stack.rows != stack.columns {
            return Err(argument(format!(
                "argument `{name}` has matrices of {} rows and {} columns, expected square ones",
                stack.rows, stack.columns
            )));
        }
        Ok(stack)
    }

    /// The smaller one of both sizes.
    pub(crate) fn least(&self) -> i64 {
        self.rows.min(self.columns)
    }

    /// The sizes before those of matrices, with more behind them.
    pub(crate) fn with(&self, more: &[i64]) -> Vec<i64> {
        [self.batch, more].concat()
    }
}

/// Matrices whose columns lie one behind the other, as those of LAPACK and of torch.
///
/// # Errors
///
/// More elements than memory has.
pub(crate) fn column_major(
    batch: &[i64],
    [rows, columns]: [i64; 2],
    like: &TensorSpec,
) -> Result<TensorSpec> {
    let turned = Geometry::contiguous(&[batch, &[columns, rows]].concat())?;
    Ok(TensorSpec::new(turned.transpose(-2, -1)?, like.dtype(), like.device()))
}

/// Tensors of these sizes and that dtype, on the device of `like`.
///
/// # Errors
///
/// As [`column_major`].
pub(crate) fn row_major(sizes: &[i64], dtype: DType, like: &TensorSpec) -> Result<TensorSpec> {
    TensorSpec::contiguous(sizes, dtype, like.device())
}

/// The dtype of absolute values.
pub(crate) fn real(dtype: DType) -> DType {
    match dtype {
        DType::Complex64 => DType::F32,
        DType::Complex128 => DType::F64,
        real => real,
    }
}

/// The dtype of complex numbers with such parts.
pub(crate) fn complex(dtype: DType) -> DType {
    match dtype {
        DType::F32 => DType::Complex64,
        DType::F64 => DType::Complex128,
        complex => complex,
    }
}

/// Two stacks for one another: of one dtype and device.
///
/// # Errors
///
/// Other dtypes or devices; sizes of stacks that do not broadcast.
pub(crate) fn common_batch(
    (first, a): (&str, &TensorSpec),
    (second, b): (&str, &TensorSpec),
) -> Result<Vec<i64>> {
    if (a.dtype(), a.device().real()) != (b.dtype(), b.device().real()) {
        let message = format!(
            "argument `{second}` is {} on {}, expected {} on {} as `{first}`; convert one of them",
            b.dtype(),
            b.device(),
            a.dtype(),
            a.device()
        );
        return Err(argument(message));
    }
    let batch = |spec: &TensorSpec| spec.sizes()[..spec.sizes().len().saturating_sub(2)].to_vec();
    let (one, other) = (batch(a), batch(b));
    let common = broadcast(&[&one, &other]).map_err(|_| {
        argument(format!(
            "arguments `{first}` and `{second}` have shapes {:?} and {:?}, of which the sizes before those of matrices, {one:?} \
             and {other:?}, do not broadcast",
            a.sizes(),
            b.sizes()
        ))
    })?;
    Ok(common.to_vec())
}

/// What becomes of a matrix that cannot be factored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    NotPositiveDefinite,
    Singular,
    NotInvertible,
    ZeroPivot,
    ZeroBlock,
}

/// An error of the first matrix for which a factorization did not work, by what `info` says of each.
///
/// # Errors
///
/// One of [`ErrorKind::LinearAlgebra`] if there is such a matrix; an `info` without data.
pub(crate) fn check(info: &Tensor, operation: &str, fault: Fault) -> Result<()> {
    let numbers = info.to_vec::<i32>()?;
    let Some((place, number)) = numbers.iter().enumerate().find(|(_, number)| **number != 0) else {
        return Ok(());
    };
    let what = match fault {
        Fault::NotPositiveDefinite => format!(
            "The factorization could not be completed because the input is not positive-definite (the leading minor of \
             order {number} is not positive-definite)."
        ),
        Fault::Singular => "The solver failed because the input matrix is singular.".to_owned(),
        Fault::NotInvertible => format!(
            "The diagonal element {number} is zero, the inversion could not be completed because the input matrix is \
             singular."
        ),
        Fault::ZeroPivot => format!(
            "U[{number},{number}] is zero and using it on lu_solve would result in a division by zero. If you still want \
             to perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
        ),
        Fault::ZeroBlock => format!(
            "D has zeros in column {number}, so that equations with the matrix cannot be solved. If you still want to perform \
             the factorization, call linalg.ldl_factor_ex(A)."
        ),
    };
    Err(matrix_error(operation, place, info.dim() > 0, &what))
}

/// An error of the matrix for which iterations found nothing, if there is one.
///
/// # Errors
///
/// One of [`ErrorKind::LinearAlgebra`]; those of the operators that look at the matrices.
pub(crate) fn check_converged(found: Option<usize>, operation: &str, a: &Tensor) -> Result<()> {
    let Some(place) = found else { return Ok(()) };
    let is_finite = a.isfinite()?.to_vec::<Bool>()?.iter().all(|is_so| *is_so == Bool::TRUE);
    let reason = if is_finite {
        "the input matrix is ill-conditioned or has too many repeated values"
    } else {
        "the input matrix contained non-finite values"
    };
    let what = format!("The algorithm failed to converge because {reason}.");
    Err(matrix_error(operation, place, a.dim() > 2, &what))
}

/// The error of matrix number `place`.
fn matrix_error(operation: &str, place: usize, is_stack: bool, what: &str) -> Error {
    let which = if is_stack { format!(" (Batch element {place}):") } else { String::new() };
    Error::new(ErrorKind::LinearAlgebra, format!("{operation}:{which} {what}"))
}

/// Whether a derivative of the results will need vectors, too.
pub(crate) fn needs_vectors(a: &Tensor) -> bool {
    is_grad_enabled() && a.requires_grad()
}

/// The unit matrices of a stack like that of `x`, with `n` rows.
///
/// # Errors
///
/// Those of the operators that it calls.
pub(crate) fn identity(x: &Tensor, n: i64) -> Result<Tensor> {
    let eye = Eye.call(n, Some(x.dtype()), None, Some(x.device()), None)?;
    let sizes = x.sizes();
    Expand.call(&eye, &[&sizes[..sizes.len().saturating_sub(2)], &[n, n]].concat(), false)
}

/// `aᴴ`.
///
/// # Errors
///
/// Those of the operators that it calls.
pub(crate) fn adjoint(a: &Tensor) -> Result<Tensor> {
    Adjoint.call(a)
}

/// Matrices with these diagonals, and zeros elsewhere.
///
/// # Errors
///
/// Those of the operator.
pub(crate) fn diagonal_matrix(diagonal: &Tensor) -> Result<Tensor> {
    DiagEmbed.call(diagonal, 0, -2, -1)
}

/// The matrices `X` with `triangle(a) * X = b`.
///
/// # Errors
///
/// Those of the operator.
pub(crate) fn solve_left(a: &Tensor, triangle: Triangle, b: &Tensor) -> Result<Tensor> {
    LinalgSolveTriangular.call(a, b, triangle.is_upper, true, triangle.is_unit)
}

/// The matrices `X` with `X * triangle(a) = b`.
///
/// # Errors
///
/// Those of the operator.
pub(crate) fn solve_right(a: &Tensor, triangle: Triangle, b: &Tensor) -> Result<Tensor> {
    LinalgSolveTriangular.call(a, b, triangle.is_upper, false, triangle.is_unit)
}

/// Gives results of `keepdim` back the two dimensions of their matrices, with size 1, from a last dimension of size 1.
///
/// # Errors
///
/// Those of the operator.
pub(crate) fn restore_matrix_dims(numbers: &Tensor, dims: [i64; 2]) -> Result<Tensor> {
    MovedimIntlist.call(&numbers.unsqueeze(-1)?, &[-2, -1], &dims)
}

/// The number that singular values have to exceed to count towards the rank: `max(atol, rtol * largest)`. Without `rtol` it is
/// [`default_rtol`], or zero where an `atol` above zero is given.
///
/// # Errors
///
/// Tolerances that are complex; those of the operators that it calls.
pub(crate) fn threshold(a: &Tensor, [atol, rtol]: [Option<&Tensor>; 2], largest: &Tensor) -> Result<Tensor> {
    [atol, rtol].into_iter().flatten().try_for_each(check_tolerance)?;
    let number = |value| tolerance(a, value);
    let lost = default_rtol(a)?;
    let rtol = match (rtol, atol) {
        (Some(rtol), _) => rtol.clone(),
        (None, Some(atol)) => WhereScalarSelf.call(&atol.gt(0)?, Scalar::Float(0.0), &number(lost)?)?,
        (None, None) => number(lost)?,
    };
    let atol = atol.map_or_else(|| number(0.0), |atol| Ok(atol.clone()))?;
    let by_part = rtol.unsqueeze(-1)?.mul(largest)?;
    let atol = atol.unsqueeze(-1)?;
    let common = opgrid_tensor::tensor::promote_types(atol.dtype(), by_part.dtype())?;
    Maximum.call(&atol.to_dtype(common)?, &by_part.to_dtype(common)?)
}

/// # Errors
///
/// A tolerance of complex numbers.
pub(crate) fn check_tolerance(tolerance: &Tensor) -> Result<()> {
    let dtype = tolerance.spec()?.dtype();
    if dtype.is_complex() {
        return Err(argument(format!("found a tolerance of {dtype}, expected real numbers")));
    }
    Ok(())
}

/// Turns tolerances that are numbers into tensors. Those that are not given stay so; [`threshold`] has their defaults.
///
/// # Errors
///
/// Those of the operator.
pub(crate) fn tolerances(a: &Tensor, numbers: [Option<f64>; 2]) -> Result<[Option<Tensor>; 2]> {
    let [atol, rtol] = numbers.map(|number| number.map(|number| tolerance(a, number)).transpose());
    Ok([atol?, rtol?])
}

/// A tolerance for all matrices, in double precision.
fn tolerance(a: &Tensor, number: f64) -> Result<Tensor> {
    Full.call(&[], Scalar::Float(number), Some(DType::F64), None, Some(a.device()), None)
}

/// The default relative tolerance of ranks: the machine epsilon times the larger side of the matrix.
///
/// # Errors
///
/// A dtype without digits to round to.
pub(crate) fn default_rtol(a: &Tensor) -> Result<f64> {
    let stack = Stack::new("self", a.spec()?)?;
    Ok(finfo(a.dtype())?.eps * stack.rows.max(stack.columns) as f64)
}

/// What samples of linear algebra share: matrices in double precision, factored by the shortest algorithms there are.
#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use num_complex::Complex64;
    use opgrid_samples::OperatorSamples;
    use opgrid_samples::prelude::*;

    /// Stacks of square matrices: one, none, several, of one element, without elements.
    pub(crate) const STACKS: [&[i64]; 6] = [&[3, 3], &[2, 2, 2], &[0, 0], &[0, 2, 2], &[1, 1], &[2, 1, 5, 5]];

    /// Stacks of matrices of any sizes.
    pub(crate) const SHAPES: [&[i64]; 8] =
        [&[3, 3], &[2, 4, 2], &[2, 4], &[0, 0], &[3, 0], &[0, 2], &[0, 2, 2], &[1, 5, 3]];

    /// Refused by every operator on matrices: vectors and integers.
    pub(crate) fn refuse_others(operator: &mut OperatorSamples) -> &mut OperatorSamples {
        operator
            .refuses("2 dimensions or more", given(generate::numbers(DType::F32, &[3], 0)))
            .refuses("convert it", given(generate::numbers(DType::I64, &[2, 2], 0)))
    }

    /// As [`refuse_others`], by operators on square matrices.
    pub(crate) fn refuse_others_than_square(operator: &mut OperatorSamples) -> &mut OperatorSamples {
        refuse_others(operator).refuses("square ones", given(generate::numbers(DType::F32, &[2, 3], 0)))
    }

    /// A matrix of complex numbers.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Matrix {
        pub rows: usize,
        pub columns: usize,
        elements: Vec<Complex64>,
    }

    impl Matrix {
        pub(crate) fn from_fn(
            rows: usize,
            columns: usize,
            element: impl Fn(usize, usize) -> Complex64,
        ) -> Self {
            let elements = (0..rows * columns).map(|at| element(at / columns, at % columns)).collect();
            Self { rows, columns, elements }
        }

        pub(crate) fn identity(n: usize) -> Self {
            Self::from_fn(n, n, |i, j| if i == j { 1.0.into() } else { 0.0.into() })
        }

        pub(crate) fn at(&self, i: usize, j: usize) -> Complex64 {
            self.elements[i * self.columns + j]
        }

        pub(crate) fn set(&mut self, i: usize, j: usize, element: Complex64) {
            self.elements[i * self.columns + j] = element;
        }

        pub(crate) fn adjoint(&self) -> Self {
            Self::from_fn(self.columns, self.rows, |i, j| self.at(j, i).conj())
        }

        pub(crate) fn times(&self, other: &Self) -> Self {
            Self::from_fn(self.rows, other.columns, |i, j| {
                (0..self.columns).map(|k| self.at(i, k) * other.at(k, j)).sum()
            })
        }

        /// The Hermitian matrix with that triangle.
        pub(crate) fn hermitian(&self, is_upper: bool) -> Self {
            Self::from_fn(self.rows, self.columns, |i, j| match i.cmp(&j) {
                std::cmp::Ordering::Equal => self.at(i, i).re.into(),
                order if order.is_lt() == is_upper => self.at(i, j),
                _ => self.at(j, i).conj(),
            })
        }

        /// `L` of a matrix that is positive definite.
        pub(crate) fn cholesky(&self) -> Self {
            let mut factor = Self::from_fn(self.rows, self.rows, |_, _| 0.0.into());
            for j in 0..self.rows {
                for i in j..self.rows {
                    let known: Complex64 = (0..j).map(|k| factor.at(i, k) * factor.at(j, k).conj()).sum();
                    let rest = self.at(i, j) - known;
                    factor.set(i, j, if i == j { rest.sqrt() } else { rest / factor.at(j, j) });
                }
            }
            factor
        }

        /// `L` and `U` in one matrix, and the rows that were exchanged, from 1.
        pub(crate) fn lu(&self) -> (Self, Vec<i64>) {
            let (mut x, mut pivots) = (self.clone(), Vec::new());
            for j in 0..self.rows.min(self.columns) {
                let size = |x: &Self, i: usize| x.at(i, j).re.abs() + x.at(i, j).im.abs();
                let pivot =
                    (j..self.rows).fold(j, |best, i| if size(&x, i) > size(&x, best) { i } else { best });
                pivots.push(pivot as i64 + 1);
                for k in 0..self.columns {
                    let (one, other) = (x.at(j, k), x.at(pivot, k));
                    x.set(j, k, other);
                    x.set(pivot, k, one);
                }
                if x.at(j, j) == 0.0.into() {
                    continue;
                }
                for i in j + 1..self.rows {
                    let factor = x.at(i, j) / x.at(j, j);
                    x.set(i, j, factor);
                    (j + 1..self.columns).for_each(|k| x.set(i, k, x.at(i, k) - factor * x.at(j, k)));
                }
            }
            (x, pivots)
        }

        /// The matrix `X` with `self * X = right`, by Gauss's algorithm.
        pub(crate) fn solve(&self, right: &Self) -> Self {
            let (lu, pivots) = self.lu();
            let mut x = right.clone();
            for (row, pivot) in pivots.iter().enumerate() {
                let pivot = *pivot as usize - 1;
                for k in 0..x.columns {
                    let (one, other) = (x.at(row, k), x.at(pivot, k));
                    x.set(row, k, other);
                    x.set(pivot, k, one);
                }
            }
            for k in 0..x.columns {
                for i in 0..self.rows {
                    let known: Complex64 = (0..i).map(|j| lu.at(i, j) * x.at(j, k)).sum();
                    x.set(i, k, x.at(i, k) - known);
                }
                for i in (0..self.rows).rev() {
                    let known: Complex64 = (i + 1..self.rows).map(|j| lu.at(i, j) * x.at(j, k)).sum();
                    x.set(i, k, (x.at(i, k) - known) / lu.at(i, i));
                }
            }
            x
        }

        /// The determinant.
        pub(crate) fn determinant(&self) -> Complex64 {
            let (lu, pivots) = self.lu();
            let odd = pivots.iter().zip(1..).filter(|(pivot, row)| **pivot != *row).count() % 2 == 1;
            let product: Complex64 = (0..self.rows).map(|i| lu.at(i, i)).product();
            if odd { -product } else { product }
        }

        /// The triangle from a diagonal downwards, or upwards.
        pub(crate) fn triangle(&self, is_upper: bool, is_unit: bool) -> Self {
            Self::from_fn(self.rows, self.columns, |i, j| match i.cmp(&j) {
                std::cmp::Ordering::Equal if is_unit => 1.0.into(),
                std::cmp::Ordering::Equal => self.at(i, j),
                order if order.is_lt() == is_upper => self.at(i, j),
                _ => 0.0.into(),
            })
        }

        /// `R` and below it the reflections that `Q` is made of, and their factors, by LAPACK's choices of signs.
        pub(crate) fn reflections(&self) -> (Self, Vec<Complex64>) {
            let (mut x, mut factors) = (self.clone(), Vec::new());
            for j in 0..x.rows.min(x.columns) {
                let head = x.at(j, j);
                let tail: f64 = (j + 1..x.rows).map(|i| x.at(i, j).norm_sqr()).sum();
                if tail == 0.0 && head.im == 0.0 {
                    factors.push(0.0.into());
                    continue;
                }
                let length = (head.norm_sqr() + tail).sqrt();
                let beta = if head.re < 0.0 { length } else { -length };
                let tau = (beta - head) / beta;
                (j + 1..x.rows).for_each(|i| x.set(i, j, x.at(i, j) / (head - beta)));
                x.set(j, j, beta.into());
                for k in j + 1..x.columns {
                    let along: Complex64 = (j + 1..x.rows).map(|i| x.at(i, j).conj() * x.at(i, k)).sum();
                    let step = tau.conj() * (x.at(j, k) + along);
                    x.set(j, k, x.at(j, k) - step);
                    (j + 1..x.rows).for_each(|i| x.set(i, k, x.at(i, k) - x.at(i, j) * step));
                }
                factors.push(tau);
            }
            (x, factors)
        }

        /// The product of the reflections that it holds, as a matrix with as many columns as rows.
        pub(crate) fn product_of_reflections(&self, factors: &[Complex64]) -> Self {
            factors.iter().enumerate().fold(Self::identity(self.rows), |q, (j, tau)| {
                let v = |i: usize| match i.cmp(&j) {
                    std::cmp::Ordering::Less => 0.0.into(),
                    std::cmp::Ordering::Equal => 1.0.into(),
                    std::cmp::Ordering::Greater => self.at(i, j),
                };
                q.times(&Self::from_fn(self.rows, self.rows, |i, k| {
                    Complex64::from(if i == k { 1.0 } else { 0.0 }) - tau * v(i) * v(k).conj()
                }))
            })
        }

        /// Some of its rows and columns, from the first.
        pub(crate) fn first(&self, rows: usize, columns: usize) -> Self {
            Self::from_fn(rows, columns, |i, j| self.at(i, j))
        }

        /// The singular values from the largest one, by rotations of columns until they are orthogonal (Hestenes 1958).
        pub(crate) fn singular_values(&self) -> Vec<f64> {
            let mut x = if self.rows < self.columns { self.adjoint() } else { self.clone() };
            for _ in 0..60 {
                for p in 0..x.columns {
                    for q in p + 1..x.columns {
                        let sum = |a: usize, b: usize| -> Complex64 {
                            (0..x.rows).map(|i| x.at(i, a).conj() * x.at(i, b)).sum()
                        };
                        let (app, aqq, apq) = (sum(p, p).re, sum(q, q).re, sum(p, q));
                        if apq.norm() == 0.0 {
                            continue;
                        }
                        let zeta = (aqq - app) / (2.0 * apq.norm());
                        let sign = if zeta < 0.0 { -1.0 } else { 1.0 };
                        let t = sign / (zeta.abs() + (1.0 + zeta * zeta).sqrt());
                        let c = 1.0 / (1.0 + t * t).sqrt();
                        let turned = apq / apq.norm();
                        for i in 0..x.rows {
                            let (a, b) = (x.at(i, p), x.at(i, q) * turned.conj());
                            x.set(i, p, a * c - b * (c * t));
                            x.set(i, q, a * (c * t) + b * c);
                        }
                    }
                }
            }
            let length = |j: usize| (0..x.rows).map(|i| x.at(i, j).norm_sqr()).sum::<f64>().sqrt();
            let mut values: Vec<f64> = (0..x.columns).map(length).collect();
            values.sort_by(|a, b| b.total_cmp(a));
            values
        }

        /// The eigenvalues of a Hermitian matrix, ascending: singular values of a matrix that is shifted until it is positive definite.
        pub(crate) fn hermitian_eigenvalues(&self) -> Vec<f64> {
            // No eigenvalue is further from zero than the sum of a row is.
            let row = |i: usize| (0..self.columns).map(|j| self.at(i, j).norm()).sum::<f64>();
            let shift = 1.0 + (0..self.rows).map(row).fold(0.0, f64::max);
            let shifted =
                Self::from_fn(self.rows, self.rows, |i, j| self.at(i, j) + if i == j { shift } else { 0.0 });
            let mut values: Vec<f64> =
                shifted.singular_values().into_iter().map(|value| value - shift).collect();
            values.reverse();
            values
        }
    }

    /// The matrices of a tensor, row by row.
    pub(crate) fn matrices(x: &Plain) -> Vec<Matrix> {
        let [batch @ .., rows, columns] = x.sizes() else { return Vec::new() };
        let count = batch.iter().product::<i64>() as usize;
        let (rows, columns) = (*rows as usize, *columns as usize);
        let elements: Vec<Complex64> = x.elements().iter().map(|element| element.to_complex()).collect();
        let start = |matrix: usize| matrix * rows * columns;
        (0..count)
            .map(|matrix| Matrix::from_fn(rows, columns, |i, j| elements[start(matrix) + i * columns + j]))
            .collect()
    }

    /// A number of a dtype.
    pub(crate) fn number(dtype: DType, element: Complex64) -> Scalar {
        if dtype.is_complex() { Scalar::Complex(element) } else { Scalar::Float(element.re) }
    }

    /// The tensor of what becomes of each matrix of a stack; `sizes` are those of a result without elements.
    pub(crate) fn stack_matrices(dtype: DType, batch: &[i64], sizes: [i64; 2], results: &[Matrix]) -> Plain {
        let elements: Vec<Scalar> = results
            .iter()
            .flat_map(|matrix| &matrix.elements)
            .map(|element| number(dtype, *element))
            .collect();
        Plain::from_elements(dtype, &[batch, &sizes].concat(), &elements)
    }

    /// What becomes of each matrix, which is of the same sizes.
    pub(crate) fn map_matrices(x: &Plain, function: impl Fn(&Matrix) -> Matrix) -> Plain {
        let [batch @ .., rows, columns] = x.sizes() else { return x.clone() };
        let results: Vec<Matrix> = matrices(x).iter().map(function).collect();
        stack_matrices(x.dtype(), batch, [*rows, *columns], &results)
    }

    /// The sizes before those of matrices.
    pub(crate) fn batch(x: &Plain) -> &[i64] {
        &x.sizes()[..x.sizes().len().saturating_sub(2)]
    }

    /// The sizes of matrices.
    pub(crate) fn matrix_sizes(x: &Plain) -> [i64; 2] {
        let dims = x.sizes().len();
        [x.sizes()[dims - 2], x.sizes()[dims - 1]]
    }

    /// Matrices that are far from singular, with small numbers.
    pub(crate) fn well_conditioned(dtype: DType, sizes: &[i64], seed: i64) -> Plain {
        let x = generate::numbers(dtype, sizes, seed);
        let dims = sizes.len();
        // A diagonal that is larger than what stands beside it, and not in order.
        Plain::from_fn(dtype, sizes, |at| {
            let element = x.at(at).to_complex();
            let is_near = (at[dims - 1] + 1) % sizes[dims - 1] == at[dims - 2];
            number(dtype, element / 4.0 + if is_near { 4.0 + at[dims - 1] as f64 / 2.0 } else { 0.0 })
        })
    }

    /// Hermitian matrices that are positive definite.
    pub(crate) fn positive_definite(dtype: DType, sizes: &[i64]) -> Plain {
        map_matrices(&generate::numbers(dtype, sizes, 2), |matrix| {
            let product = matrix.times(&matrix.adjoint());
            Matrix::from_fn(matrix.rows, matrix.rows, |i, j| {
                let element = product.at(i, j) / 8.0;
                // Exactly what its counterpart is.
                let element =
                    Complex64::new((element.re * 8.0).round() / 8.0, (element.im * 8.0).round() / 8.0);
                element + if i == j { 2.0 } else { 0.0 }
            })
        })
    }

    /// Samples with keyword arguments given by position.
    pub(crate) fn positional(samples: Vec<Sample>) -> Vec<Sample> {
        let one = |sample: Sample| {
            let keyword = sample.keyword.iter().map(|(_, argument)| argument.clone());
            Sample {
                positional: sample.positional.iter().cloned().chain(keyword).collect(),
                keyword: Vec::new(),
            }
        };
        samples.into_iter().map(one).collect()
    }
}
