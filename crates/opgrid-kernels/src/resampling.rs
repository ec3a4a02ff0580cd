//! Computes images of other sizes: each place of the result is a weighted sum of elements, one dimension after the other.
//!
//! Images are the last three dimensions, or the last two or one with sizes of 1 in front.

use opgrid_core::Result;

use crate::parts;
use opgrid_array::error::argument;
use opgrid_array::loops::arithmetic::Arithmetic;
use opgrid_array::loops::simd::vectorised;
use opgrid_array::{Array, Element, Math};

/// Which elements of a dimension each place of the result is made of, and how much they weigh.
pub struct Line<M> {
    /// Elements of the dimension.
    size: usize,
    /// The elements of all places, with their weights.
    taps: Vec<(usize, M)>,
    /// Where the taps of each place end.
    ends: Vec<usize>,
}

impl<M: Arithmetic> Line<M> {
    /// A dimension of so many elements, without places yet.
    pub fn new(size: usize) -> Self {
        Self { size, taps: Vec::new(), ends: Vec::new() }
    }

    /// A dimension that stays what it is.
    pub fn same(size: usize) -> Self {
        let mut line = Self::new(size);
        (0..size).for_each(|element| line.push([(element, M::ONE)]));
        line
    }

    /// Adds a place.
    pub fn push(&mut self, taps: impl IntoIterator<Item = (usize, M)>) {
        self.taps.extend(taps);
        self.ends.push(self.taps.len());
    }

    /// The size of the dimension.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The size of the dimension in the result.
    pub fn places(&self) -> usize {
        self.ends.len()
    }

    /// The elements of each place, with their weights.
    pub fn each(&self) -> impl Iterator<Item = &[(usize, M)]> {
        let mut start = 0;
        self.ends.iter().map(move |end| {
            let taps = &self.taps[start..*end];
            start = *end;
            taps
        })
    }

    /// Whether each place is the element with its number.
    pub fn is_same(&self) -> bool {
        self.places() == self.size
            && self
                .each()
                .enumerate()
                .all(|(place, taps)| matches!(taps, [(at, weight)] if *at == place && *weight == M::ONE))
    }

    /// Replaces blocks of as many elements as the dimension has by blocks of the places; elements are `inner` numbers each.
    fn apply(&self, from: &[M], inner: usize) -> Vec<M> {
        let blocks = from.len() / (self.size * inner).max(1);
        let mut result = vec![M::ZERO; blocks * self.places() * inner];
        let places = result.chunks_exact_mut((self.places() * inner).max(1));
        for (block, places) in from.chunks_exact((self.size * inner).max(1)).zip(places) {
            if inner == 1 {
                for (place, taps) in places.iter_mut().zip(self.each()) {
                    *place =
                        taps.iter().fold(M::ZERO, |sum, (at, weight)| sum.plus(weight.times(block[*at])));
                }
                continue;
            }
            for (place, taps) in places.chunks_exact_mut(inner).zip(self.each()) {
                for (at, weight) in taps {
                    let (row, weight) = (&block[at * inner..][..inner], *weight);
                    vectorised(|| {
                        place.iter_mut().zip(row).for_each(|(sum, x)| *sum = sum.plus(weight.times(*x)));
                    });
                }
            }
        }
        result
    }
}

impl Line<f64> {
    /// The weights times the largest power of two for which they keep to 16 bits, rounded, and its exponent. An element counts
    /// once for each place.
    fn in_16_bits(&self) -> (Line<i32>, u32) {
        const MOST: u32 = 22;
        let places: Vec<Vec<(usize, f64)>> = self.each().map(once).collect();
        let largest = places.iter().flatten().fold(0.0f64, |largest, (_, weight)| largest.max(*weight));
        let fits = |digits: &u32| (0.5 + largest * f64::from(1 << (digits + 1))) as i32 >= 1 << 15;
        let digits = (0..MOST).find(fits).unwrap_or(MOST);
        let mut line = Line::new(self.size);
        for taps in places {
            let whole = |weight: f64| (weight * f64::from(1 << digits) + 0.5f64.copysign(weight)) as i32;
            line.push(taps.into_iter().map(|(at, weight)| (at, whole(weight))));
        }
        (line, digits)
    }
}

