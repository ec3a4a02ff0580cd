//! The patches of images under a moving window, as a factor of a product: packed where they lie, never written out.
//!
//! ```text
//!            place 0   place 1   …            a place is where the window lies: image, depth, row, column
//! tap 0   ┌ element   element               a tap is an element of the window: channel, depth, row, column
//! tap 1   │ element     ⋮                   elements beyond the edges of the image are zero
//!   ⋮     └
//! ```
//!
//! For the gradient of the weights the same matrix stands on its side.
#![allow(unsafe_code)]

use std::ops::Range;

use super::matrix::{Factor, Matrix};
use super::scheme::{BLOCK, Scheme};
use super::tile::Layout;
use opgrid_array::loops::simd::VectorLoop;

/// The sizes of a convolution: how places of a window on images belong to each other. Lists are depth, row, column;
/// a dimension that is not there has a window of size 1.
#[derive(Clone, Copy, Debug)]
pub struct Windows {
    /// Images.
    pub batch: usize,
    /// Groups of channels, each with filters of its own.
    pub groups: usize,
    /// Channels of an image in each group.
    pub channels: usize,
    /// Filters of each group.
    pub filters: usize,
    /// The sizes of an image.
    pub image: [usize; 3],
    /// The sizes of the window.
    pub window: [usize; 3],
    /// How many places the window has.
    pub places: [usize; 3],
    /// From a place to the next.
    pub step: [usize; 3],
    /// From an element of the window to the next.
    pub dilation: [usize; 3],
    /// Zeros before the image.
    pub padding: [usize; 3],
}

/// The product of sizes, or the largest number where it is beyond that.
pub(super) fn volume(sizes: [usize; 3]) -> usize {
    sizes.into_iter().fold(1, usize::saturating_mul)
}

impl Windows {
    /// The elements of a channel of an image.
    pub(super) fn plane(&self) -> usize {
        volume(self.image)
    }

    /// The places on one image.
    pub(super) fn places_of_image(&self) -> usize {
        volume(self.places)
    }

    /// The elements of a window in one channel.
    pub(super) fn taps_of_channel(&self) -> usize {
        volume(self.window)
    }

    /// The elements of a window in all channels of a group.
    pub(super) fn taps(&self) -> usize {
        self.channels * self.taps_of_channel()
    }

    /// Merges dimensions in which the kernel has one element, so that the output positions of an image are a row.
    pub(super) fn simplified(self) -> Self {
        if self.is_single() {
            Self { image: [1, 1, self.plane()], places: [1, 1, self.plane()], ..self }
        } else {
            self
        }
    }

    /// Whether windows are single elements, each of the image once, so that the patches are the image.
    pub(super) fn is_single(&self) -> bool {
        let is_simple = self.window == [1; 3] && self.step == [1; 3] && self.padding == [0; 3];
        is_simple && self.image == self.places
    }

    /// Whether windows may lie beyond the edges of the image.
    fn is_padded(&self) -> bool {
        (0..3).any(|dim| {
            let last = (self.places[dim].max(1) - 1) * self.step[dim];
            let end = last + (self.window[dim] - 1) * self.dilation[dim];
            self.padding[dim] > 0 || end >= self.image[dim] + self.padding[dim]
        })
    }

    /// A tap of a group by its number.
    pub(super) fn tap(&self, group: usize, number: usize) -> Tap {
        let [_, height, width] = self.window;
        let (channel, rest) = (number / self.taps_of_channel(), number % self.taps_of_channel());
        let at = [rest / (height * width), rest / width % height, rest % width];
        let at = std::array::from_fn(|dim| at[dim] * self.dilation[dim]);
        Tap { start: (group * self.channels + channel) * self.plane(), at }
    }

    /// Some taps of a group.
    pub(super) fn taps_of_group(&self, group: usize, numbers: Range<usize>) -> Vec<Tap> {
        numbers.map(|number| self.tap(group, number)).collect()
    }

