//! Transforms the weights of convolutions, and multiplies by them.
#![allow(unsafe_code)]

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::super::matrix::{Memory, Shared};
use super::super::tile::{Kernel, Work};
use super::numbers::{Magnitudes, Real, Vector};
use super::{ELEMENTS, LANES, Layer, OUTLIER, TAPS};
use opgrid_array::loops::iter::parallel::for_each_piece;
use opgrid_array::loops::iter::transpose;
use opgrid_array::loops::simd::VectorLoop;

/// Transformed weights: for each row of tiles of the result its filters' 16 elements, each with a row of channels for each filter.
pub(super) struct Weights<'a, T> {
    elements: &'a [T],
    /// From a filter to the next.
    row: usize,
    /// From a row of tiles to the next.
    panel: usize,
    /// Rows of tiles of a group.
    panels: usize,
    tallest: usize,
    steps: usize,
    largest: f64,
}

/// Where threads write weights.
struct Panels<T>(*mut T);

// SAFETY: threads write panels that have no element in common.
unsafe impl<T: Send> Sync for Panels<T> {}

impl<T> Panels<T> {
    fn at(&self, element: usize) -> *mut T {
        self.0.wrapping_add(element)
    }
}

impl<'a, T: Real> Weights<'a, T> {
    /// Transforms the weights of all groups, unless some are not finite, or all of them so small that they would be rounded.
    pub fn transform(layer: &Layer, weight: &[T], shared: &'a mut Shared) -> Option<Self> {
        let tallest = T::kernel().tallest();
        let panels = layer.filters.div_ceil(tallest);
        let row = row_of_weights::<T>(layer.channels);
        let panel = ELEMENTS * tallest * row;
        let all = layer.groups * panels * panel;
        let elements = shared.slice::<T>(all);
        let to = Panels(elements.as_mut_ptr());
        let largest = AtomicU64::new(0);
        for_each_piece(layer.groups * panels, &|piece| {
            let (group, first) = (piece / panels, piece % panels * tallest);
            // SAFETY: each piece is given out once, and has a panel of the slice.
            let to = unsafe { std::slice::from_raw_parts_mut(to.at(piece * panel), panel) };
            let count = tallest.min(layer.filters - first);
            if count < tallest {
                to.fill(T::ZERO);
            }
            let mut memory = Memory::take();
            let taps = memory.panels.slice::<T>(TAPS * layer.channels + LANES);
            taps[TAPS * layer.channels..].fill(T::ZERO);
            let mut magnitudes = Magnitudes::NONE;
            for filter in 0..count {
                let start = layer.window(group, first + filter, 0);
                let step = layer.window(group, first + filter, 1) - start;
                let from = &weight[start..][..(layer.channels - 1) * step + TAPS];
                let (size, channels) = (size_of::<T>(), layer.channels);
                // SAFETY: the window of each channel lies in the slice, and there is room for all of them.
                unsafe {
                    transpose(
                        taps.as_mut_ptr().cast(),
                        from.as_ptr().cast(),
                        step * size,
                        TAPS,
                        channels,
                        size,
                    );
                }
                let to = &mut to[filter * row..];
                let is_turned = layer.is_turned;
                TransformWindows {
                    taps,
                    channels,
                    is_turned,
                    to,
                    each: tallest * row,
                    magnitudes: &mut magnitudes,
                }
                .vectorised();
            }
            let [own, total] = magnitudes.all();
            let own = if total.is_finite() { own } else { f64::INFINITY };
            // Numbers without a sign are ordered as their bits are.
            largest.fetch_max(own.to_bits(), Ordering::Relaxed);
        });
        let largest = f64::from_bits(largest.into_inner());
        // Transformed weights are at most 9/4 times as large, and sums on the way twice that.
        let is_exact = largest == 0.0 || (T::SMALLEST..T::LARGEST / 16.0).contains(&largest);
        let weights = Self { elements, row, panel, panels, tallest, steps: layer.channels, largest };
        is_exact.then_some(weights)
    }

