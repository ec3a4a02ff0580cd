//! Factorizations of stacks of matrices, by `opgrid_linalg`, and what follows from them.
//!
//! Matrices are the last two dimensions, of any strides; threads share out those of a stack. What failed is told by numbers as LAPACK has
//! them: 0 for a matrix without fault.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

use num_complex::Complex;
use opgrid_core::{DType, Result};
pub use opgrid_linalg::Triangle;
use opgrid_linalg::{Application, Field};
use smallvec::SmallVec;

use crate::indexing::check_apart;
use crate::parts;
use opgrid_array::choose::unsupported;
use opgrid_array::error::argument;
use opgrid_array::loops::arithmetic::Arithmetic;
use opgrid_array::loops::copy;
use opgrid_array::loops::math::{Conjugate, Direction, Inexact, Magnitude};
use opgrid_array::{Array, Element};

/// A number whose matrices are factored, as elements have it.
trait Number: Conjugate + Direction + Field<Real: Inexact> + Magnitude<Real = <Self as Field>::Real> {}

impl<T: Conjugate + Direction + Field<Real: Inexact> + Magnitude<Real = <T as Field>::Real>> Number for T {}

macro_rules! with_number {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            DType::F32 => {
                type $T = f32;
                $body
            }
            DType::F64 => {
                type $T = f64;
                $body
            }
            DType::Complex64 => {
                type $T = Complex<f32>;
                $body
            }
            DType::Complex128 => {
                type $T = Complex<f64>;
                $body
            }
            other => Err(unsupported(other, "float32, float64 or a complex dtype")),
        }
    };
}

/// The rows and columns of the matrices of an array.
fn matrix_sizes(array: &Array) -> Result<[usize; 2]> {
    match array.sizes() {
        [.., rows, columns] => Ok([*rows as usize, *columns as usize]),
        sizes => {
            Err(argument(format!("found a shape of {sizes:?}, expected matrices, with 2 dimensions or more")))
        }
    }
}

/// The array with transposed matrices: what lies beside each other in it is a column.
fn columns(array: &Array) -> Result<Array> {
    array.view(array.geometry().transpose(-2, -1)?)
}

/// The input, or a copy of it where one of these outputs shares its storage: guards are for whole storages.
///
/// # Errors
///
/// Elements that both have; tensors without data or used by others.
fn copy_if_shared(outs: &[&Array], input: &Array) -> Result<Array> {
    outs.iter().try_for_each(|out| check_apart(out, input))?;
    let shared = outs.iter().find(|out| input.storage().is_same(out.storage()));
    shared.map_or_else(|| Ok(input.clone()), |_| copy::contiguous(input))
}

/// Matrices of up to this many rows and columns are transposed one by one, as each is computed with: a transposed copy of the whole stack
/// would take as long as the computation.
const SMALL: usize = 32;

/// The matrices of a stack, whose elements are taken column by column.
struct Matrices<'a, T> {
    elements: &'a [T],
    sizes: [usize; 2],
    /// Whether the elements are in row-major order.
    is_row_major: bool,
}

impl<T: Copy + Default> Matrices<'_, T> {
    /// Writes a matrix in column-major order.
    fn copy_to(&self, part: usize, to: &mut [T]) {
        let [rows, columns] = self.sizes;
        let from = &self.elements[part * rows * columns..][..rows * columns];
        if self.is_row_major { transpose(from, columns, to) } else { to.copy_from_slice(from) }
    }

    /// A matrix in column-major order.
    fn get(&self, part: usize) -> SmallVec<[T; 64]> {
        let mut matrix = SmallVec::from_elem(T::default(), self.sizes[0] * self.sizes[1]);
        self.copy_to(part, &mut matrix);
        matrix
    }
}

/// Writes the transposed matrix of one in row-major order with so many columns.
fn transpose<T: Copy>(from: &[T], columns: usize, to: &mut [T]) {
    let rows = from.len() / columns.max(1);
    for (j, column) in to.chunks_exact_mut(rows.max(1)).enumerate() {
        for (element, row) in column.iter_mut().zip(from.chunks_exact(columns)) {
            *element = row[j];
        }
    }
}

