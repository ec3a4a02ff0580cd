//! Transforms the tiles of images, channel by channel.
#![allow(unsafe_code)]

use std::ops::Range;

use super::super::lanes::{Lanes, Portable};
use super::numbers::{Magnitudes, Real};
use super::{LANES, Layer, Run};
use opgrid_array::loops::arithmetic::Arithmetic;
use opgrid_array::loops::simd::VectorLoop;

/// The elements of one of the four lines of a run that lie in the image.
struct Line {
    /// Where the first, third and so on go among those of all runs: the even elements of the line or, where zeros come first, the odd ones.
    first: usize,
    /// Where the second, fourth and so on go.
    second: usize,
    /// Where the first one is in the first channel of the group.
    from: usize,
    count: usize,
}

/// Where the lines of a block lie: four for each run, each with its even elements and then its odd ones.
pub(super) struct Lines {
    lines: Vec<Line>,
    /// Parts of all elements that are the first to have them: their magnitudes are looked at.
    own: Vec<Range<usize>>,
    /// How many of those lie in the image.
    pub count: usize,
    /// Elements of all lines.
    pub all: usize,
}

/// Elements that an even or odd line of so many tiles takes: one more than there are tiles, and what lanes read behind it.
fn length(tiles: usize) -> usize {
    tiles.next_multiple_of(LANES) + LANES
}

impl Lines {
    pub fn new(layer: &Layer, group: usize, runs: &[Run]) -> Self {
        let [height, width] = layer.image;
        let plane = height * width;
        let [rows, _] = layer.tiles();
        let mut lines = Self { lines: Vec::new(), own: Vec::new(), count: 0, all: 0 };
        for run in runs {
            let start = (run.image * layer.groups + group) * layer.channels * plane;
            for row in 0..4 {
                let y = (2 * run.row + row) as isize - layer.padding[0];
                // The next tiles have the last two lines as their first ones.
                let is_own = row < 2 || run.row + 1 == rows;
                let x = (2 * run.column) as isize - layer.padding[1];
                let (start_x, end) = (x.max(0), (x + 2 * run.count as isize + 2).min(width as isize));
                let length = length(run.count);
                if (0..height as isize).contains(&y) && start_x < end {
                    let skipped = (start_x - x) as usize;
                    let (even, odd) = (lines.all + skipped.div_ceil(2), lines.all + length + skipped / 2);
                    let (first, second) = if skipped.is_multiple_of(2) { (even, odd) } else { (odd, even) };
                    let from = start + y as usize * width + start_x as usize;
                    let count = (end - start_x) as usize;
                    lines.lines.push(Line { first, second, from, count });
                    lines.count += if is_own { count } else { 0 };
                }
                if is_own {
                    lines.own.push(lines.all..lines.all + 2 * length);
                }
                lines.all += 2 * length;
            }
        }
        lines
    }
}

/// The channels of some tiles, which are transformed.
pub(super) struct Transform<'a, T> {
    pub lines: &'a Lines,
    pub runs: &'a [Run],
    pub image: &'a [T],
    /// Elements of a channel.
    pub plane: usize,
    /// For the lines, with zeros beside them.
    pub room: &'a mut [T],
    pub to: &'a mut [T],
    /// From an element of the transformed tiles to the next.
    pub each: usize,
    /// From a channel to the next.
    pub wide: usize,
}

impl<T: Real> VectorLoop for Transform<'_, T> {
    type Output = Magnitudes<T>;

    /// For processors with AVX2.
    #[inline(always)]
    fn run(self) -> Magnitudes<T> {
        // SAFETY: `vectorised` calls this where the processor has AVX2, as far as there are registers of it.
        unsafe { self.transform::<T::Wide>() }
    }

    #[inline(always)]
    fn run_unfused(self) -> Magnitudes<T> {
        // SAFETY: any processor has these registers.
        unsafe { self.transform::<Portable<T>>() }
    }
}

impl<T: Real> Transform<'_, T> {
    /// # Safety
    ///
    /// The processor has the instructions of the lanes.
    #[inline(always)]
    unsafe fn transform<L: Lanes<Number = T>>(self) -> Magnitudes<T> {
        let Self { lines, runs, image, plane, room, to, each, wide } = self;
        let mut magnitudes = Magnitudes::NONE;
        let channels = (each - 2 * LANES) / wide;
        for channel in 0..channels {
            for line in &lines.lines {
                take_apart(
                    &image[line.from + channel * plane..][..line.count],
                    room,
                    line.first,
                    line.second,
                );
            }
            for own in &lines.own {
                let (numbers, _) = room[own.clone()].as_chunks::<LANES>();
                numbers.iter().for_each(|numbers| magnitudes.add(numbers));
            }
            let mut start = 0;
            for run in runs {
                let length = length(run.count);
                let own = &room[start..][..8 * length];
                // Registers are whole parts of `LANES`, so that they end before that many behind the last tile.
                let to =
                    &mut to[channel * wide + run.first..][..15 * each + run.count.next_multiple_of(LANES)];
                const { assert!(LANES.is_multiple_of(L::COUNT)) };
                for first in (0..run.count).step_by(L::COUNT) {
                    let (from, to) = (own.as_ptr().wrapping_add(first), to.as_mut_ptr().wrapping_add(first));
                    // SAFETY: the caller vouches for the processor. Each of the eight lines has a register more than tiles, as `length`
                    // says, and `to` has all tiles of its 16 elements.
                    unsafe { transform_tiles::<L>(from, length, to, each) };
                }
                start += 8 * length;
            }
        }
        magnitudes
    }
}

