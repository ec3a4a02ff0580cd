//! `A = P * L * D * Lᵀ * Pᵀ` of symmetric matrices, or with `Lᴴ` of Hermitian ones, where `D` has blocks of one or two rows.
//!
//! Source: J. R. Bunch and L. Kaufman, Some Stable Methods for Calculating Inertia and Solving Symmetric Linear Systems, Mathematics of
//! Computation 31 (1977); the form is that of LAPACK.

use std::num::NonZeroUsize;

use faer::traits::math_utils::from_f64;

use crate::number::{Number, one, zero};

/// `(1 + √17) / 8`, with which elements grow least.
const THRESHOLD: f64 = 0.640_388_203_202_208;

/// A matrix of which the lower triangle is meant.
struct Lower<'m, T> {
    elements: &'m mut [T],
    n: usize,
    is_hermitian: bool,
}

impl<T: Number> Lower<'_, T> {
    fn at(&self, i: usize, j: usize) -> T {
        self.elements[j * self.n + i]
    }

    fn set(&mut self, i: usize, j: usize, element: T) {
        self.elements[j * self.n + i] = element;
    }

    /// What an element is in the other triangle.
    fn turned(&self, element: T) -> T {
        if self.is_hermitian { element.conjugate() } else { element }
    }

    /// What an element of the diagonal is: a real one of Hermitian matrices.
    fn on_diagonal(&self, element: T) -> T {
        if self.is_hermitian { T::from_real(element.real()) } else { element }
    }

    /// How large an element of the diagonal is.
    fn diagonal_size(&self, i: usize) -> T::Real {
        self.on_diagonal(self.at(i, i)).size_of_parts()
    }

    /// The largest of some elements, and which it is.
    fn largest(&self, places: impl Iterator<Item = (usize, usize)>) -> (usize, T::Real) {
        let mut largest = (0, zero());
        for (number, (i, j)) in places.enumerate() {
            let size = self.at(i, j).size_of_parts();
            if size > largest.1 {
                largest = (number, size);
            }
        }
        largest
    }

    /// Which row becomes the next pivot of column `k`, and how many rows the block has; nothing if the column is zero.
    fn pivot(&self, k: usize) -> Option<(usize, usize)> {
        let threshold = from_f64::<T::Real>(THRESHOLD);
        let own = self.diagonal_size(k);
        let (place, below) = self.largest((k + 1..self.n).map(|i| (i, k)));
        let row = k + 1 + place;
        let is_zero = own == zero() && below == zero();
        // A NaN is no pivot.
        if is_zero || own.partial_cmp(&own).is_none() {
            return None;
        }
        if own >= threshold * below {
            return Some((k, 1));
        }
        let along = (k..row).map(|j| (row, j)).chain((row + 1..self.n).map(|i| (i, row)));
        let (_, beside) = self.largest(along);
        if own >= threshold * below * (below / beside) {
            Some((k, 1))
        } else if self.diagonal_size(row) >= threshold * beside {
            Some((row, 1))
        } else {
            Some((row, 2))
        }
    }

    /// Exchanges two rows and the same columns of what is not factored yet, which begins at column `k`.
    fn exchange(&mut self, k: usize, one: usize, other: usize) {
        if one == other {
            return;
        }
        for i in other + 1..self.n {
            self.elements.swap(one * self.n + i, other * self.n + i);
        }
        for j in one + 1..other {
            let (a, b) = (self.at(j, one), self.at(other, j));
            self.set(j, one, self.turned(b));
            self.set(other, j, self.turned(a));
        }
        self.set(other, one, self.turned(self.at(other, one)));
        self.elements.swap(one * (self.n + 1), other * (self.n + 1));
        if one > k {
            self.elements.swap(k * self.n + one, k * self.n + other);
        }
    }

    /// Takes a block of one row out of what follows.
    fn eliminate_one(&mut self, k: usize) {
        let pivot = self.on_diagonal(self.at(k, k));
        self.set(k, k, pivot);
        for j in k + 1..self.n {
            let factor = self.turned(self.at(j, k)) / pivot;
            let (before, column) = self.elements.split_at_mut(j * self.n);
            let known = &before[k * self.n..][j..self.n];
            column[j..self.n].iter_mut().zip(known).for_each(|(element, known)| *element -= *known * factor);
            self.set(j, j, self.on_diagonal(self.at(j, j)));
        }
        self.elements[k * self.n..][k + 1..self.n].iter_mut().for_each(|element| *element /= pivot);
    }

    /// Takes a block of two rows out of what follows.
    fn eliminate_two(&mut self, k: usize) {
        let (first, second) = (self.on_diagonal(self.at(k, k)), self.on_diagonal(self.at(k + 1, k + 1)));
        self.set(k, k, first);
        self.set(k + 1, k + 1, second);
        // Everything is divided by the element beside the diagonal, which is the largest.
        let beside = self.at(k + 1, k);
        let (a, b) = (first / self.turned(beside), second / beside);
        let scale = one::<T>() / (a * b - one::<T>());
        for j in k + 2..self.n {
            let (x, y) = (self.at(j, k), self.at(j, k + 1));
            let left = (b * x - y) * scale / self.turned(beside);
            let right = (a * y - x) * scale / beside;
            let (by_left, by_right) = (self.turned(left), self.turned(right));
            for i in j..self.n {
                let taken = self.at(i, k) * by_left + self.at(i, k + 1) * by_right;
                self.set(i, j, self.at(i, j) - taken);
            }
            self.set(j, k, left);
            self.set(j, k + 1, right);
            self.set(j, j, self.on_diagonal(self.at(j, j)));
        }
    }
}

