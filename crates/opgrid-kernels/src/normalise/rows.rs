//! Rows that are normalised, and their gradients.

use std::mem::MaybeUninit;
use std::sync::{Mutex, PoisonError};

use opgrid_core::Result;

use super::{Affine, Found, PIECE, ROWS, Statistic, moments, reciprocal_deviation, squares, total};
use crate::parts;
use crate::reduce::Summed;
use opgrid_array::loops::arithmetic::Arithmetic;
use opgrid_array::loops::iter::parallel::parallel_for;
use opgrid_array::loops::simd::{VectorLoop, narrow_over, widened};
use opgrid_array::{Array, Element, Math};

/// Pieces of sums over rows, each of which has memory for its sums.
const PIECES: usize = 64;

/// What rows are divided by.
#[derive(Clone, Copy, PartialEq)]
pub enum Divisor {
    /// The deviation from the average, which is taken away first.
    Deviation,
    /// The root of the average square.
    RootMeanSquare,
}

/// Normalises rows of `length` elements. Gives average and reciprocal divisor of each.
///
/// # Errors
///
/// Overlap of input and output, tensors without data or used by others.
pub fn rows<T: Element<Math: Statistic>>(
    out: &Array,
    input: &Array,
    affine: &Affine<Math<T>>,
    length: usize,
    (divisor, eps): (Divisor, f64),
) -> Result<(Vec<f64>, Vec<f64>)> {
    let count = input.sizes().iter().product::<i64>() as usize / length.max(1);
    let (means, rstds) = (Found::new(count), Found::new(count));
    let vectors = (!affine.is_none()).then(|| affine.vectors(length));
    parts::read::<T, _>(out, input, |x| {
        parts::produce::<T>(out, length, length, |row, y| {
            let x = &x[row * length..(row + 1) * length];
            let affine = vectors.as_ref().map(|(weight, bias)| (weight.as_slice(), bias.as_slice()));
            let (mean, rstd) = Row { x, y, affine, divisor, eps }.vectorised();
            means.set(row, mean);
            rstds.set(row, rstd);
        })
    })?;
    Ok((means.into_numbers(), rstds.into_numbers()))
}

/// A factor and an addend for each element.
type Pair<'a, T> = (&'a [T], &'a [T]);

/// A row, and where its elements go.
struct Row<'a, T: Element> {
    x: &'a [T],
    y: &'a mut [T],
    affine: Option<Pair<'a, Math<T>>>,
    divisor: Divisor,
    eps: f64,
}

impl<T: Element<Math: Statistic>> VectorLoop for Row<'_, T> {
    type Output = (f64, f64);

    #[inline(always)]
    fn run(self) -> (f64, f64) {
        let Self { x, y, affine, divisor, eps } = self;
        let n = x.len();
        let y = &mut y[..n];
        let affine = affine.map(|(weight, bias)| (&weight[..n], &bias[..n]));
        // Decided before there is code: floats of 16 bits are converted once.
        if const { size_of::<T>() < size_of::<Math<T>>() } && n <= WIDENED {
            let mut room = [const { MaybeUninit::uninit() }; WIDENED];
            let x = widened(&mut room, x);
            let scale = Scale::from_values(x, divisor, eps);
            match affine {
                Some((weight, bias)) => {
                    for i in 0..n {
                        x[i] = scale.normal(x[i]).times(weight[i]).plus(bias[i]);
                    }
                }
                None => {
                    for x in &mut *x {
                        *x = scale.normal(*x);
                    }
                }
            }
            narrow_over(y, x);
            return scale.found;
        }
        let scale = Scale::from_values(x, divisor, eps);
        match affine {
            Some((weight, bias)) => {
                for i in 0..n {
                    y[i] = T::narrow(scale.normal(x[i].widen()).times(weight[i]).plus(bias[i]));
                }
            }
            None => {
                for i in 0..n {
                    y[i] = T::narrow(scale.normal(x[i].widen()));
                }
            }
        }
        scale.found
    }
}

/// Elements of a row that are converted together.
const WIDENED: usize = 4096;

/// What the elements of a row become normal by.
#[derive(Clone, Copy)]
struct Scale<M> {
    away: M,
    factor: M,
    /// The average and the reciprocal divisor, more precisely.
    found: (f64, f64),
}

impl<M: Statistic + Element<Math = M>> Scale<M> {
    #[inline(always)]
    fn from_values<T: Element<Math = M>>(x: &[T], divisor: Divisor, eps: f64) -> Self {
        let (mean, variance) = match divisor {
            Divisor::Deviation => moments(x),
            Divisor::RootMeanSquare => (0.0, squares(x, M::ZERO) / x.len() as f64),
        };
        let rstd = reciprocal_deviation(variance, eps);
        Self { away: M::narrowed(mean), factor: M::narrowed(rstd), found: (mean, rstd) }
    }

    #[inline(always)]
    fn normal(self, x: M) -> M {
        x.minus(self.away).times(self.factor)
    }
}

