//! Puts lines in order, and selects from them by rank.
//!
//! An element becomes an unsigned key whose order is that of the elements: integers are moved to zero and up; of floats
//! the bits of negative ones are turned around; zeros of both signs have one key, and so do all NaN, the largest. The key and
//! the element's place make one number. Such numbers are all different, so that every algorithm keeps the order of equal
//! elements. Short lines are sorted by comparing, long ones digit by digit.
//!
//! Source: radix sort from the lowest digit on, D. E. Knuth, The Art of Computer Programming, volume 3, 5.2.5.

use half::{bf16, f16};
use opgrid_core::{DType, Result, Scalar};

use crate::lines;
use opgrid_array::error::argument;
use opgrid_array::loops::access::{self, Aliasing};
use opgrid_array::loops::{copy, iter};
use opgrid_array::with_dtype;
use opgrid_array::{Array, Bool, Element, Geometry, TensorSpec};

/// Bits of a digit: a table of counts for each stays in the first cache.
const DIGIT: u32 = 11;
const DIGITS: usize = 1 << DIGIT;
/// From as many elements on digits are faster than comparisons.
const LONG: usize = 1024;
/// So many elements at most are kept in order while a line is looked through.
const FEW: usize = 16;
/// The part of a line that those are at most: of elements in no order, as many come among the first as are kept, times the
/// logarithm of this.
const PART: usize = 64;
/// The part of a line that may come among the first, after which the rest is not looked through.
const INSERTED: usize = 8;
/// Elements that are compared at once with the last of those.
const BLOCK: usize = 32;

/// An element with a place in an order.
pub(crate) trait Sortable: Element + PartialOrd {
    /// A key with a place beside it.
    type Pair: Pair;

    /// The number whose order is that of the elements, in the lowest bits of as many as the element has.
    fn key(self) -> u64;

    /// Whether the element is NaN.
    fn is_unordered(self) -> bool;
}

/// A key above the place of the element that it is of.
pub(crate) trait Pair: Copy + Ord + Default + Send {
    /// Creates a pair of a key and a position.
    fn new(key: u64, place: u32) -> Self;

    /// The key.
    fn key(self) -> u64;

    /// The place.
    fn place(self) -> u32;
}

impl Pair for u64 {
    #[inline(always)]
    fn new(key: u64, place: u32) -> Self {
        key << 32 | u64::from(place)
    }

    #[inline(always)]
    fn key(self) -> u64 {
        self >> 32
    }

    #[inline(always)]
    fn place(self) -> u32 {
        self as u32
    }
}

impl Pair for (u64, u32) {
    #[inline(always)]
    fn new(key: u64, place: u32) -> Self {
        (key, place)
    }

    #[inline(always)]
    fn key(self) -> u64 {
        self.0
    }

    #[inline(always)]
    fn place(self) -> u32 {
        self.1
    }
}

macro_rules! integers {
    ($($type:ty, $bits:ty, $offset:expr, $pair:ty;)*) => {
        $(impl Sortable for $type {
            type Pair = $pair;

            #[inline(always)]
            fn key(self) -> u64 {
                u64::from(self as $bits ^ $offset)
            }

            #[inline(always)]
            fn is_unordered(self) -> bool {
                false
            }
        })*
    };
}

integers! {
    u8, u8, 0, u64;
    u16, u16, 0, u64;
    u32, u32, 0, u64;
    u64, u64, 0, (u64, u32);
    i8, u8, 1 << 7, u64;
    i16, u16, 1 << 15, u64;
    i32, u32, 1 << 31, u64;
    i64, u64, 1 << 63, (u64, u32);
}

