//! Reduces elements over dimensions: what operators use, and sums.
//!
//! Sums are pairwise. Single-precision elements are added in double precision, except for groups of up to eight; integers
//! wrap around. The error is at most torch's, which grows with the logarithm of the number of elements.

use std::marker::PhantomData;

use num_complex::Complex;
use opgrid_core::{DType, Result};
use smallvec::SmallVec;

use opgrid_array::error::argument;
use opgrid_array::loops::access::{self, Aliasing};
use opgrid_array::loops::arithmetic::Arithmetic;
use opgrid_array::loops::copy;
use opgrid_array::loops::elementwise::{Destination, Operand};
use opgrid_array::loops::iter::{self, Source};
use opgrid_array::views::normalise_dim;
use opgrid_array::with_dtype;
use opgrid_array::{Array, Bool, Dims, Element, Math, TensorSpec};

use opgrid_array::loops::iter::fold::{Folding, Typed};
use opgrid_array::loops::iter::lanes::join_sixteen;
pub use opgrid_array::loops::iter::reduction::{COLUMNS, LANES, Reduction, STEPS};

/// The dimensions that `dims` means, in ascending order; an empty list means all.
///
/// # Errors
///
/// A dimension out of range or named twice.
pub fn normalise_dims(dims: &[i64], count: usize) -> Result<SmallVec<[usize; 6]>> {
    let mut result = SmallVec::new();
    for &dim in dims {
        let dim = normalise_dim(dim, count)?;
        if result.contains(&dim) {
            return Err(argument(format!("dim {dim} appears multiple times in the list of dims {dims:?}")));
        }
        result.push(dim);
    }
    result.sort_unstable();
    if dims.is_empty() {
        result.extend(0..count);
    }
    result.retain(|dim| *dim < count);
    Ok(result)
}

/// The shape of a reduction over `dims` (all if empty).
///
/// # Errors
///
/// As [`normalise_dims`].
pub fn sizes(sizes: &[i64], dims: &[i64], keepdim: bool) -> Result<Dims> {
    let reduced = normalise_dims(dims, sizes.len())?;
    let sized = sizes
        .iter()
        .enumerate()
        .filter_map(|(dim, &size)| if reduced.contains(&dim) { keepdim.then_some(1) } else { Some(size) });
    Ok(sized.collect())
}

/// The result of reducing `input` over `dims` (all if empty).
///
/// # Errors
///
/// As [`normalise_dims`].
pub fn shape(input: &TensorSpec, dims: &[i64], keepdim: bool, dtype: DType) -> Result<TensorSpec> {
    TensorSpec::contiguous(&sizes(input.sizes(), dims, keepdim)?, dtype, input.device())
}

/// The dtype of sums and products: `dtype` if given, int64 for integers and bools, otherwise that of the input.
pub fn sum_dtype(input: DType, dtype: Option<DType>) -> DType {
    let integral = input == DType::Bool || input.is_integral();
    dtype.unwrap_or(if integral { DType::I64 } else { input })
}

/// Writes the results of `reduction` over `dims` (all if empty) of `input` to `out`, which has the shape of [`sizes`]
/// with or without the reduced dimensions. Elements are converted to what the reduction takes, and results to the
/// dtype of `out`.
///
/// # Errors
///
/// Shapes or dimensions that do not fit; overlap of `out` and `input`; tensors without data or used by others.
pub fn fold<R: Reduction>(
    out: &impl Destination,
    input: &impl Operand,
    dims: &[i64],
    reduction: &R,
) -> Result<()> {
    fold_any(out, input, dims, &Typed(reduction))
}

/// [`fold`], once for all reductions.
fn fold_any(
    out: &impl Destination,
    input: &impl Operand,
    dims: &[i64],
    reduction: &dyn Folding,
) -> Result<()> {
    let (out, input) = (out.destination()?, Held::from_source(input.source()?)?);
    let input = input.array();
    let reduced = normalise_dims(dims, input.sizes().len())?;
    if out.dtype() == reduction.out() {
        return iter::fold(out, input, &reduced, reduction);
    }
    access::check(out, input, Aliasing::Never)?;
    let spec = TensorSpec::contiguous(out.sizes(), reduction.out(), out.device())?;
    let temporary = Array::empty(spec)?;
    iter::fold(&temporary, input, &reduced, reduction)?;
    copy::copy(out, &temporary)
}

/// An input, or the array of one element that a number stands for.
enum Held<'a> {
    Borrowed(&'a Array),
    Made(Array),
}

