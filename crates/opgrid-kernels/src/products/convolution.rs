//! Convolutions as products: of filters with patches of images, and the two products that are their gradients.
//!
//! ```text
//! correlate   places  = weight  @ patches(image)
//! spread      image  += places of  weightᵀ @ places        each element is added where its tap lies
//! weigh       weight  = places  @ patches(image)ᵀ
//! ```
//!
//! Patches become panels directly, so that no matrix of them is in memory. Images are in rows: `[batch, groups * channels,
//! depth, row, column]`, places `[batch, groups * filters, …]`, weights `[groups * filters, channels, …]`. Sums of a piece
//! of work stay in a near cache until they are narrowed to elements, with the bias added.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;

use half::{bf16, f16};
use opgrid_core::{DType, Result};

use super::blocked::{self, Product};
use super::direct;
use super::matrix::{Factor, Matrix, Memory, Room};
use super::padded::{Grid, Shifted};
use super::patches::{Lines, Patches, Windows};
use super::scheme::{Narrow, Pairs, Parts, Plain, Scheme, Widened};
use super::tile;
use super::winograd::{self, Layer};
use crate::parts;
use crate::searching::row_major;
use opgrid_array::choose::unsupported;
use opgrid_array::error::argument;
use opgrid_array::loops::arithmetic::Arithmetic;
use opgrid_array::loops::iter::Output;
use opgrid_array::loops::iter::parallel::{for_each_piece, num_threads};
use opgrid_array::loops::simd::VectorLoop;
use opgrid_array::{Array, Element, Math};

/// Pieces for each thread, so that one that comes late finds some.
const PIECES: usize = 4;
/// The most rows of a piece, whose sums stay in a near cache.
const ROWS: usize = 240;
/// Planes of so many elements are factors of their own where the window is one element.
const LARGE_PLANE: usize = 256;
/// Columns of a piece whose patches are read where they lie.
const COLUMNS: usize = 1024;
/// Images whose places are fewer are taken together: so many places for a product with patches as its right factor, and
/// steps for one whose inner dimension they are.
const FEW_PLACES: usize = 256;
const STEPS: usize = 2048;
/// So many filters are too few for products.
const FEW_FILTERS: usize = 2;

