//! Multiplies a matrix by a few vectors, where its rows lie in one piece: each is read once and as it is.
//!
//! `out[v][r] = vectors[v] · rows[r]`
#![allow(unsafe_code)]

use std::ops::Range;

use super::matrix::{Matrix, Room};
use super::scheme::Scheme;
use super::tile::ROWS;
use opgrid_array::loops::arithmetic::Arithmetic;
use opgrid_array::loops::simd::vectorised;

/// So many vectors are few.
pub(super) const FEW: usize = 4;
/// Elements of a row that are converted at a time.
const CHUNK: usize = 1024;

/// `out = scale * (vectors @ rows.t())`, or `out += …`.
pub(super) struct Thin<S: Scheme> {
    pub scheme: S,
    pub out: Matrix<S::Sum>,
    pub vectors: Matrix<S::Element>,
    pub rows: Matrix<S::Element>,
    pub scale: S::Sum,
    pub add: bool,
}

/// A group of sums for each of the vectors.
type Sums<S> = [[<S as Scheme>::Sum; ROWS]; FEW];

impl<S: Scheme> Thin<S> {
    /// Computes the products with all rows.
    ///
    /// # Safety
    ///
    /// The matrices fit each other, there are at most [`FEW`] vectors, and rows lie in one piece; the factors may be
    /// read, and the result written and, if it is added to, read.
    pub unsafe fn compute(&self, room: &mut Room) {
        let block = self.scheme.kernel().block / S::PARTS;
        let inner = self.rows.columns;
        let length = inner.next_multiple_of(block);
        let sizes = [self.vectors.rows * S::PARTS * length, ROWS * CHUNK];
        let (vectors, spare) = room.slices::<S::Packed>(sizes);
        // SAFETY: passed on.
        unsafe { self.pack_vectors(vectors, length) };
        for first in (0..self.rows.rows).step_by(ROWS) {
            let count = ROWS.min(self.rows.rows - first);
            let mut sums = [[S::Sum::ZERO; ROWS]; FEW];
            let whole = if S::SAME { inner - inner % block } else { 0 };
            // A group of fewer rows repeats the last one.
            let rows = std::array::from_fn(|row| first + row.min(count - 1));
            let direct = rows.map(|row| self.rows.at(row, 0).cast_const().cast());
            // SAFETY: rows lie in one piece.
            unsafe { self.add_dots(&mut sums, direct, vectors, length, 0..whole) };
            for start in (whole..inner).step_by(CHUNK) {
                let range = start..inner.min(start + CHUNK);
                // SAFETY: passed on.
                let pointers = unsafe { self.copy_rows(spare, rows, range.clone(), block) };
                // SAFETY: the copies have as many elements.
                unsafe { self.add_dots(&mut sums, pointers, vectors, length, range) };
            }
            // SAFETY: passed on.
            unsafe { self.merge(first, count, &sums) };
        }
    }

    /// Each part of each vector, with zeros behind it.
    ///
    /// # Safety
    ///
    /// As [`compute`](Self::compute).
    unsafe fn pack_vectors(&self, to: &mut [S::Packed], length: usize) {
        if length == 0 {
            return;
        }
        for (number, to) in to.chunks_exact_mut(length).enumerate() {
            let (vector, part) = (number / S::PARTS, number % S::PARTS);
            let (elements, rest) = to.split_at_mut(self.vectors.columns);
            for (k, to) in elements.iter_mut().enumerate() {
                // SAFETY: an element of a factor.
                let element = unsafe { self.vectors.at(vector, k).read() };
                *to = S::part(S::pack(element), part);
            }
            rest.fill(S::Packed::default());
        }
    }

    /// A piece of each of some rows, packed, with zeros behind it.
    ///
    /// # Safety
    ///
    /// As [`compute`](Self::compute).
    unsafe fn copy_rows(
        &self,
        to: &mut [S::Packed],
        rows: [usize; ROWS],
        range: Range<usize>,
        block: usize,
    ) -> [*const S::Factor; ROWS] {
        for (row, to) in rows.into_iter().zip(to.chunks_exact_mut(CHUNK)) {
            // SAFETY: rows lie in one piece.
            let from = unsafe { std::slice::from_raw_parts(self.rows.at(row, range.start), range.len()) };
            vectorised(|| S::pack_row(&mut to[..range.len()], from));
            to[range.len()..range.len().next_multiple_of(block)].fill(S::Packed::default());
        }
        std::array::from_fn(|row| to[row * CHUNK..].as_ptr().cast())
    }

    /// Adds the products of a piece of the rows with that of each vector.
    ///
    /// # Safety
    ///
    /// As [`compute`](Self::compute); the rows can be read up to a whole block.
    unsafe fn add_dots(
        &self,
        sums: &mut Sums<S>,
        rows: [*const S::Factor; ROWS],
        vectors: &[S::Packed],
        length: usize,
        range: Range<usize>,
    ) {
        let kernel = self.scheme.kernel();
        let count = (range.len() * S::PARTS).next_multiple_of(kernel.block);
        for (vector, sums) in sums.iter_mut().enumerate().take(self.vectors.rows) {
            let mut parts = [[S::Number::ZERO; ROWS]; 2];
            for (part, dots) in parts.iter_mut().enumerate().take(S::PARTS) {
                let vector = vectors[(vector * S::PARTS + part) * length + range.start..].as_ptr();
                // SAFETY: the caller's promise; vectors end with a whole block.
                *dots = unsafe { kernel.dots(rows, vector.cast(), count) };
            }
            for (row, sum) in sums.iter_mut().enumerate() {
                *sum = sum.plus(S::joined(|part| parts[part][row]));
            }
        }
    }

    /// # Safety
    ///
    /// As [`compute`](Self::compute).
    unsafe fn merge(&self, first: usize, count: usize, sums: &Sums<S>) {
        for (vector, sums) in sums.iter().enumerate().take(self.vectors.rows) {
            for (row, sum) in sums.iter().enumerate().take(count) {
                let at = self.out.at(vector, first + row);
                let sum = if self.scale == S::Sum::ONE { *sum } else { self.scale.times(*sum) };
                // SAFETY: an element of the result, which may be read if it is added to.
                let sum = if self.add { unsafe { at.read() }.plus(sum) } else { sum };
                // SAFETY: an element of the result.
                unsafe { at.write(sum) };
            }
        }
    }
}