/// Whether matrices are row-major and small, and neither single rows nor single columns, for which both orders are the same.
fn are_small_rows(array: &Array) -> bool {
    let is_small = |sizes: [usize; 2]| sizes.iter().all(|size| (2..=SMALL).contains(size));
    array.geometry().is_contiguous() && matrix_sizes(array).is_ok_and(is_small)
}

/// Lets `body` read the columns of matrices while `out` is written.
///
/// # Errors
///
/// As [`parts::read`].
fn read_matrices<T: Number + Element, R>(
    out: &Array,
    input: &Array,
    body: impl FnOnce(Matrices<'_, T>) -> Result<R>,
) -> Result<R> {
    let (sizes, is_row_major) = (matrix_sizes(input)?, are_small_rows(input));
    let input = if is_row_major { input.clone() } else { columns(input)? };
    parts::read::<T, _>(out, &input, |elements| body(Matrices { elements, sizes, is_row_major }))
}

/// Steps of work on a matrix, with which threads are worth their while.
fn work(sizes: [usize; 2]) -> usize {
    sizes[0].saturating_mul(sizes[1]).saturating_mul(sizes[0].min(sizes[1]).max(1))
}

/// What threads say of each matrix.
struct Numbers(Vec<AtomicI32>);

impl Numbers {
    fn new(count: usize) -> Self {
        Self((0..count).map(|_| AtomicI32::new(0)).collect())
    }

    fn set(&self, place: usize, number: i32) {
        self.0[place].store(number, Ordering::Relaxed);
    }

    fn set_failed(&self, matrix: usize, failed: Option<NonZeroUsize>) {
        self.set(matrix, failed.map_or(0, |number| number.get() as i32));
    }

    fn write(self, out: &Array) -> Result<()> {
        let numbers: Vec<i32> = self.0.into_iter().map(AtomicI32::into_inner).collect();
        copy::copy(out, &Array::from_slice(&numbers, out.sizes())?)
    }
}

/// The first matrix that something failed for.
struct First(AtomicUsize);

impl First {
    fn new() -> Self {
        Self(AtomicUsize::new(usize::MAX))
    }

    fn note(&self, matrix: usize) {
        self.0.fetch_min(matrix, Ordering::Relaxed);
    }

    fn found(self) -> Option<usize> {
        Some(self.0.into_inner()).filter(|matrix| *matrix != usize::MAX)
    }
}

fn conjugate_all<T: Number>(elements: &mut [T]) {
    elements.iter_mut().for_each(|element| *element = element.conjugate());
}

/// `A = L * Lᴴ`, or `Uᴴ * U` where `is_upper`, of which that triangle is read. `info` has for each matrix the order of the first leading
/// minor that is not positive definite.
///
/// # Errors
///
/// Shapes that do not fit, overlap of `out` with `input`, tensors without data or used by others, other dtypes.
pub fn cholesky(out: &Array, info: &Array, input: &Array, is_upper: bool) -> Result<()> {
    with_number!(out.dtype(), T => {
        let [n, _] = matrix_sizes(out)?;
        let infos = Numbers::new(info.spec().numel() as usize);
        // The rows of the upper triangle are conjugates of the columns of the lower one.
        let (to, from) = if is_upper { (out.clone(), input.clone()) } else { (columns(out)?, columns(input)?) };
        parts::read::<T, _>(&to, &from, |from| {
            parts::produce::<T>(&to, n * n, work([n, n]), |part, matrix| {
                matrix.copy_from_slice(&from[part * n * n..][..n * n]);
                if is_upper {
                    conjugate_all(matrix);
                }
                infos.set_failed(part, T::cholesky(matrix, n));
                (0..n).for_each(|j| matrix[j * n..][..j].fill(T::default()));
                if is_upper {
                    conjugate_all(matrix);
                }
            })
        })?;
        infos.write(info)
    })
}

/// `A = P * L * U`: `L` and `U` in one matrix, pivots from 1, and in `info` for each matrix the first pivot that is zero.
///
/// # Errors
///
/// As [`cholesky`].
pub fn lu(out: &Array, pivots: &Array, info: &Array, input: &Array) -> Result<()> {
    with_number!(out.dtype(), T => {
        let [m, n] = matrix_sizes(out)?;
        let count = m.min(n);
        let infos = Numbers::new(info.spec().numel() as usize);
        let found = Numbers::new(pivots.spec().numel() as usize);
        let to = columns(out)?;
        read_matrices::<T, _>(&to, input, |from| {
            parts::produce::<T>(&to, m * n, work([m, n]), |part, matrix| {
                from.copy_to(part, matrix);
                let mut pivots: SmallVec<[i32; 64]> = SmallVec::from_elem(0, count);
                infos.set_failed(part, T::lu(matrix, m, n, &mut pivots));
                for (place, pivot) in pivots.into_iter().enumerate() {
                    found.set(part * count + place, pivot);
                }
            })
        })?;
        found.write(pivots)?;
        infos.write(info)
    })
}

/// Which side of an equation the unknown matrix stands on, and which matrix it is multiplied by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Equation {
    /// `A * X = B`; else `X * A = B`.
    pub is_left: bool,
    /// The conjugate transpose of `A` stands for `A`.
    pub is_adjoint: bool,
}

