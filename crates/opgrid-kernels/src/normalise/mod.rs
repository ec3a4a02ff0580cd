//! Takes averages away from elements and divides by deviations: over rows, groups of channels and channels.
//!
//! Averages come first and squares of distances from them second, so that nothing cancels. Both are summed in the precision
//! that kernels compute in, and joined in double precision every `BLOCK` terms. Sums are joined in an order that does not
//! depend on the number of threads.

mod rows;

use std::sync::atomic::{AtomicU64, Ordering};

use opgrid_core::Result;

use crate::parts;
use crate::reduce::Summed;
use opgrid_array::loops::arithmetic::Arithmetic;
use opgrid_array::loops::iter::lanes::in_lanes;
use opgrid_array::loops::iter::parallel::parallel_for;
use opgrid_array::loops::math::Inexact;
use opgrid_array::loops::simd::VectorLoop;
use opgrid_array::loops::{copy, elementwise};
use opgrid_array::{Array, Element, Math, TensorSpec};

use rows::column_totals;
pub use rows::{Divisor, rows, rows_backward, rows_parameters};

/// Terms that are added in their own precision.
const BLOCK: usize = 1024;
/// Terms that are added side by side.
const LANES: usize = 32;
/// Steps of work that are worth a piece of their own.
const PIECE: usize = 1 << 15;
/// Rows that are added in their own precision.
const ROWS: usize = 64;

/// What statistics are computed in: single or double precision.
pub trait Statistic: Inexact + Summed<Wide = f64> {}

impl<M: Inexact + Summed<Wide = f64>> Statistic for M {}

/// The factor and the summand of each element of a row, or of each channel.
pub struct Affine<M> {
    weight: Option<Vec<M>>,
    bias: Option<Vec<M>>,
}

impl<M: Statistic> Affine<M> {
    /// Borrows the weight and the bias.
    ///
    /// # Errors
    ///
    /// Tensors without data, or written by others.
    pub fn new(weight: Option<&Array>, bias: Option<&Array>) -> Result<Self> {
        let numbers = |array: Option<&Array>| array.map(numbers::<M>).transpose();
        Ok(Self { weight: numbers(weight)?, bias: numbers(bias)? })
    }

    fn is_none(&self) -> bool {
        self.weight.is_none() && self.bias.is_none()
    }

    /// Both for each of `count` elements.
    fn vectors(&self, count: usize) -> (Vec<M>, Vec<M>) {
        let or = |vector: &Option<Vec<M>>, default| vector.clone().unwrap_or_else(|| vec![default; count]);
        (or(&self.weight, M::ONE), or(&self.bias, M::ZERO))
    }

    /// What turns elements of this channel into normalised ones: the average that is taken away, factor and summand.
    fn of_channel(&self, channel: usize, mean: f64, rstd: f64) -> [M; 3] {
        let at = |vector: &Option<Vec<M>>, default: f64| {
            vector.as_ref().map_or(default, |vector| vector[channel].wide())
        };
        [mean, rstd * at(&self.weight, 1.0), at(&self.bias, 0.0)].map(M::narrowed)
    }
}

/// All elements, converted.
///
/// # Errors
///
/// Tensors without data, or written by others.
pub fn numbers<M: Element>(array: &Array) -> Result<Vec<M>> {
    if array.dtype() == M::DTYPE {
        return array.to_vec();
    }
    let converted = Array::empty(TensorSpec::contiguous(array.sizes(), M::DTYPE, array.device())?)?;
    copy::copy(&converted, array)?;
    converted.to_vec()
}

/// Writes numbers, converted, to an array of as many elements.
///
/// # Errors
///
/// An output that repeats elements, has no data, or is used by others.
pub fn write_numbers(out: &Array, numbers: &[f64]) -> Result<()> {
    elementwise::copy(out, &Array::from_slice(numbers, out.sizes())?)
}

