//! Sums elements over dimensions.
//!
//! Sums are pairwise: a range is halved until it has at most one block, and the blocks' sums are added as a tree.
//! Single-precision elements are added in double precision, except for trees of eight. The error is at most
//! torch's, which grows with the logarithm of the number of elements.

use num_complex::Complex;
use opgrid_core::Result;
use smallvec::SmallVec;

use super::access::{Access, Aliasing, views};
use super::arithmetic::Arithmetic;
use super::iter::{View, ViewMut};
use crate::error::argument;
use crate::tensor::views::normalise_dim;
use crate::tensor::{Array, Dims, Element};
use crate::with_dtype;

/// Elements that are summed without halving.
const BLOCK: usize = 512;
/// Independent partial sums within a block, so that the additions need not wait for each other.
const LANES: usize = 16;
/// Elements that are added in their own precision, as a tree, before the result is widened.
const TREE: usize = 8;
/// Columns that are summed side by side where the kept dimension is the fastest.
const COLUMNS: usize = 64;
/// Rows of such columns that are summed without halving.
const ROWS: usize = 32;

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
    let sized = sizes.iter().enumerate().filter_map(|(dim, &size)| match reduced.contains(&dim) {
        true => keepdim.then_some(1),
        false => Some(size),
    });
    Ok(sized.collect())
}

/// The sum of `input` over `dims` (all if empty), each element first converted to the dtype of `out`.
///
/// `out` has the shape of [`sizes`], with or without the reduced dimensions.
///
/// # Errors
///
/// Shapes or dimensions that do not fit; a dtype without sums; overlap of `out` and
/// `input`; tensors without data or used by others.
///
/// # Examples
///
/// ```
/// use opgrid_tensor::{Array, kernels::reduce};
///
/// let x = Array::from_slice(&[1i64, 2, 3, 4], &[2, 2])?;
/// let out = Array::from_slice(&[0i64, 0], &[2])?;
/// reduce::sum(&out, &x, &[0])?;
/// assert_eq!(out.to_vec::<i64>()?, [4, 6]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn sum(out: &Array, input: &Array, dims: &[i64]) -> Result<()> {
    let kept = sizes(input.sizes(), dims, true)?;
    let dropped = sizes(input.sizes(), dims, false)?;
    if ![kept.as_slice(), &dropped].contains(&out.sizes()) {
        let message = format!("the output has shape {:?}, expected {dropped:?}", out.sizes());
        return Err(argument(message));
    }
    let reduced = normalise_dims(dims, input.sizes().len())?;
    let mut access = Access::new(out, [input], Aliasing::Never)?;
    with_dtype!(out.dtype(), O: Number => with_dtype!(input.dtype(), A => {
        let (out, [input]) = views::<O, A, 1>(&mut access)?;
        sum_views(out, input, &reduced);
        Ok(())
    }))
}

/// What sums of what kernels compute in are kept in.
trait Sum: Arithmetic {
    type Wide: Copy + Default;

    fn wide(self) -> Self::Wide;
    fn narrowed(wide: Self::Wide) -> Self;
    fn add(one: Self::Wide, other: Self::Wide) -> Self::Wide;
}

