//! `exp(A) = 1 + A + A² / 2 + …` by a quotient of polynomials of a part of the matrix, which is squared again.
//!
//! Source: N. J. Higham, The Scaling and Squaring Method for the Matrix Exponential Revisited, SIAM Journal on Matrix Analysis and
//! Applications 26 (2005).

use faer::linalg::matmul::matmul;
use faer::traits::math_utils::from_f64;
use faer::{Accum, MatMut, MatRef, Par};

use crate::lu;
use crate::number::{Number, one, zero};

/// The degrees of polynomials, and up to which norm of the matrix each is exact to the last digit of doubles.
const DEGREES: [(usize, f64); 5] = [
    (3, 1.495_585_217_958_292e-2),
    (5, 2.539_398_330_063_23e-1),
    (7, 9.504_178_996_162_932e-1),
    (9, 2.097_847_961_257_068),
    (13, 5.371_920_351_148_152),
];

/// Replaces a matrix of doubles by its exponential. With elements that are not finite all are NaN.
pub(crate) fn exponential<T: Number>(matrix: &mut [T], n: usize) {
    assert_eq!(matrix.len(), n * n, "elements of the matrix");
    if n == 0 {
        return;
    }
    let norm = norm_of(matrix, n);
    if !norm.is_finite() {
        matrix.fill(T::nan_impl());
        return;
    }
    let (highest, largest) = DEGREES[DEGREES.len() - 1];
    let enough = DEGREES.iter().find(|(_, limit)| norm <= real::<T>(*limit));
    let degree = enough.map_or(highest, |(degree, _)| *degree);
    let (mut squarings, mut part) = (0, norm);
    while part > real::<T>(largest) {
        part *= real::<T>(0.5);
        squarings += 1;
    }
    let half = T::from_real(real::<T>(0.5));
    for _ in 0..squarings {
        matrix.iter_mut().for_each(|element| *element *= half);
    }
    by_quotient(matrix, n, degree);
    let mut square = vec![zero(); n * n];
    for _ in 0..squarings {
        product(&mut square, matrix, matrix, n);
        matrix.copy_from_slice(&square);
    }
}

/// As [`exponential`], of numbers that doubles are rounded to: what squares lose is beyond their digits.
pub(crate) fn in_double<T: Copy, W: Number>(
    matrix: &mut [T],
    n: usize,
    widen: impl Fn(T) -> W,
    narrow: impl Fn(W) -> T,
) {
    let mut wide: Vec<W> = matrix.iter().map(|element| widen(*element)).collect();
    exponential(&mut wide, n);
    matrix.iter_mut().zip(wide).for_each(|(element, wide)| *element = narrow(wide));
}

/// The largest sum of the absolute values of a column.
fn norm_of<T: Number>(matrix: &[T], n: usize) -> T::Real {
    let sums = matrix
        .chunks_exact(n)
        .map(|column| column.iter().fold(zero::<T::Real>(), |sum, element| sum + element.size()));
    // A NaN is the largest, too.
    sums.fold(zero(), |largest, sum| if sum <= largest { largest } else { sum })
}

fn real<T: Number>(value: f64) -> T::Real {
    from_f64(value)
}

/// Replaces `A` by `(V - U)⁻¹ * (V + U)`, where `V` has the even terms of the polynomial and `U` the odd ones.
fn by_quotient<T: Number>(matrix: &mut [T], n: usize, degree: usize) {
    let terms = coefficients(degree);
    let mut square = vec![zero(); n * n];
    product(&mut square, matrix, matrix, n);
    let mut even = scaled_identity::<T>(terms[0], n);
    let mut odd = scaled_identity::<T>(terms[1], n);
    let mut power = square.clone();
    let mut next = vec![zero(); n * n];
    for place in (2..=degree).step_by(2) {
        if place > 2 {
            product(&mut next, &power, &square, n);
            std::mem::swap(&mut power, &mut next);
        }
        add(&mut even, terms[place], &power);
        if place < degree {
            add(&mut odd, terms[place + 1], &power);
        }
    }
    product(&mut next, matrix, &odd, n);
    let mut divisor = even.clone();
    for (((divisor, result), even), odd) in divisor.iter_mut().zip(&mut *matrix).zip(&even).zip(&next) {
        *divisor = *even - *odd;
        *result = *even + *odd;
    }
    let mut pivots = vec![0; n];
    lu::factor(&mut divisor, n, n, &mut pivots);
    lu::solve_factored(&divisor, n, &pivots, false, matrix, n);
}

/// The coefficients of the polynomial in the numerator: `(2d - k)! d! / ((2d)! k! (d - k)!)`, so that the first one is 1.
fn coefficients(degree: usize) -> Vec<f64> {
    let mut all = vec![1.0];
    for k in 1..=degree {
        let factor = (degree - k + 1) as f64 / (k * (2 * degree - k + 1)) as f64;
        all.push(all[k - 1] * factor);
    }
    all
}

fn scaled_identity<T: Number>(factor: f64, n: usize) -> Vec<T> {
    let mut matrix = vec![zero(); n * n];
    matrix.iter_mut().step_by(n + 1).for_each(|element| *element = T::from_real(real::<T>(factor)));
    matrix
}

fn add<T: Number>(sum: &mut [T], factor: f64, matrix: &[T]) {
    let factor = T::from_real(real::<T>(factor));
    sum.iter_mut().zip(matrix).for_each(|(sum, element)| *sum += *element * factor);
}

fn product<T: Number>(out: &mut [T], left: &[T], right: &[T], n: usize) {
    let matrix = |elements| MatRef::from_column_major_slice(elements, n, n);
    let out = MatMut::from_column_major_slice_mut(out, n, n);
    matmul(out, Accum::Replace, matrix(left), matrix(right), one(), Par::Seq);
}