/// The average and the variance of elements; of none zero and NaN.
#[inline(always)]
fn moments<T: Element<Math: Statistic>>(x: &[T]) -> (f64, f64) {
    let n = x.len();
    if n == 0 {
        return (0.0, f64::NAN);
    }
    let mean = sum(x) / n as f64;
    let rounded = Math::<T>::narrowed(mean);
    let squares = squares(x, rounded);
    let rest = mean - rounded.wide();
    let variance = squares / n as f64 - rest * rest;
    (mean, if variance < 0.0 { 0.0 } else { variance })
}

/// The sum of elements.
#[inline(always)]
fn sum<T: Element<Math: Statistic>>(x: &[T]) -> f64 {
    total(([], x), |[]: [T; 0], x| x.widen())
}

/// The sum of the squares of distances from a number.
#[inline(always)]
fn squares<T: Element<Math: Statistic>>(x: &[T], from: Math<T>) -> f64 {
    total(([], x), |[]: [T; 0], x| {
        let distance = x.widen().minus(from);
        distance.times(distance)
    })
}

/// The sum of a term for all elements of slices of one length.
#[inline(always)]
fn total<A: Copy, B: Copy, M: Statistic, const K: usize>(
    (of, beside): ([&[A]; K], &[B]),
    term: impl Fn([A; K], B) -> M,
) -> f64 {
    let (n, mut total, mut start) = (beside.len(), 0.0, 0);
    while start < n {
        let end = n.min(start + BLOCK);
        let part = (of.map(|of| &of[start..end]), &beside[start..end]);
        let sum = in_lanes(part, [M::ZERO; LANES], |sum, of, beside| sum.plus(term(of, beside)), M::plus);
        total += sum.wide();
        start = end;
    }
    total
}

fn reciprocal_deviation(variance: f64, eps: f64) -> f64 {
    1.0 / (variance + eps).sqrt()
}

/// The reciprocal standard deviation of a channel: zero if the channel does not vary and `eps` is zero, as in torch,
/// so that its elements become zero.
pub fn reciprocal_deviation_of_channel(variance: f64, eps: f64) -> f64 {
    if variance == 0.0 && eps == 0.0 { 0.0 } else { reciprocal_deviation(variance, eps) }
}

/// Numbers that threads find, each once.
pub(crate) struct Found(Vec<AtomicU64>);

impl Found {
    /// Zeros.
    pub(crate) fn new(count: usize) -> Self {
        Self((0..count).map(|_| AtomicU64::new(0)).collect())
    }

    pub(crate) fn set(&self, at: usize, number: f64) {
        self.0[at].store(number.to_bits(), Ordering::Relaxed);
    }

    pub(crate) fn into_numbers(self) -> Vec<f64> {
        self.0.into_iter().map(|bits| f64::from_bits(bits.into_inner())).collect()
    }
}

/// How the elements of images, or of the like, lie in memory.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Images.
    pub count: usize,
    /// Channels of each.
    pub channels: usize,
    /// Elements of each channel.
    pub inner: usize,
    /// Whether the channels of a place are neighbours, and not the places of a channel.
    pub channels_last: bool,
}

impl Layout {
    fn image(&self) -> usize {
        self.channels * self.inner
    }

    /// Elements of a part for a thread: a plane, or some places of an image.
    fn part(&self) -> usize {
        if self.channels_last {
            let places = (1..=self.inner.min(64)).rev().find(|places| self.inner.is_multiple_of(*places));
            self.channels * places.unwrap_or(1)
        } else {
            self.inner
        }
    }
}

/// Average and variance of each channel over all images.
pub(crate) fn of_channels<T: Element<Math: Statistic>>(x: &[T], layout: Layout) -> (Vec<f64>, Vec<f64>) {
    let Layout { count, channels, inner, channels_last } = layout;
    let n = (count * inner) as f64;
    if channels_last {
        let means: Vec<f64> =
            column_totals([x, x], channels, |_, _, x, _| x).into_iter().map(|sum| sum / n).collect();
        return (means.clone(), column_variances(x, &means, n));
    }
    let (means, variances) = (Found::new(channels), Found::new(channels));
    parallel_for(channels, PIECE.div_ceil((count * inner).max(1)), &|range| {
        for channel in range {
            let planes =
                |mean| PlaneTotals { x, start: channel * inner, inner, apart: channels * inner, count, mean };
            let mean = planes(None).vectorised() / n;
            let rounded = Math::<T>::narrowed(mean);
            let squares = planes(Some(rounded)).vectorised();
            means.set(channel, mean);
            variances.set(channel, variance(squares, n, mean - rounded.wide()));
        }
    });
    (means.into_numbers(), variances.into_numbers())
}

