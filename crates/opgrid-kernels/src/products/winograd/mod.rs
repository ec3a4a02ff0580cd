//! Convolutions with windows of 3x3 by Winograd's method: 16 products for four places, where their patches take 36.
//!
//! ```text
//! tile      4x4 elements of an image, under the windows of 2x2 places; tiles overlap by two
//! image     V = Bᵀ d B     of each channel of each tile
//! weights   U = G g Gᵀ     of each filter and channel
//! places    Y = Aᵀ M A     M = U V for each of the 16 elements: filters by channels, times channels by tiles
//! ```
//!
//! This is F(2x2, 3x3) of Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2015). Sums of whole numbers stay exact.
//! An element reaches all places of its tile, with weights that cancel: NaN and infinities would spread, sums overflow, and an element
//! far larger than those around it would leave its rounding in places that do not see it. Such images are found while they are
//! transformed, and left to other methods.
//!
//! | file | what it does |
//! |---|---|
//! | `numbers` | what is needed of numbers, and some of them computed together |
//! | `weights` | transforms weights, and multiplies by them |
//! | `tiles` | transforms tiles of images |
//! | `places` | computes places from the products of tiles |
#![allow(unsafe_code)]

mod numbers;
mod places;
mod tiles;
mod weights;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use self::numbers::Real;
use self::places::Finish;
use self::tiles::{Lines, Transform};
use self::weights::Weights;
use super::convolution::{Filters, Places};
use super::matrix::{Memory, Shared};
use super::patches::Windows;
use opgrid_array::loops::iter::Output;
use opgrid_array::loops::iter::parallel::{for_each_piece, num_threads};
use opgrid_array::loops::simd::VectorLoop;

/// Elements of a tile.
const ELEMENTS: usize = 16;
/// Elements of a window.
const TAPS: usize = 9;
/// Tiles, or channels of weights, that are transformed together.
const LANES: usize = 8;
/// Tiles of a block, whose transformed elements stay in a second-level cache. Blocks do not depend on the number of threads.
const TILES: usize = 64;
/// How many times the mean magnitude of a block its largest element may be.
const OUTLIER: f64 = 1024.0;
/// Transformed weights and blocks take so many bytes at most: threads keep the memory.
const WEIGHTS_BYTES: usize = 20 << 20;
const BLOCK_BYTES: usize = 8 << 20;
/// Products in whose time a tile of a channel or of a filter is transformed, and a window.
const TILE: f64 = 150.0;
const WINDOW: f64 = 160.0;
/// Columns to which products are filled up.
const COLUMNS: usize = 32;

/// A convolution that Winograd's method computes. Lists are row, column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layer {
    batch: usize,
    groups: usize,
    channels: usize,
    filters: usize,
    image: [usize; 2],
    places: [usize; 2],
    /// Zeros before the image; where there are fewer than none, the windows leave out its first elements.
    padding: [isize; 2],
    /// Whether weights lie channel by channel, the last tap first.
    is_turned: bool,
}

impl Layer {
    /// The convolution of elements of so many bytes, if this method takes less time than others.
    pub fn for_correlation(windows: &Windows, bytes: usize) -> Option<Self> {
        Self::of_correlation(windows).filter(|layer| layer.is_worth(bytes))
    }

    /// The transposed convolution of elements of so many bytes, if this method takes less time than others.
    pub fn for_spreading(windows: &Windows, bytes: usize) -> Option<Self> {
        Self::of_spreading(windows).filter(|layer| layer.is_worth(bytes))
    }

    fn of_correlation(windows: &Windows) -> Option<Self> {
        let Windows { batch, groups, channels, filters, image, places, padding, .. } = *windows;
        takes(windows).then(|| Self {
            batch,
            groups,
            channels,
            filters,
            image: [image[1], image[2]],
            places: [places[1], places[2]],
            padding: [padding[1] as isize, padding[2] as isize],
            is_turned: false,
        })
    }

    /// It correlates the places with windows turned by 180 degrees.
    fn of_spreading(windows: &Windows) -> Option<Self> {
        let Windows { batch, groups, channels, filters, image, places, padding, .. } = *windows;
        takes(windows).then(|| Self {
            batch,
            groups,
            channels: filters,
            filters: channels,
            image: [places[1], places[2]],
            places: [image[1], image[2]],
            padding: [2 - padding[1] as isize, 2 - padding[2] as isize],
            is_turned: true,
        })
    }