    /// Places of all images that follow each other, as rows of an image.
    pub(super) fn runs(&self, places: Range<usize>, runs: &mut Vec<Run>) {
        let [_, height, width] = self.places;
        let each = self.places_of_image();
        runs.clear();
        let mut place = places.start;
        while place < places.end {
            let (image, rest) = (place / each, place % each);
            let at = [rest / (height * width), rest / width % height, rest % width];
            let count = (width - at[2]).min(places.end - place);
            runs.push(Run {
                first: place - places.start,
                count,
                start: image * self.groups * self.channels * self.plane(),
                at: std::array::from_fn(|dim| {
                    (at[dim] * self.step[dim]) as isize - self.padding[dim] as isize
                }),
            });
            place += count;
        }
    }

    /// Where the elements of a tap lie for the places of a run: the first place that has one, the number of the first
    /// element, and how many there are.
    #[inline(always)]
    pub(super) fn line(&self, tap: &Tap, run: &Run) -> Option<(usize, usize, usize)> {
        let [depth, height, width] = self.image;
        let at = |dim: usize| run.at[dim] + tap.at[dim] as isize;
        let (z, y, x) = (at(0), at(1), at(2));
        // Numbers below zero become large ones.
        if z as usize >= depth || y as usize >= height || x >= width as isize {
            return None;
        }
        // Divisions take long.
        let step = self.step[2] as isize;
        let steps = |distance: isize| if step == 1 { distance } else { (distance + step - 1) / step };
        let skipped = if x < 0 { steps(-x) } else { 0 };
        let end = steps(width as isize - x).min(run.count as isize);
        if skipped >= end {
            return None;
        }
        let row = (z as usize * height + y as usize) * width;
        let element = run.start + tap.start + row + (x + skipped * step) as usize;
        Some((run.first + skipped as usize, element, (end - skipped) as usize))
    }
}

/// An element of a window.
#[derive(Clone, Copy)]
pub(super) struct Tap {
    /// The first element of its channel in the first image.
    start: usize,
    /// Where it lies in the window.
    at: [usize; 3],
}

/// Places that follow each other in a row of an image.
pub(super) struct Run {
    /// The number of the first one among those that were asked for.
    first: usize,
    count: usize,
    /// The first element of the image.
    start: usize,
    /// Where the window begins at the first one.
    at: [isize; 3],
}

/// Patches of the images of a group.
pub(super) struct Patches<'a, T> {
    windows: &'a Windows,
    elements: &'a [T],
    group: usize,
    /// The taps that are rows, from the first to before the second.
    taps: [usize; 2],
    /// The places that are columns.
    places: [usize; 2],
    /// Whether the places are rows, and the taps columns.
    turned: bool,
}

impl<T> Clone for Patches<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Patches<'_, T> {}

impl<'a, T> Patches<'a, T> {
    /// All taps of a group at some places.
    pub fn new(windows: &'a Windows, elements: &'a [T], group: usize, places: Range<usize>) -> Self {
        let places = [places.start, places.end];
        Self { windows, elements, group, taps: [0, windows.taps()], places, turned: false }
    }

    /// Some of the columns.
    pub fn columns<S: Scheme<Element = T>>(self, columns: Range<usize>) -> Self {
        let [rows, _] = Factor::<S>::sizes(&self);
        Factor::<S>::part(self, 0..rows, columns)
    }

    /// Returns the transposed matrix, with output positions as rows.
    pub fn turned(self) -> Self {
        Self { turned: !self.turned, ..self }
    }
}

/// A part of a range.
fn within([start, end]: [usize; 2], part: Range<usize>) -> [usize; 2] {
    debug_assert!(start + part.end <= end, "the part is one of the range");
    [start + part.start, start + part.end]
}

