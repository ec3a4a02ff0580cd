//! Makes one element of those under a window that moves over images: averages and extremes, and their gradients.
//!
//! Images are the last three dimensions, or the last two or one with sizes of 1 in front.

use opgrid_core::Result;

use crate::choice::Bounded;
use crate::parts;
use crate::resampling::check_planes;
use opgrid_array::error::argument;
use opgrid_array::loops::arithmetic::{Arithmetic, Ordered};
use opgrid_array::loops::copy;
use opgrid_array::loops::iter::lanes::in_lanes;
use opgrid_array::loops::simd::VectorLoop;
use opgrid_array::{Array, Element, Math};

/// What one place of the window covers along a dimension.
#[derive(Clone, Copy, Debug)]
pub struct Reach {
    /// The first element.
    pub start: usize,
    /// How many elements.
    pub count: usize,
    /// From one to the next.
    pub step: usize,
    /// How many there would be if the padding were elements.
    pub padded: usize,
}

/// All places of a window on images.
pub struct Windows {
    /// The sizes of images.
    pub image: [usize; 3],
    /// What the places cover, by dimension.
    pub reaches: [Vec<Reach>; 3],
}

/// One place.
type Place<'a> = [&'a Reach; 3];

impl Windows {
    fn plane(&self) -> usize {
        self.image.iter().product()
    }

    fn places(&self) -> usize {
        self.reaches.iter().map(Vec::len).product()
    }

    /// Elements under all places of a plane.
    fn work(&self) -> usize {
        let along = |reaches: &Vec<Reach>| reaches.iter().map(|reach| reach.count).sum::<usize>();
        self.reaches.iter().map(along).fold(1, usize::saturating_mul)
    }

    /// All places, the last dimension the fastest.
    #[inline(always)]
    fn each(&self) -> impl Iterator<Item = Place<'_>> {
        let [depth, rows, columns] = &self.reaches;
        depth.iter().flat_map(move |z| rows.iter().flat_map(move |y| columns.iter().map(move |x| [z, y, x])))
    }

    /// Calls `f` with the first element of each row of a place.
    #[inline(always)]
    fn for_each_row(&self, [z, y, x]: Place<'_>, mut f: impl FnMut(usize)) {
        let [_, height, width] = self.image;
        for depth in 0..z.count {
            for row in 0..y.count {
                f(((z.start + depth * z.step) * height + y.start + row * y.step) * width + x.start);
            }
        }
    }
}

/// What a sum is divided by.
#[derive(Clone, Copy, Debug)]
pub enum Divisor {
    /// The number of elements.
    Elements,
    /// The number of elements, including the padding.
    Padded,
    /// This number.
    Given(i64),
}

impl Divisor {
    #[inline(always)]
    fn at(self, place: Place<'_>) -> i64 {
        match self {
            Self::Elements => place.iter().map(|reach| reach.count as i64).product(),
            Self::Padded => place.iter().map(|reach| reach.padded as i64).product(),
            Self::Given(number) => number,
        }
    }
}

/// Numbers that can be divided by a count.
pub trait Divided: Arithmetic {
    /// The quotient; of integers without its fraction.
    fn divided(self, by: i64) -> Self;
}

impl Divided for f32 {
    #[inline(always)]
    fn divided(self, by: i64) -> Self {
        self / by as f32
    }
}

impl Divided for f64 {
    #[inline(always)]
    fn divided(self, by: i64) -> Self {
        self / by as f64
    }
}

impl Divided for i64 {
    #[inline(always)]
    fn divided(self, by: i64) -> Self {
        self.wrapping_div(by)
    }
}

/// The average under each place. The divisor is not zero.
///
/// # Errors
///
/// Arrays whose sizes are not those of the windows, overlap, tensors without data or used by others.
pub fn average<T: Element<Math: Divided>>(
    out: &Array,
    input: &Array,
    windows: &Windows,
    divisor: Divisor,
) -> Result<()> {
    let plane = windows.plane();
    parts::read::<T, _>(out, input, |input| {
        check_planes(input.len(), plane, out, windows.places())?;
        parts::produce::<T>(out, windows.places(), windows.work(), |part, out| {
            let input = &input[part * plane..][..plane];
            for (out, place) in out.iter_mut().zip(windows.each()) {
                let [.., x] = place;
                let mut sum = Math::<T>::ZERO;
                windows.for_each_row(place, |first| {
                    sum = added(sum, &input[first..first + x.count]);
                });
                *out = T::narrow(sum.divided(divisor.at(place)));
            }
        })
    })
}

