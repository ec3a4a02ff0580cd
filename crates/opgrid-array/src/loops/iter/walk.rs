//! Walks the elements of several operands in blocks that a kernel can take: without gaps, in the kernel's dtypes.
//!
//! A kernel sees neighbours only. An operand whose elements are neighbours already is handed over where it lies; one
//! with gaps, of another dtype or stretched is first brought into a block on the stack, which stays in the nearest
//! cache. So there is one loop for each operator and dtype, and all of this file is compiled once.
//!
//! | operands | are walked |
//! |---|---|
//! | all row-major, of one shape and the kernel's dtypes | at once |
//! | with a long innermost loop | row by row, in segments |
//! | some across the others, as in `a + b.t()` | in tiles, which are transposed |
//! | with a short innermost loop | in blocks of many rows |
//!
//! Large loops are split between threads.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr;

use opgrid_core::{DType, Result};

use super::cast::{Cast, cast};
use super::parallel::{num_threads, parallel_for_of};
use super::plan::{Loop, OPERANDS, Odometer, Plan, Position, advance};
use super::pool::Amount;
use super::span::Span;
use super::strided::{SLACK, gather, repeat, scatter, transpose};

/// Bytes of a block on the stack.
const BLOCK_BYTES: usize = 4096;
/// Elements of a piece of work for a thread at most, and at least.
const GRAIN: usize = 1 << 15;
const LEAST_GRAIN: usize = 1 << 13;
/// From how many elements on they are enough work to wake threads for, and how many times as many one counts that takes long.
const PARALLEL: usize = 1 << 17;
const LONG: usize = 2;
/// From how many on they are work for threads that are awake.
const PARALLEL_AWAKE: usize = PARALLEL / 2;
/// Innermost loops shorter than this are walked in blocks of many.
const SHORT: usize = 24;
/// The longest loop that is walked so, where an input is repeated; a block has room for one of the largest elements.
const SHORT_REPEATED: usize = 8 * SHORT;
const _: () = assert!(SHORT_REPEATED * 16 <= BLOCK_BYTES);

/// What is done with each block.
#[derive(Clone, Copy)]
pub(super) enum Work<'a> {
    /// The only input goes to the output.
    Copy,
    /// A kernel computes it.
    Call(&'a dyn Block),
}

impl Work<'_> {
    /// How much work for several threads so many elements are, if they are any.
    #[inline]
    fn amount(self, n: usize) -> Option<Amount> {
        if n < PARALLEL_AWAKE / LONG {
            return None;
        }
        let is_long = matches!(self, Work::Call(kernel) if kernel.is_long());
        match if is_long { n.saturating_mul(LONG) } else { n } {
            PARALLEL.. => Some(Amount::Much),
            PARALLEL_AWAKE.. => Some(Amount::Little),
            _ => None,
        }
    }
}

/// How many of `n` elements are a piece of work for a thread.
fn grain(n: usize) -> usize {
    (n / (2 * num_threads())).next_multiple_of(1024).clamp(LEAST_GRAIN, GRAIN)
}

/// A loop over rows of elements without gaps.
pub(super) trait Block: Sync {
    /// Writes the elements of the output, from as many of each input.
    ///
    /// # Safety
    ///
    /// The pointers lead to rows of aligned elements of the kernel's dtypes, as many inputs as it has: places of the
    /// output, which are apart from all others, and initialised elements of inputs. Where it [writes
    /// over](Self::writes_over), the output's rows may be the first input's, of one step.
    unsafe fn run(&self, rows: &Rows);

    /// Whether the output may be the first input.
    fn writes_over(&self) -> bool;

    /// Whether an element takes several times what reading and writing it takes.
    fn is_long(&self) -> bool;
}

/// Where a kernel finds rows: few calls for many short rows.
pub(super) struct Rows {
    /// The first row of the output.
    pub out: *mut u8,
    /// The first row of each input.
    pub inputs: [*const u8; OPERANDS - 1],
    /// Bytes from a row to the next one, of the output and of each input; 0 where all are one row.
    pub down: [usize; OPERANDS],
    /// Elements of a row.
    pub n: usize,
    /// How many rows there are.
    pub count: usize,
}