/// Solves equations by what [`lu`] made of `A`. There are as many matrices in each array.
///
/// # Errors
///
/// As [`cholesky`]; a pivot that is no row.
pub fn solve_factored(
    out: &Array,
    [factors, pivots]: [&Array; 2],
    right: &Array,
    equation: Equation,
) -> Result<()> {
    let [n, _] = matrix_sizes(factors)?;
    if n == 0 {
        return Ok(());
    }
    with_number!(out.dtype(), T => {
        let is_left = equation.is_left;
        // `X * A = B` is `Aᵀ * Xᵀ = Bᵀ`, of which the conjugate is solved.
        let is_adjoint = equation.is_adjoint == is_left;
        let (to, from) = if is_left { (columns(out)?, columns(right)?) } else { (out.clone(), right.clone()) };
        let wide = to.sizes()[to.sizes().len() - 2] as usize;
        parts::read::<i32, _>(&to, pivots, |pivots| {
            check_pivots(pivots, n)?;
            parts::read::<T, _>(&to, &columns(factors)?, |factors| {
                parts::read::<T, _>(&to, &from, |from| {
                    parts::produce::<T>(&to, n * wide, work([n, wide.max(n)]), |part, x| {
                        let (factors, pivots) = (&factors[part * n * n..][..n * n], &pivots[part * n..][..n]);
                        x.copy_from_slice(&from[part * n * wide..][..n * wide]);
                        if !is_left {
                            conjugate_all(x);
                        }
                        T::solve_factored(factors, n, pivots, is_adjoint, x, wide);
                        if !is_left {
                            conjugate_all(x);
                        }
                    })
                })
            })
        })
    })
}

/// `A = P * L * D * Lᵀ * Pᵀ` of symmetric matrices, or with `Lᴴ` of Hermitian ones, of which the lower triangle is read: `L` and `D` in one
/// matrix, pivots from 1, and in `info` for each matrix the first column that is zero.
///
/// # Errors
///
/// As [`cholesky`].
pub fn ldl(out: &Array, pivots: &Array, info: &Array, input: &Array, is_hermitian: bool) -> Result<()> {
    with_number!(out.dtype(), T => {
        let [n, _] = matrix_sizes(out)?;
        let infos = Numbers::new(info.spec().numel() as usize);
        let found = Numbers::new(pivots.spec().numel() as usize);
        let (to, from) = (columns(out)?, columns(input)?);
        parts::read::<T, _>(&to, &from, |from| {
            parts::produce::<T>(&to, n * n, work([n, n]), |part, matrix| {
                matrix.copy_from_slice(&from[part * n * n..][..n * n]);
                (0..n).for_each(|j| matrix[j * n..][..j].fill(T::default()));
                let mut pivots: SmallVec<[i32; 64]> = SmallVec::from_elem(0, n);
                infos.set_failed(part, T::ldl(matrix, n, is_hermitian, &mut pivots));
                for (place, pivot) in pivots.into_iter().enumerate() {
                    found.set(part * n + place, pivot);
                }
            })
        })?;
        found.write(pivots)?;
        infos.write(info)
    })
}