/// The average of squares of distances from a number that is `rest` away from the average, corrected.
fn variance(squares: f64, n: f64, rest: f64) -> f64 {
    let variance = squares / n - rest * rest;
    if variance < 0.0 { 0.0 } else { variance }
}

/// The variance of each column, of `n` rows.
fn column_variances<T: Element<Math: Statistic>>(x: &[T], means: &[f64], n: f64) -> Vec<f64> {
    let rounded: Vec<Math<T>> = means.iter().map(|mean| Math::<T>::narrowed(*mean)).collect();
    let away = rounded.as_slice();
    let squares = column_totals([x, x], means.len(), |_, column, x, _| {
        let distance = x.minus(away[column]);
        distance.times(distance)
    });
    let rests = means.iter().zip(away).map(|(mean, rounded)| mean - rounded.wide());
    squares.into_iter().zip(rests).map(|(squares, rest)| variance(squares, n, rest)).collect()
}

/// The sum of the elements of planes that are so many elements apart, or of the squares of their distances from a number.
struct PlaneTotals<'a, T: Element> {
    x: &'a [T],
    /// Where the first plane begins.
    start: usize,
    inner: usize,
    apart: usize,
    count: usize,
    mean: Option<Math<T>>,
}

impl<T: Element<Math: Statistic>> VectorLoop for PlaneTotals<'_, T> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        let Self { x, start, inner, apart, count, mean } = self;
        let plane = |image: usize| &x[start + image * apart..][..inner];
        if inner >= LANES {
            return match mean {
                None => (0..count).map(|image| sum(plane(image))).sum(),
                Some(mean) => (0..count).map(|image| squares(plane(image), mean)).sum(),
            };
        }
        // Small planes are summed together: lane by lane, what is left of them one after the other.
        const FEW: usize = 8;
        let term = |x: T| match mean {
            None => x.widen(),
            Some(mean) => {
                let distance = x.widen().minus(mean);
                distance.times(distance)
            }
        };
        let (mut total, mut image) = (0.0, 0);
        while image < count {
            let (mut lanes, mut rest) = ([Math::<T>::ZERO; FEW], Math::<T>::ZERO);
            let end = count.min(image + ROWS);
            for image in image..end {
                let (groups, left) = plane(image).as_chunks::<FEW>();
                for group in groups {
                    for lane in 0..FEW {
                        lanes[lane] = lanes[lane].plus(term(group[lane]));
                    }
                }
                rest = left.iter().fold(rest, |sum, x| sum.plus(term(*x)));
            }
            total += lanes.iter().map(|lane| lane.wide()).sum::<f64>() + rest.wide();
            image = end;
        }
        total
    }
}

/// Average and variance of each group of channels of each image.
pub(crate) fn of_groups<T: Element<Math: Statistic>>(
    x: &[T],
    layout: Layout,
    groups: usize,
) -> (Vec<f64>, Vec<f64>) {
    let Layout { count, channels, inner, channels_last } = layout;
    let size = channels / groups.max(1) * inner;
    if !channels_last {
        let (means, variances) = (Found::new(count * groups), Found::new(count * groups));
        parallel_for(count * groups, PIECE.div_ceil(size.max(1)), &|range| {
            for group in range {
                let (mean, variance) = Moments(&x[group * size..][..size]).vectorised();
                means.set(group, mean);
                variances.set(group, variance);
            }
        });
        return (means.into_numbers(), variances.into_numbers());
    }
    let (mut means, mut variances) = (Vec::new(), Vec::new());
    let per_group = channels / groups.max(1);
    let of_group = |totals: &[f64]| -> Vec<f64> {
        totals.chunks(per_group.max(1)).map(|group| group.iter().sum::<f64>() / size as f64).collect()
    };
    for image in x.chunks(layout.image().max(1)) {
        let own = of_group(&column_totals([image, image], channels, |_, _, x, _| x));
        let spread: Vec<f64> = own.iter().flat_map(|mean| std::iter::repeat_n(*mean, per_group)).collect();
        let within = column_variances(image, &spread, 1.0);
        variances.extend(of_group(&within));
        means.extend(own);
    }
    (means, variances)
}