/// Elements with the sums of their weights.
fn once(taps: &[(usize, f64)]) -> Vec<(usize, f64)> {
    let mut elements: Vec<(usize, f64)> = Vec::with_capacity(taps.len());
    for (at, weight) in taps {
        match elements.iter_mut().find(|(known, _)| known == at) {
            Some((_, sum)) => *sum += weight,
            None => elements.push((*at, *weight)),
        }
    }
    elements
}

/// Images whose last three dimensions are resampled.
///
/// # Errors
///
/// Arrays whose sizes are not those of the lines, overlap, tensors without data or used by others.
pub fn resample<T: Element<Math: Arithmetic>>(
    out: &Array,
    input: &Array,
    lines: &[Line<Math<T>>; 3],
) -> Result<()> {
    let plane: usize = lines.iter().map(|line| line.size).product();
    let places: usize = lines.iter().map(Line::places).product();
    let inner = |dim: usize, done: bool| -> usize {
        lines[dim + 1..].iter().map(|line| if done { line.places() } else { line.size }).product()
    };
    parts::read::<T, _>(out, input, |input| {
        check_planes(input.len(), plane, out, places)?;
        parts::produce::<T>(out, places, plane.saturating_add(places).saturating_mul(4), |part, out| {
            let mut image: Vec<Math<T>> = input[part * plane..][..plane].iter().map(|x| x.widen()).collect();
            for (dim, line) in lines.iter().enumerate().rev().filter(|(_, line)| !line.is_same()) {
                image = line.apply(&image, inner(dim, true));
            }
            out.iter_mut().zip(image).for_each(|(out, x)| *out = T::narrow(x));
        })
    })
}

/// Images of bytes, whose last three dimensions are resampled.
///
/// As in torch and in Pillow weights are whole numbers of a power of two, with as many digits as 16 bits hold, and results are
/// rounded to bytes after each dimension.
///
/// # Errors
///
/// As [`resample`].
pub fn resample_bytes(out: &Array, input: &Array, lines: &[Line<f64>; 3]) -> Result<()> {
    let plane: usize = lines.iter().map(|line| line.size).product();
    let places: usize = lines.iter().map(Line::places).product();
    let scaled = lines.each_ref().map(Line::in_16_bits);
    parts::read::<u8, _>(out, input, |input| {
        check_planes(input.len(), plane, out, places)?;
        parts::produce::<u8>(out, places, plane.saturating_add(places).saturating_mul(4), |part, out| {
            let mut image: Vec<i32> = input[part * plane..][..plane].iter().map(|x| i32::from(*x)).collect();
            for dim in (0..lines.len()).rev().filter(|dim| !lines[*dim].is_same()) {
                let (weights, digits) = &scaled[dim];
                let inner = scaled[dim + 1..].iter().map(|(line, _)| line.places()).product();
                image = weights.apply(&image, inner);
                let half = 1 << digits >> 1;
                image.iter_mut().for_each(|sum| *sum = ((*sum + half) >> digits).clamp(0, 255));
            }
            out.iter_mut().zip(image).for_each(|(out, x)| *out = x as u8);
        })
    })
}

/// Images whose last three dimensions are made of elements by their numbers.
///
/// # Errors
///
/// As [`resample`].
pub fn choose<T: Element>(
    out: &Array,
    input: &Array,
    image: [usize; 3],
    chosen: &[Vec<usize>; 3],
) -> Result<()> {
    let [_, height, width] = image;
    let plane: usize = image.iter().product();
    let places: usize = chosen.iter().map(Vec::len).product();
    let [depths, rows, columns] = chosen;
    parts::read::<T, _>(out, input, |input| {
        check_planes(input.len(), plane, out, places)?;
        parts::produce::<T>(out, places, places, |part, out| {
            let input = &input[part * plane..][..plane];
            let lines = depths.iter().flat_map(|z| rows.iter().map(move |y| (z * height + y) * width));
            for (out, first) in out.chunks_exact_mut(columns.len().max(1)).zip(lines) {
                let row = &input[first..first + width];
                out.iter_mut().zip(columns).for_each(|(out, x)| *out = row[*x]);
            }
        })
    })
}

/// # Errors
///
/// Other numbers of planes in the input and the output.
pub(super) fn check_planes(input: usize, from: usize, out: &Array, to: usize) -> Result<()> {
    let written = out.spec().numel() as usize;
    if written == 0 || (from > 0 && to > 0 && input / from == written / to) {
        Ok(())
    } else {
        Err(argument(format!(
            "found {input} elements in planes of {from} for {written} in planes of {to}, expected as many planes"
        )))
    }
}