/// Solves equations by what [`ldl`] made of `A`. There are as many matrices in each array.
///
/// # Errors
///
/// As [`cholesky`]; a pivot that is no row.
pub fn solve_ldl(
    out: &Array,
    [factors, pivots]: [&Array; 2],
    right: &Array,
    is_hermitian: bool,
) -> Result<()> {
    let [n, _] = matrix_sizes(factors)?;
    if n == 0 {
        return Ok(());
    }
    with_number!(out.dtype(), T => {
        let (to, from) = (columns(out)?, columns(right)?);
        let wide = to.sizes()[to.sizes().len() - 2] as usize;
        parts::read::<i32, _>(&to, pivots, |pivots| {
            let rows: Vec<i32> = pivots.iter().map(|pivot| pivot.saturating_abs()).collect();
            check_pivots(&rows, n)?;
            parts::read::<T, _>(&to, &columns(factors)?, |factors| {
                parts::read::<T, _>(&to, &from, |from| {
                    parts::produce::<T>(&to, n * wide, work([n, wide.max(n)]), |part, x| {
                        let (factors, pivots) = (&factors[part * n * n..][..n * n], &pivots[part * n..][..n]);
                        x.copy_from_slice(&from[part * n * wide..][..n * wide]);
                        T::solve_ldl(factors, n, is_hermitian, pivots, x);
                    })
                })
            })
        })
    })
}

/// The exponentials of matrices.
///
/// # Errors
///
/// As [`cholesky`].
pub fn exponential(out: &Array, input: &Array) -> Result<()> {
    with_number!(out.dtype(), T => {
        let [n, _] = matrix_sizes(out)?;
        // That of the transposed matrix is transposed, so that rows may stand for columns.
        parts::read::<T, _>(out, input, |from| {
            parts::produce::<T>(out, n * n, work([n, n]).saturating_mul(16), |part, matrix| {
                matrix.copy_from_slice(&from[part * n * n..][..n * n]);
                T::exponential(matrix, n);
            })
        })
    })
}

/// Solves equations with a triangle of `A`. There are as many matrices in each array.
///
/// # Errors
///
/// As [`cholesky`].
pub fn solve_triangular(
    out: &Array,
    matrix: &Array,
    right: &Array,
    triangle: Triangle,
    is_left: bool,
) -> Result<()> {
    let [n, _] = matrix_sizes(matrix)?;
    if n == 0 {
        return Ok(());
    }
    with_number!(out.dtype(), T => {
        let (to, from) = if is_left { (columns(out)?, columns(right)?) } else { (out.clone(), right.clone()) };
        let triangle = Triangle { is_transposed: triangle.is_transposed == is_left, ..triangle };
        let wide = to.sizes()[to.sizes().len() - 2] as usize;
        parts::read::<T, _>(&to, &columns(matrix)?, |matrix| {
            parts::read::<T, _>(&to, &from, |from| {
                parts::produce::<T>(&to, n * wide, work([n, wide]), |part, x| {
                    x.copy_from_slice(&from[part * n * wide..][..n * wide]);
                    T::solve_triangular(&matrix[part * n * n..][..n * n], n, triangle, x, wide);
                })
            })
        })
    })
}

/// The inverses of matrices. `info` has for each the first pivot that is zero.
///
/// # Errors
///
/// As [`cholesky`].
pub fn inverse(out: &Array, info: &Array, input: &Array) -> Result<()> {
    with_number!(out.dtype(), T => {
        let [n, _] = matrix_sizes(out)?;
        let infos = Numbers::new(info.spec().numel() as usize);
        let is_row_major = are_small_rows(out);
        let to = if is_row_major { out.clone() } else { columns(out)? };
        read_matrices::<T, _>(&to, input, |from| {
            parts::produce::<T>(&to, n * n, work([n, n]), |part, x| {
                let mut factors = from.get(part);
                let mut pivots: SmallVec<[i32; 64]> = SmallVec::from_elem(0, n);
                infos.set_failed(part, T::lu(&mut factors, n, n, &mut pivots));
                (0..n).for_each(|j| x[j * n + j] = T::ONE);
                T::solve_factored(&factors, n, &pivots, false, x, n);
                if is_row_major {
                    factors.copy_from_slice(x);
                    transpose(&factors, n, x);
                }
            })
        })?;
        infos.write(info)
    })
}