    /// Whether elements of an image, so many in each channel's tiles, give sums that are as exact as those of other methods.
    pub fn suit(&self, magnitudes: Magnitudes<T>, channels: usize, count: usize) -> bool {
        let [largest, total] = magnitudes.all();
        // Elements of tiles are at most 4 times as large, weights 9/4 times, and places are sums of 9 products of each channel.
        let most = T::LARGEST / (128.0 * channels as f64 * self.largest.max(1.0));
        total.is_finite() && largest <= most && largest <= total / count.max(1) as f64 * OUTLIER
    }

    /// Multiplies the transformed weights of a band of filters by the transformed tiles, each of whose elements takes so many numbers.
    pub fn multiply(
        &self,
        kernel: &Kernel<T, T>,
        group: usize,
        band: Range<usize>,
        (elements, each): (&[T], usize),
        (products, of_band): (&mut [T], usize),
        wide: usize,
    ) {
        assert!(elements.len() >= ELEMENTS * each && each >= self.steps * wide);
        assert!(
            products.len() >= ELEMENTS * of_band
                && of_band >= band.len().next_multiple_of(self.tallest) * wide
        );
        assert!(band.start.is_multiple_of(self.tallest) && wide.is_multiple_of(kernel.width));
        for element in 0..ELEMENTS {
            for first in band.clone().step_by(self.tallest) {
                let rows = self.tallest.min(band.end - first);
                let panel = group * self.panels + first / self.tallest;
                let left = &self.elements[panel * self.panel + element * self.tallest * self.row..];
                let left = &left[..self.tallest * self.row];
                let work = Work {
                    tiles: wide / kernel.width,
                    steps: self.steps,
                    a: left.as_ptr(),
                    a_row: self.row,
                    a_step: 1,
                    b: elements[element * each..].as_ptr(),
                    b_step: wide,
                    b_offsets: std::ptr::null(),
                    b_tile: kernel.width,
                    scale: T::ONE,
                    out: products[element * of_band + (first - band.start) * wide..].as_mut_ptr(),
                    out_row: wide,
                    add: false,
                };
                // SAFETY: the panel has rows for the tallest tile, each of as many channels as there are steps; `elements` has a row of
                // whole tiles for each step, and `products` one for each filter of whole panels, as asserted above.
                unsafe { kernel.tile(kernel.height(rows), &work) };
            }
        }
    }
}

/// Numbers from the weights of a filter to those of the next, for so many channels: rows that are a multiple of 1 KiB apart fight
/// for the same lines of the cache.
fn row_of_weights<T>(channels: usize) -> usize {
    let row = channels.next_multiple_of(LANES);
    if (row * size_of::<T>()).is_multiple_of(1024) { row + 2 * LANES } else { row }
}

/// The windows of a filter, which are transformed.
struct TransformWindows<'a, T> {
    /// The elements of all channels at each tap.
    taps: &'a [T],
    channels: usize,
    is_turned: bool,
    to: &'a mut [T],
    /// From an element of the transformed windows to the next.
    each: usize,
    magnitudes: &'a mut Magnitudes<T>,
}

impl<T: Real> VectorLoop for TransformWindows<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { taps, channels, is_turned, to, each, magnitudes } = self;
        for first in (0..channels).step_by(LANES) {
            let at = |tap: usize| {
                let tap = if is_turned { TAPS - 1 - tap } else { tap };
                Vector::read(taps, tap * channels + first)
            };
            let [a, b, c] = [[at(0), at(1), at(2)], [at(3), at(4), at(5)], [at(6), at(7), at(8)]];
            for Vector(numbers) in [a, b, c].as_flattened() {
                magnitudes.add(numbers);
            }
            let left = of_window(a[0], b[0], c[0]);
            let middle = of_window(a[1], b[1], c[1]);
            let right = of_window(a[2], b[2], c[2]);
            for (row, ((left, middle), right)) in left.into_iter().zip(middle).zip(right).enumerate() {
                let all = of_window(left, middle, right);
                for (column, numbers) in all.into_iter().enumerate() {
                    numbers.write(to, (4 * row + column) * each + first);
                }
            }
        }
    }
}

/// Multiplies by `G`.
#[inline(always)]
fn of_window<T: Real>(a: Vector<T>, b: Vector<T>, c: Vector<T>) -> [Vector<T>; 4] {
    let outer = a + c;
    [a, (outer + b).half(), (outer - b).half(), c]
}
