//! Convolutions with very few filters, such as one for each channel: places are summed one row at a time, without panels.
//! Where windows reach beyond the image, what they cover is copied between zeros before, so that no place is another case.

use opgrid_core::Result;

use super::convolution::Filters;
use super::patches::Windows;
use crate::kernels::arithmetic::Arithmetic;
use crate::kernels::iter::{Output, parts};
use crate::kernels::simd::VectorLoop;
use crate::tensor::{Element, Math};

/// Places that are summed in registers.
const LANES: usize = 32;
/// The same in short rows.
const FEW_LANES: usize = 8;
/// Elements that are copied between zeros at once: as many as the first cache holds beside results.
const COPIED: usize = 4096;

/// The convolution, row by row of places.
pub(super) fn correlate<T: Element<Math: Arithmetic>>(
    windows: &Windows,
    out: Output<'_, T>,
    image: &[T],
    filters: Filters<'_, T>,
) -> Result<()> {
    let Windows { groups, channels, filters: each, .. } = *windows;
    let [depth, height, width] = windows.places;
    let taps = windows.taps();
    let work = windows.places_of_image() * taps;
    let is_padded = windows.is_padded();
    let (sizes, rows) = if is_padded { band(windows) } else { (windows.image, height) };
    parts::produce(out, windows.places_of_image(), work, |part, out| {
        let (number, filter) = (part / (groups * each), part % (groups * each));
        let start = (number * groups + filter / each) * channels * windows.plane();
        let image = &image[start..][..channels * windows.plane()];
        let weight = &filters.weight[filter * taps..][..taps];
        let bias = filters.bias(filter).unwrap_or(Math::<T>::ZERO);
        let weighted: Vec<_> = (0..taps).map(|tap| Weighted::new(windows, sizes, tap, weight[tap])).collect();
        let mut copied = Vec::new();
        let bands = (0..depth).flat_map(|z| (0..height).step_by(rows.max(1)).map(move |y| [z, y]));
        for (first, out) in bands.zip(out.chunks_mut((rows * width).max(1))) {
            let (source, corner) = match is_padded {
                true => {
                    copy_band(windows, (image, sizes), first, &mut copied);
                    (copied.as_slice(), 0)
                }
                false => {
                    let [z, y] = std::array::from_fn(|dim| first[dim] * windows.step[dim]);
                    (image, (z * sizes[1] + y) * sizes[2])
                }
            };
            for (row, out) in out.chunks_exact_mut(width).enumerate() {
                let start = corner + row * windows.step[1] * sizes[2];
                let source = source.get(start..).unwrap_or_default();
                Row { step: windows.step[2], out, source, bias, weighted: &weighted }.vectorised();
            }
        }
    })
}

/// The sizes of what is copied of each channel for some rows of places, and how many rows that are.
fn band(windows: &Windows) -> ([usize; 3], usize) {
    let covered = |dim: usize, places: usize| {
        (places.max(1) - 1) * windows.step[dim] + (windows.window[dim] - 1) * windows.dilation[dim] + 1
    };
    let (depth, width) = (covered(0, 1), covered(2, windows.places[2]));
    let of_a_row = (windows.channels * depth * width * windows.step[1]).max(1);
    let rows = (COPIED / of_a_row).clamp(1, windows.places[1].max(1));
    ([depth, covered(1, rows), width], rows)
}

/// Copies what the windows of rows of places cover, with zeros beyond the edges of the image.
fn copy_band<T: Element>(
    windows: &Windows,
    (image, [depth, height, width]): (&[T], [usize; 3]),
    first: [usize; 2],
    copied: &mut Vec<T>,
) {
    let [planes, rows, columns] = windows.image;
    // Elements below zero become large numbers.
    let start: [usize; 2] =
        std::array::from_fn(|dim| (first[dim] * windows.step[dim]).wrapping_sub(windows.padding[dim]));
    let left = windows.padding[2].min(width);
    let inside = columns.min(width - left);
    copied.clear();
    copied.resize(windows.channels * depth * height * width, T::default());
    for (at, to) in copied.chunks_exact_mut(width).enumerate() {
        let (channel, z) = (at / height / depth, start[0].wrapping_add(at / height % depth));
        let y = start[1].wrapping_add(at % height);
        if z < planes && y < rows {
            let from = ((channel * planes + z) * rows + y) * columns;
            to[left..][..inside].copy_from_slice(&image[from..][..inside]);
        }
    }
}

/// An element of the window.
#[derive(Clone, Copy)]
struct Weighted<M> {
    /// Elements from the window's first one to it.
    offset: usize,
    weight: M,
}

impl<M: Copy> Weighted<M> {
    /// The element of that number, where channels have these sizes.
    fn new<T: Element<Math = M>>(
        windows: &Windows,
        [depth, height, width]: [usize; 3],
        number: usize,
        weight: T,
    ) -> Self {
        let [_, tall, wide] = windows.window;
        let (channel, rest) = (number / windows.taps_of_channel(), number % windows.taps_of_channel());
        let at = [rest / (tall * wide), rest / wide % tall, rest % wide];
        let [z, y, x] = std::array::from_fn(|dim| at[dim] * windows.dilation[dim]);
        Self { offset: ((channel * depth + z) * height + y) * width + x, weight: weight.widen() }
    }
}

/// A row of places, and what is summed there.
struct Row<'a, T: Element> {
    /// From place to place.
    step: usize,
    out: &'a mut [T],
    /// From the first element of the first place's window on.
    source: &'a [T],
    bias: Math<T>,
    weighted: &'a [Weighted<Math<T>>],
}

impl<T: Element<Math: Arithmetic>> VectorLoop for Row<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        // How far elements are apart is decided before there are sums: where it is decided among them, they do not
        // become vectors.
        match self.step {
            1 => self.sum::<1>(),
            2 => self.sum::<2>(),
            _ => self.sum::<0>(),
        }
    }
}

impl<T: Element<Math: Arithmetic>> Row<'_, T> {
    #[inline(always)]
    fn sum<const STEP: usize>(mut self) {
        let count = self.out.len();
        let mut done = 0;
        while done + LANES <= count {
            self.sum_block::<STEP, LANES>(done);
            done += LANES;
        }
        while done < count && count >= FEW_LANES {
            // The last block takes places again that the one before has.
            self.sum_block::<STEP, FEW_LANES>(done.min(count - FEW_LANES));
            done += FEW_LANES;
        }
        for place in done..count {
            self.sum_block::<STEP, 1>(place);
        }
    }

    /// `N` places from one on. Elements are as far apart as the places are, which is `STEP` unless that is 0.
    #[inline(always)]
    fn sum_block<const STEP: usize, const N: usize>(&mut self, place: usize) {
        let apart = if STEP == 0 { self.step } else { STEP };
        let mut sums = [self.bias; N];
        for tap in self.weighted {
            let from = &self.source[place * apart + tap.offset..][..(N - 1) * apart + 1];
            for (k, sum) in sums.iter_mut().enumerate() {
                *sum = sum.plus(tap.weight.times(from[k * apart].widen()));
            }
        }
        for (out, sum) in self.out[place..][..N].iter_mut().zip(sums) {
            *out = T::narrow(sum);
        }
    }
}