impl<S: Scheme> Factor<S> for Patches<'_, S::Element> {
    fn sizes(&self) -> [usize; 2] {
        let [taps, places] = [self.taps, self.places].map(|[start, end]| end - start);
        if self.turned { [places, taps] } else { [taps, places] }
    }

    fn part(self, rows: Range<usize>, columns: Range<usize>) -> Self {
        let (taps, places) = if self.turned { (columns, rows) } else { (rows, columns) };
        Self { taps: within(self.taps, taps), places: within(self.places, places), ..self }
    }

    fn matrix(&self) -> Option<Matrix<S::Element>> {
        None
    }

    unsafe fn pack(self, to: &mut [S::Packed], layout: Layout) {
        let [rows, columns] = Factor::<S>::sizes(&self);
        let Layout { lanes: width, depth, unit } = layout;
        let size = layout.size(rows);
        let has_gaps = self.windows.is_padded() || !rows.is_multiple_of(unit);
        let taps = self.windows.taps_of_group(self.group, self.taps[0]..self.taps[1]);
        let mut lines = Lines::default();
        if self.turned {
            lines.find(self.windows, &taps, self.places[0]..self.places[1]);
        }
        for (number, first) in (0..columns).step_by(width).enumerate() {
            let last = columns.min(first + width);
            let to = &mut to[number * size..][..size];
            if has_gaps || last - first < width {
                to.fill(S::Packed::default());
            }
            let own = if self.turned { first..last } else { 0..taps.len() };
            if !self.turned {
                lines.find(self.windows, &taps, self.places[0] + first..self.places[0] + last);
            }
            Panel::<S> { patches: self, taps: &taps, own, lines: &lines, to, width, depth }.vectorised();
        }
    }
}

/// Where the elements of taps lie, for places that follow each other. They lie alike in all channels.
#[derive(Default)]
pub(super) struct Lines {
    runs: Vec<Run>,
    /// As [`Windows::line`] gives them, tap by tap.
    all: Vec<(usize, usize, usize)>,
    /// Where those of each tap end.
    ends: Vec<usize>,
}

impl Lines {
    /// Finds the lines of taps, of which the first ones of a channel's number are considered.
    pub(super) fn find(&mut self, windows: &Windows, taps: &[Tap], places: Range<usize>) {
        windows.runs(places, &mut self.runs);
        self.all.clear();
        self.ends.clear();
        for tap in taps.iter().take(windows.taps_of_channel()) {
            self.all.extend(self.runs.iter().filter_map(|run| windows.line(tap, run)));
            self.ends.push(self.all.len());
        }
    }

    /// Returns the lines of a tap: the first output position, the number of the first element, and the count.
    #[inline(always)]
    pub(super) fn for_tap(&self, tap: usize) -> &[(usize, usize, usize)] {
        let first = if tap == 0 { 0 } else { self.ends[tap - 1] };
        &self.all[first..self.ends[tap]]
    }
}

/// A panel that has a column for each patch, or for each tap, and where it goes.
struct Panel<'a, S: Scheme> {
    patches: Patches<'a, S::Element>,
    taps: &'a [Tap],
    /// The columns of this panel.
    own: Range<usize>,
    lines: &'a Lines,
    to: &'a mut [S::Packed],
    width: usize,
    depth: usize,
}

impl<S: Scheme> VectorLoop for Panel<'_, S> {
    type Output = ();

    /// Copies all patches.
    #[inline(always)]
    fn run(self) {
        let Self { patches: Patches { windows, elements, turned, .. }, taps, own, lines, to, width, depth } =
            self;
        let step = windows.step[2];
        let each = windows.taps_of_channel().max(1);
        if let (false, 1, 1) = (turned, depth, step) {
            pack_rows::<S>(to, width, elements, taps, each, lines);
            return;
        }
        // Divisions take long.
        let mut alike = own.start % each;
        for (lane, tap) in own.enumerate() {
            let moved = taps[tap].start - taps[alike].start;
            for &(place, element, count) in lines.for_tap(alike) {
                let from = &elements[element + moved..][..(count - 1) * step + 1];
                match (turned, depth, step) {
                    (false, 1, 2) => {
                        pack_every_other::<S>(&mut to[tap * width + place..][..count], from);
                    }
                    (false, 2, _) => {
                        let to = to[(tap / 2 * width + place) * 2 + tap % 2..].iter_mut().step_by(2);
                        to.zip(from.iter().step_by(step)).for_each(|(to, from)| *to = S::pack(*from));
                    }
                    (true, 1, 1) => {
                        let to = to[place * width + lane..].iter_mut().step_by(width);
                        to.zip(from).for_each(|(to, from)| *to = S::pack(*from));
                    }
                    _ => {
                        for (k, from) in from.iter().step_by(step).enumerate() {
                            let (row, lane) = if turned { (place + k, lane) } else { (tap, place + k) };
                            to[(row / depth * width + lane) * depth + row % depth] = S::pack(*from);
                        }
                    }
                }
            }
            alike = if alike + 1 == each { 0 } else { alike + 1 };
        }
    }
}