macro_rules! floats {
    ($($type:ty, $bits:ty, $zero:expr, $pair:ty;)*) => {
        $(impl Sortable for $type {
            type Pair = $pair;

            #[inline(always)]
            fn key(self) -> u64 {
                const SIGN: $bits = 1 << (<$bits>::BITS - 1);
                if self.is_nan() {
                    return u64::from(<$bits>::MAX);
                }
                // Zeros of both signs are equal.
                let bits = if self == $zero { 0 } else { self.to_bits() };
                u64::from(if bits & SIGN == 0 { bits | SIGN } else { !bits })
            }

            #[inline(always)]
            fn is_unordered(self) -> bool {
                self.is_nan()
            }
        })*
    };
}

floats! {
    f16, u16, f16::ZERO, u64;
    bf16, u16, bf16::ZERO, u64;
    f32, u32, 0.0, u64;
    f64, u64, 0.0, (u64, u32);
}

impl Sortable for Bool {
    type Pair = u64;

    #[inline(always)]
    fn key(self) -> u64 {
        u64::from(self.is_true())
    }

    #[inline(always)]
    fn is_unordered(self) -> bool {
        false
    }
}

/// Whether elements of a dtype have an order that lines are sorted in.
pub fn is_sortable(dtype: DType) -> bool {
    with_dtype!(dtype, T: Ordered by itself => Ok(size_of::<T>())).is_ok()
}

/// Pairs that are sorted digit by digit, and what that takes.
struct Digits<P> {
    pairs: Vec<P>,
    other: Vec<P>,
    counts: Vec<[u32; DIGITS]>,
}

impl<P: Pair> Digits<P> {
    fn new() -> Self {
        Self { pairs: Vec::new(), other: Vec::new(), counts: Vec::new() }
    }

    /// Sorts the pairs by the lowest bits of their keys, one digit after the other.
    fn sort(&mut self, bits: u32) {
        let Self { pairs, other, counts } = self;
        let digits = bits.div_ceil(DIGIT);
        let digit = |pair: P, at: u32| (pair.key() >> (at * DIGIT)) as usize % DIGITS;
        counts.clear();
        counts.resize(digits as usize, [0; DIGITS]);
        for &pair in &*pairs {
            for (at, counts) in (0..digits).zip(&mut *counts) {
                counts[digit(pair, at)] += 1;
            }
        }
        other.clear();
        other.resize(pairs.len(), P::default());
        for (at, starts) in (0..digits).zip(&mut *counts) {
            // A digit that all have leaves the order as it is.
            if pairs.first().is_some_and(|first| starts[digit(*first, at)] as usize == pairs.len()) {
                continue;
            }
            let mut start = 0;
            for place in starts.iter_mut() {
                (start, *place) = (start + *place, start);
            }
            for &pair in &*pairs {
                let place = &mut starts[digit(pair, at)];
                other[*place as usize] = pair;
                *place += 1;
            }
            std::mem::swap(pairs, other);
        }
    }
}

/// What is used from line to line.
pub(crate) struct Scratch<P> {
    wide: Digits<P>,
    /// Digits of keys that differ in few bits, whatever the elements have.
    narrow: Digits<u64>,
}

/// The pairs of a line in order. Equal elements have equal keys, which say nothing else.
pub(crate) enum Sorted<'a, P> {
    Wide(&'a [P]),
    Narrow(&'a [u64]),
}

impl<P: Pair> Sorted<'_, P> {
    /// Calls `f` with the place of each element.
    fn for_each_place(&self, f: impl FnMut(usize)) {
        let place = |place: u32| place as usize;
        match self {
            Self::Wide(pairs) => pairs.iter().map(|pair| place(pair.place())).for_each(f),
            Self::Narrow(pairs) => pairs.iter().map(|pair| place(pair.place())).for_each(f),
        }
    }

    /// The last of the longest run of equal elements, of several the first one.
    fn last_of_longest(&self) -> Option<usize> {
        fn last<P: Pair>(pairs: &[P]) -> Option<usize> {
            let runs = pairs.chunk_by(|one, other| one.key() == other.key());
            // Of runs of one length the first stays.
            runs.rev().max_by_key(|run| run.len())?.last().map(|pair| pair.place() as usize)
        }
        match self {
            Self::Wide(pairs) => last(pairs),
            Self::Narrow(pairs) => last(pairs),
        }
    }
}

