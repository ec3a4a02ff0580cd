//! Reduces elements over dimensions: the loops of sums, products, extremes and the like.
//!
//! A range is halved until it has at most one block, and blocks are joined as a tree, so that errors of rounding grow
//! with the logarithm of the number of elements only. Within a block several states are kept side by side: lanes of a
//! run of neighbours, or neighbouring columns where the kept dimension is the fastest. Both become vector code.
//! Elements with gaps or of another dtype are brought to a block on the stack first.
//!
//! Large reductions are split between threads, at places that do not depend on how many there are.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::slice;

use opgrid_core::{DType, Result};
use smallvec::SmallVec;

use super::cast::{Cast, cast};
use super::parallel::parallel_for;
use super::plan::{Loop, OPERANDS, Odometer};
use super::span::Span;
use super::strided::gather;
use crate::kernels::simd::VectorLoop;
use crate::tensor::choose::unsupported;
use crate::tensor::{Element, Geometry, Math};

/// Elements that are reduced without halving.
const BLOCK: usize = 1024;
/// Independent states within a block, so that steps need not wait for each other.
pub const LANES: usize = 16;
/// Rows of columns that are handed over together.
pub const STEPS: usize = 8;
/// Columns that are reduced side by side.
pub const COLUMNS: usize = 64;
/// Rows of such columns that are reduced without halving.
const ROWS: usize = 128;
/// Elements of a piece of work for a thread, and from how many on there are several.
const GRAIN: usize = 1 << 15;
const PARALLEL: usize = 1 << 17;
/// Pieces of one result at most: an expanded input may have more elements than there is memory for states.
const PIECES: usize = 1 << 16;

/// How many elements become one.
///
/// The index of an element counts the reduced elements of one result in row-major order. Elements arrive in any
/// order: a reduction that cares compares indices.
pub trait Reduction: Sync {
    /// What elements are read as, converted where the input has another dtype.
    type In: Element;
    /// What results are.
    type Out: Element;
    /// What is known of some elements.
    type State: Copy + Send;

    /// Of none.
    fn start(&self) -> Self::State;

    /// Of one more.
    fn step(&self, state: Self::State, value: Math<Self::In>, index: usize) -> Self::State;

    /// Of both.
    fn join(&self, one: Self::State, other: Self::State) -> Self::State;

    /// The result for `count` elements.
    fn finish(&self, state: Self::State, count: usize) -> Math<Self::Out>;

    /// Of a block of elements, whose indices are `step` apart. To be written only where something is faster than
    /// steps in [`LANES`] states. Says `#[inline(always)]`, as do all functions that it calls, to become vector code.
    #[inline(always)]
    fn block(&self, values: &[Self::In], index: usize, step: usize) -> Self::State {
        let (groups, rest) = values.as_chunks::<LANES>();
        let mut at = index + groups.len() * LANES * step;
        let mut state = self.start();
        for value in rest {
            state = self.step(state, value.widen(), at);
            at += step;
        }
        if groups.is_empty() {
            return state;
        }
        let mut lanes = [self.start(); LANES];
        let mut done = 0;
        for group in groups {
            for (lane, (state, value)) in lanes.iter_mut().zip(group).enumerate() {
                *state = self.step(*state, value.widen(), index + (done + lane) * step);
            }
            done += LANES;
        }
        self.join(join_lanes(&lanes, |one, other| self.join(one, other)), state)
    }

    /// Takes rows of elements, each of which is one more for its column. To be written as [`block`](Self::block).
    #[inline(always)]
    fn rows(
        &self,
        states: &mut [Self::State; COLUMNS],
        rows: [&[Self::In; COLUMNS]; STEPS],
        index: usize,
        step: usize,
    ) {
        for (i, row) in rows.iter().enumerate() {
            for (state, value) in states.iter_mut().zip(*row) {
                *state = self.step(*state, value.widen(), index + i * step);
            }
        }
    }
}

/// What `step` makes of the elements of slices of one length, each in the state of its lane, all joined as a tree: of
/// `of` and `beside`, which may be one of the same again where nothing else is wanted.
#[inline(always)]
pub(in crate::kernels) fn in_lanes<A: Copy, B: Copy, S: Copy, const K: usize, const N: usize>(
    (of, beside): ([&[A]; K], &[B]),
    start: [S; N],
    step: impl Fn(S, [A; K], B) -> S,
    join: impl Fn(S, S) -> S,
) -> S {
    let n = beside.len();
    let (of, beside) = (of.map(|of| of[..n].as_chunks::<N>()), beside.as_chunks::<N>());
    // One after the other: where a lane were known at run time only, all of them would live in memory.
    let mut state = start[0];
    for (at, beside) in beside.1.iter().enumerate() {
        state = step(state, of.map(|(_, rest)| rest[at]), *beside);
    }
    if beside.0.is_empty() {
        return state;
    }
    let mut lanes = start;
    for (number, beside) in beside.0.iter().enumerate() {
        let group = of.map(|(groups, _)| &groups[number]);
        for lane in 0..N {
            lanes[lane] = step(lanes[lane], group.map(|group| group[lane]), beside[lane]);
        }
    }
    join(join_lanes(&lanes, &join), state)
}