/// Packs rows of images as rows of a panel: each tap, of which a channel has `each`, is one. A loop of its own, because what
/// others need beside it took more time than the few elements of a line.
#[inline(always)]
fn pack_rows<S: Scheme>(
    to: &mut [S::Packed],
    width: usize,
    elements: &[S::Element],
    taps: &[Tap],
    each: usize,
    lines: &Lines,
) {
    let Some(first) = taps.first() else { return };
    for (taps, to) in taps.chunks(each).zip(to.chunks_mut(each * width)) {
        let elements = &elements[taps[0].start - first.start..];
        for (alike, to) in to.chunks_exact_mut(width).take(taps.len()).enumerate() {
            for &(place, element, count) in lines.for_tap(alike) {
                pack_line::<S>(&mut to[place..][..count], &elements[element..][..count]);
            }
        }
    }
}

/// Packs elements that lie beside each other, without what copies of any length take: there are few.
#[inline(always)]
pub(super) fn pack_line<S: Scheme>(to: &mut [S::Packed], from: &[S::Element]) {
    let (all, others) = to.as_chunks_mut::<BLOCK>();
    let (blocks, rest) = from.as_chunks::<BLOCK>();
    for (to, from) in all.iter_mut().zip(blocks) {
        S::pack_block(to, from);
    }
    match (others.is_empty(), to.last_chunk_mut(), from.last_chunk()) {
        (true, ..) => {}
        // The last ones, some of them again.
        (false, Some(to), Some(from)) => S::pack_block(to, from),
        _ => pack_few::<S>(to, rest),
    }
}

/// Packs fewer elements than a block has.
#[inline(always)]
fn pack_few<S: Scheme>(to: &mut [S::Packed], from: &[S::Element]) {
    let ((fours, rest), (all, others)) = (from.as_chunks::<4>(), to.as_chunks_mut::<4>());
    for (to, from) in all.iter_mut().zip(fours) {
        *to = from.map(S::pack);
    }
    match (others, rest) {
        ([to], [a]) => *to = S::pack(*a),
        ([to, two], [a, b]) => (*to, *two) = (S::pack(*a), S::pack(*b)),
        ([to, two, three], [a, b, c]) => (*to, *two, *three) = (S::pack(*a), S::pack(*b), S::pack(*c)),
        _ => {}
    }
}

/// Packs every other element, from the first to the last.
#[inline(always)]
pub(super) fn pack_every_other<S: Scheme>(to: &mut [S::Packed], from: &[S::Element]) {
    // A block becomes vector code: with the elements between its own, which are there but behind the last one.
    let count = to.len();
    if count <= BLOCK {
        to.iter_mut().zip(from.iter().step_by(2)).for_each(|(to, from)| *to = S::pack(*from));
        return;
    }
    for block in 0..(count - 1) / BLOCK {
        let (to, from) = (&mut to[block * BLOCK..][..BLOCK], &from[2 * block * BLOCK..][..2 * BLOCK]);
        for lane in 0..BLOCK {
            to[lane] = S::pack(from[2 * lane]);
        }
    }
    // The last ones, some of them again.
    let (to, from) = (&mut to[count - BLOCK..], &from[2 * (count - BLOCK) - 1..][..2 * BLOCK]);
    for lane in 0..BLOCK {
        to[lane] = S::pack(from[2 * lane + 1]);
    }
}