/// Whether rows were exchanged an odd number of times.
fn is_odd(pivots: &[i32]) -> bool {
    pivots.iter().zip(1..).filter(|(pivot, row)| *pivot != row).count() % 2 == 1
}

/// The matrices, or the transposed ones where these are contiguous: both have the same diagonals.
fn with_diagonals(matrices: &Array) -> Result<Array> {
    let transposed = columns(matrices)?;
    Ok(if transposed.geometry().is_contiguous() { transposed } else { matrices.clone() })
}

/// The determinants of matrices by what [`lu`] made of them.
///
/// # Errors
///
/// As [`cholesky`].
pub fn determinant(out: &Array, factors: &Array, pivots: &Array) -> Result<()> {
    with_number!(out.dtype(), T => {
        let [n, _] = matrix_sizes(factors)?;
        let factors = with_diagonals(factors)?;
        parts::read::<i32, _>(out, pivots, |pivots| {
            parts::read::<T, _>(out, &factors, |factors| {
                parts::produce::<T>(out, 1, n, |part, out| {
                    let diagonal = (0..n).map(|i| factors[part * n * n + i * (n + 1)]);
                    let product = diagonal.reduce(T::times).unwrap_or(T::ONE);
                    out[0] = if is_odd(&pivots[part * n..][..n]) { product.negated() } else { product };
                })
            })
        })
    })
}

/// The signs of determinants, which are of absolute value 1 or zero, and the logarithms of their absolute values.
///
/// # Errors
///
/// As [`cholesky`].
pub fn sign_and_logarithm(sign: &Array, logarithm: &Array, factors: &Array, pivots: &Array) -> Result<()> {
    with_number!(sign.dtype(), T => {
        let [n, _] = matrix_sizes(factors)?;
        let factors = with_diagonals(factors)?;
        let [factors, pivots] = [copy_if_shared(&[logarithm], &factors)?, copy_if_shared(&[logarithm], pivots)?];
        parts::read::<i32, _>(sign, &pivots, |pivots| {
            parts::read::<T, _>(sign, &factors, |factors| {
                parts::produce_two::<T, <T as Field>::Real>([sign, logarithm], 1, n, |part, sign, logarithm| {
                    let parity = if is_odd(&pivots[part * n..][..n]) { T::ONE.negated() } else { T::ONE };
                    let (mut direction, mut sum) = (parity, <<T as Field>::Real>::ZERO);
                    for i in 0..n {
                        let pivot = factors[part * n * n + i * (n + 1)];
                        direction = direction.times(pivot.direction());
                        sum = sum.plus(Inexact::log(pivot.magnitude()));
                    }
                    (sign[0], logarithm[0]) = (direction, sum);
                })
            })
        })
    })
}

/// `A = Q * R`. Where `q` has no elements only `R` is computed.
///
/// # Errors
///
/// As [`cholesky`].
pub fn qr(q: &Array, r: &Array, input: &Array) -> Result<()> {
    with_number!(r.dtype(), T => {
        let [m, n] = matrix_sizes(input)?;
        let count = m.min(n);
        let [rows_of_r, _] = matrix_sizes(r)?;
        let columns_of_q = if q.spec().numel() == 0 { 0 } else { matrix_sizes(q)?[1] };
        let to_q = if columns_of_q == 0 { q.clone() } else { columns(q)? };
        let to_r = columns(r)?;
        let from = copy_if_shared(&[r], input)?;
        read_matrices::<T, _>(&to_q, &from, |from| {
            let sizes = [m * columns_of_q, rows_of_r * n];
            parts::produce_pair::<T, T>([&to_q, &to_r], sizes, work([m, n]), |part, q, r| {
                let mut matrix = from.get(part);
                let mut tau: SmallVec<[T; 16]> = SmallVec::from_elem(T::default(), count);
                T::qr(&mut matrix, m, n, &mut tau);
                for j in 0..n {
                    let rows = (j + 1).min(rows_of_r);
                    r[j * rows_of_r..][..rows].copy_from_slice(&matrix[j * m..][..rows]);
                }
                if columns_of_q > 0 {
                    T::product_of_reflections(&matrix, m, &tau, q, columns_of_q);
                }
            })
        })
    })
}