/// What is computed of which arrays.
#[derive(Clone, Copy)]
enum Job<'a> {
    Correlate { image: &'a Array, weight: &'a Array, bias: Option<&'a Array> },
    Spread { places: &'a Array, weight: &'a Array, bias: Option<&'a Array> },
    Weigh { places: &'a Array, image: &'a Array },
}

/// The convolution: the sums of products of each filter with each patch, plus the filter's `bias`.
///
/// # Errors
///
/// Arrays whose sizes are not those of the windows; overlap of `out` with an input, tensors without data or used by others.
pub fn correlate(
    windows: &Windows,
    out: &Array,
    image: &Array,
    weight: &Array,
    bias: Option<&Array>,
) -> Result<()> {
    by_dtype(windows, out, Job::Correlate { image, weight, bias })
}

/// The transposed convolution: each place adds its filters, weighted, to its patch; plus the channel's `bias`.
///
/// # Errors
///
/// As [`correlate`].
pub fn spread(
    windows: &Windows,
    out: &Array,
    places: &Array,
    weight: &Array,
    bias: Option<&Array>,
) -> Result<()> {
    by_dtype(windows, out, Job::Spread { places, weight, bias })
}

/// The gradient of the weights: the sums over all patches, weighted by the places.
///
/// # Errors
///
/// As [`correlate`].
pub fn weigh(windows: &Windows, out: &Array, places: &Array, image: &Array) -> Result<()> {
    by_dtype(windows, out, Job::Weigh { places, image })
}

/// A method that computes some convolutions faster than products with patches.
///
/// Returns whether every place was written.
type Fast<T> = fn(&Layer, &Output<'_, T>, &[T], Filters<'_, T>) -> bool;

fn by_dtype(windows: &Windows, out: &Array, job: Job<'_>) -> Result<()> {
    match out.dtype().of_bits() {
        DType::F32 => run(Plain::<f32>::new(), windows, out, job, Some(winograd::correlate), |sum| sum),
        DType::F64 => run(Plain::<f64>::new(), windows, out, job, Some(winograd::correlate), |sum| sum),
        DType::I16 => run(Plain::<i16>::new(), windows, out, job, None, |sum| sum),
        DType::I32 => run(Plain::<i32>::new(), windows, out, job, None, |sum| sum),
        DType::I64 => run(Plain::<i64>::new(), windows, out, job, None, |sum| sum),
        DType::Complex64 => run(Parts(PhantomData::<f32>), windows, out, job, None, |sum| sum),
        DType::Complex128 => run(Parts(PhantomData::<f64>), windows, out, job, None, |sum| sum),
        DType::U8 => run(Widened(PhantomData::<u8>), windows, out, job, None, |sum| sum as u8),
        DType::I8 => run(Widened(PhantomData::<i8>), windows, out, job, None, |sum| sum as i8),
        DType::F16 => run(Widened(PhantomData::<f16>), windows, out, job, None, |sum| sum),
        DType::BF16 => {
            let places = windows.batch.saturating_mul(windows.places_of_image());
            match tile::pairs([windows.filters, windows.taps(), places]) {
                Some(kernel) => run(Pairs(kernel), windows, out, job, None, |sum| sum),
                None => run(Widened(PhantomData::<bf16>), windows, out, job, None, |sum| sum),
            }
        }
        _ => Err(unsupported(out.dtype(), "a numeric dtype")),
    }
}

fn run<S: Scheme>(
    scheme: S,
    windows: &Windows,
    out: &Array,
    job: Job<'_>,
    fast: Option<Fast<S::Element>>,
    narrow: impl Fn(S::Sum) -> Math<S::Element> + Copy + Sync,
) -> Result<()>
where
    Math<S::Element>: Arithmetic,
{
    let windows = windows.simplified();
    let job_of = |bias: Option<&Array>| -> Result<Option<Vec<S::Element>>> {
        bias.map(|bias| row_major(bias, S::Element::DTYPE)?.to_vec::<S::Element>()).transpose()
    };
    match job {
        Job::Correlate { image, weight, bias } => {
            let bias = job_of(bias)?;
            parts::read::<S::Element, _>(out, image, |image| {
                parts::read::<S::Element, _>(out, weight, |weight| {
                    let filters = Filters { weight, bias: bias.as_deref() };
                    check(&windows, [image.len(), weight.len()], None)?;
                    parts::write::<S::Element>(out, |out| {
                        let layer = fast.zip(Layer::for_correlation(&windows, size_of::<S::Element>()));
                        if layer.is_some_and(|(fast, layer)| fast(&layer, &out, image, filters)) {
                            // SAFETY: `Fast` is `winograd::correlate` alone, whose blocks of tiles cover all places: it returns true where
                            // each of them was written.
                            unsafe { out.complete() };
                            return Ok(());
                        }
                        let convolution = Convolution { scheme, windows: &windows, narrow };
                        let grid = Grid::new(&windows);
                        if windows.filters > FEW_FILTERS {
                            convolution.correlate(out, image, filters)
                        } else if convolution.takes_lines(&grid) {
                            convolution.correlate_lines(&grid, out, image, filters)
                        } else {
                            direct::correlate(&windows, out, image, filters)
                        }
                    })
                })
            })
        }
        Job::Spread { places, weight, bias } => {
            let bias = job_of(bias)?;
            parts::read::<S::Element, _>(out, places, |places| {
                parts::read::<S::Element, _>(out, weight, |weight| {
                    let filters = Filters { weight, bias: bias.as_deref() };
                    check(&windows, [out.spec().numel() as usize, weight.len()], Some(places.len()))?;
                    parts::write::<S::Element>(out, |out| {
                        let layer = fast.zip(Layer::for_spreading(&windows, size_of::<S::Element>()));
                        if layer.is_some_and(|(fast, layer)| fast(&layer, &out, places, filters)) {
                            // SAFETY: `Fast` is `winograd::correlate` alone, whose blocks of tiles cover all places: it returns true where
                            // each of them was written.
                            unsafe { out.complete() };
                            return Ok(());
                        }
                        Convolution { scheme, windows: &windows, narrow }.spread(out, places, filters)
                    })
                })
            })
        }
        Job::Weigh { places, image } => parts::read::<S::Element, _>(out, places, |places| {
            parts::read::<S::Element, _>(out, image, |image| {
                check(&windows, [image.len(), out.spec().numel() as usize], Some(places.len()))?;
                parts::write::<S::Element>(out, |out| {
                    Convolution { scheme, windows: &windows, narrow }.weigh(out, places, image)
                })
            })
        }),
    }
}

/// # Errors
///
/// Images, weights or places that are not as many as the windows say.
fn check(windows: &Windows, [image, weight]: [usize; 2], places: Option<usize>) -> Result<()> {
    let Windows { batch, groups, channels, filters, .. } = *windows;
    let expected = [batch * groups * channels * windows.plane(), groups * filters * windows.taps()];
    let all = batch * groups * filters * windows.places_of_image();
    if [image, weight] == expected && places.is_none_or(|places| places == all) {
        Ok(())
    } else {
        Err(argument(format!(
            "found {image} elements of images, {weight} of weights and {places:?} places, expected {expected:?} and {all}"
        )))
    }
}

/// The weights, and what is added to each result.
#[derive(Clone, Copy)]
pub(super) struct Filters<'a, T> {
    pub weight: &'a [T],
    pub bias: Option<&'a [T]>,
}

