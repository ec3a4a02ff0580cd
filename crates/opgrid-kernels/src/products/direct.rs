//! Convolutions with very few filters, such as one for each channel: places are summed one row at a time, without panels.

use std::ops::Range;

use opgrid_core::Result;

use super::convolution::Filters;
use super::patches::Windows;
use opgrid_array::loops::arithmetic::Arithmetic;
use opgrid_array::loops::iter::{Output, parts};
use opgrid_array::loops::simd::VectorLoop;
use opgrid_array::{Element, Math};

/// Places that are summed in registers.
const LANES: usize = 32;
/// Output positions that are summed in registers, for short rows.
const FEW_LANES: usize = 8;

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
    let taps = windows.taps();
    let work = windows.places_of_image() * taps;
    let places: Vec<Tap> = (0..taps).map(|tap| Tap::new(windows, tap)).collect();
    let inside = inside(windows);
    parts::produce(out, windows.places_of_image(), work, |part, out| {
        let (number, filter) = (part / (groups * each), part % (groups * each));
        let first = (number * groups + filter / each) * channels;
        let weight = &filters.weight[filter * taps..][..taps];
        let bias = filters.bias(filter).unwrap_or(Math::<T>::ZERO);
        Image { windows, inside: inside.clone(), out, image, first, places: &places, weight, bias }
            .vectorised();
    })
}

/// Where a tap lies in the window: channel, and depth, row and column in elements of the image.
#[derive(Clone, Copy)]
struct Tap {
    channel: usize,
    at: [usize; 3],
}

impl Tap {
    /// The tap of that number.
    fn new(windows: &Windows, number: usize) -> Self {
        let [_, tall, wide] = windows.window;
        let (channel, rest) = (number / windows.taps_of_channel(), number % windows.taps_of_channel());
        let at = [rest / (tall * wide), rest / wide % tall, rest % wide];
        Self { channel, at: std::array::from_fn(|dim| at[dim] * windows.dilation[dim]) }
    }

    /// The tap in the row of the image that belongs to a row of places, if the image has that row.
    #[inline]
    fn in_row<M>(self, windows: &Windows, first: usize, place: [usize; 2], weight: M) -> Option<Weighted<M>> {
        let [depth, height, width] = windows.image;
        let at = |dim: usize| {
            let at = (place[dim] * windows.step[dim] + self.at[dim]).checked_sub(windows.padding[dim])?;
            (at < windows.image[dim]).then_some(at)
        };
        let row = ((first + self.channel) * depth + at(0)?) * height + at(1)?;
        let right = self.at[2] as isize - windows.padding[2] as isize;
        Some(Weighted { row: (row * width) as isize, right, weight })
    }
}

/// The places of each dimension at which all taps are in the image.
fn inside(windows: &Windows) -> [Range<usize>; 3] {
    std::array::from_fn(|dim| {
        let reach = windows.window[dim].saturating_sub(1) * windows.dilation[dim];
        let (step, places) = (windows.step[dim].max(1), windows.places[dim]);
        let start = windows.padding[dim].div_ceil(step).min(places);
        let room = (windows.image[dim] + windows.padding[dim]).checked_sub(reach + 1);
        let end = room.map_or(0, |room| room / step + 1);
        start..end.clamp(start, places)
    })
}

/// A part of the result: one filter on one image.
struct Image<'a, T: Element> {
    windows: &'a Windows,
    inside: [Range<usize>; 3],
    out: &'a mut [T],
    image: &'a [T],
    /// The first channel.
    first: usize,
    places: &'a [Tap],
    weight: &'a [T],
    bias: Math<T>,
}

impl<T: Element<Math: Arithmetic>> VectorLoop for Image<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { windows, inside, out, image, first, places, weight, bias } = self;
        let [depth, height, width] = windows.places;
        let mut weighted = Vec::with_capacity(weight.len());
        // The row of places whose taps these are, as long as all are in the image.
        let mut known: Option<usize> = None;
        for (row, out) in out.chunks_exact_mut(width).enumerate().take(depth * height) {
            let place = [row / height, row % height];
            let is_whole = inside[0].contains(&place[0]) && inside[1].contains(&place[1]);
            match known.filter(|before| is_whole && before + 1 == row && place[1] > 0) {
                // One row of places further is so many rows of the image.
                Some(_) => {
                    let further = (windows.step[1] * windows.image[2]) as isize;
                    weighted.iter_mut().for_each(|tap: &mut Weighted<Math<T>>| tap.row += further);
                }
                None => {
                    weighted.clear();
                    for (tap, weight) in places.iter().zip(weight) {
                        weighted.extend(tap.in_row(windows, first, place, weight.widen()));
                    }
                }
            }
            known = is_whole.then_some(row);
            sum_row((windows, &inside[2]), out, image, bias, &weighted);
        }
    }
}

