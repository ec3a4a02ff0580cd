//! Reduces elements over dimensions: the loops of sums, products, extremes and the like.
//!
//! A range is halved until it has at most one block, and blocks are joined as a tree, so that errors of rounding grow
//! with the logarithm of the number of elements only. Within a block several states are kept side by side: lanes of a
//! run of neighbours, or neighbouring columns where the kept dimension is the fastest. Both become vector code.
//! Elements with gaps or of another dtype are brought to a block on the stack first.
//!
//! What a reduction computes is compiled for each reduction and dtype (`Steps`): blocks, rows of columns, joins, results. The
//! way through memory, the halving and the threads are compiled for each type of states (`Fold`), of which there are few.
//!
//! Large reductions are split between threads, at places that do not depend on how many there are.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ops::Range;
use std::slice;

use opgrid_core::{DType, Result};
use smallvec::SmallVec;

use super::cast::{Cast, cast};
use super::parallel::parallel_for;
use super::plan::{Loop, OPERANDS, Odometer};
use super::reduction::{COLUMNS, Reduction, STEPS};
use super::span::Span;
use super::strided::gather;
use crate::loops::simd::VectorLoop;
use crate::{Element, Geometry};

/// Elements that are reduced without halving: where they lie, and of those that are brought to a buffer.
const LEAF: usize = 4096;
const BLOCK: usize = 1024;
/// Such groups of columns that are walked together, so that the rows of a part lie in the nearest cache.
const GROUPS: usize = 4;
/// Columns of that many groups.
const WIDTH: usize = GROUPS * COLUMNS;
/// Rows of such columns that are reduced without halving.
const ROWS: usize = 128;
/// Short rows that are reduced in one call.
const SHORT_ROWS: usize = 64;
/// Elements of a piece of work for a thread, and from how many on there are several.
const GRAIN: usize = 1 << 15;
const PARALLEL: usize = 1 << 17;
/// Pieces of one result at most: an expanded input may have more elements than there is memory for states.
const PIECES: usize = 1 << 16;

/// [`Reduction::block`] of rows of neighbours, as a loop.
///
/// Invariant: there is a row of `n` initialised and aligned elements for each state, `down` bytes apart from `first` on.
struct OfBlocks<'a, R: Reduction> {
    reduction: &'a R,
    states: &'a mut [R::State],
    first: *const u8,
    down: usize,
    n: usize,
    /// The index of the first element of each row, and from one to the next.
    index: usize,
    step: usize,
}

impl<R: Reduction> VectorLoop for OfBlocks<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { reduction, states, first, down, n, index, step } = self;
        for (row, state) in states.iter_mut().enumerate() {
            // SAFETY: the invariant.
            let values = unsafe { slice::from_raw_parts(first.wrapping_add(row * down).cast::<R::In>(), n) };
            *state = reduction.block(values, index, step);
        }
    }
}

/// [`Reduction::rows`] of `count` rows, and what is left of them row by row, as a loop.
///
/// Invariant: there are as many rows of [`COLUMNS`] initialised and aligned elements, `down` bytes apart from `first` on.
struct OfRows<'a, R: Reduction> {
    reduction: &'a R,
    states: &'a mut [R::State; COLUMNS],
    /// As many as are wanted of them.
    width: usize,
    first: *const u8,
    down: usize,
    count: usize,
    index: usize,
    step: usize,
}

impl<R: Reduction> VectorLoop for OfRows<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { reduction, first, down, count, index, step, width, .. } = self;
        // SAFETY: the invariant, for rows below `count`, which are the only ones that are asked for.
        let row_at = |row: usize| unsafe { &*first.wrapping_add(row * down).cast::<[R::In; COLUMNS]>() };
        let whole = count - count % STEPS;
        for row in (0..whole).step_by(STEPS) {
            let mut rows = [row_at(row); STEPS];
            for (i, place) in rows.iter_mut().enumerate().skip(1) {
                *place = row_at(row + i);
            }
            reduction.rows(self.states, rows, index + row * step, step);
        }
        // A width that the compiler does not know, so that it does not make a step of each column.
        let states = &mut self.states[..width];
        for row in whole..count {
            for (state, value) in states.iter_mut().zip(&row_at(row)[..width]) {
                *state = reduction.step(*state, value.widen(), index + row * step);
            }
        }
    }
}