/// Average and variance of some elements.
struct Moments<'a, T>(&'a [T]);

impl<T: Element<Math: Statistic>> VectorLoop for Moments<'_, T> {
    type Output = (f64, f64);

    #[inline(always)]
    fn run(self) -> (f64, f64) {
        moments(self.0)
    }
}

/// Writes what [`Affine::of_channel`] makes of each element, of as many channels as there are, or as there are in all images.
///
/// # Errors
///
/// An output that repeats elements, has no data, or is used by others.
fn scale<T: Element<Math: Statistic>>(
    out: &Array,
    x: &[T],
    layout: Layout,
    affine: &[[Math<T>; 3]],
) -> Result<()> {
    let part = layout.part();
    let Layout { channels, channels_last, .. } = layout;
    let parts_of = [0, 1, 2].map(|which| affine.iter().map(|of| of[which]).collect::<Vec<_>>());
    parts::produce::<T>(out, part, part, |at, y| {
        let x = &x[at * part..(at + 1) * part];
        let channels = if channels_last {
            let image = at * part / layout.image();
            let start = image * channels % affine.len();
            start..start + channels
        } else {
            at % affine.len()..at % affine.len() + 1
        };
        let [away, factors, summands] = parts_of.each_ref().map(|of| &of[channels.clone()]);
        Scaled { x, y, away, factors, summands }.vectorised();
    })
}

/// Elements, for which what is taken away, factors and summands come again from the first on; a single one is for all.
struct Scaled<'a, T: Element> {
    x: &'a [T],
    y: &'a mut [T],
    away: &'a [Math<T>],
    factors: &'a [Math<T>],
    summands: &'a [Math<T>],
}

impl<T: Element<Math: Statistic>> VectorLoop for Scaled<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { x, y, away, factors, summands } = self;
        if let (&[away], &[factor], &[summand]) = (away, factors, summands) {
            for (y, x) in y.iter_mut().zip(x) {
                *y = T::narrow(x.widen().minus(away).times(factor).plus(summand));
            }
            return;
        }
        let columns = factors.len();
        let (away, summands) = (&away[..columns], &summands[..columns]);
        for (y, x) in y.chunks_exact_mut(columns).zip(x.chunks_exact(columns)) {
            for column in 0..columns {
                let normal = x[column].widen().minus(away[column]).times(factors[column]);
                y[column] = T::narrow(normal.plus(summands[column]));
            }
        }
    }
}

/// A mean and a variance for each channel.
type Statistics = (Vec<f64>, Vec<f64>);

/// Normalises channels with the averages and variances that are given, or else with their own. Gives both.
///
/// # Errors
///
/// Overlap of input and output, tensors without data or used by others.
pub fn channels<T: Element<Math: Statistic>>(
    out: &Array,
    input: &Array,
    affine: &Affine<Math<T>>,
    layout: Layout,
    (given, eps): (Option<Statistics>, f64),
) -> Result<(Vec<f64>, Vec<f64>)> {
    parts::read::<T, _>(out, input, |x| {
        let rstd = if given.is_some() { reciprocal_deviation } else { reciprocal_deviation_of_channel };
        let (means, variances) = given.unwrap_or_else(|| of_channels(x, layout));
        let of = |(channel, (mean, variance)): (usize, (&f64, &f64))| {
            affine.of_channel(channel, *mean, rstd(*variance, eps))
        };
        let all: Vec<_> = means.iter().zip(&variances).enumerate().map(of).collect();
        scale(out, x, layout, &all)?;
        Ok((means, variances))
    })
}

