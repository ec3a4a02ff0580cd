//! Convolutions with very few filters, such as one for each channel: places are summed one row at a time, without panels.

use opgrid_core::Result;

use super::convolution::Filters;
use super::patches::Windows;
use crate::kernels::arithmetic::Arithmetic;
use crate::kernels::iter::{Output, parts};
use crate::kernels::simd::VectorLoop;
use crate::tensor::{Element, Math};

/// Places that are summed in registers.
const LANES: usize = 32;

/// One element of the window in each row of an image that takes part.
#[derive(Clone, Copy)]
struct Weighted<M> {
    /// Where the window's first element in this row of the image would be at place 0, which may lie before it.
    row: isize,
    /// From that to this element.
    right: isize,
    weight: M,
}

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
    parts::produce(out, windows.places_of_image(), work, |part, out| {
        let (number, filter) = (part / (groups * each), part % (groups * each));
        let group = filter / each;
        let weight = &filters.weight[filter * taps..][..taps];
        let first = (number * groups + group) * channels;
        let bias = filters.bias(filter).unwrap_or(Math::<T>::ZERO);
        let mut weighted = Vec::with_capacity(taps);
        for (row, out) in out.chunks_exact_mut(width).enumerate().take(depth * height) {
            weighted.clear();
            for (tap, weight) in weight.iter().enumerate() {
                weighted.extend(in_row(windows, first, [row / height, row % height], tap, weight.widen()));
            }
            Row { windows, out, image, bias, weighted: &weighted }.vectorised();
        }
    })
}

/// The tap in the row of the image that belongs to a row of places, if the image has that row.
fn in_row<M>(
    windows: &Windows,
    first: usize,
    place: [usize; 2],
    tap: usize,
    weight: M,
) -> Option<Weighted<M>> {
    let ([depth, height, width], [_, tall, wide]) = (windows.image, windows.window);
    let (channel, rest) = (tap / windows.taps_of_channel(), tap % windows.taps_of_channel());
    let at = |dim: usize, place: usize, tap: usize| {
        let at =
            (place * windows.step[dim] + tap * windows.dilation[dim]).checked_sub(windows.padding[dim])?;
        (at < windows.image[dim]).then_some(at)
    };
    let (z, y) = (at(0, place[0], rest / (tall * wide))?, at(1, place[1], rest / wide % tall)?);
    let row = ((first + channel) * depth + z) * height + y;
    let right = (rest % wide * windows.dilation[2]) as isize - windows.padding[2] as isize;
    Some(Weighted { row: (row * width) as isize, right, weight })
}

/// A row of places, and what is summed there.
struct Row<'a, T: Element> {
    windows: &'a Windows,
    out: &'a mut [T],
    image: &'a [T],
    bias: Math<T>,
    weighted: &'a [Weighted<Math<T>>],
}

impl<T: Element<Math: Arithmetic>> VectorLoop for Row<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { windows, out, image, bias, weighted } = self;
        sum_row(windows, out, image, bias, weighted);
    }
}

/// The places of one row.
#[inline(always)]
fn sum_row<T: Element<Math: Arithmetic>>(
    windows: &Windows,
    out: &mut [T],
    image: &[T],
    bias: Math<T>,
    weighted: &[Weighted<Math<T>>],
) {
    let (width, step) = (windows.image[2] as isize, windows.step[2] as isize);
    // The places at which all taps are in the image.
    let left = weighted.iter().map(|tap| tap.right).min().unwrap_or(0);
    let right = weighted.iter().map(|tap| tap.right).max().unwrap_or(0);
    let count = out.len() as isize;
    let start = if left < 0 { (step - 1 - left) / step } else { 0 }.min(count);
    let end = if width > right { (width - right + step - 1) / step } else { 0 }.clamp(start, count);
    let edge = |place: isize| {
        let inside = weighted.iter().filter(|tap| (0..width).contains(&(place * step + tap.right)));
        let sum = inside.fold(bias, |sum, tap| {
            let element = image[(tap.row + place * step + tap.right) as usize].widen();
            sum.plus(tap.weight.times(element))
        });
        T::narrow(sum)
    };
    for place in (0..start).chain(end..count) {
        out[place as usize] = edge(place);
    }
    let whole = start + (end - start) / LANES as isize * LANES as isize;
    for place in whole..end {
        out[place as usize] = edge(place);
    }
    let blocks = out[start as usize..whole as usize].as_chunks_mut::<LANES>().0;
    for (block, out) in blocks.iter_mut().enumerate() {
        let place = start + (block * LANES) as isize;
        let mut sums = [bias; LANES];
        for tap in weighted {
            let from = &image[(tap.row + place * step + tap.right) as usize..];
            match step {
                1 => add_weighted::<T, 1>(&mut sums, from, tap.weight, 1),
                2 => add_weighted::<T, 2>(&mut sums, from, tap.weight, 2),
                _ => add_weighted::<T, 0>(&mut sums, from, tap.weight, step as usize),
            }
        }
        for (out, sum) in out.iter_mut().zip(sums) {
            *out = T::narrow(sum);
        }
    }
}

/// Adds elements that are `step` apart, which is `STEP` unless that is 0.
#[inline(always)]
fn add_weighted<T: Element<Math: Arithmetic>, const STEP: usize>(
    sums: &mut [Math<T>; LANES],
    from: &[T],
    weight: Math<T>,
    step: usize,
) {
    let step = if STEP == 0 { step } else { STEP };
    let from = &from[..(LANES - 1) * step + 1];
    for (k, sum) in sums.iter_mut().enumerate() {
        *sum = sum.plus(weight.times(from[k * step].widen()));
    }
}