/// A loop over a reduced dimension: bytes between elements, and indices.
#[derive(Clone, Copy, Debug)]
struct Reduced {
    size: usize,
    stride: usize,
    index: usize,
}

/// A reduction for what is done once for all of them.
///
/// # Safety
///
/// `run` writes every result of the fold that it is given.
pub unsafe trait Folding {
    /// What elements are read as.
    fn input(&self) -> DType;

    /// What results are.
    fn out(&self) -> DType;

    /// Writes the results.
    ///
    /// # Safety
    ///
    /// `way` was made by `fold` for this reduction, and what that asks for holds.
    unsafe fn run(&self, way: &Way);
}

/// The reduction behind a [`Folding`].
pub struct Typed<'r, R>(pub &'r R);

// SAFETY: both functions of `Fold` visit every place.
unsafe impl<R: Reduction> Folding for Typed<'_, R> {
    fn input(&self) -> DType {
        const { assert!(size_of::<R::In>() <= LARGEST && align_of::<R::In>() <= LARGEST) };
        R::In::DTYPE
    }

    fn out(&self) -> DType {
        R::Out::DTYPE
    }

    unsafe fn run(&self, way: &Way) {
        let fold = Fold::<R::State> { steps: self, way };
        // SAFETY: passed on; where nothing is reduced there is no source to read, and elsewhere every size is above 0.
        unsafe { if way.count == 0 { fold.of_none() } else { fold.run() } };
    }
}

/// Where neighbours lie that are reduced together, and which indices they have.
#[derive(Clone, Copy)]
struct Neighbours {
    first: *const u8,
    /// Bytes from a row to the next one.
    down: usize,
    /// Elements of a row, or rows of columns.
    n: usize,
    /// The index of the first element, and from one to the next.
    index: usize,
    step: usize,
}

/// The loops of a reduction, for folds that know the type of its states only.
trait Steps<S>: Sync {
    /// The state before any element.
    fn start(&self) -> S;

    /// Combines two states.
    fn join(&self, one: S, other: S) -> S;

    /// Combines states with as many others, each with the one at its place.
    fn join_each(&self, states: &mut [S], others: &[S]);

    /// The state of one element.
    ///
    /// # Safety
    ///
    /// `at` leads to an initialised and aligned element.
    unsafe fn single(&self, at: *const u8, index: usize) -> S;

    /// The state of each row of neighbours.
    ///
    /// # Safety
    ///
    /// There is a row of initialised and aligned elements for each state.
    unsafe fn blocks(&self, states: &mut [S], rows: Neighbours);

    /// Adds rows of [`COLUMNS`] elements to the states of the columns, of which `width` are wanted.
    ///
    /// # Safety
    ///
    /// There are as many rows of initialised and aligned elements.
    unsafe fn rows(&self, states: &mut [S; COLUMNS], width: usize, rows: Neighbours);

    /// Writes the results of states, each of `count` elements.
    ///
    /// # Safety
    ///
    /// There is an aligned place of the output for each state, `stride` bytes apart from `to` on.
    unsafe fn write(&self, to: *mut u8, stride: usize, states: &[S], count: usize);
}