/// The state of all lanes, joined as a tree.
///
/// It is never inlined: beside the tree the compiler would keep lanes in the order in which they are joined, a few to a
/// vector, and the loop before would shuffle them in every step.
#[inline(never)]
pub(in crate::kernels) fn join_lanes<S: Copy, const N: usize>(lanes: &[S; N], join: impl Fn(S, S) -> S) -> S {
    let mut lanes = *lanes;
    let mut width = N;
    while width > 1 {
        width /= 2;
        for lane in 0..width {
            lanes[lane] = join(lanes[lane], lanes[lane + width]);
        }
    }
    lanes[0]
}

/// [`Reduction::block`] as a loop: the reduction, the elements, the first one's index, and from one index to the next.
struct OfBlock<'a, R: Reduction>(&'a R, &'a [R::In], usize, usize);

impl<R: Reduction> VectorLoop for OfBlock<'_, R> {
    type Output = R::State;

    #[inline(always)]
    fn run(self) -> R::State {
        let Self(reduction, values, index, step) = self;
        reduction.block(values, index, step)
    }
}

/// [`Reduction::rows`] as a loop.
struct OfRows<'a, R: Reduction> {
    reduction: &'a R,
    states: &'a mut [R::State; COLUMNS],
    rows: [&'a [R::In; COLUMNS]; STEPS],
    index: usize,
    step: usize,
}

impl<R: Reduction> VectorLoop for OfRows<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.reduction.rows(self.states, self.rows, self.index, self.step);
    }
}

/// One more row of at most as many elements, all with one index.
struct OfRow<'a, R: Reduction>(&'a R, &'a mut [R::State; COLUMNS], &'a [R::In], usize);

impl<R: Reduction> VectorLoop for OfRow<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(reduction, states, row, index) = self;
        for (state, value) in states.iter_mut().zip(row) {
            *state = reduction.step(*state, value.widen(), index);
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
pub(in crate::kernels) unsafe trait Folding {
    /// What elements are read as.
    fn input(&self) -> DType;

    /// What results are.
    fn out(&self) -> DType;

    /// Writes the results.
    ///
    /// # Safety
    ///
    /// `way` was made by [`fold`] for this reduction, and what that asks for holds.
    unsafe fn run(&self, way: &Way);
}

/// The reduction behind a [`Folding`].
pub(in crate::kernels) struct Typed<'r, R>(pub &'r R);

// SAFETY: both functions of `Fold` visit every place.
unsafe impl<R: Reduction> Folding for Typed<'_, R> {
    fn input(&self) -> DType {
        R::In::DTYPE
    }

    fn out(&self) -> DType {
        R::Out::DTYPE
    }

    unsafe fn run(&self, way: &Way) {
        let fold = Fold { reduction: self.0, way };
        // SAFETY: passed on; where nothing is reduced there is no source to read, and elsewhere every size is above 0.
        unsafe { if way.count == 0 { fold.of_none() } else { fold.run() } };
    }
}

/// Where a fold reads and writes.
pub(in crate::kernels) struct Way {
    start: *const u8,
    target: *mut u8,
    size: usize,
    cast: Option<Cast>,
    reduced: SmallVec<[Reduced; 6]>,
    /// Elements of one result.
    count: usize,
    /// Loops over results; operand 0 is the output, operand 1 the input.
    kept: SmallVec<[Loop; 6]>,
}

/// A reduction on its way.
struct Fold<'a, R> {
    reduction: &'a R,
    way: &'a Way,
}

// SAFETY:
// - threads get different results from `parallel_for`, whose places are those of a `Target`, so that they write
//   different elements; the input is apart from them, as callers of `fold` promise.
unsafe impl<R: Sync> Sync for Fold<'_, R> {}

/// Elements of a block on the stack.
type Buffer<R> = [MaybeUninit<<R as Reduction>::In>; BLOCK];

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
    let cast = match dtype == reduction.input() {
        true => None,
        false => Some(cast(dtype, reduction.input()).ok_or_else(|| unsupported(dtype, "another dtype"))?),
    };
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
    let way = Way { start, target, size, cast, reduced, count, kept };
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