/// `R` and the reflections of `A = Q * R` in one matrix, and their factors.
///
/// # Errors
///
/// As [`cholesky`].
pub fn reflections(out: &Array, tau: &Array, input: &Array) -> Result<()> {
    with_number!(out.dtype(), T => {
        let [m, n] = matrix_sizes(out)?;
        let to = columns(out)?;
        let from = copy_if_shared(&[tau], input)?;
        read_matrices::<T, _>(&to, &from, |from| {
            let sizes = [m * n, m.min(n)];
            parts::produce_pair::<T, T>([&to, tau], sizes, work([m, n]), |part, matrix, tau| {
                from.copy_to(part, matrix);
                T::qr(matrix, m, n, tau);
            })
        })
    })
}

/// The first columns of products of reflections: as many as `out` has.
///
/// # Errors
///
/// As [`cholesky`].
pub fn product_of_reflections(out: &Array, input: &Array, tau: &Array) -> Result<()> {
    with_number!(out.dtype(), T => {
        let [m, n] = matrix_sizes(out)?;
        let count = tau.sizes().last().map_or(0, |count| *count as usize);
        let (to, from) = (columns(out)?, columns(input)?);
        parts::read::<T, _>(&to, tau, |tau| {
            parts::read::<T, _>(&to, &from, |from| {
                parts::produce::<T>(&to, m * n, work([m, n]), |part, q| {
                    let reflections = &from[part * m * n..][..m * n];
                    T::product_of_reflections(reflections, m, &tau[part * count..][..count], q, n);
                })
            })
        })
    })
}

/// Multiplies matrices by products of reflections.
///
/// # Errors
///
/// As [`cholesky`].
pub fn multiply_by_reflections(
    out: &Array,
    [input, tau]: [&Array; 2],
    other: &Array,
    equation: Equation,
) -> Result<()> {
    with_number!(out.dtype(), T => {
        let [m, n] = matrix_sizes(out)?;
        let [rows, width] = matrix_sizes(input)?;
        let count = tau.sizes().last().map_or(0, |count| *count as usize);
        let application = Application { is_left: equation.is_left, is_adjoint: equation.is_adjoint };
        let (to, from) = (columns(out)?, columns(other)?);
        parts::read::<T, _>(&to, tau, |tau| {
            parts::read::<T, _>(&to, &columns(input)?, |input| {
                parts::read::<T, _>(&to, &from, |from| {
                    parts::produce::<T>(&to, m * n, work([m, n]), |part, x| {
                        x.copy_from_slice(&from[part * m * n..][..m * n]);
                        let reflections = &input[part * rows * width..][..rows * width];
                        let tau = &tau[part * count..][..count];
                        T::multiply_by_reflections(reflections, rows, tau, application, x, [m, n]);
                    })
                })
            })
        })
    })
}

/// The eigenvalues of Hermitian matrices in ascending order, and eigenvectors as columns unless `vectors` has no elements. Of the matrices
/// the upper triangle is read where `is_upper`, else the lower one. Returns the first matrix for which none were found.
///
/// # Errors
///
/// As [`cholesky`].
pub fn eigen_hermitian(
    values: &Array,
    vectors: &Array,
    input: &Array,
    is_upper: bool,
) -> Result<Option<usize>> {
    with_number!(input.dtype(), T => {
        let [n, _] = matrix_sizes(input)?;
        let (with_vectors, first) = (vectors.spec().numel() > 0, First::new());
        let to = if with_vectors { columns(vectors)? } else { vectors.clone() };
        let from = if is_upper { input.clone() } else { columns(input)? };
        let from = copy_if_shared(&[values], &from)?;
        parts::read::<T, _>(&to, &from, |from| {
            let sizes = [if with_vectors { n * n } else { 1 }, n];
            let steps = work([n, n]).saturating_mul(8);
            parts::produce_pair::<T, <T as Field>::Real>([&to, values], sizes, steps, |part, vectors, values| {
                let mut matrix = from[part * n * n..][..n * n].to_vec();
                if is_upper {
                    conjugate_all(&mut matrix);
                }
                if !T::eigen_hermitian(&mut matrix, n, values, with_vectors.then_some(vectors)) {
                    first.note(part);
                }
            })
        })?;
        Ok(first.found())
    })
}