impl Rows {
    /// A single row of `n` elements.
    #[inline]
    pub(super) fn one(out: *mut u8, inputs: [*const u8; OPERANDS - 1], n: usize) -> Self {
        Self { out, inputs, down: [0; OPERANDS], n, count: 1 }
    }
}

/// An operand: where its elements are, and as what the kernel sees them.
#[derive(Clone, Copy)]
pub(super) struct Operand<'a> {
    pub span: Span<'a>,
    pub wanted: DType,
}

/// How inputs lie to the output.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Overlap {
    /// No input shares a byte with it.
    Apart,
    /// Some input is the output: each element is read where it is written.
    Same,
    /// Some input lies between the output's elements, and nobody has looked whether they meet.
    Unknown,
}

/// Walks all elements of operand 0.
///
/// # Safety
///
/// - Operand 0 is the span of a `Target`, and lies to the inputs as `overlap` says.
/// - `Work::Call` is a kernel for the operands' `wanted` dtypes, as many as there are.
///
/// # Errors
///
/// An input that does not broadcast; a dtype without data.
pub(super) unsafe fn walk(operands: &[Operand<'_>], work: Work<'_>, overlap: Overlap) -> Result<()> {
    let out = operands[0].span.geometry();
    let plain = |operand: &Operand<'_>| {
        let geometry = operand.span.geometry();
        operand.span.dtype() == operand.wanted && geometry.is_contiguous() && geometry.has_sizes_of(out)
    };
    if overlap == Overlap::Apart && operands.iter().all(plain) {
        let mut starts = [ptr::null_mut(); OPERANDS];
        let mut sizes = [0; OPERANDS];
        for (k, operand) in operands.iter().enumerate() {
            starts[k] = operand.span.first();
            sizes[k] = operand.span.dtype().size_in_bytes();
        }
        // SAFETY: spans of row-major geometries are slices, of the kernel's dtypes, as `plain` found.
        unsafe { flat(starts, work, out.numel() as usize, || sizes) };
        return Ok(());
    }
    let walk = Walk::new(operands, work, overlap)?;
    if out.numel() > 0 {
        // SAFETY: passed on; there is an element, so that every position of the plan is one of each operand: `Plan::new`
        // has compared sizes, and steps of what is stretched are 0.
        unsafe { walk.run() };
    }
    Ok(())
}

/// Walks neighbours.
///
/// # Safety
///
/// `starts` are the first of `n` elements of each operand of a [`walk`], without gaps and in one order, and `sizes` gives
/// their bytes. They are of the kernel's dtypes, and inputs are apart from the output.
#[inline]
pub(super) unsafe fn flat(
    starts: [*mut u8; OPERANDS],
    work: Work<'_>,
    n: usize,
    sizes: impl FnOnce() -> [usize; OPERANDS],
) {
    match (work.amount(n), work) {
        // SAFETY: passed on.
        (Some(amount), _) => unsafe { flat_on_threads(starts, sizes(), work, n, amount) },
        // SAFETY: passed on.
        (None, Work::Copy) => unsafe { copy_here(starts, n * sizes()[0]) },
        // SAFETY: passed on.
        (None, Work::Call(kernel)) => unsafe { call_here(starts, kernel, n) },
    }
}

/// # Safety
///
/// As [`flat`], for elements of so many bytes.
#[inline]
unsafe fn copy_here(starts: [*mut u8; OPERANDS], bytes: usize) {
    // SAFETY: the caller's promise: both have these bytes, and are apart.
    unsafe { ptr::copy_nonoverlapping(starts[1], starts[0], bytes) };
}

/// # Safety
///
/// As [`flat`].
#[inline]
unsafe fn call_here(starts: [*mut u8; OPERANDS], kernel: &dyn Block, n: usize) {
    let inputs = [starts[1], starts[2], starts[3]].map(<*mut u8>::cast_const);
    // SAFETY: the caller's promise: the operands are what the kernel takes.
    unsafe { kernel.run(&Rows::one(starts[0], inputs, n)) };
}

