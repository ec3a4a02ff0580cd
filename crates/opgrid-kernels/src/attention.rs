//! Attention without the matrix of all scores: keys come in blocks, and what is known of a row of queries so far, its largest
//! score and the sum of exponentials, is corrected when a larger score comes.
//!
//! Source: M. Milakov, N. Gimelshein, Online normalizer calculation for softmax (2018); T. Dao et al., FlashAttention: Fast and
//! Memory-Efficient Exact Attention with IO-Awareness (2022).

use std::sync::{Mutex, PoisonError};

use opgrid_core::{DType, Error, Result, Scalar};

use crate::normalise::{Found, Statistic, numbers};
use crate::parts;
use crate::products::{Addend, multiply, multiply_add};
use opgrid_array::loops::arithmetic::Ordered;
use opgrid_array::loops::copy;
use opgrid_array::loops::iter::lanes::in_lanes;
use opgrid_array::loops::math::Inexact;
use opgrid_array::loops::simd::VectorLoop;
use opgrid_array::{Array, Element, Math, TensorSpec};

/// Queries that are looked at together, at most if their number is a multiple of a smaller one.
const QUERIES: i64 = 64;
/// Keys that are looked at together.
const KEYS: i64 = 256;
/// Numbers that are compared or added side by side.
const LANES: usize = 32;

/// What is added to the scores.
pub struct Mask<M> {
    numbers: Vec<M>,
    /// Images, heads and queries; keys are neighbours.
    strides: [usize; 3],
}

impl<M: Statistic> Mask<M> {
    /// A mask of four dimensions, each of size 1 or as in `sizes`. Of bools those that are false are minus infinity, the
    /// others zero.
    ///
    /// # Errors
    ///
    /// A mask that does not broadcast, without data, or written by others.
    pub fn new(mask: &Array, sizes: [i64; 4]) -> Result<Self> {
        let mut geometry = mask.geometry().clone();
        // Dimensions that repeat their elements are kept once, but for the keys, which are walked.
        for (dim, size) in sizes.iter().enumerate().take(3) {
            if geometry.sizes()[dim] == *size && geometry.strides()[dim] == 0 && *size > 1 {
                geometry = geometry.slice(dim as i64, 0, 1, 1)?;
            }
        }
        let mut kept: Vec<i64> = geometry.sizes().to_vec();
        kept[3] = sizes[3];
        let seen = mask.view(geometry.expand(&kept)?)?;
        let mut numbers = numbers::<M>(&seen)?;
        if mask.dtype() == DType::Bool {
            let hidden = M::narrowed(f64::NEG_INFINITY);
            numbers.iter_mut().for_each(|x| *x = if *x == M::ZERO { hidden } else { M::ZERO });
        }
        let row = kept[3] as usize;
        let steps = [kept[1] as usize * kept[2] as usize * row, kept[2] as usize * row, row];
        let strides = [0, 1, 2].map(|dim| if kept[dim] == 1 { 0 } else { steps[dim] });
        Ok(Self { numbers, strides })
    }

    fn row(&self, place: [usize; 3], keys: std::ops::Range<usize>) -> &[M] {
        let start: usize = place.iter().zip(self.strides).map(|(index, stride)| index * stride).sum();
        &self.numbers[start + keys.start..start + keys.end]
    }
}

/// What attention is computed from: arrays of four dimensions, images, heads, places and elements.
pub struct Attention<'a, M> {
    /// What looks for keys.
    pub query: &'a Array,
    /// The keys, with as many heads as `query`, or fewer that divide its number.
    pub key: &'a Array,
    /// What is summed, weighted.
    pub value: &'a Array,
    /// What is added to products of queries and keys.
    pub mask: Option<Mask<M>>,
    /// Whether queries see no keys behind their own place.
    pub is_causal: bool,
    /// What products are multiplied by.
    pub scale: f64,
}