/// The lowest key of a line, and the highest.
pub(crate) fn ends<T: Sortable>(line: &[T]) -> (u64, u64) {
    let both = |(least, most): (u64, u64), element: &T| {
        let key = element.key();
        (least.min(key), most.max(key))
    };
    line.iter().fold((u64::MAX, 0), both)
}

/// What turns the order of keys around where that is wanted.
fn turned<T: Sortable>(descending: bool) -> u64 {
    if descending { u64::MAX >> (64 - 8 * size_of::<T>()) } else { 0 }
}

impl<P: Pair> Scratch<P> {
    pub(crate) fn new() -> Self {
        Self { wide: Digits::new(), narrow: Digits::new() }
    }

    /// The elements of a line as pairs, from the largest on if that is wanted.
    fn fill<T: Sortable<Pair = P>>(&mut self, line: &[T], descending: bool) -> &mut Vec<P> {
        let pairs = &mut self.wide.pairs;
        pairs.clear();
        let turned = turned::<T>(descending);
        pairs.extend((0u32..).zip(line).map(|(place, element)| P::new(element.key() ^ turned, place)));
        pairs
    }

    /// The first pairs of a line in order.
    fn first<T: Sortable<Pair = P>>(&mut self, line: &[T], count: usize, descending: bool) -> &[P] {
        let is_few = (1..=FEW.min(line.len() / PART)).contains(&count);
        if is_few && self.first_few(line, count, descending) {
            return &self.wide.pairs;
        }
        let pairs = self.fill(line, descending);
        if count < pairs.len() && count > 0 {
            pairs.select_nth_unstable(count - 1);
        }
        pairs.truncate(count);
        pairs.sort_unstable();
        pairs
    }

    /// Finds the first pairs of a line if most elements come after those found before, which takes one comparison
    /// each; gives up if too many do not.
    fn first_few<T: Sortable<Pair = P>>(&mut self, line: &[T], count: usize, descending: bool) -> bool {
        let (start, rest) = line.split_at(count);
        let pairs = self.fill(start, descending);
        pairs.sort_unstable();
        let mut insertions = line.len() / INSERTED;
        for (at, block) in rest.chunks(BLOCK).enumerate() {
            let last = line[pairs[count - 1].place() as usize];
            #[expect(clippy::neg_cmp_op_on_partial_ord, reason = "NaN comes before or after every number")]
            let may_enter = |element: &T| if descending { !(*element <= last) } else { !(*element >= last) };
            if !block.iter().fold(false, |any, element| any | may_enter(element)) {
                continue;
            }
            for (place, element) in (count + at * BLOCK..).zip(block) {
                let pair = P::new(element.key() ^ turned::<T>(descending), place as u32);
                if pair < pairs[count - 1] {
                    let Some(left) = insertions.checked_sub(1) else { return false };
                    insertions = left;
                    let at = pairs.partition_point(|known| *known < pair);
                    pairs.copy_within(at..count - 1, at + 1);
                    pairs[at] = pair;
                }
            }
        }
        true
    }

    /// The pairs of a line in order.
    pub(crate) fn sorted<T: Sortable<Pair = P>>(&mut self, line: &[T], descending: bool) -> Sorted<'_, P> {
        if line.len() < LONG {
            self.fill(line, descending).sort_unstable();
            return Sorted::Wide(&self.wide.pairs);
        }
        // Digits above those in which elements differ are not looked at.
        let (least, most) = ends(line);
        let bits = u64::BITS - (most - least).leading_zeros();
        if bits > u32::BITS {
            self.fill(line, descending);
            self.wide.sort(8 * size_of::<T>() as u32);
            return Sorted::Wide(&self.wide.pairs);
        }
        let key = |element: &T| if descending { most - element.key() } else { element.key() - least };
        self.narrow.pairs.clear();
        let pairs = (0u32..).zip(line).map(|(place, element)| u64::new(key(element), place));
        self.narrow.pairs.extend(pairs);
        self.narrow.sort(bits);
        Sorted::Narrow(&self.narrow.pairs)
    }

    /// The places of a line's elements in order.
    pub(crate) fn places<T: Sortable<Pair = P>>(&mut self, line: &[T]) -> Vec<usize> {
        let mut places = Vec::with_capacity(line.len());
        self.sorted(line, false).for_each_place(|place| places.push(place));
        places
    }

    /// The pair of a rank, of which there is one.
    fn ranked<T: Sortable<Pair = P>>(&mut self, line: &[T], rank: usize, descending: bool) -> P {
        *self.fill(line, descending).select_nth_unstable(rank).1
    }
}