impl<T: Element> Filters<'_, T> {
    /// What is added to the results of a filter or channel.
    #[inline]
    pub fn bias(&self, number: usize) -> Option<Math<T>> {
        self.bias.and_then(|bias| bias.get(number)).map(|bias| bias.widen())
    }
}

/// Where threads write parts that have no element in common.
///
/// Invariant: of an `Output`.
#[derive(Clone, Copy)]
pub(super) struct Places<T>(*mut T);

// SAFETY: threads write parts that have no element in common, as `write` asks of its callers.
unsafe impl<T: Send> Sync for Places<T> {}

impl<T: Element> Places<T> {
    pub(super) fn new(out: &Output<'_, T>) -> Self {
        Self(out.span().first().cast::<T>())
    }

    /// Elements that lie beside each other.
    ///
    /// # Safety
    ///
    /// They are elements of the output, which is borrowed, and nobody else uses them.
    #[allow(clippy::mut_from_ref, reason = "the caller promises that nobody else uses them")]
    #[inline]
    pub(super) unsafe fn slice(&self, first: usize, count: usize) -> &mut [MaybeUninit<T>] {
        let start = self.0.wrapping_add(first).cast::<MaybeUninit<T>>();
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(start, count) }
    }

    /// Writes what `narrowed` makes of sums to elements that lie beside each other.
    ///
    /// # Safety
    ///
    /// They are elements of the output, which nobody else uses.
    #[inline]
    unsafe fn write<A: Copy>(&self, first: usize, sums: &[A], narrowed: impl Fn(A) -> T) {
        // SAFETY: the caller's promise: as many elements of the output, which is borrowed mutably.
        let places = unsafe { self.slice(first, sums.len()) };
        Narrow(narrowed, sums, places).vectorised();
    }
}

/// How many pieces a job needs.
fn wanted() -> usize {
    match num_threads() {
        1 => 1,
        threads => PIECES * threads,
    }
}

/// How a convolution is computed.
pub(super) struct Convolution<'a, S, N> {
    pub(super) scheme: S,
    pub(super) windows: &'a Windows,
    narrow: N,
}