/// Writes every other element from the first on to one place, and the others to another.
#[inline(always)]
fn take_apart<T: Real>(from: &[T], to: &mut [T], first: usize, second: usize) {
    if from.len() >= 2 * LANES {
        take_blocks_apart::<T, LANES, { 2 * LANES }>(from, to, first, second);
    } else if from.len() >= LANES {
        take_blocks_apart::<T, { LANES / 2 }, LANES>(from, to, first, second);
    } else {
        for (number, element) in from.iter().enumerate() {
            let start = if number.is_multiple_of(2) { first } else { second };
            to[start + number / 2] = *element;
        }
    }
}

/// Takes `ALL` elements apart at a time, half of which is `HALF`.
#[inline(always)]
fn take_blocks_apart<T: Real, const HALF: usize, const ALL: usize>(
    from: &[T],
    to: &mut [T],
    first: usize,
    second: usize,
) {
    let mut start = 0;
    while start + ALL <= from.len() {
        take_block_apart::<T, HALF, ALL>(&from[start..], to, first + start / 2, second + start / 2);
        start += ALL;
    }
    // The last ones, some of them again.
    let start = from.len() - ALL;
    let [first, second] = if start.is_multiple_of(2) { [first, second] } else { [second, first + 1] };
    take_block_apart::<T, HALF, ALL>(&from[start..], to, first + start / 2, second + start / 2);
}

#[inline(always)]
fn take_block_apart<T: Real, const HALF: usize, const ALL: usize>(
    from: &[T],
    to: &mut [T],
    first: usize,
    second: usize,
) {
    let (mut one, mut other) = ([T::ZERO; HALF], [T::ZERO; HALF]);
    let mut taken = [T::ZERO; ALL];
    taken.copy_from_slice(&from[..ALL]);
    for lane in 0..HALF {
        one[lane] = taken[2 * lane];
        other[lane] = taken[2 * lane + 1];
    }
    to[first..][..HALF].copy_from_slice(&one);
    to[second..][..HALF].copy_from_slice(&other);
}

/// Multiplies a register of tiles by `Bᵀ` and `B`. Elements lie in four lines, each with its even elements and, behind so many
/// numbers, its odd ones; the transformed ones lie `each` apart.
///
/// # Safety
///
/// The processor has the instructions of the lanes; a register and a number more can be read of all lines; registers can be written.
#[inline(always)]
unsafe fn transform_tiles<L: Lanes<Number: Real>>(
    from: *const L::Number,
    length: usize,
    to: *mut L::Number,
    each: usize,
) {
    // SAFETY: passed on.
    unsafe {
        let a = of_line::<L>(from, length);
        let b = of_line::<L>(from.wrapping_add(2 * length), length);
        let c = of_line::<L>(from.wrapping_add(4 * length), length);
        let d = of_line::<L>(from.wrapping_add(6 * length), length);
        for column in 0..4 {
            let all = of_four::<L>(a[column], b[column], c[column], d[column]);
            for (row, numbers) in all.into_iter().enumerate() {
                L::store(numbers, to.wrapping_add((4 * row + column) * each));
            }
        }
    }
}

/// Multiplies a line of tiles by `B`.
///
/// # Safety
///
/// As [`transform_tiles`].
#[inline(always)]
unsafe fn of_line<L: Lanes<Number: Real>>(from: *const L::Number, length: usize) -> [L::Sums; 4] {
    let odd = from.wrapping_add(length);
    // SAFETY: passed on.
    unsafe {
        let [a, c] = [L::sums(from), L::sums(from.wrapping_add(1))];
        let [b, d] = [L::sums(odd), L::sums(odd.wrapping_add(1))];
        of_four::<L>(a, b, c, d)
    }
}

/// Multiplies by `Bᵀ`.
///
/// # Safety
///
/// The processor has the instructions of the lanes.
#[inline(always)]
unsafe fn of_four<L: Lanes<Number: Real>>(a: L::Sums, b: L::Sums, c: L::Sums, d: L::Sums) -> [L::Sums; 4] {
    // SAFETY: the caller vouches for the processor.
    unsafe {
        let (one, minus) = (L::all(L::Number::ONE), L::all(L::Number::ONE.negated()));
        [
            L::add_scaled(a, minus, c),
            L::add_scaled(b, one, c),
            L::add_scaled(c, minus, b),
            L::add_scaled(b, minus, d),
        ]
    }
}