/// # Safety
///
/// As [`flat`].
#[inline(never)]
unsafe fn flat_on_threads(
    starts: [*mut u8; OPERANDS],
    sizes: [usize; OPERANDS],
    work: Work<'_>,
    n: usize,
    amount: Amount,
) {
    let starts = Starts(starts);
    parallel_for_of(amount, n, grain(n), &|range: Range<usize>| {
        let part: [*mut u8; OPERANDS] =
            std::array::from_fn(|k| starts.get(k).wrapping_add(range.start * sizes[k]));
        match work {
            // SAFETY: a part of the operands: `parallel_for_of` gives out ranges within `n`.
            Work::Copy => unsafe { copy_here(part, range.len() * sizes[0]) },
            // SAFETY: a part of the operands, which are what the kernel takes: `parallel_for_of` gives out ranges within `n`.
            Work::Call(kernel) => unsafe { call_here(part, kernel, range.len()) },
        }
    });
}

/// Pointers that threads share.
struct Starts([*mut u8; OPERANDS]);

// SAFETY:
// - threads get different parts of the output from `parallel_for_of`. It is the span of a `Target`, so that they write
//   different elements. Where inputs may lie between those, a loop is not split (`Walk::parallel`).
// - nobody else writes: the guards of `Span`s and `Target` live until the loop ends.
unsafe impl Sync for Starts {}

impl Starts {
    #[inline]
    fn get(&self, k: usize) -> *mut u8 {
        self.0[k]
    }
}

/// A loop that needs blocks.
///
/// Invariants, which `new` establishes and nobody changes:
///
/// - A block has room for `block` elements of any operand, as they are in memory and as the kernel takes them.
/// - The plan's positions, from the `starts` on, are those of the operands that it was made for.
/// - With `in_place` results never go to the output directly, so that a kernel's output is apart from its inputs; without
///   it, it is, or the kernel writes over the first one, which lies as the output does.
struct Walk<'a> {
    count: usize,
    starts: Starts,
    /// Bytes of an element in memory and in blocks.
    sizes: [usize; OPERANDS],
    wanted: [usize; OPERANDS],
    casts: [Option<Cast>; OPERANDS],
    /// Inputs that are one element, which fills a block once for all.
    constant: [bool; OPERANDS],
    plan: Plan,
    work: Work<'a>,
    /// Whether results go to a block first, because inputs lie where they belong and the kernel does not write over them.
    in_place: bool,
    /// How much work for threads it is, where it can be split.
    parallel: Option<Amount>,
    /// Elements of a block.
    block: usize,
    numel: usize,
}

/// The blocks of one thread.
#[repr(align(64))]
struct Blocks([[MaybeUninit<u8>; BLOCK_BYTES + SLACK]; OPERANDS + 1]);

impl Blocks {
    #[inline]
    fn new() -> Self {
        Self([const { [const { MaybeUninit::uninit() }; BLOCK_BYTES + SLACK] }; OPERANDS + 1])
    }

    #[inline]
    fn start(&mut self, k: usize) -> *mut u8 {
        self.0[k].as_mut_ptr().cast()
    }
}