/// Writes the sums of values, and gives the logarithm of the sum of exponentials of each query.
///
/// # Errors
///
/// Overlap of an input and the output, tensors without data or used by others.
pub fn weighted_sums<T>(out: &Array, attention: &Attention<'_, Math<T>>) -> Result<Vec<f64>>
where
    T: Element<Math: Statistic + Ordered>,
{
    let [count, heads, queries, _] = sizes_of(attention.query);
    let columns = sizes_of(attention.value)[3];
    let [query, key, value] = [attention.query, attention.key, attention.value].map(widened::<Math<T>>);
    let (query, key, value) = (query?, key?, value?);
    let block = (1..=QUERIES.min(queries.max(1))).rev().find(|block| queries % block == 0).unwrap_or(1);
    // Many small blocks would read the keys again and again.
    let block = if block >= QUERIES / 4 || queries <= QUERIES { block } else { queries };
    let blocks = (queries / block) as usize;
    let found = Found::new((count * heads * queries) as usize);
    let failed: Mutex<Option<Error>> = Mutex::default();
    let unit = |part: usize, y: &mut [T]| -> Result<()> {
        let (head, first) = (part / blocks, (part % blocks) as i64 * block);
        let place = [head / heads as usize, head % heads as usize];
        let of = |array: &Array| -> Result<Array> {
            let own = place[1] as i64 * sizes_of(array)[1] / heads;
            array.view(array.geometry().select(0, place[0] as i64)?.select(0, own)?)
        };
        let rows = of(&query)?;
        let rows = rows.view(rows.geometry().slice(0, first, first + block, 1)?)?;
        let rows = Rows { attention, query: rows, key: of(&key)?, value: of(&value)?, place, first };
        for (row, log) in rows.weighted_sums(y)?.into_iter().enumerate() {
            found.set((head as i64 * queries + first) as usize + row, log);
        }
        Ok(())
    };
    let [.., keys, elements] = sizes_of(attention.key);
    let products = [block, keys, elements + columns]
        .into_iter()
        .fold(1, |all, size| usize::saturating_mul(all, size as usize));
    parts::produce::<T>(out, (block * columns) as usize, products, |part, y| {
        if let Err(error) = unit(part, y) {
            failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    })?;
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(found.into_numbers()),
    }
}

fn sizes_of(array: &Array) -> [i64; 4] {
    let sizes = array.sizes();
    [0, 1, 2, 3].map(|dim| sizes.get(dim).copied().unwrap_or(1))
}

/// The array, or a row-major copy in the type that is computed in.
fn widened<M: Element>(array: &Array) -> Result<Array> {
    if array.dtype() == M::DTYPE {
        return Ok(array.clone());
    }
    let wide = Array::empty(TensorSpec::contiguous(array.sizes(), M::DTYPE, array.device())?)?;
    copy::copy(&wide, array)?;
    Ok(wide)
}

/// Some queries of one head: matrices, with a row for each place.
struct Rows<'a, M> {
    attention: &'a Attention<'a, M>,
    query: Array,
    key: Array,
    value: Array,
    place: [usize; 2],
    /// The place of the first query.
    first: i64,
}

/// What is known of a row of queries.
#[derive(Clone, Copy)]
struct Known<M> {
    largest: M,
    sum: f64,
}

impl<M: Statistic + Ordered> Rows<'_, M> {
    /// Writes the sums of values, and gives the logarithms of sums of exponentials.
    fn weighted_sums<T: Element<Math = M>>(&self, y: &mut [T]) -> Result<Vec<f64>> {
        let (rows, keys, columns) = (self.query.sizes()[0], self.key.sizes()[0], self.value.sizes()[1]);
        let fresh =
            |columns| Array::empty(TensorSpec::contiguous(&[rows, columns], M::DTYPE, self.query.device())?);
        let mut known = vec![Known { largest: M::narrowed(f64::NEG_INFINITY), sum: 0.0 }; rows as usize];
        let sums = fresh(columns)?;
        let end = if self.attention.is_causal { keys.min(self.first + rows) } else { keys };
        if end == 0 {
            opgrid_array::loops::elementwise::fill(&sums, Scalar::Int(0))?;
        }
        let mut start = 0;
        while start < end {
            let next = end.min(start + KEYS);
            let part = |array: &Array| array.view(array.geometry().slice(0, start, next, 1)?);
            let key = part(&self.key)?;
            let scores = fresh(next - start)?;
            multiply(&scores, &self.query, &key.view(key.geometry().transpose(0, 1)?)?)?;
            let factors = self.weigh(&scores, start as usize..next as usize, &mut known)?;
            let value = part(&self.value)?;
            if start == 0 {
                multiply(&sums, &scores, &value)?;
            } else {
                let mut guard = sums.storage().write()?;
                let all = guard.slice::<M>()?;
                for (row, factor) in all.chunks_exact_mut(columns.max(1) as usize).zip(&factors) {
                    row.iter_mut().for_each(|x| *x = x.times(*factor));
                }
                drop(guard);
                let one = Scalar::Int(1);
                multiply_add(&sums, Addend { input: &sums, beta: one, alpha: one }, &scores, &value)?;
            }
            start = next;
        }
        let guard = sums.storage().read()?;
        let rows = y
            .chunks_exact_mut(columns.max(1) as usize)
            .zip(guard.slice::<M>()?.chunks(columns.max(1) as usize));
        for ((to, from), known) in rows.zip(&known) {
            // A query that sees nothing gets nothing.
            let factor = M::narrowed(if known.sum == 0.0 { 0.0 } else { 1.0 / known.sum });
            to.iter_mut().zip(from).for_each(|(to, from)| *to = T::narrow(from.times(factor)));
        }
        let log =
            |known: &Known<M>| if known.sum == 0.0 { 0.0 } else { known.largest.wide() + known.sum.ln() };
        Ok(known.iter().map(log).collect())
    }

    /// Turns scores into exponentials. Gives what the sums so far are to be multiplied by.
    fn weigh(&self, scores: &Array, keys: std::ops::Range<usize>, known: &mut [Known<M>]) -> Result<Vec<M>> {
        let mut guard = scores.storage().write()?;
        let scores = guard.slice::<M>()?;
        Ok(Weigh { rows: self, scores, keys, known }.vectorised())
    }

    /// How many of some keys a query sees, which are the first ones.
    #[inline(always)]
    fn seen(&self, query: usize, keys: &std::ops::Range<usize>) -> usize {
        if self.attention.is_causal {
            (query + 1).saturating_sub(keys.start).min(keys.len())
        } else {
            keys.len()
        }
    }
}