/// Checks that a line is not too long to sort.
///
/// # Errors
///
/// Lines of more elements than there are numbers for their places.
pub fn check_length(length: i64) -> Result<()> {
    match u32::try_from(length) {
        Ok(_) => Ok(()),
        Err(_) => Err(argument(format!("found {length} elements to sort, expected at most {}", u32::MAX))),
    }
}

/// Sorts the lines of `input` along `dim`, equal elements in the order in which they are there, NaN as the largest.
///
/// # Errors
///
/// As `lines::map`; a dtype without an order.
pub fn sort(values: &Array, indices: &Array, input: &Array, dim: usize, descending: bool) -> Result<()> {
    with_dtype!(input.dtype(), T: Ordered by itself => {
        let line = |scratch: &mut Scratch<<T as Sortable>::Pair>, x: &[T], values: &mut [T], indices: &mut [i64]| {
            let mut to = values.iter_mut().zip(indices);
            scratch.sorted(x, descending).for_each_place(|place| {
                if let Some((value, index)) = to.next() {
                    (*value, *index) = (x[place], place as i64);
                }
            });
        };
        lines::map_to_two((values, indices), input, dim, Scratch::new, line)
    })
}

/// The largest elements of the lines of `input` along `dim`, or the smallest, in order, as many as lines of `values` have.
///
/// # Errors
///
/// As [`sort`].
pub fn top(values: &Array, indices: &Array, input: &Array, dim: usize, largest: bool) -> Result<()> {
    with_dtype!(input.dtype(), T: Ordered by itself => {
        let line = |scratch: &mut Scratch<<T as Sortable>::Pair>, x: &[T], values: &mut [T], indices: &mut [i64]| {
            let pairs = scratch.first(x, values.len(), largest);
            for ((value, index), pair) in values.iter_mut().zip(indices).zip(pairs) {
                (*value, *index) = (x[pair.place() as usize], i64::from(pair.place()));
            }
        };
        lines::map_to_two((values, indices), input, dim, Scratch::new, line)
    })
}

/// Which element of a line is wanted.
#[derive(Clone, Copy)]
pub enum Rank {
    /// The one with as many before it in ascending order.
    At(usize),
    /// The lower one of those in the middle, or the first NaN.
    Median,
    /// The lower one of those in the middle of all numbers.
    NanMedian,
    /// The smallest of those that are there most often, at its last place.
    Mode,
}

/// The element of a rank of each line of `input` along `dim`, and where it is: `values` and `indices` have a size of 1 there.
///
/// # Errors
///
/// As [`sort`].
pub fn ranked(values: &Array, indices: &Array, input: &Array, dim: usize, rank: Rank) -> Result<()> {
    with_dtype!(input.dtype(), T: Ordered by itself => {
        let line = |scratch: &mut Scratch<<T as Sortable>::Pair>, x: &[T], values: &mut [T], indices: &mut [i64]| {
            if let (Some(place), [value], [index]) = (place(scratch, x, rank), values, indices) {
                (*value, *index) = (x[place], place as i64);
            }
        };
        lines::map_to_two((values, indices), input, dim, Scratch::new, line)
    })
}

