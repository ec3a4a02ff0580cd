//! Images with zeros around them, as the right factor of a convolution: read where they are, so that no patch is packed.
//!
//! ```text
//! tap at row 0, column 0   ┌ a b c d … │ k l m n …        a row of the factor is the padded image, from the tap's element on
//! tap at row 0, column 1   │ b c d …   │ l m n …
//! tap at row 1, column 0   └ k l m n …
//!                            └── row of places ──┘         as wide as the padded image: a few columns more than places
//! ```
//!
//! Products at the columns between rows of places are computed, too, and left out. Where the window moves by more than one
//! element, the elements that it meets at one tap are a *phase* of the image: phases lie apart, so that in each the window
//! moves by one.
#![allow(unsafe_code)]

use std::ops::Range;

use super::matrix::{Factor, Matrix};
use super::patches::{Windows, pack_every_other, pack_line, volume};
use super::scheme::Scheme;
use super::tile::Layout;
use opgrid_array::loops::simd::VectorLoop;

/// Packing an element of a patch takes as long as its products with so many filters.
const FILTERS_OF_PACKING: usize = 16;

/// How images lie with zeros around them, for some places of the outermost dimension that has several. Lists are depth,
/// row, column.
#[derive(Clone, Copy)]
pub(super) struct Grid<'a> {
    windows: &'a Windows,
    /// The places.
    pub places: [usize; 3],
    /// Parts of all places that lie before them.
    before: usize,
    /// Where the window begins at the first of them.
    origin: [isize; 3],
    /// The sizes of a phase.
    sizes: [usize; 3],
    /// How many phases there are.
    phases: [usize; 3],
}

impl<'a> Grid<'a> {
    /// Creates the grid of all output positions.
    pub fn new(windows: &'a Windows) -> Self {
        let mut phases = [1; 3];
        let mut sizes = windows.places;
        for dim in 0..3 {
            let last = (windows.window[dim].max(1) - 1).saturating_mul(windows.dilation[dim]);
            phases[dim] = windows.step[dim].min(last.saturating_add(1));
            sizes[dim] = sizes[dim].saturating_add(last / windows.step[dim]);
        }
        let origin = windows.padding.map(|padding| -(padding as isize));
        Self { windows, places: windows.places, before: 0, origin, sizes, phases }
    }

    /// Whether the columns that are left out take less time than packing patches.
    pub fn is_worth(&self) -> bool {
        let Windows { filters, .. } = *self.windows;
        let places = volume(self.places);
        let spare = self.columns().saturating_sub(places);
        let elements = volume(self.phases).saturating_mul(volume(self.sizes));
        let is_sparse = spare.saturating_mul(filters) > places.saturating_mul(FILTERS_OF_PACKING);
        // Zeros around small images may be more than there is memory for.
        let is_large = elements / 4 > self.windows.plane();
        let has_elements =
            self.windows.batch * self.windows.groups * self.windows.channels * self.windows.plane() > 0;
        self.windows.taps_of_channel() > 1 && places > 0 && has_elements && !is_sparse && !is_large
    }

    /// The outermost dimension that has several places.
    fn outer(&self) -> usize {
        self.windows.places.iter().position(|places| *places > 1).unwrap_or(2)
    }

    /// How many parts of places there are to cut: those of the outermost dimension that has several.
    pub fn parts(&self) -> usize {
        self.places[self.outer()]
    }

    /// Some of the parts.
    pub fn part(self, parts: Range<usize>) -> Self {
        let outer = self.outer();
        let mut part = self;
        part.places[outer] = parts.len();
        part.before = self.before + parts.start;
        part.sizes[outer] = self.sizes[outer] - self.places[outer] + parts.len();
        part.origin[outer] += (parts.start * self.windows.step[outer]) as isize;
        part
    }

    /// The number of the first place among all of an image.
    pub fn first_place(&self) -> usize {
        self.before * self.windows.places[self.outer() + 1..].iter().product::<usize>()
    }

    /// Columns of the factor: the places, and what lies between their rows.
    pub fn columns(&self) -> usize {
        let [depth, height, width] = self.places.map(|places| places.max(1) - 1);
        let [_, rows, columns] = self.sizes;
        depth.saturating_mul(rows).saturating_add(height).saturating_mul(columns).saturating_add(width + 1)
    }