/// A row of scores for each query.
struct Weigh<'a, M> {
    rows: &'a Rows<'a, M>,
    scores: &'a mut [M],
    keys: std::ops::Range<usize>,
    known: &'a mut [Known<M>],
}

impl<M: Statistic + Ordered> VectorLoop for Weigh<'_, M> {
    type Output = Vec<M>;
    const IS_WIDE: bool = true;

    #[inline(always)]
    fn run(self) -> Vec<M> {
        self.weigh(Inexact::exp)
    }

    #[inline(always)]
    fn run_unfused(self) -> Vec<M> {
        self.weigh(Inexact::exp_unfused)
    }
}

impl<M: Statistic + Ordered> Weigh<'_, M> {
    /// With that exponential.
    #[inline(always)]
    fn weigh(self, exp: impl Fn(M) -> M) -> Vec<M> {
        let Self { rows, scores, keys, known } = self;
        let (attention, lowest) = (rows.attention, M::narrowed(f64::NEG_INFINITY));
        let scale = M::narrowed(attention.scale);
        // Of short rows all exponentials are computed at once.
        let is_short = keys.len() < LANES;
        let mut factors = Vec::with_capacity(known.len());
        for (row, (scores, known)) in scores.chunks_exact_mut(keys.len()).zip(&mut *known).enumerate() {
            let query = rows.first as usize + row;
            let seen = rows.seen(query, &keys);
            // Vectors are filled up by scores that are not seen.
            let (scores, hidden) = scores.split_at_mut(seen.next_multiple_of(LANES).min(keys.len()));
            hidden.fill(M::ZERO);
            match &attention.mask {
                Some(mask) => {
                    let mask = mask.row([rows.place[0], rows.place[1], query], keys.start..keys.end);
                    for (score, mask) in scores.iter_mut().zip(mask) {
                        *score = score.times(scale).plus(*mask);
                    }
                }
                None => scores.iter_mut().for_each(|score| *score = score.times(scale)),
            }
            scores[seen..].fill(lowest);
            let larger = |largest: M, []: [M; 0], score| largest.larger(score);
            let largest = in_lanes(([], scores), [lowest; LANES], larger, M::larger).larger(known.largest);
            // Of a query that has seen nothing all exponentials are zero.
            let most = if largest == lowest { M::ZERO } else { largest };
            // Nothing was summed before the first scores.
            let factor = if known.largest == lowest { M::ONE } else { exp(known.largest.minus(most)) };
            if is_short {
                scores.iter_mut().for_each(|score| *score = score.minus(most));
            } else {
                scores.iter_mut().for_each(|score| *score = exp(score.minus(most)));
            }
            *known = Known { largest, sum: known.sum * factor.wide() };
            factors.push(factor);
        }
        if is_short {
            scores.iter_mut().for_each(|score| *score = exp(*score));
        }
        for (scores, known) in scores.chunks_exact(keys.len()).zip(known) {
            let sum = in_lanes(([], scores), [M::ZERO; LANES], |sum, []: [M; 0], x| sum.plus(x), M::plus);
            known.sum += sum.wide();
        }
        factors
    }
}