/// A sum with the elements of one more row, of a long one in lanes.
#[inline(always)]
fn added<T: Element<Math: Divided>>(sum: Math<T>, row: &[T]) -> Math<T> {
    const LANES: usize = 8;
    let add = |sum: Math<T>, element: T| sum.plus(element.widen());
    if row.len() < 2 * LANES {
        return row.iter().fold(sum, |sum, element| add(sum, *element));
    }
    let zeros = [Math::<T>::ZERO; LANES];
    sum.plus(in_lanes(([], row), zeros, |sum, []: [T; 0], element| add(sum, element), Arithmetic::plus))
}

/// The gradient of [`average`]: each element gets its share of the gradients of all places that cover it.
///
/// # Errors
///
/// As [`average`].
pub fn average_backward<T: Element<Math: Divided>>(
    out: &Array,
    grad: &Array,
    windows: &Windows,
    divisor: Divisor,
) -> Result<()> {
    let (plane, places) = (windows.plane(), windows.places());
    parts::read::<T, _>(out, grad, |grad| {
        check_planes(grad.len(), places, out, plane)?;
        parts::produce::<T>(out, plane, windows.work().saturating_add(plane), |part, out| {
            let mut sums = vec![Math::<T>::ZERO; plane];
            for (grad, place) in grad[part * places..][..places].iter().zip(windows.each()) {
                let [.., x] = place;
                let share = grad.widen().divided(divisor.at(place));
                windows.for_each_row(place, |first| {
                    sums[first..first + x.count].iter_mut().for_each(|sum| *sum = sum.plus(share));
                });
            }
            out.iter_mut().zip(sums).for_each(|(out, sum)| *out = T::narrow(sum));
        })
    })
}

/// The largest element under each place, and its number in the plane. Of several the first one counts, of NaNs the last.
///
/// # Errors
///
/// As [`average`].
pub fn largest<T: Element<Math: Bounded>>(
    out: &Array,
    indices: &Array,
    input: &Array,
    windows: &Windows,
) -> Result<()> {
    let plane = windows.plane();
    let chunks = chunks(&windows.reaches[2], plane);
    let input = &copy::apart_from(indices, input)?;
    parts::read::<T, _>(out, input, |input| {
        check_planes(input.len(), plane, out, windows.places())?;
        let work = windows.work().saturating_mul(2);
        parts::produce_two::<T, i64>([out, indices], windows.places(), work, |part, out, indices| {
            let input = &input[part * plane..][..plane];
            LargestOfPlane { windows, chunks: &chunks, input, out, indices }.vectorised();
        })
    })
}

/// As [`largest`], with places of their own for each plane. `windows` gives those of a plane, of which all have as many.
///
/// # Errors
///
/// As [`average`].
pub fn largest_of_each<T: Element<Math: Bounded>>(
    [out, indices]: [&Array; 2],
    input: &Array,
    [plane, places]: [usize; 2],
    windows: impl Fn(usize) -> Windows + Sync,
) -> Result<()> {
    let input = &copy::apart_from(indices, input)?;
    parts::read::<T, _>(out, input, |input| {
        check_planes(input.len(), plane, out, places)?;
        let work = plane.saturating_mul(2);
        parts::produce_two::<T, i64>([out, indices], places, work, |part, out, indices| {
            let (windows, input) = (windows(part), &input[part * plane..][..plane]);
            let chunks = chunks(&windows.reaches[2], plane);
            LargestOfPlane { windows: &windows, chunks: &chunks, input, out, indices }.vectorised();
        })
    })
}

/// As [`largest`], without the numbers: those of one plane are kept at a time, which takes less memory than those of all.
///
/// # Errors
///
/// As [`average`].
pub fn largest_elements<T: Element<Math: Bounded>>(
    out: &Array,
    input: &Array,
    windows: &Windows,
) -> Result<()> {
    let (plane, places) = (windows.plane(), windows.places());
    let chunks = chunks(&windows.reaches[2], plane);
    parts::read::<T, _>(out, input, |input| {
        check_planes(input.len(), plane, out, places)?;
        parts::produce::<T>(out, places, windows.work().saturating_mul(2), |part, out| {
            let input = &input[part * plane..][..plane];
            let mut indices = vec![0; places];
            LargestOfPlane { windows, chunks: &chunks, input, out, indices: &mut indices }.vectorised();
        })
    })
}