impl<'a> Held<'a> {
    fn from_source(source: Source<'a>) -> Result<Self> {
        match source {
            Source::Array(array) => Ok(Self::Borrowed(array)),
            Source::Number(value) => Array::from_number(*value).map(Self::Made),
        }
    }

    fn array(&self) -> &Array {
        match self {
            Self::Borrowed(array) => array,
            Self::Made(array) => array,
        }
    }
}

/// The elements of what is to be reduced to unsigned integers, converted to those, if that is more than taking their lowest
/// bits: loops that compute `dtype` [by bits](with_dtype) are given integers.
///
/// # Errors
///
/// A tensor without data, no memory.
#[inline]
pub(crate) fn as_unsigned(input: &impl Operand, dtype: DType) -> Result<Option<Array>> {
    if dtype.is_wide_unsigned() { converted(input.source()?, dtype) } else { Ok(None) }
}

#[cold]
#[inline(never)]
fn converted(input: Source<'_>, dtype: DType) -> Result<Option<Array>> {
    let held = Held::from_source(input)?;
    let spec = held.array().spec();
    if spec.dtype().is_integral() || spec.dtype() == DType::Bool {
        return Ok(None);
    }
    let converted = Array::empty(TensorSpec::contiguous(spec.sizes(), dtype, spec.device())?)?;
    copy::copy(&converted, held.array())?;
    Ok(Some(converted))
}

/// The sum of `input` over `dims` (all if empty), each element first converted to `dtype`.
///
/// # Errors
///
/// As [`fold`]; a dtype without sums.
///
/// # Examples
///
/// ```
/// use opgrid_core::DType;
/// use opgrid_array::Array;
/// use opgrid_kernels::reduce;
///
/// let x = Array::from_slice(&[1i64, 2, 3, 4], &[2, 2])?;
/// let out = Array::from_slice(&[0i64, 0], &[2])?;
/// reduce::sum(&out, &x, &[0], DType::I64)?;
/// assert_eq!(out.to_vec::<i64>()?, [4, 6]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn sum(out: &impl Destination, input: &impl Operand, dims: &[i64], dtype: DType) -> Result<()> {
    match as_unsigned(input, dtype)? {
        Some(converted) => sum(out, &converted, dims, dtype),
        None => with_dtype!(dtype, T: Any by bits => fold(out, input, dims, &Sum::<T>(PhantomData))),
    }
}

/// The sum of the elements that are not NaN over `dims` (all if empty), each element first converted to `dtype`.
///
/// # Errors
///
/// As [`sum`].
pub fn sum_of_numbers(
    out: &impl Destination,
    input: &impl Operand,
    dims: &[i64],
    dtype: DType,
) -> Result<()> {
    match as_unsigned(input, dtype)? {
        Some(converted) => sum_of_numbers(out, &converted, dims, dtype),
        None => with_dtype!(dtype, T: Any by bits => fold(out, input, dims, &Sum::<T, true>(PhantomData))),
    }
}

/// The sum of elements of type `T`, rounded once where that is a float; where `NUMBERS`, without those that are NaN.
pub(super) struct Sum<T, const NUMBERS: bool = false>(pub(super) PhantomData<fn() -> T>);

impl<T: Element<Math: Summed>, const NUMBERS: bool> Sum<T, NUMBERS> {
    /// What an element adds.
    #[inline(always)]
    #[expect(clippy::eq_op, reason = "only NaN is not equal to itself")]
    fn term(value: Math<T>) -> Math<T> {
        if NUMBERS && value != value { Math::<T>::ZERO } else { value }
    }
}

impl<T: Element<Math: Summed>, const NUMBERS: bool> Reduction for Sum<T, NUMBERS> {
    type In = T;
    type Out = T;
    type State = <Math<T> as Summed>::Wide;

    #[inline(always)]
    fn start(&self) -> Self::State {
        Self::State::default()
    }

    #[inline(always)]
    fn step(&self, state: Self::State, value: Math<T>, _index: usize) -> Self::State {
        Math::<T>::add(state, Self::term(value).wide())
    }

    #[inline(always)]
    fn join(&self, one: Self::State, other: Self::State) -> Self::State {
        Math::<T>::add(one, other)
    }

    #[inline(always)]
    fn finish(&self, state: Self::State, _count: usize) -> Math<T> {
        Math::<T>::narrowed(state)
    }