macro_rules! sums {
    ($($type:ty, $wide:ty, |$value:ident| $widen:expr, |$sum:ident| $narrow:expr, $add:expr;)*) => {
        $(impl Sum for $type {
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
    Complex<f32>, Complex<f64>, |x| x.cast(), |sum| sum.cast(), Complex::plus;
    Complex<f64>, Complex<f64>, |x| x, |sum| sum, Complex::plus;
}

/// A loop over a reduced dimension.
#[derive(Clone, Copy)]
struct Reduced {
    size: usize,
    stride: usize,
}

/// A loop over a kept dimension.
#[derive(Clone, Copy)]
struct Kept {
    size: usize,
    from: usize,
    to: usize,
}

fn sum_views<O: Element<Math: Sum>, A: Element>(out: ViewMut<'_, O>, input: View<'_, A>, dims: &[usize]) {
    let keeps_dims = out.geometry.dims() == input.geometry.dims();
    let (mut reduced, mut kept) = (SmallVec::<[Reduced; 6]>::new(), SmallVec::<[Kept; 6]>::new());
    let mut out_dim = 0;
    for (dim, &size) in input.geometry.sizes().iter().enumerate() {
        let (size, from) = (size as usize, input.geometry.strides()[dim] as usize);
        if dims.contains(&dim) {
            reduced.push(Reduced { size, stride: from });
            out_dim += usize::from(keeps_dims);
        } else {
            kept.push(Kept { size, from, to: out.geometry.strides()[out_dim] as usize });
            out_dim += 1;
        }
    }
    reduced.retain(|dim| dim.size != 1);
    kept.retain(|dim| dim.size != 1);
    reduced.sort_by_key(|dim| std::cmp::Reverse(dim.stride));
    kept.sort_by_key(|dim| std::cmp::Reverse(dim.from));
    if out.geometry.numel() > 0 {
        each_kept(&kept, &join(&reduced), input.elements, 0, out.elements, 0);
    }
}

/// Joins neighbouring loops that one stride can express.
fn join(loops: &[Reduced]) -> SmallVec<[Reduced; 6]> {
    let mut joined: SmallVec<[Reduced; 6]> = SmallVec::new();
    for &inner in loops {
        match joined.last_mut() {
            Some(outer) if outer.stride == inner.stride.wrapping_mul(inner.size) => {
                *outer = Reduced { size: outer.size * inner.size, stride: inner.stride };
            }
            _ => joined.push(inner),
        }
    }
    joined
}

/// Walks the kept dimensions; the fastest one side by side where its elements are neighbours.
fn each_kept<O: Element<Math: Sum>, A: Element>(
    kept: &[Kept],
    reduced: &[Reduced],
    elements: &[A],
    from: usize,
    out: &mut [O],
    to: usize,
) {
    match kept {
        [] => out[to] = O::narrow(O::Math::narrowed(total::<O, A>(reduced, elements, from))),
        [last] if last.from == 1 && reduced.last().is_some_and(|dim| dim.stride > 1) => {
            for start in (0..last.size).step_by(COLUMNS) {
                let width = COLUMNS.min(last.size - start);
                let sums = columns::<O, A>(reduced, elements, from + start, width);
                for (column, sum) in sums.into_iter().take(width).enumerate() {
                    out[to + (start + column) * last.to] = O::narrow(O::Math::narrowed(sum));
                }
            }
        }
        [first, rest @ ..] => {
            for at in 0..first.size {
                each_kept(rest, reduced, elements, from + at * first.from, out, to + at * first.to);
            }
        }
    }
}

/// The sum of everything below `loops`.
fn total<O: Element<Math: Sum>, A: Element>(
    loops: &[Reduced],
    elements: &[A],
    at: usize,
) -> <O::Math as Sum>::Wide {
    match loops {
        [] => elements[at].cast::<O>().widen().wide(),
        [only] if only.stride == 1 => {
            let run = &elements[at..at + only.size];
            pairwise(0, only.size, BLOCK, &O::Math::add, &|start, n| block::<O, A>(&run[start..start + n]))
        }
        [first, rest @ ..] => pairwise(0, first.size, BLOCK, &O::Math::add, &|start, n| {
            let sums =
                (start..start + n).map(|index| total::<O, A>(rest, elements, at + index * first.stride));
            sums.fold(<O::Math as Sum>::Wide::default(), O::Math::add)
        }),
    }
}

/// The sums of `width` neighbouring columns over everything below `loops`.
fn columns<O: Element<Math: Sum>, A: Element>(
    loops: &[Reduced],
    elements: &[A],
    at: usize,
    width: usize,
) -> [<O::Math as Sum>::Wide; COLUMNS] {
    let add = |mut one: [<O::Math as Sum>::Wide; COLUMNS], other: [<O::Math as Sum>::Wide; COLUMNS]| {
        one.iter_mut().zip(other).for_each(|(one, other)| *one = O::Math::add(*one, other));
        one
    };
    let Some((first, rest)) = loops.split_first() else {
        let mut sums = [<O::Math as Sum>::Wide::default(); COLUMNS];
        add_row::<O, A>(&mut sums, &elements[at..at + width]);
        return sums;
    };
    pairwise(0, first.size, ROWS, &add, &|start, n| {
        if !rest.is_empty() {
            let rows =
                (start..start + n).map(|row| columns::<O, A>(rest, elements, at + row * first.stride, width));
            return rows.fold([<O::Math as Sum>::Wide::default(); COLUMNS], add);
        }
        let mut sums = [<O::Math as Sum>::Wide::default(); COLUMNS];
        let rows = &elements[at + start * first.stride..];
        // Whole groups of rows of whole width have a fixed shape, which the compiler turns into vector code.
        let whole = if width == COLUMNS { n - n % TREE } else { 0 };
        for row in (0..whole).step_by(TREE) {
            add_rows::<O, A, COLUMNS>(&mut sums, &rows[row * first.stride..], first.stride);
        }
        for row in whole..n {
            add_row::<O, A>(&mut sums, &rows[row * first.stride..][..width]);
        }
        sums
    })
}

/// The sum of at most [`BLOCK`] neighbours.
fn block<O: Element<Math: Sum>, A: Element>(elements: &[A]) -> <O::Math as Sum>::Wide {
    let mut lanes = [<O::Math as Sum>::Wide::default(); LANES];
    let groups = elements.chunks_exact(TREE * LANES);
    let rest = groups.remainder();
    for group in groups {
        add_rows::<O, A, LANES>(&mut lanes, group, LANES);
    }
    for row in rest.chunks(LANES) {
        add_row::<O, A>(&mut lanes, row);
    }
    lanes.into_iter().fold(<O::Math as Sum>::Wide::default(), O::Math::add)
}

/// Adds [`TREE`] rows of `W` elements to `sums`: as a tree in their own precision, then widened.
#[inline(always)]
fn add_rows<O: Element<Math: Sum>, A: Element, const W: usize>(
    sums: &mut [<O::Math as Sum>::Wide; W],
    rows: &[A],
    stride: usize,
) {
    let row = |at: usize| rows[at * stride..].first_chunk::<W>().expect("the caller's rows have W elements");
    let rows: [&[A; W]; TREE] = std::array::from_fn(row);
    for (i, sum) in sums.iter_mut().enumerate() {
        let mut tree: [O::Math; TREE] = std::array::from_fn(|at| rows[at][i].cast::<O>().widen());
        let mut half = TREE / 2;
        while half > 0 {
            (0..half).for_each(|at| tree[at] = tree[at].plus(tree[at + half]));
            half /= 2;
        }
        *sum = O::Math::add(*sum, tree[0].wide());
    }
}

/// Adds one row of at most as many elements.
#[inline(always)]
fn add_row<O: Element<Math: Sum>, A: Element>(sums: &mut [<O::Math as Sum>::Wide], row: &[A]) {
    sums.iter_mut().zip(row).for_each(|(sum, a)| *sum = O::Math::add(*sum, a.cast::<O>().widen().wide()));
}

/// The sum of a range, halved until at most `leaf` terms are left.
fn pairwise<S>(
    start: usize,
    n: usize,
    leaf: usize,
    add: &impl Fn(S, S) -> S,
    sum: &impl Fn(usize, usize) -> S,
) -> S {
    if n <= leaf {
        return sum(start, n);
    }
    let half = (n / 2).next_multiple_of(leaf);
    let (left, right) =
        (pairwise(start, half, leaf, add, sum), pairwise(start + half, n - half, leaf, add, sum));
    add(left, right)
}