/// Elements of a plane whose sums need no memory of their own.
const FEW: usize = 256;
/// Places beside each other whose extremes are kept in registers or near them.
const CHUNK: usize = 16;

/// Places beside each other that are looked at together.
struct Chunk {
    /// The first one.
    start: usize,
    /// How far the elements under one are from those under the next, where all cover as many, as far from each other; 0 where
    /// they do not, as at the edges.
    apart: usize,
}

/// A row of places in chunks; the last one takes places again that the one before has.
fn chunks(columns: &[Reach], plane: usize) -> Vec<Chunk> {
    let chunk = |start: usize| {
        let start = start.min(columns.len().saturating_sub(CHUNK));
        let all = &columns[start..columns.len().min(start + CHUNK)];
        let first = all[0];
        let apart = all.get(1).map_or(1, |second| second.start.saturating_sub(first.start));
        let as_first = |(at, x): (usize, &Reach)| {
            (x.start, x.count, x.step) == (first.start + at * apart, first.count, first.step)
        };
        let is_even =
            all.len() == CHUNK && plane <= u32::MAX as usize && all.iter().enumerate().all(as_first);
        Chunk { start, apart: if is_even { apart } else { 0 } }
    };
    (0..columns.len()).step_by(CHUNK).map(chunk).collect()
}

/// The places of a plane.
struct LargestOfPlane<'a, T> {
    windows: &'a Windows,
    chunks: &'a [Chunk],
    input: &'a [T],
    out: &'a mut [T],
    indices: &'a mut [i64],
}

impl<T: Element<Math: Bounded>> VectorLoop for LargestOfPlane<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { windows, chunks, input, out, indices } = self;
        let [depth, rows, columns] = &windows.reaches;
        let width = columns.len().max(1);
        let lines = depth.iter().flat_map(|z| rows.iter().map(move |y| (z, y)));
        let outs = out.chunks_exact_mut(width).zip(indices.chunks_exact_mut(width));
        for ((z, y), (out, indices)) in lines.zip(outs) {
            for &Chunk { start, apart } in chunks {
                let end = columns.len().min(start + CHUNK);
                let line = Line { windows, input, z, y, columns: &columns[start..end] };
                let (out, indices) = (&mut out[start..end], &mut indices[start..end]);
                match apart {
                    1 => line.evenly::<1>(out, indices),
                    2 => line.evenly::<2>(out, indices),
                    _ => line.one_by_one(out, indices),
                }
            }
        }
    }
}

/// Places beside each other on one plane.
struct Line<'a, T> {
    windows: &'a Windows,
    input: &'a [T],
    z: &'a Reach,
    y: &'a Reach,
    columns: &'a [Reach],
}

impl<T: Element<Math: Bounded>> Line<'_, T> {
    /// Where each row of elements under the places starts.
    #[inline(always)]
    fn rows(&self) -> impl Iterator<Item = usize> {
        let ([_, height, width], z, y) = (self.windows.image, *self.z, *self.y);
        let row = move |depth: usize, row: usize| {
            ((z.start + depth * z.step) * height + y.start + row * y.step) * width
        };
        (0..z.count).flat_map(move |depth| (0..y.count).map(move |at| row(depth, at)))
    }

    /// Where the window begins, without its column.
    fn corner(&self) -> usize {
        let [_, height, width] = self.windows.image;
        (self.z.start * height + self.y.start) * width
    }

    /// `CHUNK` places, each so far from the one before, that cover as many elements.
    #[inline(always)]
    fn evenly<const APART: usize>(&self, out: &mut [T], indices: &mut [i64]) {
        let first = self.columns[0];
        let mut best = [Math::<T>::LOWEST; CHUNK];
        // Numbers of 32 bits, of which a vector has as many as of floats.
        let mut at: [u32; CHUNK] =
            std::array::from_fn(|place| (self.corner() + first.start + place * APART) as u32);
        for start in self.rows() {
            for k in 0..first.count {
                let here = start + first.start + k * first.step;
                let from = &self.input[here..][..(CHUNK - 1) * APART + 1];
                for place in 0..CHUNK {
                    let value = from[place * APART].widen();
                    choose::<T, u32>(&mut best[place], &mut at[place], value, (here + place * APART) as u32);
                }
            }
        }
        out.iter_mut().zip(best).for_each(|(out, best)| *out = T::narrow(best));
        indices.iter_mut().zip(at).for_each(|(index, at)| *index = i64::from(at));
    }

    /// Any places.
    #[inline(always)]
    fn one_by_one(&self, out: &mut [T], indices: &mut [i64]) {
        for ((out, index), x) in out.iter_mut().zip(indices).zip(self.columns) {
            let (mut best, mut at) = (Math::<T>::LOWEST, self.corner() + x.start);
            for start in self.rows() {
                let from = self.input[start + x.start..].iter().step_by(x.step).take(x.count);
                for (k, value) in from.enumerate() {
                    choose::<T, usize>(&mut best, &mut at, value.widen(), start + x.start + k * x.step);
                }
            }
            (*out, *index) = (T::narrow(best), at as i64);
        }
    }
}