    /// Where the rows of places begin among the columns. Each has as many places.
    pub fn rows(&self) -> impl Iterator<Item = usize> {
        let [depth, height, _] = self.places;
        let [_, rows, columns] = self.sizes;
        (0..depth).flat_map(move |z| (0..height).map(move |y| (z * rows + y) * columns))
    }

    /// Elements of a channel on the grid.
    fn plane(&self) -> usize {
        volume(self.phases) * volume(self.sizes)
    }

    /// Elements that [`Self::fill`] writes, where tiles have so many columns.
    pub fn elements(&self, width: usize) -> usize {
        self.windows.channels * self.plane() + width
    }

    /// Where each tap begins, in numbers of so many for an element.
    pub fn offsets(&self, numbers: usize) -> Vec<usize> {
        let Windows { window: [depth, height, width], channels, .. } = *self.windows;
        let mut offsets = Vec::with_capacity(self.windows.taps());
        for z in 0..depth {
            for y in 0..height {
                offsets.extend((0..width).map(|x| self.offset([z, y, x]) * numbers));
            }
        }
        let (each, plane) = (offsets.len(), self.plane() * numbers);
        for tap in each..channels * each {
            offsets.push(offsets[tap - each] + plane);
        }
        offsets
    }

    /// Where a tap of the first channel begins.
    fn offset(&self, tap: [usize; 3]) -> usize {
        let Windows { step, dilation, .. } = self.windows;
        let (mut phase, mut element) = (0, 0);
        for dim in 0..3 {
            let at = tap[dim] * dilation[dim];
            phase = phase * self.phases[dim] + at % step[dim];
            element = element * self.sizes[dim] + at / step[dim];
        }
        phase * volume(self.sizes) + element
    }

    /// Elements of a phase, along a dimension, that are elements of the image.
    fn within(&self, dim: usize, phase: usize) -> Range<usize> {
        let step = self.windows.step[dim] as isize;
        let first = self.origin[dim] + phase as isize;
        // The first number whose element is not before that one of the image.
        let reaches = |element: isize| {
            let distance = element.saturating_sub(first).saturating_add(step - 1);
            distance.div_euclid(step).clamp(0, self.sizes[dim] as isize)
        };
        let (start, end) = (reaches(0), reaches(self.windows.image[dim] as isize));
        start as usize..end.max(start) as usize
    }

    /// The lines of a channel that hold elements of an image; everything between them is zero.
    pub fn lines(&self) -> Vec<Line> {
        let [_, height, width] = self.windows.image;
        let [_, rows, columns] = self.phases;
        let mut lines = Vec::new();
        for number in 0..volume(self.phases) {
            let phase = [number / (rows * columns), number / columns % rows, number % columns];
            let [deep, high, wide]: [Range<usize>; 3] =
                std::array::from_fn(|dim| self.within(dim, phase[dim]));
            if wide.is_empty() {
                continue;
            }
            let at = |dim: usize, place: usize| {
                (self.origin[dim] + (phase[dim] + place * self.windows.step[dim]) as isize) as usize
            };
            for z in deep {
                for y in high.clone() {
                    let to =
                        number * volume(self.sizes) + (z * self.sizes[1] + y) * self.sizes[2] + wide.start;
                    let from = (at(0, z) * height + at(1, y)) * width + at(2, wide.start);
                    lines.push(Line { to, from, count: wide.len() });
                }
            }
        }
        lines
    }

    /// Writes the channels of a group of an image as they lie on the grid, packed, with zeros around them. `image` begins with
    /// the first of them.
    pub fn fill<S: Scheme>(&self, image: &[S::Element], to: &mut [S::Packed]) {
        to.fill(S::Packed::default());
        self.fill_lines::<S>(&self.lines(), image, to);
    }

    /// Writes the channels as [`fill`](Self::fill) does, where `to` holds zeros, or another image that was filled into these lines.
    pub fn fill_lines<S: Scheme>(&self, lines: &[Line], image: &[S::Element], to: &mut [S::Packed]) {
        Fill::<S> { grid: self, lines, image, to }.vectorised();
    }
}