/// The gradient of rows that were normalised: that of the result, times the weights, without what it has in common with a
/// constant and with the normalised row.
///
/// # Errors
///
/// As [`rows`].
pub fn rows_backward<T: Element<Math: Statistic>>(
    out: &Array,
    [grad, input]: [&Array; 2],
    [means, rstds]: [&[f64]; 2],
    weight: &[Math<T>],
    length: usize,
) -> Result<()> {
    parts::read::<T, _>(out, input, |x| {
        parts::read::<T, _>(out, grad, |grad| {
            parts::produce::<T>(out, length, length, |row, y| {
                let here = row * length..(row + 1) * length;
                let (x, grad) = (&x[here.clone()], &grad[here]);
                RowBackward { x, grad, y, weight, mean: means[row], rstd: rstds[row] }.vectorised();
            })
        })
    })
}

struct RowBackward<'a, T: Element> {
    x: &'a [T],
    grad: &'a [T],
    y: &'a mut [T],
    weight: &'a [Math<T>],
    mean: f64,
    rstd: f64,
}

impl<T: Element<Math: Statistic>> VectorLoop for RowBackward<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { x, grad, y, weight, mean, rstd } = self;
        let n = x.len();
        let (grad, y, weight) = (&grad[..n], &mut y[..n], &weight[..n]);
        let away = Math::<T>::narrowed(mean);
        let constant = total(([grad], weight), |[grad], weight| grad.widen().times(weight)) / n as f64;
        let along = total(([grad, x], weight), |[grad, x], weight| {
            grad.widen().times(weight).times(x.widen().minus(away))
        });
        let along = along / n as f64;
        let factor = Math::<T>::narrowed(rstd);
        let (constant, slope) = (Math::<T>::narrowed(constant), Math::<T>::narrowed(along * rstd * rstd));
        for i in 0..n {
            let own = grad[i].widen().times(weight[i]).minus(constant);
            y[i] = T::narrow(own.minus(x[i].widen().minus(away).times(slope)).times(factor));
        }
    }
}

/// Sums over rows of `columns` elements: of `term`, which is asked for number of the row, column, and the elements of both
/// inputs there.
pub(super) fn column_totals<T: Element<Math: Statistic>>(
    [x, beside]: [&[T]; 2],
    columns: usize,
    term: impl Fn(usize, usize, Math<T>, Math<T>) -> Math<T> + Sync + Copy,
) -> Vec<f64> {
    let rows = x.len().checked_div(columns).unwrap_or(0);
    let grain = rows.div_ceil(PIECES).max(PIECE.div_ceil(columns.max(1)));
    let pieces: Vec<Mutex<Vec<f64>>> = (0..rows.div_ceil(grain)).map(|_| Mutex::default()).collect();
    parallel_for(rows, grain, &|range| {
        let mut totals = vec![0.0; columns];
        let mut sums = vec![Math::<T>::ZERO; columns];
        let piece = range.start / grain;
        for start in range.clone().step_by(ROWS) {
            let block = start..range.end.min(start + ROWS);
            Columns { x, beside, columns, rows: block, sums: &mut sums, term }.vectorised();
            for (total, sum) in totals.iter_mut().zip(&mut sums) {
                *total += sum.wide();
                *sum = Math::<T>::ZERO;
            }
        }
        *pieces[piece].lock().unwrap_or_else(PoisonError::into_inner) = totals;
    });
    let mut totals = vec![0.0; columns];
    for piece in pieces {
        let piece = piece.into_inner().unwrap_or_else(PoisonError::into_inner);
        totals.iter_mut().zip(piece).for_each(|(total, sum)| *total += sum);
    }
    totals
}

struct Columns<'a, T: Element, F> {
    x: &'a [T],
    beside: &'a [T],
    columns: usize,
    rows: std::ops::Range<usize>,
    sums: &'a mut [Math<T>],
    term: F,
}

impl<T, F> VectorLoop for Columns<'_, T, F>
where
    T: Element<Math: Statistic>,
    F: Fn(usize, usize, Math<T>, Math<T>) -> Math<T>,
{
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { x, beside, columns, rows, sums, term } = self;
        let sums = &mut sums[..columns];
        for row in rows {
            let x = &x[row * columns..(row + 1) * columns];
            let beside = &beside[row * columns..(row + 1) * columns];
            for column in 0..columns {
                let term = term(row, column, x[column].widen(), beside[column].widen());
                sums[column] = sums[column].plus(term);
            }
        }
    }
}

/// The gradients of the weights and of the biases of rows that were normalised.
///
/// # Errors
///
/// As [`rows`].
pub fn rows_parameters<T: Element<Math: Statistic>>(
    out: &Array,
    [grad, input]: [&Array; 2],
    [means, rstds]: [&[f64]; 2],
    length: usize,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let narrowed = |numbers: &[f64]| numbers.iter().map(|x| Math::<T>::narrowed(*x)).collect::<Vec<_>>();
    let (means, rstds) = (narrowed(means), narrowed(rstds));
    parts::read::<T, _>(out, input, |x| {
        parts::read::<T, _>(out, grad, |grad| {
            let (means, rstds) = (means.as_slice(), rstds.as_slice());
            let of_weight = column_totals([x, grad], length, |row, _, x, grad| {
                x.minus(means[row]).times(rstds[row]).times(grad)
            });
            Ok((of_weight, column_totals([x, grad], length, |_, _, _, grad| grad)))
        })
    })
}