/// Replaces the lower triangle of a symmetric matrix by `L`, without its ones on the diagonal, and `D`; what lies above the diagonal is
/// neither read nor written. `pivots[i]` is the row, counted from 1, that row `i` was exchanged with; both rows of a block of two have
/// that of the second one, negative. Returns the number, from 1, of the first column that is zero; the factorization goes on behind it.
pub(crate) fn factor<T: Number>(
    matrix: &mut [T],
    n: usize,
    is_hermitian: bool,
    pivots: &mut [i32],
) -> Option<NonZeroUsize> {
    assert!((matrix.len(), pivots.len()) == (n * n, n), "elements of the matrix and pivots");
    let mut matrix = Lower { elements: matrix, n, is_hermitian };
    let (mut k, mut failed) = (0, None);
    while k < n {
        let Some((row, size)) = matrix.pivot(k) else {
            failed = failed.or(NonZeroUsize::new(k + 1));
            pivots[k] = k as i32 + 1;
            k += 1;
            continue;
        };
        matrix.exchange(k, k + size - 1, row);
        if size == 1 {
            matrix.eliminate_one(k);
            pivots[k] = row as i32 + 1;
        } else {
            matrix.eliminate_two(k);
            pivots[k..k + 2].fill(-(row as i32) - 1);
        }
        k += size;
    }
    failed
}

/// Replaces the columns of `right` by solutions of `A * x = b`, by what [`factor`] made of `A`.
pub(crate) fn solve<T: Number>(factors: &[T], n: usize, is_hermitian: bool, pivots: &[i32], right: &mut [T]) {
    assert!((factors.len(), pivots.len()) == (n * n, n), "elements of the matrix and pivots");
    assert!(pivots.iter().all(|pivot| (1..=n as u32).contains(&pivot.unsigned_abs())), "pivots are rows");
    let at = |i: usize, j: usize| factors[j * n + i];
    let turned = |element: T| if is_hermitian { element.conjugate() } else { element };
    let row_of = |k: usize| pivots[k].unsigned_abs() as usize - 1;
    // How many rows the block has that begins at row `k`: at the end there is no second one.
    let size_at = |k: usize| if pivots[k] < 0 && k + 1 < n { 2 } else { 1 };
    for x in right.chunks_exact_mut(n.max(1)) {
        let mut k = 0;
        let mut starts = Vec::new();
        while k < n {
            let size = size_at(k);
            starts.push(k);
            x.swap(k + size - 1, row_of(k));
            for j in k..k + size {
                let (before, after) = x.split_at_mut(k + size);
                let known = before[j];
                let column = &factors[j * n + k + size..(j + 1) * n];
                after.iter_mut().zip(column).for_each(|(x, element)| *x -= *element * known);
            }
            if size == 1 {
                x[k] /= at(k, k);
            } else {
                let beside = at(k + 1, k);
                let (a, b) = (at(k, k) / turned(beside), at(k + 1, k + 1) / beside);
                let scale = one::<T>() / (a * b - one::<T>());
                let (first, second) = (x[k] / turned(beside), x[k + 1] / beside);
                x[k] = (b * first - second) * scale;
                x[k + 1] = (a * second - first) * scale;
            }
            k += size;
        }
        for k in starts.into_iter().rev() {
            let size = size_at(k);
            for j in k..k + size {
                let (before, after) = x.split_at_mut(k + size);
                let column = &factors[j * n + k + size..(j + 1) * n];
                for (element, x) in column.iter().zip(&*after) {
                    before[j] -= turned(*element) * *x;
                }
            }
            x.swap(k + size - 1, row_of(k));
        }
    }
}