    #[inline(always)]
    fn block(&self, values: &[T], _index: usize, _step: usize) -> Self::State {
        const FOUR: usize = 4;
        let term = |value: &T| Self::term(value.widen());
        let add = |sum, value: &T| Math::<T>::add(sum, term(value).wide());
        if values.len() < LANES {
            return values.iter().fold(Self::State::default(), add);
        }
        let mut sums = [Self::State::default(); LANES];
        let (groups, rest) = values.as_chunks::<{ STEPS * LANES }>();
        for group in groups {
            add_trees(&mut sums, |row, lane| term(&group[row * LANES + lane]));
        }
        let (rows, rest) = rest.as_chunks::<LANES>();
        if let Some((first, more)) = rows.split_first() {
            let mut totals = [Math::<T>::ZERO; LANES];
            for lane in 0..LANES {
                totals[lane] = term(&first[lane]);
            }
            let (pairs, last) = more.as_chunks::<2>();
            for [one, other] in pairs {
                for lane in 0..LANES {
                    totals[lane] = totals[lane].plus(term(&one[lane]).plus(term(&other[lane])));
                }
            }
            for row in last {
                for lane in 0..LANES {
                    totals[lane] = totals[lane].plus(term(&row[lane]));
                }
            }
            for (sum, total) in sums.iter_mut().zip(totals) {
                *sum = Math::<T>::add(*sum, total.wide());
            }
        }
        let (fours, rest) = rest.as_chunks::<FOUR>();
        for four in fours {
            for lane in 0..FOUR {
                sums[lane] = add(sums[lane], &four[lane]);
            }
        }
        let rest = rest.iter().fold(Self::State::default(), add);
        Math::<T>::add(join_sixteen(&sums, Math::<T>::add), rest)
    }

    #[inline(always)]
    fn rows(
        &self,
        sums: &mut [Self::State; COLUMNS],
        rows: [&[T; COLUMNS]; STEPS],
        _index: usize,
        _step: usize,
    ) {
        add_trees(sums, |row, column| Self::term(rows[row][column].widen()));
    }
}

/// Adds [`STEPS`] rows to sums: as a tree in the elements' own precision, then widened, because the conversions would
/// cost more than the additions. In two loops, so that each has vectors of one width.
#[inline(always)]
fn add_trees<M: Summed, const N: usize>(sums: &mut [M::Wide; N], value: impl Fn(usize, usize) -> M) {
    let mut trees = [M::ZERO; N];
    for (i, tree) in trees.iter_mut().enumerate() {
        let pair = |row: usize| value(row, i).plus(value(row + 1, i));
        *tree = pair(0).plus(pair(2)).plus(pair(4).plus(pair(6)));
    }
    for (sum, tree) in sums.iter_mut().zip(trees) {
        *sum = M::add(*sum, tree.wide());
    }
}

/// What sums of what kernels compute in are kept in.
pub trait Summed: Arithmetic {
    /// The type of partial sums.
    type Wide: Arithmetic;

    /// An element as a sum.
    fn wide(self) -> Self::Wide;

    /// The element next to a sum.
    fn narrowed(wide: Self::Wide) -> Self;

    /// The sum of sums.
    fn add(one: Self::Wide, other: Self::Wide) -> Self::Wide;
}

macro_rules! sums {
    ($($type:ty, $wide:ty, |$value:ident| $widen:expr, |$sum:ident| $narrow:expr, $add:expr;)*) => {
        $(impl Summed for $type {
            type Wide = $wide;

            #[inline(always)]
            fn wide(self) -> $wide {
                let $value = self;
                $widen
            }

            #[inline(always)]
            fn narrowed($sum: $wide) -> Self {
                $narrow
            }

            #[inline(always)]
            fn add(one: $wide, other: $wide) -> $wide {
                $add(one, other)
            }
        })*
    };
}

sums! {
    f32, f64, |x| f64::from(x), |sum| sum as f32, f64::plus;
    f64, f64, |x| x, |sum| sum, f64::plus;
    u8, i64, |x| i64::from(x), |sum| sum as u8, i64::plus;
    i8, i64, |x| i64::from(x), |sum| sum as i8, i64::plus;
    i16, i64, |x| i64::from(x), |sum| sum as i16, i64::plus;
    i32, i64, |x| i64::from(x), |sum| sum as i32, i64::plus;
    i64, i64, |x| x, |sum| sum, i64::plus;
    Bool, Bool, |x| x, |sum| sum, Bool::plus;
    Complex<f32>, Complex<f64>, |x| x.cast(), |sum| sum.cast(), Complex::plus;
    Complex<f64>, Complex<f64>, |x| x, |sum| sum, Complex::plus;
}