/// Takes a value that is larger; without a branch, which nobody could foretell.
#[inline(always)]
fn choose<T: Element<Math: Bounded>, I: Copy>(best: &mut Math<T>, at: &mut I, value: Math<T>, here: I) {
    let is_larger = best.is_below(value) | value.is_nan();
    *best = if is_larger { value } else { *best };
    *at = if is_larger { here } else { *at };
}

/// The gradient of [`largest`]: each gradient goes to the element that was chosen.
///
/// # Errors
///
/// As [`average`]; an index beyond the plane.
pub fn largest_backward<T: Element<Math: Arithmetic>>(
    out: &Array,
    grad: &Array,
    indices: &Array,
    [plane, places]: [usize; 2],
) -> Result<()> {
    parts::read::<T, _>(out, grad, |grad| {
        parts::read::<i64, _>(out, indices, |indices| {
            check_planes(grad.len(), places, out, plane)?;
            check_indices(indices, plane)?;
            parts::produce::<T>(out, plane, plane.saturating_add(places), |part, out| {
                let (mut few, mut many) = ([Math::<T>::ZERO; FEW], Vec::new());
                let sums = match few.get_mut(..plane) {
                    Some(sums) => sums,
                    None => {
                        many.resize(plane, Math::<T>::ZERO);
                        &mut many[..]
                    }
                };
                let range = part * places..(part + 1) * places;
                for (grad, index) in grad[range.clone()].iter().zip(&indices[range]) {
                    let sum = &mut sums[*index as usize];
                    *sum = sum.plus(grad.widen());
                }
                out.iter_mut().zip(sums).for_each(|(out, sum)| *out = T::narrow(*sum));
            })
        })
    })
}

/// Writes each element of `input` to the place in its plane that `indices` says, and zeros elsewhere: an inverse of [`largest`]. Of several
/// elements for one place the last one stays.
///
/// # Errors
///
/// As [`average`]; an index beyond the plane.
pub fn unpool<T: Element>(
    out: &Array,
    input: &Array,
    indices: &Array,
    [plane, places]: [usize; 2],
) -> Result<()> {
    parts::read::<T, _>(out, input, |input| {
        parts::read::<i64, _>(out, indices, |indices| {
            check_planes(input.len(), places, out, plane)?;
            check_indices(indices, plane)?;
            parts::produce::<T>(out, plane, plane.saturating_add(places), |part, out| {
                out.fill(T::default());
                let range = part * places..(part + 1) * places;
                for (element, index) in input[range.clone()].iter().zip(&indices[range]) {
                    out[*index as usize] = *element;
                }
            })
        })
    })
}

/// # Errors
///
/// An index that is no number of an element of a plane.
fn check_indices(indices: &[i64], plane: usize) -> Result<()> {
    let is_beyond = |index: &i64| !(0..plane as i64).contains(index);
    // Looked at all of them without branches first, as there is none.
    let some_are = indices.iter().fold(false, |some, index| some | is_beyond(index));
    match indices.iter().find(|index| some_are && is_beyond(index)) {
        Some(index) => Err(argument(format!(
            "argument `indices` holds {index}, expected numbers from 0 to {}",
            plane as i64 - 1
        ))),
        None => Ok(()),
    }
}