/// The eigenvalues of matrices, and eigenvectors as columns unless `vectors` has no elements. Returns the first matrix for which none
/// were found.
///
/// # Errors
///
/// As [`cholesky`].
pub fn eigen(values: &Array, vectors: &Array, input: &Array) -> Result<Option<usize>> {
    with_number!(input.dtype(), T => {
        type Value = Complex<<T as Field>::Real>;
        let [n, _] = matrix_sizes(input)?;
        let (with_vectors, first) = (vectors.spec().numel() > 0, First::new());
        let to = if with_vectors { columns(vectors)? } else { vectors.clone() };
        let from = copy_if_shared(&[values], input)?;
        read_matrices::<T, _>(&to, &from, |from| {
            let sizes = [if with_vectors { n * n } else { 1 }, n];
            let steps = work([n, n]).saturating_mul(16);
            parts::produce_pair::<Value, Value>([&to, values], sizes, steps, |part, vectors, values| {
                let matrix = from.get(part);
                if !T::eigen(&matrix, n, values, with_vectors.then_some(vectors)) {
                    first.note(part);
                }
            })
        })?;
        Ok(first.found())
    })
}

/// `A = U * S * Vᴴ`; only `S` if `u` has no dimensions for matrices. Returns the first matrix for which none was found.
///
/// # Errors
///
/// As [`cholesky`].
pub fn svd([u, s, vh]: [&Array; 3], input: &Array, with_vectors: bool) -> Result<Option<usize>> {
    with_number!(input.dtype(), T => {
        let [m, n] = matrix_sizes(input)?;
        let (count, first) = (m.min(n), First::new());
        let (wide, high) =
            if with_vectors { (matrix_sizes(u)?[1], matrix_sizes(vh)?[0]) } else { (0, 0) };
        // Rows of `Vᴴ` are conjugates of columns of `V`.
        let to_u = if with_vectors { columns(u)? } else { u.clone() };
        let from = copy_if_shared(&[s, vh], input)?;
        read_matrices::<T, _>(&to_u, &from, |from| {
            let sizes = if with_vectors { [m * wide, n * high, count] } else { [1, 1, count] };
            let steps = work([m, n]).saturating_mul(16);
            parts::produce_three::<T, T, <T as Field>::Real>([&to_u, vh, s], sizes, steps, |part, u, v, s| {
                let matrix = from.get(part);
                let vectors = with_vectors.then_some([&mut *u, &mut *v]);
                if !T::svd(&matrix, m, n, s, vectors) {
                    first.note(part);
                }
                conjugate_all(v);
            })
        })?;
        Ok(first.found())
    })
}

/// Permutation matrices that undo the exchange of rows that pivots say.
///
/// # Errors
///
/// As [`cholesky`]; a pivot that is no row.
pub fn permutation(out: &Array, pivots: &Array) -> Result<()> {
    let [n, _] = matrix_sizes(out)?;
    let count = pivots.sizes().last().map_or(0, |count| *count as usize);
    with_number!(out.dtype(), T => {
        let to = columns(out)?;
        parts::read::<i32, _>(&to, pivots, |pivots| {
            check_pivots(pivots, n)?;
            parts::produce::<T>(&to, n * n, n * n, |part, matrix| {
                let mut rows: SmallVec<[usize; 64]> = (0..n).collect();
                for (row, pivot) in pivots[part * count..][..count].iter().enumerate() {
                    rows.swap(row, *pivot as usize - 1);
                }
                rows.into_iter().enumerate().for_each(|(column, row)| matrix[column * n + row] = T::ONE);
            })
        })
    })
}

/// # Errors
///
/// A pivot that is no row.
fn check_pivots(pivots: &[i32], rows: usize) -> Result<()> {
    match pivots.iter().find(|pivot| !(1..=rows as i32).contains(pivot)) {
        Some(pivot) => {
            Err(argument(format!("found the pivot {pivot}, expected numbers of rows from 1 to {rows}")))
        }
        None => Ok(()),
    }
}