/// Elements of an image that lie beside each other on a grid.
#[derive(Clone, Copy)]
pub(super) struct Line {
    /// Where they begin on the grid.
    to: usize,
    /// Where the first is in the channel of the image; the others follow at the step of the windows.
    from: usize,
    count: usize,
}

/// A grid that is filled.
struct Fill<'a, S: Scheme> {
    grid: &'a Grid<'a>,
    lines: &'a [Line],
    image: &'a [S::Element],
    to: &'a mut [S::Packed],
}

impl<S: Scheme> VectorLoop for Fill<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { grid, lines, image, to } = self;
        let (plane, step) = (grid.windows.plane(), grid.windows.step[2]);
        for channel in 0..grid.windows.channels {
            let from = &image[channel * plane..][..plane];
            let to = &mut to[channel * grid.plane()..];
            for line in lines {
                let to = &mut to[line.to..][..line.count];
                let from = &from[line.from..][..(line.count - 1) * step + 1];
                match step {
                    1 => pack_line::<S>(to, from),
                    2 => pack_every_other::<S>(to, from),
                    _ => to
                        .iter_mut()
                        .zip(from.iter().step_by(step))
                        .for_each(|(to, from)| *to = S::pack(*from)),
                }
            }
        }
    }
}

/// A filled grid as a right factor: a row for each tap, a column for each place and what lies between.
#[derive(Clone, Copy)]
pub(super) struct Shifted<'a, T> {
    elements: &'a [T],
    /// Where each tap begins, in numbers.
    offsets: &'a [usize],
    /// The columns, from the first to before the second.
    columns: [usize; 2],
}

impl<'a, T> Shifted<'a, T> {
    /// All taps of a grid that was filled, which begin at these elements, each of so many numbers; and so many columns: those
    /// of the grid, and up to a tile's more.
    pub fn new(elements: &'a [T], offsets: &'a [usize], numbers: usize, columns: usize) -> Self {
        let last = offsets.iter().max().map_or(0, |offset| offset / numbers);
        assert!(last + columns <= elements.len(), "the grid has all columns of the last tap");
        Self { elements, offsets, columns: [0, columns] }
    }
}