/// The element of a rank of all; NaN for none.
///
/// # Errors
///
/// As [`sort`].
pub fn of_all(out: &Array, input: &Array, rank: Rank) -> Result<()> {
    access::check(out, input, Aliasing::Never)?;
    let n = input.geometry().numel();
    if n == 0 {
        return iter::fill(out, Scalar::Float(f64::NAN));
    }
    let flat = Array::empty(TensorSpec::contiguous(input.sizes(), input.dtype(), input.device())?)?;
    copy::copy(&flat, input)?;
    let flat = flat.view(Geometry::contiguous(&[n])?)?;
    let place = Array::from_slice(&[0i64], &[1])?;
    ranked(&out.view(out.geometry().unsqueeze(0)?)?, &place, &flat, 0, rank)
}

/// Where the element of a rank of a line is; nowhere in a line without elements.
pub(crate) fn place<T: Sortable>(scratch: &mut Scratch<T::Pair>, x: &[T], rank: Rank) -> Option<usize> {
    let last = x.len().checked_sub(1)?;
    let rank = match rank {
        Rank::At(rank) => rank.min(last),
        Rank::Median => match x.iter().position(|element| element.is_unordered()) {
            Some(place) => return Some(place),
            None => last / 2,
        },
        Rank::NanMedian => {
            let numbers = x.iter().filter(|element| !element.is_unordered()).count();
            numbers.saturating_sub(1) / 2
        }
        Rank::Mode => return scratch.sorted(x, false).last_of_longest(),
    };
    Some(scratch.ranked(x, rank, false).place() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_order_of_elements() {
        let floats = [f64::NEG_INFINITY, -2.5, -f64::MIN_POSITIVE, 0.0, 1e-300, 1.0, f64::INFINITY, f64::NAN];
        assert!(floats.is_sorted_by_key(|x| x.key()));
        assert_eq!((-0.0f64).key(), 0.0f64.key());
        assert_eq!((-f32::NAN).key(), f32::NAN.key());
        assert!([i64::MIN, -1, 0, 1, i64::MAX].is_sorted_by_key(|x| x.key()));
        assert!([i8::MIN, -1, 0, 1, i8::MAX].is_sorted_by_key(|x| x.key()));
    }

    #[test]
    fn long_lines_are_sorted_as_short_ones() {
        let line: Vec<i32> = (0..5000).map(|i: i32| i.wrapping_mul(1_103_515_245) >> 20).collect();
        let [wide, wider] =
            [4, 30].map(|bits| line.iter().map(|x| i64::from(*x) << bits).collect::<Vec<_>>());
        for descending in [false, true] {
            let mut expected: Vec<usize> = (0..line.len()).collect();
            expected.sort_by_key(|at| if descending { -line[*at] } else { line[*at] });
            let mut scratch = Scratch::new();
            let mut places = Vec::new();
            scratch.sorted(&line, descending).for_each_place(|place| places.push(place));
            assert_eq!(places, expected);
            let mut scratch = Scratch::new();
            for line in [&wide, &wider] {
                let mut places = Vec::new();
                scratch.sorted(line, descending).for_each_place(|place| places.push(place));
                assert_eq!(places, expected);
            }
        }
        assert!(matches!(Scratch::new().sorted(&wide, false), Sorted::Narrow(_)));
        assert!(matches!(Scratch::new().sorted(&wider, false), Sorted::Wide(_)));
    }

    #[test]
    fn ranks_are_those_of_sorted_lines() {
        let line = [3.0f32, f32::NAN, 1.0, 2.0, 2.0];
        let at = |rank| place(&mut Scratch::new(), &line, rank);
        assert_eq!([Rank::At(0), Rank::At(1), Rank::At(4)].map(at), [Some(2), Some(3), Some(1)]);
        assert_eq!([Rank::Median, Rank::NanMedian, Rank::Mode].map(at), [Some(1), Some(3), Some(4)]);
        assert_eq!(place(&mut Scratch::new(), &[0.0f32; 0], Rank::Median), None);
    }
}