/// The places of one row.
#[inline(always)]
fn sum_row<T: Element<Math: Arithmetic>>(
    (windows, inside): (&Windows, &Range<usize>),
    out: &mut [T],
    image: &[T],
    bias: Math<T>,
    weighted: &[Weighted<Math<T>>],
) {
    let (width, step) = (windows.image[2] as isize, windows.step[2] as isize);
    let count = out.len();
    for place in (0..inside.start).chain(inside.end..count) {
        out[place] = edge(place as isize * step, width, image, bias, weighted);
    }
    // The last block of a row takes places again that the one before has. How far elements are apart is decided before
    // there are sums: where it is decided among them, they do not become vectors.
    let row = (image, step, bias, weighted);
    let inside = inside.start as isize..inside.end as isize;
    let is_done = match step {
        1 => sum_blocks::<T, 1>(out, inside.clone(), row),
        2 => sum_blocks::<T, 2>(out, inside.clone(), row),
        _ => sum_blocks::<T, 0>(out, inside.clone(), row),
    };
    if !is_done {
        for place in inside {
            out[place as usize] = edge(place * step, width, image, bias, weighted);
        }
    }
}

/// The sum at a place, whose window may reach beyond the image: `start` is where that would begin without padding.
#[inline(always)]
fn edge<T: Element<Math: Arithmetic>>(
    start: isize,
    width: isize,
    image: &[T],
    bias: Math<T>,
    weighted: &[Weighted<Math<T>>],
) -> T {
    let mut sum = bias;
    for tap in weighted {
        let at = start + tap.right;
        if (0..width).contains(&at) {
            sum = sum.plus(tap.weight.times(image[(tap.row + at) as usize].widen()));
        }
    }
    T::narrow(sum)
}

/// The image, the step from place to place, what is added, and the taps.
type Taps<'a, T> = (&'a [T], isize, Math<T>, &'a [Weighted<Math<T>>]);

/// Places at which all taps are in the image, unless they are too few for a block.
#[inline(always)]
fn sum_blocks<T: Element<Math: Arithmetic>, const STEP: usize>(
    out: &mut [T],
    inside: Range<isize>,
    row: Taps<'_, T>,
) -> bool {
    let count = (inside.end - inside.start).max(0) as usize;
    if count >= LANES {
        for block in 0..count / LANES {
            sum_block::<T, STEP, LANES>(out, inside.start + (block * LANES) as isize, row);
        }
        sum_block::<T, STEP, LANES>(out, inside.end - LANES as isize, row);
    } else if count >= FEW_LANES {
        for block in 0..count / FEW_LANES {
            sum_block::<T, STEP, FEW_LANES>(out, inside.start + (block * FEW_LANES) as isize, row);
        }
        sum_block::<T, STEP, FEW_LANES>(out, inside.end - FEW_LANES as isize, row);
    }
    count >= FEW_LANES
}

/// `N` places from one on, at which all taps are in the image. Elements are as far apart as the places are, which is `STEP`
/// unless that is 0.
#[inline(always)]
fn sum_block<T: Element<Math: Arithmetic>, const STEP: usize, const N: usize>(
    out: &mut [T],
    place: isize,
    (image, step, bias, weighted): Taps<'_, T>,
) {
    let apart = if STEP == 0 { step as usize } else { STEP };
    let mut sums = [bias; N];
    for tap in weighted {
        let from = &image[(tap.row + place * step + tap.right) as usize..][..(N - 1) * apart + 1];
        for (k, sum) in sums.iter_mut().enumerate() {
            *sum = sum.plus(tap.weight.times(from[k * apart].widen()));
        }
    }
    for (out, sum) in out[place as usize..][..N].iter_mut().zip(sums) {
        *out = T::narrow(sum);
    }
}