impl<R: Reduction> Fold<'_, R> {
    /// Writes results of no elements; nothing is read.
    ///
    /// # Safety
    ///
    /// As [`fold`].
    unsafe fn of_none(&self) {
        let mut place = Odometer::new(&self.way.kept, 0);
        for _ in 0..self.results() {
            // SAFETY: passed on; every place is visited once.
            unsafe { self.write(place.at[0], self.reduction.start()) };
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
            let per_row = last.size.div_ceil(COLUMNS);
            let units = results / last.size * per_row;
            let grain = if parallel { GRAIN.div_ceil(self.way.count.saturating_mul(COLUMNS)) } else { units };
            return parallel_for(units, grain, &|range| {
                for unit in range {
                    let at = Odometer::new(outer, unit / per_row).at;
                    let first = unit % per_row * COLUMNS;
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
        parallel_for(results, grain, &|range| {
            let mut buffer = [const { MaybeUninit::uninit() }; BLOCK];
            let mut place = Odometer::new(&self.way.kept, range.start);
            for _ in range {
                // SAFETY: passed on; every place is visited once.
                unsafe {
                    let state =
                        self.total(&self.way.reduced, self.way.start.add(place.at[1]), 0, &mut buffer);
                    self.write(place.at[0], state);
                }
                place.advance();
            }
        });
    }

    /// # Safety
    ///
    /// `at` is the position of a result in bytes.
    unsafe fn write(&self, at: usize, state: R::State) {
        let result = R::Out::narrow(self.reduction.finish(state, self.way.count));
        // SAFETY: the caller's promise; places are aligned.
        unsafe { self.way.target.add(at).cast::<R::Out>().write(result) };
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
        let mut states = vec![self.reduction.start(); first.size.div_ceil(piece)];
        let shared = States(states.as_mut_ptr());
        parallel_for(first.size, piece, &|range| {
            let mut buffer = [const { MaybeUninit::uninit() }; BLOCK];
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
            pairwise(0, states.len(), 1, &|one, other| self.reduction.join(one, other), &mut |at, _| {
                states[at]
            });
        // SAFETY: the only result.
        unsafe { self.write(0, total) };
    }

    /// The state of everything below `loops`.
    ///
    /// # Safety
    ///
    /// As [`fold`], for elements from `at` on.
    unsafe fn total(
        &self,
        loops: &[Reduced],
        at: *const u8,
        index: usize,
        buffer: &mut Buffer<R>,
    ) -> R::State {
        let join = |one, other| self.reduction.join(one, other);
        match loops {
            [] => {
                // SAFETY: one element.
                let value = unsafe { self.read(at, 0, 1, buffer) }[0];
                self.reduction.step(self.reduction.start(), value.widen(), index)
            }
            [only] => pairwise(0, only.size, BLOCK, &join, &mut |start, n| {
                // SAFETY: `n` elements of the loop.
                let values = unsafe { self.read(at.add(start * only.stride), only.stride, n, buffer) };
                OfBlock(self.reduction, values, index + start * only.index, only.index).vectorised()
            }),
            [first, rest @ ..] => pairwise(0, first.size, ROWS, &join, &mut |start, n| {
                let mut state = self.reduction.start();
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

    /// `n` elements, where they lie or brought to the buffer.
    ///
    /// # Safety
    ///
    /// As [`fold`]; at most as many elements as a block has.
    #[inline]
    unsafe fn read<'b>(
        &self,
        at: *const u8,
        stride: usize,
        n: usize,
        buffer: &'b mut [MaybeUninit<R::In>],
    ) -> &'b [R::In] {
        let to = buffer.as_mut_ptr().cast::<R::In>();
        let start = match self.way.cast {
            None if stride == self.way.size => at.cast::<R::In>(),
            // SAFETY: the buffer has room for `n`.
            None => unsafe {
                gather(to.cast(), at, stride, n, self.way.size);
                to
            },
            // SAFETY: as above.
            Some(cast) => unsafe {
                cast(to.cast(), at, stride, n);
                to
            },
        };
        // SAFETY: `n` initialised neighbours, which nobody writes while the buffer is borrowed.
        unsafe { slice::from_raw_parts(start, n) }
    }

    /// [`COLUMNS`] neighbours, of which only the first `width` are elements.
    ///
    /// # Safety
    ///
    /// As [`read`](Self::read), for `width` elements.
    #[inline]
    unsafe fn read_wide<'b>(
        &self,
        at: *const u8,
        width: usize,
        buffer: &'b mut [MaybeUninit<R::In>],
    ) -> &'b [R::In] {
        if width == COLUMNS {
            // SAFETY: passed on.
            return unsafe { self.read(at, self.way.size, COLUMNS, buffer) };
        }
        buffer[width..].fill(MaybeUninit::new(R::In::default()));
        // SAFETY: passed on. The elements are copied even where they could be read in place.
        unsafe {
            let to = buffer.as_mut_ptr().cast::<R::In>();
            match self.way.cast {
                Some(cast) => cast(to.cast(), at, self.way.size, width),
                None => gather(to.cast(), at, self.way.size, width, self.way.size),
            }
            slice::from_raw_parts(to, buffer.len())
        }
    }

    /// Writes up to [`COLUMNS`] neighbouring results.
    ///
    /// # Safety
    ///
    /// As [`run`](Self::run); `at` is the position of the row, which has results from `first` on.
    unsafe fn some_columns(&self, at: [usize; OPERANDS], last: &Loop, first: usize) {
        // The last ones together with some before them, so that all have the same width; those are not written.
        let begin = first.min(last.size.saturating_sub(COLUMNS));
        let width = COLUMNS.min(last.size);
        let mut buffer = [const { MaybeUninit::uninit() }; STEPS * COLUMNS];
        // SAFETY: passed on.
        unsafe {
            let start = self.way.start.add(at[1] + begin * self.way.size);
            let states = self.columns(&self.way.reduced, start, width, 0, &mut buffer);
            for (column, state) in (begin..begin + width).zip(states).skip(first - begin) {
                self.write(at[0] + column * last.strides[0], state);
            }
        }
    }

    /// The states of `width` neighbouring columns over everything below `loops`.
    ///
    /// # Safety
    ///
    /// As [`fold`], for elements from `at` on.
    unsafe fn columns(
        &self,
        loops: &[Reduced],
        at: *const u8,
        width: usize,
        index: usize,
        buffer: &mut [MaybeUninit<R::In>; STEPS * COLUMNS],
    ) -> [R::State; COLUMNS] {
        let reduction = self.reduction;
        let join = |mut one: [R::State; COLUMNS], other: [R::State; COLUMNS]| {
            one.iter_mut().zip(other).for_each(|(one, other)| *one = reduction.join(*one, other));
            one
        };
        let Some((first, rest)) = loops.split_first() else {
            let mut states = [reduction.start(); COLUMNS];
            // SAFETY: one row.
            let row = unsafe { self.read(at, self.way.size, width, buffer) };
            OfRow(reduction, &mut states, row, index).vectorised();
            return states;
        };
        pairwise(0, first.size, ROWS, &join, &mut |start, n| {
            let mut states = [reduction.start(); COLUMNS];
            let row_at = |row: usize| at.wrapping_add((start + row) * first.stride);
            let index_at = |row: usize| index + (start + row) * first.index;
            if !rest.is_empty() {
                for row in 0..n {
                    // SAFETY: passed on.
                    let below = unsafe { self.columns(rest, row_at(row), width, index_at(row), buffer) };
                    states = join(states, below);
                }
                return states;
            }
            // Groups of rows of whole width have a fixed shape, which the compiler turns into vector code; what is
            // narrower is filled up with what nobody looks at.
            let whole = n - n % STEPS;
            for row in (0..whole).step_by(STEPS) {
                let mut parts = buffer.chunks_exact_mut(COLUMNS);
                let rows: [Option<&[R::In; COLUMNS]>; STEPS] = std::array::from_fn(|i| {
                    let part = parts.next()?;
                    // SAFETY: a row of the group, with a part of the buffer of its own.
                    unsafe { self.read_wide(row_at(row + i), width, part) }.first_chunk()
                });
                let rows = rows.map(|row| row.expect("whole rows have as many columns"));
                let (states, index) = (&mut states, index_at(row));
                OfRows { reduction, states, rows, index, step: first.index }.vectorised();
            }
            for row in whole..n {
                // SAFETY: one row.
                let values = unsafe { self.read(row_at(row), self.way.size, width, buffer) };
                OfRow(reduction, &mut states, values, index_at(row)).vectorised();
            }
            states
        })
    }
}

/// States that threads write, each its own.
struct States<S>(*mut S);

// SAFETY: states are `Send`, and `one_result_on_threads` lets each thread use that of its own piece.
unsafe impl<S: Send> Sync for States<S> {}

impl<S> States<S> {
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