/// Normalises groups of channels of each image. Gives averages and reciprocal deviations.
///
/// # Errors
///
/// As [`channels`].
pub fn groups<T: Element<Math: Statistic>>(
    out: &Array,
    input: &Array,
    affine: &Affine<Math<T>>,
    layout: Layout,
    (groups, eps): (usize, f64),
) -> Result<(Vec<f64>, Vec<f64>)> {
    let per_group = layout.channels / groups.max(1);
    parts::read::<T, _>(out, input, |x| {
        let (means, variances) = of_groups(x, layout, groups);
        let rstds: Vec<f64> =
            variances.into_iter().map(|variance| reciprocal_deviation(variance, eps)).collect();
        let of = |at: usize| {
            let group = at / per_group.max(1);
            affine.of_channel(at % layout.channels, means[group], rstds[group])
        };
        let all: Vec<_> = (0..layout.count * layout.channels).map(of).collect();
        scale(out, x, layout, &all)?;
        Ok((means, rstds))
    })
}

/// Sums over the places of each channel of each image: of the gradient times the elements, and of the gradient.
///
/// # Errors
///
/// As [`channels`].
pub fn plane_products<T: Element<Math: Statistic>>(
    out: &Array,
    [grad, input]: [&Array; 2],
    layout: Layout,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let Layout { count, channels, inner, .. } = layout;
    let (products, sums) = (Found::new(count * channels), Found::new(count * channels));
    parts::read::<T, _>(out, input, |x| {
        parts::read::<T, _>(out, grad, |grad| {
            parallel_for(count * channels, PIECE.div_ceil(inner.max(1)), &|range| {
                for plane in range {
                    let here = plane * inner..(plane + 1) * inner;
                    let (product, sum) =
                        PlaneProducts { x: &x[here.clone()], grad: &grad[here] }.vectorised();
                    products.set(plane, product);
                    sums.set(plane, sum);
                }
            });
            Ok(())
        })
    })?;
    Ok((products.into_numbers(), sums.into_numbers()))
}

struct PlaneProducts<'a, T> {
    x: &'a [T],
    grad: &'a [T],
}

impl<T: Element<Math: Statistic>> VectorLoop for PlaneProducts<'_, T> {
    type Output = (f64, f64);

    #[inline(always)]
    fn run(self) -> (f64, f64) {
        let Self { x, grad } = self;
        (total(([x], grad), |[x], grad| x.widen().times(grad.widen())), sum(grad))
    }
}

/// Writes each element of `grad` times the first number of its plane, plus that of `input` times the second, plus the third.
///
/// # Errors
///
/// As [`channels`].
pub fn combine_planes<T: Element<Math: Statistic>>(
    out: &Array,
    [grad, input]: [&Array; 2],
    inner: usize,
    weights: &[[f64; 3]],
) -> Result<()> {
    parts::read::<T, _>(out, input, |x| {
        parts::read::<T, _>(out, grad, |grad| {
            parts::produce::<T>(out, inner, inner, |plane, y| {
                let here = plane * inner..(plane + 1) * inner;
                let weights = weights[plane].map(Math::<T>::narrowed);
                Combined { x: &x[here.clone()], grad: &grad[here], y, weights }.vectorised();
            })
        })
    })
}

struct Combined<'a, T: Element> {
    x: &'a [T],
    grad: &'a [T],
    y: &'a mut [T],
    weights: [Math<T>; 3],
}

impl<T: Element<Math: Statistic>> VectorLoop for Combined<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { x, grad, y, weights: [of_grad, of_input, summand] } = self;
        for ((y, x), grad) in y.iter_mut().zip(x).zip(grad) {
            let sum = grad.widen().times(of_grad).plus(x.widen().times(of_input));
            *y = T::narrow(sum.plus(summand));
        }
    }
}
