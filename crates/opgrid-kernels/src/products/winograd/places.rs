//! Computes places of convolutions from the products of tiles.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ops::Range;

use super::super::convolution::{Filters, Places};
use super::numbers::{Real, Vector};
use super::{LANES, Layer, Run};
use opgrid_array::loops::simd::VectorLoop;

/// The products of a block, from which places are computed.
pub(super) struct Finish<'a, T> {
    pub layer: &'a Layer,
    pub target: &'a Places<T>,
    pub filters: Filters<'a, T>,
    pub group: usize,
    pub band: Range<usize>,
    pub runs: &'a [Run],
    pub products: &'a [T],
    /// From an element of the tiles to the next.
    pub each: usize,
    /// From a filter to the next.
    pub wide: usize,
}

impl<T: Real> VectorLoop for Finish<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { layer, target, filters, group, band, runs, products, each, wide } = self;
        let [height, width] = layer.places;
        for (row, filter) in band.enumerate() {
            let number = group * layer.filters + filter;
            let bias = filters.bias(number).unwrap_or(T::ZERO);
            for run in runs {
                let plane = (run.image * layer.groups * layer.filters + number) * height * width;
                let end = width.min(2 * (run.column + run.count));
                for first in (0..run.count).step_by(LANES) {
                    let places = places_of_tiles(&products[row * wide + run.first + first..], each, bias);
                    let x = 2 * (run.column + first);
                    let count = (end - x).min(2 * LANES);
                    for (y, numbers) in (2 * run.row..height).zip(&places) {
                        // SAFETY: each piece has its own filters and tiles, and so places of the output.
                        let to = unsafe { target.slice(plane + y * width + x, count) };
                        if let Ok(to) = <&mut [_; 2 * LANES]>::try_from(&mut *to) {
                            for lane in 0..2 * LANES {
                                to[lane] = MaybeUninit::new(numbers[lane]);
                            }
                        } else {
                            to.iter_mut().zip(numbers).for_each(|(to, number)| {
                                to.write(*number);
                            });
                        }
                    }
                }
            }
        }
    }
}

/// Multiplies products by `Aᵀ` and `A`: two rows of places.
#[inline(always)]
fn places_of_tiles<T: Real>(products: &[T], each: usize, bias: T) -> [[T; 2 * LANES]; 2] {
    let a = of_products(products, each);
    let b = of_products(&products[each..], each);
    let c = of_products(&products[2 * each..], each);
    let d = of_products(&products[3 * each..], each);
    let bias = Vector([bias; LANES]);
    let row = |row: usize| beside(a[row] + b[row] + c[row] + bias, b[row] - c[row] - d[row] + bias);
    [row(0), row(1)]
}

/// Multiplies a column of products by `Aᵀ`.
#[inline(always)]
fn of_products<T: Real>(products: &[T], each: usize) -> [Vector<T>; 2] {
    let [a, b] = [Vector::read(products, 0), Vector::read(products, 4 * each)];
    let [c, d] = [Vector::read(products, 8 * each), Vector::read(products, 12 * each)];
    [a + b + c, b - c - d]
}

/// The numbers of two in turns.
#[inline(always)]
fn beside<T: Real>(even: Vector<T>, odd: Vector<T>) -> [T; 2 * LANES] {
    let mut all = [T::ZERO; 2 * LANES];
    for lane in 0..LANES {
        all[2 * lane] = even.0[lane];
        all[2 * lane + 1] = odd.0[lane];
    }
    all
}