/// A matrix of a slice's elements, with rows of so many.
fn matrix<T>(elements: &[T], columns: usize) -> Matrix<T> {
    let rows = elements.len().checked_div(columns).unwrap_or(0);
    Matrix { start: elements.as_ptr().cast_mut(), rows, columns, row: columns, column: 1 }
}

fn matrix_of_sums<T>(sums: &mut [T], columns: usize) -> Matrix<T> {
    Matrix { start: sums.as_mut_ptr(), ..matrix(sums, columns) }
}

/// The number of a piece's range, of so many that cut `0..n`.
fn cut(n: usize, each: usize, number: usize) -> Range<usize> {
    let start = number * each;
    start..n.min(start + each)
}

impl<S: Scheme, N> Convolution<'_, S, N>
where
    Math<S::Element>: Arithmetic,
    N: Fn(S::Sum) -> Math<S::Element> + Copy + Sync,
{
    /// Rows of a piece, of so many, where there are `others` pieces beside it.
    fn rows_of_pieces(&self, rows: usize, others: usize) -> usize {
        let tallest = self.scheme.kernel().tallest() / S::PARTS;
        // Each band packs the patches again.
        let bands = if others >= num_threads() { 1 } else { wanted().div_ceil(others.max(1)) };
        rows.div_ceil(bands).next_multiple_of(tallest).clamp(4 * tallest, ROWS.max(4 * tallest))
    }

    /// Columns of a piece, of so many, where there are `others` pieces beside it. Patches are cut before filters are, so that
    /// each is packed once.
    fn columns_of_pieces(&self, columns: usize, others: usize) -> usize {
        let width = self.scheme.kernel().width / S::PARTS;
        let blocks = wanted().div_ceil(others.max(1)).min(columns / (4 * width)).max(1);
        let even = columns.div_ceil(blocks).next_multiple_of(width);
        even.min(blocked::columns_of_blocks(self.scheme, columns)).max(1)
    }

    #[inline(always)]
    pub(super) fn narrowed(&self, sum: S::Sum, bias: Option<Math<S::Element>>) -> S::Element {
        let sum = (self.narrow)(sum);
        S::Element::narrow(bias.map_or(sum, |bias| sum.plus(bias)))
    }

    fn correlate(
        self,
        out: Output<'_, S::Element>,
        image: &[S::Element],
        filters: Filters<'_, S::Element>,
    ) -> Result<()> {
        let grid = Grid::new(self.windows);
        if self.scheme.kernel().takes_apart() && grid.is_worth() {
            return self.correlate_padded(grid, out, image, filters);
        }
        let Windows { batch, groups, filters: rows, .. } = *self.windows;
        let (taps, places) = (self.windows.taps(), self.windows.places_of_image());
        // Large planes are factors where they lie; small ones and patches are packed, those of all images together.
        let are_factors = self.windows.is_single() && places >= LARGE_PLANE;
        let (images, columns) = if are_factors { (batch, places) } else { (1, batch * places) };
        let wide = self.columns_of_pieces(columns, groups * images);
        let per_image = columns.div_ceil(wide);
        let blocks = images * per_image;
        let high = self.rows_of_pieces(rows, groups * blocks);
        let bands = rows.div_ceil(high);
        let target = Places::new(&out);
        for_each_piece(groups * bands * blocks, &|piece| {
            let (group, block) = (piece / (bands * blocks), piece % (bands * blocks) / bands);
            let (number, part) = (block / per_image, cut(columns, wide, block % per_image));
            let own = number * columns + part.start..number * columns + part.end;
            let band = cut(rows, high, piece % bands);
            let weight = &filters.weight[group * rows * taps..][..rows * taps];
            let mut memory = Memory::take();
            let Memory { panels, sums, .. } = &mut memory;
            let sums = sums.slice::<S::Sum>(band.len() * own.len());
            let to = matrix_of_sums(sums, own.len());
            let a = Matrix { rows, ..matrix(weight, taps) }.part(band.clone(), 0..taps);
            // SAFETY: the factors are slices, which live as long as the product, and the result is a slice of its size.
            unsafe {
                if are_factors {
                    let planes = &image[(number * groups + group) * taps * places..][..taps * places];
                    self.multiply(to, a, matrix(planes, places).part(0..taps, part), panels);
                } else {
                    self.multiply(to, a, Patches::new(self.windows, image, group, own.clone()), panels);
                }
            }
            for (row, sums) in band.zip(sums.chunks_exact(own.len())) {
                let filter = group * rows + row;
                let bias = filters.bias(filter);
                let mut column = own.start;
                while column < own.end {
                    let (number, place) = (column / places, column % places);
                    let count = (places - place).min(own.end - column);
                    let first = (number * groups * rows + filter) * places + place;
                    let sums = &sums[column - own.start..][..count];
                    // SAFETY: each piece has its own filters and places; the output has as many as the windows.
                    unsafe { target.write(first, sums, |sum| self.narrowed(sum, bias)) };
                    column += count;
                }
            }
        });
        // SAFETY: pieces are all filters at all places, and all are done.
        unsafe { out.complete() };
        Ok(())
    }

    /// Correlates padded images, whose patches are read in place. A piece is some rows of output positions of an
    /// image.
    fn correlate_padded(
        self,
        grid: Grid<'_>,
        out: Output<'_, S::Element>,
        image: &[S::Element],
        filters: Filters<'_, S::Element>,
    ) -> Result<()> {
        let Windows { batch, groups, channels, filters: rows, .. } = *self.windows;
        let (taps, places, plane) =
            (self.windows.taps(), self.windows.places_of_image(), self.windows.plane());
        let parts = grid.parts();
        let most = (COLUMNS * parts / grid.columns()).clamp(1, parts);
        let together = parts.div_ceil(wanted().div_ceil(batch * groups)).min(most);
        let blocks = parts.div_ceil(together);
        let high = self.rows_of_pieces(rows, num_threads());
        let width = self.scheme.kernel().width / S::PARTS;
        let target = Places::new(&out);
        for_each_piece(batch * groups * blocks, &|piece| {
            let (number, block) = (piece / blocks, piece % blocks);
            let (first, group) = (number * rows, number % groups);
            let own = grid.part(cut(parts, together, block));
            let mut memory = Memory::take();
            let Memory { panels, sums, copies } = &mut memory;
            let elements = copies.slice::<S::Packed>(own.elements(width));
            own.fill::<S>(&image[number * channels * plane..], elements);
            let offsets = own.offsets(S::PARTS);
            // Whole tiles.
            let columns = own.columns().next_multiple_of(width);
            let weight = &filters.weight[group * rows * taps..][..rows * taps];
            for band in (0..rows.div_ceil(high)).map(|band| cut(rows, high, band)) {
                let sums = sums.slice::<S::Sum>(band.len() * columns);
                let to = matrix_of_sums(sums, columns);
                let a = Matrix { rows, ..matrix(weight, taps) }.part(band.clone(), 0..taps);
                let factor = Shifted::new(elements, &offsets, S::PARTS, columns);
                // SAFETY: the factors are slices, which live as long as the product; the columns are whole tiles; the result is a
                // slice of its size.
                unsafe { self.multiply(to, a, factor, panels) };
                for (row, sums) in band.zip(sums.chunks_exact(columns)) {
                    let bias = filters.bias(group * rows + row);
                    let first = (first + row) * places + own.first_place();
                    let count = own.places[2];
                    for (line, start) in own.rows().enumerate() {
                        let (first, sums) = (first + line * count, &sums[start..][..count]);
                        // SAFETY: each piece has its own images and places; the output has as many as the windows.
                        unsafe { target.write(first, sums, |sum| self.narrowed(sum, bias)) };
                    }
                }
            }
        });
        // SAFETY: pieces are all filters at all places, and all are done.
        unsafe { out.complete() };
        Ok(())
    }

    /// # Safety
    ///
    /// The matrices fit each other; the factors may be read, and the result written.
    unsafe fn multiply<B: Factor<S>>(
        &self,
        out: Matrix<S::Sum>,
        a: Matrix<S::Element>,
        b: B,
        panels: &mut Room,
    ) {
        let product =
            Product { scheme: self.scheme, out, a, b, scale: S::Sum::ONE, add: false, packed: None };
        // SAFETY: passed on.
        unsafe { product.compute(panels) };
    }

    fn spread(
        self,
        out: Output<'_, S::Element>,
        places: &[S::Element],
        filters: Filters<'_, S::Element>,
    ) -> Result<()> {
        let Windows { batch, groups, channels, filters: inner, .. } = *self.windows;
        let (taps, plane) = (self.windows.taps_of_channel(), self.windows.plane());
        let columns = self.windows.places_of_image();
        // Sums of all taps of some channels at all places of a block, of several images where they have few.
        let band = (ROWS / taps.max(1)).clamp(1, channels.max(1));
        let bands = channels.div_ceil(band);
        let most = (FEW_PLACES / columns.max(1)).clamp(1, batch.max(1));
        let together = batch.div_ceil(wanted().div_ceil((groups * bands).max(1))).clamp(1, most);
        let wide = blocked::columns_of_blocks(self.scheme, columns).max(1);
        let stacks = batch.div_ceil(together);
        let all_taps = self.windows.taps_of_group(0, 0..taps);
        let target = Places::new(&out);
        for_each_piece(stacks * groups * bands, &|piece| {
            let (stack, group) = (piece / (groups * bands), piece / bands % groups);
            let (own, images) = (cut(channels, band, piece % bands), cut(batch, together, stack));
            let weight = &filters.weight[group * inner * channels * taps..][..inner * channels * taps];
            let mut memory = Memory::take();
            let Memory { panels, sums, copies } = &mut memory;
            let (rows, steps) = (own.len() * taps, images.len() * columns);
            let gathered = self.gathered(places, group, images.clone(), copies);
            let factor = matrix(gathered, steps);
            let block = if images.len() > 1 { steps } else { wide.min(columns) };
            let size = own.len() * plane;
            let (planes, sums) = sums.slices::<S::Sum>([images.len() * size, rows * block]);
            planes.fill(S::Sum::ZERO);
            let mut lines = Lines::default();
            for first in (0..steps).step_by(block.max(1)) {
                let block = first..steps.min(first + block);
                let sums = &mut sums[..rows * block.len()];
                let product = Product {
                    scheme: self.scheme,
                    out: matrix_of_sums(sums, block.len()),
                    a: Matrix { rows: inner, ..matrix(weight, channels * taps) }
                        .part(0..inner, own.start * taps..own.end * taps)
                        .transposed(),
                    b: Matrix { rows: inner, ..factor }.part(0..inner, block.clone()),
                    scale: S::Sum::ONE,
                    add: false,
                    packed: None,
                };
                // SAFETY: the factors are parts of slices, which live as long as the product, and the result
                // is a slice of its size.
                unsafe { product.compute(panels) };
                let places = if images.len() > 1 { 0..columns } else { block.clone() };
                lines.find(self.windows, &all_taps, places.clone());
                for (number, planes) in planes.chunks_exact_mut(size.max(1)).enumerate() {
                    let lines = &lines;
                    let (step, taps) = (self.windows.step[2], taps);
                    let from = number * places.len();
                    AddToPatches { planes, plane, sums, row: block.len(), from, lines, step, taps }
                        .vectorised();
                }
            }
            for (image, planes) in images.zip(planes.chunks_exact(size.max(1))) {
                for (channel, planes) in own.clone().zip(planes.chunks_exact(plane.max(1))) {
                    let channel = group * channels + channel;
                    let bias = filters.bias(channel);
                    let first = (image * groups * channels + channel) * plane;
                    // SAFETY: each piece has its own channels; the output has as many as the windows.
                    unsafe { target.write(first, planes, |sum| self.narrowed(sum, bias)) };
                }
            }
        });
        // SAFETY: pieces are all channels of all images, and all are done.
        unsafe { out.complete() };
        Ok(())
    }

    /// The places of a group on some images, beside each other: `[filter, (image, place)]`.
    fn gathered<'p>(
        &self,
        places: &'p [S::Element],
        group: usize,
        images: Range<usize>,
        copies: &'p mut Room,
    ) -> &'p [S::Element] {
        let Windows { groups, filters, .. } = *self.windows;
        let inner = self.windows.places_of_image();
        let of_image =
            |image: usize| &places[(image * groups + group) * filters * inner..][..filters * inner];
        if images.len() == 1 {
            return of_image(images.start);
        }
        let row = images.len() * inner;
        let to = copies.slice::<S::Element>(filters * row);
        for (number, image) in images.enumerate() {
            let from = of_image(image);
            for filter in 0..filters {
                to[filter * row + number * inner..][..inner]
                    .copy_from_slice(&from[filter * inner..][..inner]);
            }
        }
        to
    }

    fn weigh(self, out: Output<'_, S::Element>, places: &[S::Element], image: &[S::Element]) -> Result<()> {
        let Windows { batch, groups, filters: rows, .. } = *self.windows;
        let (taps, inner) = (self.windows.taps(), self.windows.places_of_image());
        let wide = self.columns_of_pieces(taps, groups);
        let blocks = taps.div_ceil(wide);
        let high = self.rows_of_pieces(rows, groups * blocks);
        let bands = rows.div_ceil(high);
        // The same steps whatever the number of threads is, so that sums are the same.
        let together = (STEPS / inner.max(1)).clamp(1, batch.max(1));
        let target = Places::new(&out);
        for_each_piece(groups * bands * blocks, &|piece| {
            let group = piece / (bands * blocks);
            let band = cut(rows, high, piece % (bands * blocks) / blocks);
            let own = cut(taps, wide, piece % blocks);
            let mut memory = Memory::take();
            let Memory { panels, sums, copies } = &mut memory;
            let sums = sums.slice::<S::Sum>(band.len() * own.len());
            sums.fill(S::Sum::ZERO);
            for stack in 0..batch.div_ceil(together) {
                let images = cut(batch, together, stack);
                let gathered = self.gathered(places, group, images.clone(), copies);
                let steps = images.len() * inner;
                let patches =
                    Patches::new(self.windows, image, group, images.start * inner..images.end * inner);
                let product = Product {
                    scheme: self.scheme,
                    out: matrix_of_sums(sums, own.len()),
                    a: Matrix { rows, ..matrix(gathered, steps) }.part(band.clone(), 0..steps),
                    b: patches.turned().columns::<S>(own.clone()),
                    scale: S::Sum::ONE,
                    add: true,
                    packed: None,
                };
                // SAFETY: the factors are a slice and patches of one, which live as long as the product, and
                // the result is a slice of its size.
                unsafe { product.compute(panels) };
            }
            for (row, sums) in band.zip(sums.chunks_exact(own.len())) {
                let first = (group * rows + row) * taps + own.start;
                // SAFETY: each piece has its own filters and taps; the output has as many as the windows.
                unsafe { target.write(first, sums, |sum| self.narrowed(sum, None)) };
            }
        });
        // SAFETY: pieces are all taps of all filters, and all are done.
        unsafe { out.complete() };
        Ok(())
    }
}

