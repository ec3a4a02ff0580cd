//! Factorizations and exponentials of dense matrices, by the crate `faer`, for `f32`, `f64` and complex numbers of both.
//!
//! A crate of its own because of what `faer` is: generic in the number, so that every crate that calls it would compile it again.
//!
//! Matrices are slices in column-major order: element `(i, j)` of a matrix of `rows` rows is number `i + j * rows`. Choices that
//! mathematics leaves open (which row becomes a pivot, the signs of a factorization into orthogonal and triangular matrices) are made as
//! LAPACK makes them, so that results can be compared with those of other libraries.
//!
//! ```
//! use opgrid_linalg::Field;
//!
//! let mut matrix = [4.0, 2.0, 0.0, 5.0]; // the columns (4, 2) and (·, 5)
//! assert_eq!(f64::cholesky(&mut matrix, 2), None);
//! assert_eq!(matrix, [2.0, 1.0, 0.0, 2.0]);
//! ```

#![forbid(unsafe_code)]

mod cholesky;
mod eigen;
mod exponential;
mod householder;
mod ldl;
mod lu;
mod number;
mod svd;
mod triangular;

use std::num::NonZeroUsize;

pub use num_complex::Complex;

pub use householder::Application;
pub use triangular::Triangle;

/// A number whose matrices are factored here: `f32`, `f64`, and complex numbers of them.
///
/// All functions panic if a slice has another length than their arguments say.
pub trait Field: Copy + Send + Sync + 'static {
    /// The number of absolute values.
    type Real: Copy + Send + Sync + PartialOrd + 'static;

    /// Replaces the lower triangle of a Hermitian matrix by `L` of `A = L * Lᴴ`. What lies above the diagonal is neither read nor
    /// written. Returns the order of the first leading minor that is not positive definite, where the factorization ends.
    fn cholesky(matrix: &mut [Self], n: usize) -> Option<NonZeroUsize>;

    /// Replaces a matrix by `L`, without its ones on the diagonal, and `U` of `A = P * L * U`. `pivots[i]` is the row, counted from 1,
    /// that row `i` was exchanged with, one after the other. Returns the number, from 1, of the first pivot that is zero; the
    /// factorization goes on behind it.
    fn lu(matrix: &mut [Self], rows: usize, columns: usize, pivots: &mut [i32]) -> Option<NonZeroUsize>;

    /// Replaces the columns of `right` by solutions of `A * x = b`, or of `Aᴴ * x = b`, where `factors` and `pivots` are what
    /// [`lu`](Self::lu) made of `A`.
    fn solve_factored(
        factors: &[Self],
        n: usize,
        pivots: &[i32],
        is_adjoint: bool,
        right: &mut [Self],
        columns: usize,
    );

    /// Replaces the lower triangle of a symmetric matrix, or of a Hermitian one, by `L`, without its ones on the diagonal, and `D` of
    /// `A = P * L * D * Lᵀ * Pᵀ`, or with `Lᴴ`. `D` has blocks of one or two rows. What lies above the diagonal is neither read nor
    /// written. `pivots[i]` is the row, counted from 1, that row `i` was exchanged with; both rows of a block of two have that of the
    /// second one, negative. Returns the number, from 1, of the first column that is zero; the factorization goes on behind it.
    fn ldl(matrix: &mut [Self], n: usize, is_hermitian: bool, pivots: &mut [i32]) -> Option<NonZeroUsize>;

    /// Replaces the columns of `right` by solutions of `A * x = b`, where `factors` and `pivots` are what [`ldl`](Self::ldl) made of
    /// `A`.
    fn solve_ldl(factors: &[Self], n: usize, is_hermitian: bool, pivots: &[i32], right: &mut [Self]);

    /// Replaces a matrix by its exponential, computed in double precision. With elements that are not finite all are NaN.
    fn exponential(matrix: &mut [Self], n: usize);

    /// Replaces the columns of `right` by solutions of `A * x = b`, where `A` is the triangle of a matrix.
    fn solve_triangular(matrix: &[Self], n: usize, triangle: Triangle, right: &mut [Self], columns: usize);

    /// Replaces a matrix by `R` of `A = Q * R` and, below the diagonal, the reflections that `Q` is the product of:
    /// `1 - tau * v * vᴴ`, where `v` is 1 at the diagonal.
    fn qr(matrix: &mut [Self], rows: usize, columns: usize, tau: &mut [Self]);

    /// Writes the first `columns` columns of the product of reflections.
    fn product_of_reflections(
        reflections: &[Self],
        rows: usize,
        tau: &[Self],
        q: &mut [Self],
        columns: usize,
    );

    /// Multiplies a matrix by the product of reflections.
    fn multiply_by_reflections(
        reflections: &[Self],
        rows: usize,
        tau: &[Self],
        application: Application,
        other: &mut [Self],
        sizes: [usize; 2],
    );

    /// The eigenvalues of a Hermitian matrix, of which the lower triangle is read, from the smallest to the largest one, and
    /// orthonormal eigenvectors as columns where asked for. The diagonal loses its imaginary parts. Returns whether they were found;
    /// with elements that are not finite they are not.
    fn eigen_hermitian(
        matrix: &mut [Self],
        n: usize,
        values: &mut [Self::Real],
        vectors: Option<&mut [Self]>,
    ) -> bool;

    /// The eigenvalues of a matrix, and where asked for eigenvectors as columns of length 1 whose largest element is real and positive.
    /// Returns whether they were found; with elements that are not finite they are not.
    fn eigen(
        matrix: &[Self],
        n: usize,
        values: &mut [Complex<Self::Real>],
        vectors: Option<&mut [Complex<Self::Real>]>,
    ) -> bool;

    /// The singular values of a matrix, from the largest to the smallest one, and where asked for the columns of `U` and of `V` in
    /// `A = U * S * Vᴴ`: as many as there are values, or as many as rows and columns. Returns whether they were found; with elements
    /// that are not finite they are not.
    fn svd(
        matrix: &[Self],
        rows: usize,
        columns: usize,
        values: &mut [Self::Real],
        vectors: Option<[&mut [Self]; 2]>,
    ) -> bool;
}