impl<R: Reduction> Steps<R::State> for Typed<'_, R> {
    fn start(&self) -> R::State {
        self.0.start()
    }

    fn join(&self, one: R::State, other: R::State) -> R::State {
        self.0.join(one, other)
    }

    fn join_each(&self, states: &mut [R::State], others: &[R::State]) {
        for (state, other) in states.iter_mut().zip(others) {
            *state = self.0.join(*state, *other);
        }
    }

    unsafe fn single(&self, at: *const u8, index: usize) -> R::State {
        // SAFETY: guaranteed by the caller, see `# Safety`.
        let value = unsafe { *at.cast::<R::In>() };
        self.0.step(self.0.start(), value.widen(), index)
    }

    unsafe fn blocks(&self, states: &mut [R::State], rows: Neighbours) {
        let Neighbours { first, down, n, index, step } = rows;
        OfBlocks { reduction: self.0, states, first, down, n, index, step }.vectorised();
    }

    unsafe fn rows(&self, states: &mut [R::State; COLUMNS], width: usize, rows: Neighbours) {
        let Neighbours { first, down, n: count, index, step } = rows;
        OfRows { reduction: self.0, states, width, first, down, count, index, step }.vectorised();
    }

    unsafe fn write(&self, mut to: *mut u8, stride: usize, states: &[R::State], count: usize) {
        for state in states {
            let result = R::Out::narrow(self.0.finish(*state, count));
            // SAFETY: guaranteed by the caller, see `# Safety`.
            unsafe { to.cast::<R::Out>().write(result) };
            to = to.wrapping_add(stride);
        }
    }
}

/// Where a fold reads and writes.
pub struct Way {
    start: *const u8,
    target: *mut u8,
    /// Bytes of an element of the source, and as it is reduced.
    size: usize,
    read_size: usize,
    cast: Option<Cast>,
    reduced: SmallVec<[Reduced; 6]>,
    /// Elements of one result.
    count: usize,
    /// Loops over results; operand 0 is the output, operand 1 the input.
    kept: SmallVec<[Loop; 6]>,
}

/// A reduction with states of one type on its way.
struct Fold<'a, S> {
    steps: &'a dyn Steps<S>,
    way: &'a Way,
}

// SAFETY:
// - threads get different results from `parallel_for`, whose places are those of a `Target`, so that they write
//   different elements; the input is apart from them, as callers of `fold` promise.
unsafe impl<S> Sync for Fold<'_, S> {}

/// Room for so many elements of any dtype.
#[repr(align(16))]
struct Buffer<const N: usize>([MaybeUninit<[u8; LARGEST]>; N]);

/// Bytes of the largest element.
const LARGEST: usize = 16;

impl<const N: usize> Buffer<N> {
    #[inline]
    fn new() -> Self {
        Self([const { MaybeUninit::uninit() }; N])
    }