/// Sums of some channels that are added to the planes of an image, each where its tap lies.
struct AddToPatches<'a, T> {
    planes: &'a mut [T],
    /// Elements of a plane.
    plane: usize,
    /// A row for each tap of each channel.
    sums: &'a [T],
    row: usize,
    /// Where the image's sums begin in a row.
    from: usize,
    lines: &'a Lines,
    step: usize,
    taps: usize,
}

impl<T: Arithmetic> VectorLoop for AddToPatches<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { planes, plane, sums, row, from, lines, step, taps } = self;
        for (number, sums) in sums.chunks_exact(row).enumerate() {
            let (planes, sums) = (&mut planes[number / taps * plane..][..plane], &sums[from..]);
            for &(place, element, count) in lines.for_tap(number % taps) {
                let (to, from) = (&mut planes[element..], &sums[place..][..count]);
                match step {
                    1 => {
                        // Lines of small images are shorter than what loops are unrolled for.
                        let (fours, rest) = from.as_chunks::<4>();
                        let (own, others) = to[..count].as_chunks_mut::<4>();
                        for (to, from) in own.iter_mut().zip(fours) {
                            (0..4).for_each(|k| to[k] = to[k].plus(from[k]));
                        }
                        others.iter_mut().zip(rest).for_each(|(to, from)| *to = to.plus(*from));
                    }
                    _ => to.iter_mut().step_by(step).zip(from).for_each(|(to, from)| *to = to.plus(*from)),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use opgrid_array::TensorSpec;
    use opgrid_array::loops::set_num_threads;
    use opgrid_core::Device;

    /// Sizes that fewer products suffice for, of two images.
    const WINDOWS: Windows = Windows {
        batch: 2,
        groups: 1,
        channels: 64,
        filters: 64,
        image: [1, 28, 28],
        window: [1, 3, 3],
        places: [1, 28, 28],
        step: [1; 3],
        dilation: [1; 3],
        padding: [0, 1, 1],
    };
    const SIZES: [i64; 4] = [2, 64, 28, 28];

    fn numbers(sizes: &[i64], changed: Option<f32>) -> Array {
        let count = sizes.iter().product::<i64>() as usize;
        let mut numbers: Vec<f32> = (0..count).map(|i| (i as f32 * 0.7).sin()).collect();
        if let Some(changed) = changed {
            numbers[count / 3] = changed;
        }
        Array::from_slice(&numbers, sizes).unwrap()
    }

    fn bits(fast: Option<Fast<f32>>, job: Job<'_>) -> Vec<u32> {
        let out = Array::empty(TensorSpec::contiguous(&SIZES, DType::F32, Device::CPU).unwrap()).unwrap();
        run(Plain::<f32>::new(), &WINDOWS, &out, job, fast, |sum| sum).unwrap();
        out.to_vec::<f32>().unwrap().into_iter().map(f32::to_bits).collect()
    }

    /// Numbers with which tiles of 2x2 places would not give what single places do.
    #[test]
    fn numbers_that_tiles_would_spread_take_another_method() {
        let changed = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, 1e37, 1e20, 1e6].map(Some);
        let [image, weight] = [&SIZES[..], &[64, 64, 3, 3]];
        let unusual = changed.map(|changed| {
            [(changed, None), (None, changed.filter(|changed| changed.is_nan() || *changed >= 1e37))]
        });
        for (in_image, in_weight) in unusual.into_iter().flatten() {
            let (image, weight) = (&numbers(image, in_image), &numbers(weight, in_weight));
            for job in [
                Job::Correlate { image, weight, bias: None },
                Job::Spread { places: image, weight, bias: None },
            ] {
                let found = bits(Some(winograd::correlate), job);
                let is_usual = in_image.or(in_weight).is_none();
                assert_eq!(found == bits(None, job), !is_usual, "{in_image:?} {in_weight:?}");
            }
        }
    }

    #[test]
    fn sums_do_not_depend_on_threads() {
        let (image, weight) = (&numbers(&SIZES, None), &numbers(&[64, 64, 3, 3], None));
        let job = Job::Correlate { image, weight, bias: None };
        let several = bits(Some(winograd::correlate), job);
        set_num_threads(1);
        let one = bits(Some(winograd::correlate), job);
        set_num_threads(usize::MAX);
        assert_eq!(several, one);
    }
}