impl<'a> Walk<'a> {
    fn new(operands: &[Operand<'_>], work: Work<'a>, overlap: Overlap) -> Result<Self> {
        let out = operands[0].span.geometry();
        let (mut starts, mut sizes, mut wanted) = ([ptr::null_mut(); OPERANDS], [0; OPERANDS], [0; OPERANDS]);
        let mut casts = [None; OPERANDS];
        let mut geometries = [(out, 0); OPERANDS];
        for (k, operand) in operands.iter().enumerate() {
            let dtype = operand.span.dtype();
            starts[k] = operand.span.first();
            sizes[k] = dtype.size_in_bytes();
            wanted[k] = operand.wanted.size_in_bytes();
            geometries[k] = (operand.span.geometry(), sizes[k]);
            if dtype != operand.wanted {
                let (from, to) = if k == 0 { (operand.wanted, dtype) } else { (dtype, operand.wanted) };
                casts[k] = Some(cast(from, to)?);
            }
        }
        let plan = Plan::new(&geometries[..operands.len()])?;
        let numel = out.numel() as usize;
        let constant = std::array::from_fn(|k| {
            k > 0 && k < operands.len() && numel > 1 && plan.loops.iter().all(|level| level.strides[k] == 0)
        });
        let largest = sizes.into_iter().chain(wanted).max().unwrap_or(1).max(1);
        let block = BLOCK_BYTES / largest;
        let count = operands.len();
        // Inputs that lie as the output does begin where it begins; others are apart from it, unless nobody has looked.
        let over = overlap == Overlap::Same
            && matches!(work, Work::Call(kernel) if kernel.writes_over())
            && casts[..2].iter().all(Option::is_none)
            && plan.loops.iter().all(|level| level.strides[1] == level.strides[0])
            && (1..operands.len()).all(|k| (starts[k] == starts[0]) == (k == 1));
        let in_place = overlap != Overlap::Apart && !over;
        // Threads must not read what others write.
        let parallel = work.amount(numel).filter(|_| overlap != Overlap::Unknown);
        Ok(Self {
            count,
            starts: Starts(starts),
            sizes,
            wanted,
            casts,
            constant,
            plan,
            work,
            in_place,
            parallel,
            block,
            numel,
        })
    }

    /// # Safety
    ///
    /// The operands are those of a [`walk`], and there is an element. So it is for all functions below, which are called
    /// with parts of the loops: of positions within the plan, and of at most `block` elements where a block is used.
    unsafe fn run(&self) {
        let inner = self.plan.inner();
        if self.crosses() {
            // SAFETY: passed on.
            return unsafe { self.tiles() };
        }
        if inner.size < self.short() && self.plan.loops.len() > 1 {
            let grain = self.grain().map_or(self.numel, |grain| grain.next_multiple_of(inner.size));
            // SAFETY: passed on; `split` gives out ranges that have no element in common, of whole rows.
            return self.split(self.numel, grain, &|range| unsafe { self.many_rows(range) });
        }
        // Where nothing has to be copied, segments may be longer than a block.
        let constant_copy = matches!(self.work, Work::Copy) && self.constant[1];
        let direct = !self.in_place
            && (0..self.count)
                .all(|k| self.is_direct(k, inner) || (k == 1 && constant_copy && self.casts[1].is_none()));
        // Nor where elements are converted on the way to the output.
        let converts = matches!(self.work, Work::Copy) && !self.in_place && self.is_direct(0, inner);
        let segment = if direct || converts {
            inner.size.min(self.grain().unwrap_or(GRAIN))
        } else {
            inner.size.min(self.block)
        };
        let per_row = inner.size.div_ceil(segment);
        let rows = self.numel / inner.size;
        let grain = self.grain().map_or(rows * per_row, |grain| grain.div_ceil(segment));
        // SAFETY: passed on; `split` gives out ranges that have no segment in common.
        self.split(rows * per_row, grain, &|range| unsafe { self.segments(range, segment, per_row) });
    }

    /// Elements of a piece of work, if there are several.
    fn grain(&self) -> Option<usize> {
        self.parallel.map(|_| grain(self.numel))
    }

    /// Calls `work` for ranges of `grain` numbers below `count`, on threads if it is work for them.
    fn split(&self, count: usize, grain: usize, work: &(dyn Fn(Range<usize>) + Sync)) {
        parallel_for_of(self.parallel.unwrap_or(Amount::Little), count, grain, work);
    }

    /// Innermost loops below this size are walked in blocks of many. Those that repeat an input's elements take longer
    /// to fill than to compute, and gain from it even if they are not so short.
    fn short(&self) -> usize {
        let inner = self.plan.inner();
        let repeats = (1..self.count).any(|k| inner.strides[k] == 0 && !self.constant[k]);
        if repeats && self.is_flat(0) { SHORT_REPEATED } else { SHORT }
    }

    /// Whether the elements along a loop are what the kernel takes, where they lie.
    fn is_direct(&self, k: usize, level: &Loop) -> bool {
        self.casts[k].is_none() && level.strides[k] == self.sizes[k]
    }

    /// Fills the blocks of operands that are one element.
    ///
    /// # Safety
    ///
    /// As [`run`](Self::run); at most `block` elements.
    unsafe fn fill_constants(&self, blocks: &mut Blocks, n: usize) {
        for k in (1..self.count).filter(|k| self.constant[*k]) {
            // SAFETY: the one element of the operand; a block has room for `n`.
            unsafe { self.fetch(k, blocks.start(k), self.starts.get(k), 0, n) };
        }
    }

    /// Brings `n` elements of an input to `to`.
    ///
    /// # Safety
    ///
    /// As [`run`](Self::run); `n` elements of operand `k`, `stride` bytes apart from `from` on, and room for as many at `to`.
    unsafe fn fetch(&self, k: usize, to: *mut u8, from: *const u8, stride: usize, n: usize) {
        match self.casts[k] {
            // SAFETY: the caller's elements, with room for as many of the wanted dtype.
            Some(cast) => unsafe { cast(to, from, stride, n) },
            // SAFETY: the caller's elements, with room for as many of their own dtype.
            None => unsafe { gather(to, from, stride, n, self.sizes[k]) },
        }
    }

    /// Takes `n` computed elements from block 0 to the output.
    ///
    /// # Safety
    ///
    /// As [`run`](Self::run); the kernel has filled block 0, and the output has `n` places `stride` bytes apart from `to` on.
    unsafe fn store(&self, blocks: &mut Blocks, to: *mut u8, stride: usize, n: usize) {
        let (computed, converted) = (blocks.start(0), blocks.start(OPERANDS));
        let size = self.sizes[0];
        // SAFETY: block 0 has `n` elements of the kernel's dtype; the output has as many places.
        unsafe {
            match self.casts[0] {
                Some(cast) if stride == size => cast(to, computed, self.wanted[0], n),
                Some(cast) => {
                    cast(converted, computed, self.wanted[0], n);
                    scatter(to, stride, converted, n, size);
                }
                None => scatter(to, stride, computed, n, size),
            }
        }
    }

    /// Computes `n` elements along a loop, from `at` on.
    ///
    /// # Safety
    ///
    /// As [`run`](Self::run); each operand has `n` elements along the loop, which are at most `block` unless all are taken
    /// where they lie.
    #[inline]
    unsafe fn segment(
        &self,
        blocks: &mut Blocks,
        at: [*mut u8; OPERANDS],
        strides: &[usize; OPERANDS],
        n: usize,
    ) {
        let in_block = self.in_place || self.casts[0].is_some() || strides[0] != self.sizes[0];
        let mut inputs = [ptr::null(); OPERANDS - 1];
        if matches!(self.work, Work::Copy) && !in_block {
            // SAFETY: the output's elements are neighbours, of the wanted dtype, and apart from the input.
            return unsafe { self.fetch(1, at[0], at[1], strides[1], n) };
        }
        for k in 1..self.count {
            let block = blocks.start(k);
            inputs[k - 1] = if self.constant[k] {
                block
            } else if self.casts[k].is_none() && strides[k] == self.sizes[k] {
                at[k]
            } else {
                // SAFETY: `n` elements of the operand; a block has room for as many.
                unsafe { self.fetch(k, block, at[k], strides[k], n) };
                block
            };
        }
        let to = if in_block { blocks.start(0) } else { at[0] };
        match self.work {
            // SAFETY: blocks of `n` elements as the kernel takes them, or such elements where they lie.
            Work::Call(kernel) => unsafe { kernel.run(&Rows::one(to, inputs, n)) },
            // SAFETY: a block, or elements of the input that nobody writes.
            Work::Copy => unsafe { ptr::copy_nonoverlapping(inputs[0], to, n * self.wanted[0]) },
        }
        if in_block {
            // SAFETY: the kernel has filled block 0.
            unsafe { self.store(blocks, at[0], strides[0], n) };
        }
    }

    /// Computes rows of `n` elements, from `at` on: all at once where the kernel can take them where they lie, as it can
    /// those that are one element.
    ///
    /// # Safety
    ///
    /// As [`segment`](Self::segment), for each row.
    unsafe fn rows(
        &self,
        blocks: &mut Blocks,
        mut at: [*mut u8; OPERANDS],
        [down, strides]: [&[usize; OPERANDS]; 2],
        rows: usize,
        n: usize,
    ) {
        let lies = |k: usize| self.casts[k].is_none() && strides[k] == self.sizes[k];
        if let Work::Call(kernel) = self.work
            && !self.in_place
            && (0..self.count).all(|k| self.constant[k] || lies(k))
        {
            let (mut inputs, mut down) = ([ptr::null(); OPERANDS - 1], *down);
            for k in 1..self.count {
                inputs[k - 1] = if self.constant[k] { blocks.start(k) } else { at[k] };
                down[k] = if self.constant[k] { 0 } else { down[k] };
            }
            // SAFETY: rows as the kernel takes them, or a block that stands for each of them.
            return unsafe { kernel.run(&Rows { out: at[0], inputs, down, n, count: rows }) };
        }
        for _ in 0..rows {
            // SAFETY: passed on; one row.
            unsafe { self.segment(blocks, at, strides, n) };
            at = std::array::from_fn(|k| at[k].wrapping_add(down[k]));
        }
    }

    fn place(&self, position: &Position) -> [*mut u8; OPERANDS] {
        // Positions of operands that are not there are 0.
        std::array::from_fn(|k| self.starts.get(k).wrapping_add(position[k]))
    }

    /// Walks segments of rows, counted row by row.
    ///
    /// # Safety
    ///
    /// As [`run`](Self::run); the range is one of segments.
    unsafe fn segments(&self, range: Range<usize>, segment: usize, per_row: usize) {
        let inner = self.plan.inner();
        let mut blocks = Blocks::new();
        // SAFETY: passed on.
        unsafe { self.fill_constants(&mut blocks, segment.min(self.block)) };
        if per_row == 1 {
            // SAFETY: passed on.
            return unsafe { self.whole_rows(&mut blocks, range) };
        }
        let mut row = Odometer::new(self.plan.outer(), range.start / per_row);
        let mut column = range.start % per_row;
        for _ in range {
            let first = column * segment;
            let mut position = row.at;
            advance(&mut position, &inner.strides, first);
            // SAFETY: passed on; the elements lie within the row.
            unsafe {
                let n = segment.min(inner.size - first);
                self.segment(&mut blocks, self.place(&position), &inner.strides, n);
            }
            column += 1;
            if column == per_row {
                column = 0;
                row.advance();
            }
        }
    }

    /// Walks rows that are one segment each.
    ///
    /// # Safety
    ///
    /// As [`run`](Self::run); the range is one of rows.
    unsafe fn whole_rows(&self, blocks: &mut Blocks, range: Range<usize>) {
        let inner = self.plan.inner();
        let Some((level, outermost)) = self.plan.outer().split_last() else {
            // SAFETY: passed on; there is one row.
            return unsafe { self.segment(blocks, self.place(&[0; OPERANDS]), &inner.strides, inner.size) };
        };
        let mut place = Odometer::new(outermost, range.start / level.size);
        let (mut first, mut left) = (range.start % level.size, range.len());
        while left > 0 {
            let rows = left.min(level.size - first);
            let mut position = place.at;
            advance(&mut position, &level.strides, first);
            let at = self.place(&position);
            // SAFETY: passed on; the rows lie within the loop.
            unsafe { self.rows(blocks, at, [&level.strides, &inner.strides], rows, inner.size) };
            (first, left) = (0, left - rows);
            place.advance();
        }
    }

    /// Whether an operand's neighbours lie along the loop around the innermost one.
    fn crosses(&self) -> bool {
        let [.., outer, inner] = self.plan.loops.as_slice() else { return false };
        let tile = self.tile();
        outer.size >= tile && inner.size >= tile && (1..self.count).any(|k| self.lies_across(k, outer, inner))
    }

    fn lies_across(&self, k: usize, outer: &Loop, inner: &Loop) -> bool {
        self.casts[k].is_none() && outer.strides[k] == self.sizes[k] && inner.strides[k] > self.sizes[k]
    }

    /// The side of a tile, so that it fits a block.
    fn tile(&self) -> usize {
        const { assert!(16 * 16 * 16 <= BLOCK_BYTES, "a tile fits a block") };
        if self.sizes.into_iter().chain(self.wanted).any(|size| size > 4) { 16 } else { 32 }
    }

    /// Walks the two innermost loops tile by tile.
    ///
    /// # Safety
    ///
    /// As [`run`](Self::run).
    unsafe fn tiles(&self) {
        let [outermost @ .., outer, inner] = self.plan.loops.as_slice() else { return };
        let tile = self.tile();
        let [down, across] = [outer, inner].map(|level| level.size.div_ceil(tile));
        let rest = self.numel / (outer.size * inner.size);
        let strips = rest * down;
        let grain = self.grain().map_or(strips, |grain| grain.div_ceil(tile * inner.size));
        self.split(strips, grain, &|range| {
            let (mut blocks, mut tiles) = (Blocks::new(), Blocks::new());
            // SAFETY: passed on.
            unsafe { self.fill_constants(&mut blocks, tile) };
            for strip in range {
                let mut start = Odometer::new(outermost, strip / down).at;
                let row = strip % down * tile;
                advance(&mut start, &outer.strides, row);
                for column in (0..across).map(|column| column * tile) {
                    let mut position = start;
                    advance(&mut position, &inner.strides, column);
                    let (rows, columns) = (tile.min(outer.size - row), tile.min(inner.size - column));
                    // SAFETY: passed on; the elements lie within both loops.
                    unsafe {
                        self.one_tile(&mut blocks, &mut tiles, [outer, inner], position, rows, columns)
                    };
                }
            }
        });
    }

    /// Walks one tile.
    ///
    /// # Safety
    ///
    /// As [`run`](Self::run); the tile lies within both loops, and has at most [`tile`](Self::tile) rows and columns.
    unsafe fn one_tile(
        &self,
        blocks: &mut Blocks,
        tiles: &mut Blocks,
        [outer, inner]: [&Loop; 2],
        position: Position,
        rows: usize,
        columns: usize,
    ) {
        let mut at = self.place(&position);
        let (mut strides, mut down) = (inner.strides, outer.strides);
        for k in (1..self.count).filter(|k| self.lies_across(*k, outer, inner)) {
            let (tile, size) = (tiles.start(k), self.sizes[k]);
            // SAFETY: the tile lies within the operand, and fits a block.
            unsafe { transpose(tile, at[k], inner.strides[k], rows, columns, size) };
            (at[k], strides[k], down[k]) = (tile, size, columns * size);
        }
        // SAFETY: the rows of the tile.
        unsafe { self.rows(blocks, at, [&down, &strides], rows, columns) };
    }

    /// Whether all elements are neighbours, in the order of the loops and as the kernel takes them.
    fn is_flat(&self, k: usize) -> bool {
        let mut step = self.sizes[k];
        self.casts[k].is_none()
            && self.plan.loops.iter().rev().all(|level| {
                let fits = level.strides[k] == step;
                step *= level.size;
                fits
            })
    }

    /// Walks elements by their number, however many rows they take, a block at a time.
    ///
    /// # Safety
    ///
    /// As [`run`](Self::run); the range is one of elements, and begins and ends with a row.
    unsafe fn many_rows(&self, range: Range<usize>) {
        let mut blocks = Blocks::new();
        let flat: [bool; OPERANDS] = std::array::from_fn(|k| k < self.count && self.is_flat(k));
        // SAFETY: passed on.
        unsafe { self.fill_constants(&mut blocks, self.block.min(range.len())) };
        let width = self.plan.inner().size;
        let step = self.block - self.block % width;
        for first in range.clone().step_by(step) {
            let n = step.min(range.end - first);
            let mut inputs = [ptr::null(); OPERANDS - 1];
            for k in 1..self.count {
                let block = blocks.start(k);
                inputs[k - 1] = if self.constant[k] {
                    block
                } else if flat[k] {
                    self.starts.get(k).wrapping_add(first * self.sizes[k])
                } else if let Some((down, size)) = self.repeated(k) {
                    let from = self.starts.get(k).wrapping_add(first / width * down);
                    // SAFETY: one element of each row; the block has room for all of them, and `SLACK` bytes more.
                    unsafe { repeat(block, from, down, [n / width, width], size) };
                    block
                } else {
                    self.pieces(first, n, |at, done, stride, n| {
                        // SAFETY: `n` elements of a row; the block has room for them behind those that are done.
                        unsafe { self.fetch(k, block.add(done * self.wanted[k]), at[k], stride[k], n) };
                    });
                    block
                };
            }
            let direct = flat[0] && !self.in_place;
            let to =
                if direct { self.starts.get(0).wrapping_add(first * self.sizes[0]) } else { blocks.start(0) };
            match self.work {
                // SAFETY: blocks of `n` elements as the kernel takes them, or such elements where they lie.
                Work::Call(kernel) => unsafe { kernel.run(&Rows::one(to, inputs, n)) },
                // SAFETY: `n` elements of the input, apart from the output.
                Work::Copy => unsafe { ptr::copy_nonoverlapping(inputs[0], to, n * self.wanted[0]) },
            }
            if !direct {
                // SAFETY: the kernel has filled block 0.
                unsafe { self.store_pieces(&mut blocks, first, n) };
            }
        }
    }

    /// Bytes from row to row, and of an element, of an input that has one element for each row of the only outer loop.
    fn repeated(&self, k: usize) -> Option<(usize, usize)> {
        let [outer, inner] = self.plan.loops.as_slice() else { return None };
        (self.casts[k].is_none() && inner.strides[k] == 0).then_some((outer.strides[k], self.sizes[k]))
    }

    /// Takes `n` computed elements from block 0 to where the elements from number `first` on lie.
    ///
    /// # Safety
    ///
    /// As [`run`](Self::run); the kernel has filled block 0.
    unsafe fn store_pieces(&self, blocks: &mut Blocks, first: usize, n: usize) {
        let (mut from, size) = (blocks.start(0), self.sizes[0]);
        if let Some(cast) = self.casts[0] {
            let converted = blocks.start(OPERANDS);
            // SAFETY: block 0 has `n` elements; the other one has room for them.
            unsafe { cast(converted, from, self.wanted[0], n) };
            from = converted;
        }
        self.pieces(first, n, |at, done, stride, n| {
            // SAFETY: `n` places of a row, for the elements behind those that are done.
            unsafe { scatter(at[0], stride[0], from.add(done * size), n, size) };
        });
    }

    /// The pieces of rows that elements `first..first + n` consist of: where they begin, how many elements there were
    /// before, strides, how many elements they have.
    fn pieces(
        &self,
        first: usize,
        n: usize,
        mut piece: impl FnMut([*mut u8; OPERANDS], usize, &[usize; OPERANDS], usize),
    ) {
        let inner = self.plan.inner();
        let mut row = Odometer::new(self.plan.outer(), first / inner.size);
        let mut column = first % inner.size;
        let mut done = 0;
        while done < n {
            let len = (inner.size - column).min(n - done);
            let mut position = row.at;
            advance(&mut position, &inner.strides, column);
            piece(self.place(&position), done, &inner.strides, len);
            done += len;
            column = 0;
            row.advance();
        }
    }
}