    #[inline]
    fn start(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// Reduces over `dims`, which are in ascending order; the target has them with size 1, or not at all.
///
/// # Safety
///
/// - `target` is the span of a `Target`, of the reduction's dtype, and apart from the source.
/// - It has the source's sizes apart from the reduced ones.
///
/// # Errors
///
/// A dtype without data.
pub(super) unsafe fn fold(
    reduction: &dyn Folding,
    source: Span<'_>,
    target: Span<'_>,
    dims: &[usize],
) -> Result<()> {
    let (dtype, input, out) = (source.dtype(), source.geometry(), target.geometry());
    let size = dtype.size_in_bytes();
    let cast = if dtype == reduction.input() { None } else { Some(cast(dtype, reduction.input())?) };
    if out.numel() == 0 {
        return Ok(());
    }
    let (count, reduced, kept) = if dims.len() == input.dims() && input.is_contiguous() {
        let count = input.numel() as usize;
        let all = Reduced { size: count, stride: size, index: 1 };
        (count, SmallVec::from_slice(&[all]), SmallVec::new())
    } else {
        let (reduced, kept) = loops(input, out, dims, size, reduction.out().size_in_bytes());
        let count = reduced.iter().map(|level| level.size).product();
        (count, join(&reduced), kept)
    };
    let (start, target) = (source.first().cast_const(), target.first());
    let read_size = reduction.input().size_in_bytes();
    let way = Way { start, target, size, read_size, cast, reduced, count, kept };
    // SAFETY: passed on; the way was made for this reduction.
    unsafe { reduction.run(&way) };
    Ok(())
}

type Loops = (SmallVec<[Reduced; 6]>, SmallVec<[Loop; 6]>);

/// The reduced loops and those over results, outermost first.
fn loops(input: &Geometry, out: &Geometry, dims: &[usize], size: usize, out_size: usize) -> Loops {
    let keeps_dims = out.dims() == input.dims();
    let (mut reduced, mut kept) = (SmallVec::<[Reduced; 6]>::new(), SmallVec::<[Loop; 6]>::new());
    let mut out_dim = 0;
    for (dim, &length) in input.sizes().iter().enumerate() {
        let (length, stride) = (length as usize, input.step(dim) * size);
        if dims.contains(&dim) {
            reduced.push(Reduced { size: length, stride, index: 0 });
            out_dim += usize::from(keeps_dims);
        } else {
            let mut strides = [0; OPERANDS];
            (strides[0], strides[1]) = (out.step(out_dim) * out_size, stride);
            kept.push(Loop { size: length, strides });
            out_dim += 1;
        }
    }
    let mut index = 1;
    for level in reduced.iter_mut().rev() {
        level.index = index;
        index *= level.size;
    }
    reduced.retain(|level| level.size != 1);
    kept.retain(|level| level.size != 1);
    reduced.sort_by_key(|level| std::cmp::Reverse(level.stride));
    kept.sort_by_key(|level| std::cmp::Reverse(level.strides[1]));
    (reduced, kept)
}

/// Joins neighbouring loops that one stride can express.
fn join(loops: &[Reduced]) -> SmallVec<[Reduced; 6]> {
    let mut joined: SmallVec<[Reduced; 6]> = SmallVec::new();
    for &inner in loops {
        match joined.last_mut() {
            Some(outer)
                if outer.stride == inner.stride.wrapping_mul(inner.size)
                    && outer.index == inner.index * inner.size =>
            {
                *outer = Reduced { size: outer.size * inner.size, ..inner };
            }
            _ => joined.push(inner),
        }
    }
    joined
}

impl<S: Copy + Send> Fold<'_, S> {
    /// Writes results of no elements; nothing is read.
    ///
    /// # Safety
    ///
    /// As [`fold`].
    unsafe fn of_none(&self) {
        let mut place = Odometer::new(&self.way.kept, 0);
        for _ in 0..self.results() {
            // SAFETY: passed on; every place is visited once.
            unsafe { self.write(place.at[0], 0, &[self.steps.start()]) };
            place.advance();
        }
    }

    fn results(&self) -> usize {
        self.way.kept.iter().map(|level| level.size).product()
    }

    /// # Safety
    ///
    /// As [`fold`], where there is an element to reduce.
    unsafe fn run(&self) {
        let results = self.results();
        let parallel = results.saturating_mul(self.way.count) >= PARALLEL;
        if let [outer @ .., last] = self.way.kept.as_slice()
            && last.strides[1] == self.way.size
            && self.way.reduced.last().is_some_and(|level| level.stride > self.way.size)
        {
            let per_row = last.size.div_ceil(WIDTH);
            let units = results / last.size * per_row;
            let grain = if parallel { GRAIN.div_ceil(self.way.count.saturating_mul(WIDTH)) } else { units };
            return parallel_for(units, grain, &|range| {
                for unit in range {
                    let at = Odometer::new(outer, unit / per_row).at;
                    let first = unit % per_row * WIDTH;
                    // SAFETY: passed on.
                    unsafe { self.some_columns(at, last, first) };
                }
            });
        }
        if results == 1 && parallel {
            // SAFETY: passed on.
            return unsafe { self.one_result_on_threads() };
        }
        let grain = if parallel { GRAIN.div_ceil(self.way.count) } else { results };
        if let ([only], Some(_), None) = (self.way.reduced.as_slice(), self.way.kept.last(), self.way.cast)
            && only.stride == self.way.size
            && only.size <= LEAF
        {
            // SAFETY: passed on; no two ranges have a result in common.
            return parallel_for(results, grain, &|range| unsafe { self.short_rows(only, range) });
        }
        parallel_for(results, grain, &|range| {
            let mut buffer = Buffer::new();
            let mut place = Odometer::new(&self.way.kept, range.start);
            for _ in range {
                // SAFETY: passed on; every place is visited once.
                unsafe {
                    let state =
                        self.total(&self.way.reduced, self.way.start.add(place.at[1]), 0, &mut buffer);
                    self.write(place.at[0], 0, &[state]);
                }
                place.advance();
            }
        });
    }

    /// Writes a range of results, each of neighbours that are one block, many in a call.
    ///
    /// # Safety
    ///
    /// As [`fold`]; the range is one of results.
    unsafe fn short_rows(&self, only: &Reduced, range: Range<usize>) {
        let Some((level, outer)) = self.way.kept.split_last() else { return };
        let [to_down, down, ..] = level.strides;
        let mut place = Odometer::new(outer, range.start / level.size);
        let (mut at, mut left) = (range.start % level.size, range.len());
        let mut states = [self.steps.start(); SHORT_ROWS];
        while left > 0 {
            let rows = left.min(level.size - at).min(SHORT_ROWS);
            let [to, from, ..] = place.at;
            let first = self.way.start.wrapping_add(from + at * down);
            let elements = Neighbours { first, down, n: only.size, index: 0, step: only.index };
            // SAFETY: passed on; these are the elements of so many results.
            unsafe { self.steps.blocks(&mut states[..rows], elements) };
            // SAFETY: passed on; every place is visited once.
            unsafe { self.write(to + at * to_down, to_down, &states[..rows]) };
            (at, left) = (at + rows, left - rows);
            if at == level.size {
                at = 0;
                place.advance();
            }
        }
    }

    /// Writes results that lie `stride` bytes apart.
    ///
    /// # Safety
    ///
    /// `at` is the position of a result in bytes, and there is one for each state.
    unsafe fn write(&self, at: usize, stride: usize, states: &[S]) {
        // SAFETY: the caller's promise; places are aligned.
        unsafe { self.steps.write(self.way.target.wrapping_add(at), stride, states, self.way.count) };
    }

    /// Splits the outermost loop of the only result.
    ///
    /// # Safety
    ///
    /// As [`run`](Self::run).
    unsafe fn one_result_on_threads(&self) {
        let Some((first, rest)) = self.way.reduced.split_first() else { return };
        let inner: usize = rest.iter().map(|level| level.size).product();
        let piece = GRAIN.div_ceil(inner).max(first.size.div_ceil(PIECES));
        let piece = piece.next_multiple_of(if rest.is_empty() { BLOCK } else { 1 });
        let mut states = vec![self.steps.start(); first.size.div_ceil(piece)];
        let shared = Shared(states.as_mut_ptr());
        parallel_for(first.size, piece, &|range| {
            let mut buffer = Buffer::new();
            let mut part: SmallVec<[Reduced; 6]> = self.way.reduced.clone();
            part[0].size = range.len();
            let index = range.start * first.index;
            // SAFETY: passed on; pieces have no element in common, and each has its own state.
            unsafe {
                let start = self.way.start.add(range.start * first.stride);
                *shared.get(range.start / piece) = self.total(&part, start, index, &mut buffer);
            }
        });
        let total =
            pairwise(0, states.len(), 1, &|one, other| self.steps.join(one, other), &mut |at, _| states[at]);
        // SAFETY: the only result.
        unsafe { self.write(0, 0, &[total]) };
    }

    /// The state of everything below `loops`.
    ///
    /// # Safety
    ///
    /// As [`fold`], for elements from `at` on.
    unsafe fn total(&self, loops: &[Reduced], at: *const u8, index: usize, buffer: &mut Buffer<BLOCK>) -> S {
        let join = |one, other| self.steps.join(one, other);
        match loops {
            [] => {
                // SAFETY: one element.
                unsafe { self.steps.single(self.read(at, 0, 1, buffer), index) }
            }
            [only] => pairwise(0, only.size, self.leaf(only), &join, &mut |start, n| {
                // SAFETY: `n` elements of the loop.
                let first = unsafe { self.read(at.add(start * only.stride), only.stride, n, buffer) };
                let mut state = self.steps.start();
                let index = index + start * only.index;
                let elements = Neighbours { first, down: 0, n, index, step: only.index };
                // SAFETY: these are `n` initialised neighbours.
                unsafe { self.steps.blocks(slice::from_mut(&mut state), elements) };
                state
            }),
            [first, rest @ ..] => pairwise(0, first.size, ROWS, &join, &mut |start, n| {
                let mut state = self.steps.start();
                for step in start..start + n {
                    // SAFETY: passed on.
                    let below = unsafe {
                        self.total(rest, at.add(step * first.stride), index + step * first.index, buffer)
                    };
                    state = join(state, below);
                }
                state
            }),
        }
    }

    /// How many elements of a loop are reduced without halving.
    fn leaf(&self, only: &Reduced) -> usize {
        if self.way.cast.is_none() && only.stride == self.way.size { LEAF } else { BLOCK }
    }

    /// Where `n` elements are neighbours: where they lie, or brought to the buffer.
    ///
    /// # Safety
    ///
    /// As [`fold`]; at most as many elements as the [`leaf`](Self::leaf) of their loop has.
    #[inline]
    unsafe fn read(&self, at: *const u8, stride: usize, n: usize, buffer: &mut Buffer<BLOCK>) -> *const u8 {
        match self.way.cast {
            None if stride == self.way.size => return at,
            // SAFETY: the buffer has room for `n`, which are a block at most.
            None => unsafe { gather(buffer.start(), at, stride, n, self.way.size) },
            // SAFETY: the buffer has room for `n`, which are a block at most; the way has the cast from the dtype of its elements.
            Some(cast) => unsafe { cast(buffer.start(), at, stride, n) },
        }
        buffer.start()
    }

    /// Brings `width` neighbours to `to`, where there is room for a whole group.
    ///
    /// # Safety
    ///
    /// As [`read`](Self::read), for `width` elements.
    #[inline]
    unsafe fn fetch(&self, at: *const u8, width: usize, to: *mut u8) {
        // SAFETY: passed on; elements that are zeros are written for columns that nobody wants.
        unsafe {
            if width < COLUMNS {
                let size = self.way.read_size;
                to.add(width * size).write_bytes(0, (COLUMNS - width) * size);
            }
            match self.way.cast {
                Some(cast) => cast(to, at, self.way.size, width),
                None => gather(to, at, self.way.size, width, self.way.size),
            }
        }
    }

    /// Writes up to [`WIDTH`] neighbouring results.
    ///
    /// # Safety
    ///
    /// As [`run`](Self::run); `at` is the position of the row, which has results from `first` on.
    unsafe fn some_columns(&self, at: [usize; OPERANDS], last: &Loop, first: usize) {
        let end = last.size.min(first + WIDTH);
        // The last group together with columns before it, so that all have the same width; those are not written.
        let mut groups = SmallVec::<[usize; GROUPS]>::new();
        for group in (first..end).step_by(COLUMNS) {
            groups.push(group.min(last.size.saturating_sub(COLUMNS)));
        }
        let begin = groups[0];
        let columns = Columns { begin, end, groups: &groups };
        let mut buffer = Buffer::new();
        // SAFETY: passed on.
        unsafe {
            let start = self.way.start.add(at[1] + begin * self.way.size);
            let states = self.columns(&self.way.reduced, start, &columns, 0, &mut buffer);
            let mut next = first;
            for (group, states) in groups.iter().zip(states) {
                let states = &states[next - group..COLUMNS.min(end - group)];
                self.write(at[0] + next * last.strides[0], last.strides[0], states);
                next += states.len();
            }
        }
    }

    fn join_columns(&self, mut one: States<S>, other: States<S>) -> States<S> {
        self.steps.join_each(one.as_flattened_mut(), other.as_flattened());
        one
    }

    /// The states of neighbouring columns over everything below `loops`.
    ///
    /// # Safety
    ///
    /// As [`fold`], for elements from `at` on.
    unsafe fn columns(
        &self,
        loops: &[Reduced],
        at: *const u8,
        columns: &Columns<'_>,
        index: usize,
        buffer: &mut Buffer<{ STEPS * BUFFERED }>,
    ) -> States<S> {
        let none = [[self.steps.start(); COLUMNS]; GROUPS];
        let join = |one, other| self.join_columns(one, other);
        let Some((first, rest)) = loops.split_first() else { return none };
        pairwise(0, first.size, ROWS, &join, &mut |start, n| {
            let (mut states, step) = (none, first.index);
            let row_at = |row: usize| at.wrapping_add((start + row) * first.stride);
            let index_at = |row: usize| index + (start + row) * first.index;
            if !rest.is_empty() {
                for row in 0..n {
                    // SAFETY: passed on.
                    let below = unsafe { self.columns(rest, row_at(row), columns, index_at(row), buffer) };
                    states = join(states, below);
                }
                return states;
            }
            // Pointers to as many rows as `count` says, of columns that lie `size` bytes apart.
            let mut all = |from: *const u8, (down, size): (usize, usize), count: usize, index: usize| {
                for (group, states) in columns.groups.iter().zip(&mut states) {
                    let first = from.wrapping_add((group - columns.begin) * size);
                    let width = COLUMNS.min(columns.end - group);
                    // SAFETY: the rows are those of the caller's elements, or were brought to the buffer.
                    unsafe {
                        self.steps.rows(states, width, Neighbours { first, down, n: count, index, step });
                    }
                }
            };
            let width = columns.end - columns.begin;
            if self.way.cast.is_none() && width >= COLUMNS {
                all(row_at(0), (first.stride, self.way.size), n, index_at(0));
                return states;
            }
            for row in (0..n).step_by(STEPS) {
                let count = STEPS.min(n - row);
                let (to, size) = (buffer.start(), self.way.read_size);
                for i in 0..count {
                    // SAFETY: a row, with a part of the buffer of its own.
                    unsafe { self.fetch(row_at(row + i), width, to.wrapping_add(i * BUFFERED * size)) };
                }
                all(to, (BUFFERED * size, size), count, index_at(row));
            }
            states
        })
    }
}

/// The states of some groups of columns.
type States<S> = [[S; COLUMNS]; GROUPS];

/// Elements of a row in the buffer: the last group may begin before those of its part of the row.
const BUFFERED: usize = WIDTH + COLUMNS;

/// Neighbouring columns, by their numbers.
struct Columns<'g> {
    begin: usize,
    end: usize,
    /// Where the groups begin, at most [`GROUPS`], of [`COLUMNS`] each.
    groups: &'g [usize],
}

/// States that threads write, each its own.
struct Shared<S>(*mut S);

// SAFETY: states are `Send`, and `one_result_on_threads` lets each thread use that of its own piece.
unsafe impl<S: Send> Sync for Shared<S> {}

impl<S> Shared<S> {
    fn get(&self, at: usize) -> *mut S {
        self.0.wrapping_add(at)
    }
}

/// The state of a range, halved until at most `leaf` terms are left.
#[inline(always)]
fn pairwise<S>(
    start: usize,
    n: usize,
    leaf: usize,
    join: &impl Fn(S, S) -> S,
    block: &mut impl FnMut(usize, usize) -> S,
) -> S {
    if n <= leaf { block(start, n) } else { halved(start, n, leaf, join, block) }
}

#[inline(never)]
fn halved<S>(
    start: usize,
    n: usize,
    leaf: usize,
    join: &impl Fn(S, S) -> S,
    block: &mut impl FnMut(usize, usize) -> S,
) -> S {
    let half = (n / 2).next_multiple_of(leaf);
    let left = pairwise(start, half, leaf, join, block);
    let right = pairwise(start + half, n - half, leaf, join, block);
    join(left, right)
}