    /// Whether it takes nine tenths of the time of products with patches at most, and not too much memory.
    fn is_worth(&self, bytes: usize) -> bool {
        let [channels, filters, tiles] =
            [self.channels, self.filters, self.count()].map(|count| count as f64);
        let places = (self.batch * self.places[0] * self.places[1]) as f64;
        let patches = (TAPS as f64) * channels * filters * places;
        let columns = self.count().next_multiple_of(COLUMNS) as f64;
        let products = channels * filters * (ELEMENTS as f64 * columns + WINDOW);
        let transforms = (channels + filters) * tiles * TILE;
        let weights = (ELEMENTS * bytes * self.groups) as f64 * channels * filters;
        let block = (ELEMENTS * bytes * TILES) as f64 * (channels + filters);
        let is_small = weights <= WEIGHTS_BYTES as f64 && block <= BLOCK_BYTES as f64;
        is_small && products + transforms < 0.9 * patches
    }

    /// Rows and columns of tiles on an image.
    fn tiles(&self) -> [usize; 2] {
        self.places.map(|places| places.div_ceil(2))
    }

    /// Tiles of all images.
    fn count(&self) -> usize {
        let [rows, columns] = self.tiles();
        self.batch * rows * columns
    }

    /// Where the window of a filter and a channel begins among the weights.
    fn window(&self, group: usize, filter: usize, channel: usize) -> usize {
        let number = if self.is_turned {
            (group * self.channels + channel) * self.filters + filter
        } else {
            (group * self.filters + filter) * self.channels + channel
        };
        number * TAPS
    }

    /// The tiles of a block, row by row.
    fn runs(&self, tiles: Range<usize>) -> Vec<Run> {
        let [rows, columns] = self.tiles();
        let mut runs = Vec::new();
        let mut tile = tiles.start;
        while tile < tiles.end {
            let (line, column) = (tile / columns, tile % columns);
            let count = (columns - column).min(tiles.end - tile);
            let (image, row) = (line / rows, line % rows);
            runs.push(Run { first: tile - tiles.start, count, image, row, column });
            tile += count;
        }
        runs
    }
}

/// Whether windows are 3x3, and move over two dimensions by one.
fn takes(windows: &Windows) -> bool {
    let Windows { image, window, places, step, dilation, padding, .. } = *windows;
    let is_flat = image[0] == 1 && places[0] == 1 && padding[0] == 0;
    let is_near = step[1..] == [1; 2] && dilation[1..] == [1; 2];
    is_flat && is_near && window == [1, 3, 3] && padding.iter().all(|padding| *padding <= 1 << 20)
}

/// Tiles beside each other.
struct Run {
    /// The number of the first among those of the block.
    first: usize,
    count: usize,
    image: usize,
    row: usize,
    column: usize,
}

/// Computes the convolution.
///
/// Returns whether every place was written. If not, sums may have been lost to NaN, infinities, or numbers too large for this method.
pub(super) fn correlate<T: Real>(
    layer: &Layer,
    out: &Output<'_, T>,
    image: &[T],
    filters: Filters<'_, T>,
) -> bool {
    let mut shared = Shared::take();
    let Some(weights) = Weights::transform(layer, filters.weight, &mut shared) else { return false };
    let kernel = T::kernel();
    let blocks = layer.count().div_ceil(TILES);
    let (high, bands) = bands(layer, kernel.tallest(), blocks * layer.groups);
    let target = Places::new(out);
    let has_failed = AtomicBool::new(false);
    for_each_piece(layer.groups * blocks * bands, &|piece| {
        if has_failed.load(Ordering::Relaxed) {
            return;
        }
        let (group, block, band) = (piece / (blocks * bands), piece / bands % blocks, piece % bands);
        let tiles = block * TILES..layer.count().min((block + 1) * TILES);
        let band = band * high..layer.filters.min((band + 1) * high);
        let wide = tiles.len().next_multiple_of(kernel.width);
        let runs = layer.runs(tiles);
        let lines = Lines::new(layer, group, &runs);
        let mut memory = Memory::take();
        let Memory { panels, sums, .. } = &mut memory;
        let room = panels.slice::<T>(lines.all);
        room.fill(T::ZERO);
        // Vectors may be longer than what is left of the last row.
        let each = layer.channels * wide + 2 * LANES;
        let of_band = band.len().next_multiple_of(kernel.tallest()) * wide + 2 * LANES;
        let (elements, products) = sums.slices::<T>([ELEMENTS * each, ELEMENTS * of_band]);
        let plane = layer.image[0] * layer.image[1];
        let magnitudes =
            Transform { lines: &lines, runs: &runs, image, plane, room, to: &mut *elements, each, wide }
                .vectorised();
        if !weights.suit(magnitudes, layer.channels, lines.count * layer.channels) {
            has_failed.store(true, Ordering::Relaxed);
            return;
        }
        weights.multiply(kernel, group, band.clone(), (&*elements, each), (&mut *products, of_band), wide);
        let products = &*products;
        Finish { layer, target: &target, filters, group, band, runs: &runs, products, each: of_band, wide }
            .vectorised();
    });
    !has_failed.into_inner()
}