macro_rules! fields {
    ($($type:ty: $real:ty, $widen:expr, $narrow:expr;)*) => {$(
        // Functions of one type: they are compiled here, and called from elsewhere.
        impl Field for $type {
            type Real = $real;

            fn cholesky(matrix: &mut [Self], n: usize) -> Option<NonZeroUsize> {
                cholesky::factor(matrix, n)
            }

            fn lu(
                matrix: &mut [Self],
                rows: usize,
                columns: usize,
                pivots: &mut [i32],
            ) -> Option<NonZeroUsize> {
                lu::factor(matrix, rows, columns, pivots)
            }

            fn solve_factored(
                factors: &[Self],
                n: usize,
                pivots: &[i32],
                is_adjoint: bool,
                right: &mut [Self],
                columns: usize,
            ) {
                lu::solve_factored(factors, n, pivots, is_adjoint, right, columns);
            }

            fn ldl(
                matrix: &mut [Self],
                n: usize,
                is_hermitian: bool,
                pivots: &mut [i32],
            ) -> Option<NonZeroUsize> {
                ldl::factor(matrix, n, is_hermitian, pivots)
            }

            fn solve_ldl(factors: &[Self], n: usize, is_hermitian: bool, pivots: &[i32], right: &mut [Self]) {
                ldl::solve(factors, n, is_hermitian, pivots, right);
            }

            fn exponential(matrix: &mut [Self], n: usize) {
                exponential::in_double(matrix, n, $widen, $narrow);
            }

            fn solve_triangular(
                matrix: &[Self],
                n: usize,
                triangle: Triangle,
                right: &mut [Self],
                columns: usize,
            ) {
                triangular::solve(matrix, n, triangle, right, columns);
            }

            fn qr(matrix: &mut [Self], rows: usize, columns: usize, tau: &mut [Self]) {
                householder::factor(matrix, rows, columns, tau);
            }

            fn product_of_reflections(
                reflections: &[Self],
                rows: usize,
                tau: &[Self],
                q: &mut [Self],
                columns: usize,
            ) {
                householder::product(reflections, rows, tau, q, columns);
            }

            fn multiply_by_reflections(
                reflections: &[Self],
                rows: usize,
                tau: &[Self],
                application: Application,
                other: &mut [Self],
                sizes: [usize; 2],
            ) {
                householder::multiply(reflections, rows, tau, application, other, sizes);
            }

            fn eigen_hermitian(
                matrix: &mut [Self],
                n: usize,
                values: &mut [Self::Real],
                vectors: Option<&mut [Self]>,
            ) -> bool {
                eigen::hermitian(matrix, n, values, vectors)
            }

            fn eigen(
                matrix: &[Self],
                n: usize,
                values: &mut [Complex<Self::Real>],
                vectors: Option<&mut [Complex<Self::Real>]>,
            ) -> bool {
                eigen::general(matrix, n, values, vectors)
            }

            fn svd(
                matrix: &[Self],
                rows: usize,
                columns: usize,
                values: &mut [Self::Real],
                vectors: Option<[&mut [Self]; 2]>,
            ) -> bool {
                svd::decompose(matrix, rows, columns, values, vectors)
            }
        }
    )*};
}

fields! {
    f32: f32, f64::from, |x: f64| x as f32;
    f64: f64, |x: f64| x, |x: f64| x;
    Complex<f32>: f32, |x: Self| Complex::new(f64::from(x.re), f64::from(x.im)),
        |x: Complex<f64>| Complex::new(x.re as f32, x.im as f32);
    Complex<f64>: f64, |x: Self| x, |x: Self| x;
}

/// The examples of README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