impl<S: Scheme> Factor<S> for Shifted<'_, S::Packed> {
    fn sizes(&self) -> [usize; 2] {
        [self.offsets.len(), self.columns[1] - self.columns[0]]
    }

    fn part(self, rows: Range<usize>, columns: Range<usize>) -> Self {
        let start = self.columns[0];
        Self { offsets: &self.offsets[rows], columns: [start + columns.start, start + columns.end], ..self }
    }

    fn matrix(&self) -> Option<Matrix<S::Element>> {
        None
    }

    fn rows_apart(&self) -> Option<(*const S::Packed, &[usize])> {
        Some((self.elements[self.columns[0]..].as_ptr(), self.offsets))
    }

    /// Products read the columns where they are, so that this need not be fast.
    unsafe fn pack(self, to: &mut [S::Packed], layout: Layout) {
        let [rows, columns] = Factor::<S>::sizes(&self);
        let Layout { lanes, depth, .. } = layout;
        to.fill(S::Packed::default());
        for (row, offset) in self.offsets.iter().enumerate() {
            let from = &self.elements[offset / S::PARTS + self.columns[0]..][..columns];
            for (column, element) in from.iter().enumerate() {
                let panel = &mut to[column / lanes * layout.size(rows)..];
                panel[(row / depth * lanes + column % lanes) * depth + row % depth] = *element;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::products::scheme::Plain;

    /// What lies at a tap of a place: the element of the image, or zero.
    fn expected(windows: &Windows, image: &[f32], channel: usize, tap: [usize; 3], place: [usize; 3]) -> f32 {
        let mut number = channel;
        for dim in 0..3 {
            let at = (place[dim] * windows.step[dim] + tap[dim] * windows.dilation[dim])
                .checked_sub(windows.padding[dim]);
            match at.filter(|at| *at < windows.image[dim]) {
                Some(at) => number = number * windows.image[dim] + at,
                None => return 0.0,
            }
        }
        image[number]
    }

    /// The windows that fit an image, of two channels.
    fn windows(
        image: [usize; 3],
        window: [usize; 3],
        step: [usize; 3],
        dilation: [usize; 3],
        padding: [usize; 3],
    ) -> Windows {
        let places = std::array::from_fn(|dim| {
            (image[dim] + 2 * padding[dim] - (window[dim] - 1) * dilation[dim] - 1) / step[dim] + 1
        });
        Windows {
            batch: 1,
            groups: 1,
            channels: 2,
            filters: 3,
            image,
            window,
            places,
            step,
            dilation,
            padding,
        }
    }

    #[test]
    fn taps_are_rows_that_begin_at_offsets() {
        let all = [
            windows([1, 7, 9], [1, 3, 3], [1; 3], [1; 3], [0, 1, 1]),
            windows([1, 8, 5], [1, 3, 2], [1, 2, 2], [1; 3], [0, 1, 0]),
            windows([1, 11, 13], [1, 3, 3], [1, 3, 2], [1, 2, 3], [0, 2, 4]),
            windows([1, 1, 20], [1, 1, 5], [1, 1, 4], [1; 3], [0, 0, 3]),
            windows([4, 5, 6], [2, 3, 2], [2, 1, 1], [1, 1, 2], [1, 0, 2]),
            windows([1, 2, 2], [1, 4, 4], [1; 3], [1; 3], [0, 5, 5]),
        ];
        for windows in all {
            let image: Vec<f32> = (1..=2 * windows.plane()).map(|number| number as f32).collect();
            let all = Grid::new(&windows);
            for parts in [0..all.parts(), 0..1, all.parts() / 2..all.parts()] {
                let grid = all.part(parts.clone());
                let mut elements = vec![f32::NAN; grid.elements(8)];
                grid.fill::<Plain<f32>>(&image, &mut elements);
                let offsets = grid.offsets(1);
                let factor = Shifted::new(&elements, &offsets, 1, grid.columns());
                let layout = Layout { lanes: 4, depth: 1, unit: 1 };
                let size = layout.size(windows.taps());
                let mut panels = vec![f32::NAN; grid.columns().div_ceil(4) * size];
                // SAFETY: the factor is of slices.
                unsafe { Factor::<Plain<f32>>::pack(factor, &mut panels, layout) };
                let mut places = 0;
                for (line, start) in grid.rows().enumerate() {
                    for x in 0..grid.places[2] {
                        let number = grid.first_place() + line * grid.places[2] + x;
                        let [_, height, width] = windows.places;
                        let place = [number / (height * width), number / width % height, number % width];
                        for tap in 0..windows.taps() {
                            let (channel, rest) =
                                (tap / windows.taps_of_channel(), tap % windows.taps_of_channel());
                            let [_, high, wide] = windows.window;
                            let at = [rest / (high * wide), rest / wide % high, rest % wide];
                            let column = start + x;
                            let found = elements[offsets[tap] + column];
                            let packed = panels[column / 4 * size + tap * 4 + column % 4];
                            let expected = expected(&windows, &image, channel, at, place);
                            assert_eq!(
                                (found, packed),
                                (expected, expected),
                                "{windows:?}, {parts:?}, tap {tap} at {place:?}"
                            );
                        }
                        places += 1;
                    }
                }
                assert_eq!(places, grid.places.iter().product::<usize>());
                // Whole tiles of columns are there.
                Shifted::new(&elements, &offsets, 1, grid.columns().next_multiple_of(8));
            }
        }
    }

    #[test]
    fn grids_that_are_mostly_between_places_are_not_worth_it() {
        let of = |image, padding, dilation| {
            Grid::new(&windows([1, image, image], [1, 2, 2], [1; 3], dilation, [0, padding, padding]))
                .is_worth()
        };
        assert!(of(32, 1, [1; 3]));
        assert!(!of(1, 500, [1; 3]), "mostly zeros");
        assert!(!of(3, 1 << 20, [1, (1 << 21) + 1, (1 << 21) + 1]), "sizes without end");
        assert!(
            !Grid::new(&Windows { batch: 0, ..windows([1, 8, 8], [1, 3, 3], [1; 3], [1; 3], [0; 3]) })
                .is_worth()
        );
    }
}