/// Filters of a band, and how many bands there are, where there are so many pieces beside them. Each band transforms the image.
fn bands(layer: &Layer, tallest: usize, pieces: usize) -> (usize, usize) {
    let wanted = match num_threads() {
        1 => 1,
        threads => (2 * threads).div_ceil(pieces.max(1)),
    };
    let high = layer.filters.div_ceil(wanted).max(48).next_multiple_of(tallest);
    (high, layer.filters.div_ceil(high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts;
    use opgrid_array::{Array, TensorSpec};
    use opgrid_core::Device;

    /// Groups, channels, filters, images, their rows and columns, and zeros around them.
    const SIZES: [([usize; 6], [usize; 2]); 10] = [
        ([1, 3, 5, 1, 4, 4], [0, 0]),
        ([1, 16, 13, 2, 7, 7], [1, 1]),
        ([1, 17, 30, 3, 9, 21], [1, 1]),
        ([2, 8, 12, 2, 14, 14], [1, 1]),
        ([1, 5, 25, 1, 1, 40], [1, 0]),
        ([1, 20, 4, 1, 3, 3], [0, 2]),
        ([3, 2, 1, 2, 6, 5], [2, 1]),
        ([1, 9, 16, 1, 15, 3], [0, 1]),
        ([1, 4, 7, 1, 3, 150], [0, 0]),
        ([1, 40, 24, 1, 2, 2], [2, 3]),
    ];

    fn windows(
        [groups, channels, filters, batch, height, width]: [usize; 6],
        padding: [usize; 2],
    ) -> Windows {
        let image = [1, height, width];
        let padding = [0, padding[0], padding[1]];
        let places = [1, height + 2 * padding[1] - 2, width + 2 * padding[2] - 2];
        let window = [1, 3, 3];
        let (step, dilation) = ([1; 3], [1; 3]);
        Windows { batch, groups, channels, filters, image, window, places, step, dilation, padding }
    }

    /// Numbers between -1 and 1.
    fn numbers<T: Real + From<f32>>(count: usize, mut seed: u32, map: impl Fn(f32) -> f32) -> Vec<T> {
        let mut next = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            map((seed >> 8) as f32 / (1 << 23) as f32 - 1.0).into()
        };
        (0..count).map(|_| next()).collect()
    }

    /// The arrays of a convolution or, if it is turned, a transposed one: how many elements the result has, the image and the weights.
    fn arrays<T: Real + From<f32>>(
        windows: &Windows,
        is_turned: bool,
        map: impl Fn(f32) -> f32,
    ) -> (usize, Vec<T>, Vec<T>) {
        let image = windows.batch * windows.groups * windows.channels * windows.plane();
        let places = windows.batch * windows.groups * windows.filters * windows.places_of_image();
        let (from, to) = if is_turned { (places, image) } else { (image, places) };
        let weights = windows.groups * windows.filters * windows.taps();
        (to, numbers(from, 1, &map), numbers(weights, 2, &map))
    }

    fn computed<T: Real>(layer: &Layer, count: usize, image: &[T], weight: &[T], bias: &[T]) -> Vec<T> {
        let spec = TensorSpec::contiguous(&[count as i64], T::DTYPE, Device::CPU).unwrap();
        let out = Array::empty(spec).unwrap();
        parts::write::<T>(&out, |out| {
            assert!(correlate(layer, &out, image, Filters { weight, bias: Some(bias) }));
            // SAFETY: every place was written, as was just asserted.
            unsafe { out.complete() };
            Ok(())
        })
        .unwrap();
        out.to_vec().unwrap()
    }

    /// The sums by plain loops.
    fn expected<T: Real>(
        windows: &Windows,
        is_turned: bool,
        count: usize,
        [image, weight, bias]: [&[T]; 3],
    ) -> Vec<f64> {
        let Windows { batch, groups, channels, filters, image: sizes, places, padding, .. } = *windows;
        let each = count / (batch * bias.len());
        let mut sums: Vec<f64> = (0..count).map(|at| bias[at / each % bias.len()].into()).collect();
        for number in 0..batch * groups {
            for (filter, channel) in (0..filters).flat_map(|f| (0..channels).map(move |c| (f, c))) {
                let weight = &weight[((number % groups * filters + filter) * channels + channel) * 9..][..9];
                for (place, tap) in (0..places[1] * places[2]).flat_map(|p| (0..9).map(move |t| (p, t))) {
                    let (y, x) = (place / places[2] + tap / 3, place % places[2] + tap % 3);
                    let (Some(y), Some(x)) = (y.checked_sub(padding[1]), x.checked_sub(padding[2])) else {
                        continue;
                    };
                    if y >= sizes[1] || x >= sizes[2] {
                        continue;
                    }
                    let element = ((number * channels + channel) * sizes[1] + y) * sizes[2] + x;
                    let place = (number * filters + filter) * places[1] * places[2] + place;
                    let (from, to) = if is_turned { (place, element) } else { (element, place) };
                    sums[to] += image[from].into() * weight[tap].into();
                }
            }
        }
        sums
    }

    /// Compares convolutions of all sizes with plain loops: errors are at most `limit` times the square root of how many products are
    /// summed.
    fn check<T: Real + From<f32>>(map: impl Fn(f32) -> f32 + Copy, limit: f64) {
        for (sizes, padding) in SIZES {
            let windows = windows(sizes, padding);
            for is_turned in [false, true] {
                let (count, image, weight) = arrays::<T>(&windows, is_turned, map);
                let layer =
                    if is_turned { Layer::of_spreading(&windows) } else { Layer::of_correlation(&windows) };
                let layer = layer.unwrap();
                let bias = numbers::<T>(layer.groups * layer.filters, 3, map);
                let found = computed(&layer, count, &image, &weight, &bias);
                let expected = expected(&windows, is_turned, count, [&image, &weight, &bias]);
                let limit = limit * (9.0 * layer.channels as f64).sqrt();
                for (place, (found, expected)) in found.into_iter().zip(expected).enumerate() {
                    let error: f64 = (found.into() - expected).abs();
                    assert!(error <= limit, "{expected} at {place}, error {error:e}, {layer:?}");
                }
            }
        }
    }

    #[test]
    fn sums_are_rounded_little() {
        check::<f32>(|number| number, 4.0 * f64::from(f32::EPSILON));
        check::<f64>(|number| number, 4.0 * f64::EPSILON);
    }

    #[test]
    fn sums_of_whole_numbers_are_exact() {
        check::<f32>(|number| (number * 20.0).round(), 0.0);
        check::<f64>(|number| (number * 20.0).round(), 0.0);
    }

    #[test]
    fn only_windows_of_3x3_that_move_by_one_are_taken() {
        let windows = windows([1, 64, 64, 1, 56, 56], [1, 1]);
        assert!(Layer::for_correlation(&windows, 4).is_some());
        for other in [
            Windows { window: [1, 3, 2], ..windows },
            Windows { window: [3, 3, 3], ..windows },
            Windows { step: [1, 1, 2], ..windows },
            Windows { dilation: [1, 2, 1], ..windows },
            Windows { image: [2, 56, 56], places: [2, 56, 56], ..windows },
            Windows { channels: 1, ..windows },
            Windows { image: [1, 7, 7], places: [1, 7, 7], ..windows },
            Windows { channels: 1024, filters: 1024, ..windows },
            Windows { batch: 0, ..windows },
        ] {
            assert!(Layer::for_correlation(&other, 4).is_none(), "{other:?}");
            assert!(Layer::for_spreading(&other, 4).is_none(), "{other:?}");
        }
    }
}
