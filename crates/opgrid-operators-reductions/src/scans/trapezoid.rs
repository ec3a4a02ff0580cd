//! `aten::trapezoid`, `trapz`, `cumulative_trapezoid`: areas below lines from point to point.
//!
//! `out = (y[0] + y[1]) / 2 * (x[1] - x[0]) + (y[1] + y[2]) / 2 * (x[2] - x[1]) + …`, where `dx` stands for all differences of `x`, and of which
//! `cumulative_trapezoid` gives each sum
//!
//! - Shapes: without dimension `dim`, which is one element shorter in `cumulative_trapezoid`. An `x` of one dimension belongs to `dim`, one of fewer
//!   dimensions than `y` to its last ones; others broadcast.
//! - Dtypes: all but bools; integers give the default dtype.
//! - Values: zeros where there are no points.
//! - Dispatch: composites of views, `add`, `mul`, and `sum` or `cumsum`.
//! - Errors: bools; a complex or bool `dx`; an `x` of one dimension with another number of points; a dimension out of range.
//! - Source: torch.trapezoid, torch.cumulative_trapezoid, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{Cumsum, Reshape};
use opgrid_tensor::tensor::views::normalise_dim;

pub use opgrid_tensor::ops::scans::trapezoid::*;

pub(super) fn register(library: &mut Library) {
    let kind = &kind::ALONG_DIMENSION;
    library.define(TrapezoidX).kind(kind).implicit(|y, x, dim| in_floats(y, &[y, x], |y| whole(y, x, dim)));
    library
        .define(TrapezoidDx)
        .kind(kind)
        .implicit(|y, dx, dim| in_floats(y, &[y], |y| whole_by_distance(y, dx, dim)));
    library.define(TrapzX).kind(kind).implicit(|y, x, dim| in_floats(y, &[y, x], |y| whole(y, x, dim)));
    library
        .define(TrapzDx)
        .kind(kind)
        .implicit(|y, dx, dim| in_floats(y, &[y], |y| whole_by_distance(y, Scalar::Float(dx), dim)));
    library.define(CumulativeTrapezoidX).kind(kind).implicit(|y, x, dim| {
        in_floats(y, &[y, x], |y| {
            let at = check(y, dim)?;
            Cumsum.call(&pairs(y, at)?.mul(&distances(y, x, at)?)?, at as i64, None)?.div(2)
        })
    });
    library.define(CumulativeTrapezoidDx).kind(kind).implicit(|y, dx, dim| {
        in_floats(y, &[y], |y| {
            let at = check(y, dim)?;
            Cumsum.call(&pairs(y, at)?.mul(half(dx)?)?, at as i64, None)
        })
    });
}

/// The areas of points, where integers become double precision on the way, so that sums of neighbours do not wrap; the result has the dtype of
/// what is given together.
fn in_floats(y: &Tensor, given: &[&Tensor], areas: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    if !y.spec()?.dtype().is_integral() {
        return areas(y);
    }
    areas(&y.to_dtype(DType::F64)?)?.to_dtype(inexact(result_type(given)?))
}

fn whole(y: &Tensor, x: &Tensor, dim: i64) -> Result<Tensor> {
    let at = check(y, dim)?;
    if y.sizes()[at] == 0 {
        return nothing(y, at);
    }
    let areas = pairs(y, at)?.mul(&distances(y, x, at)?)?;
    areas.sum_dim([at as i64], false)?.div(2)
}

fn whole_by_distance(y: &Tensor, dx: Scalar, dim: i64) -> Result<Tensor> {
    let at = check(y, dim)?;
    let half = half(dx)?;
    if y.sizes()[at] == 0 {
        return nothing(y, at);
    }
    pairs(y, at)?.sum_dim([at as i64], false)?.mul(half)
}

/// # Errors
///
/// Bools; a dimension out of range.
fn check(y: &Tensor, dim: i64) -> Result<usize> {
    if y.spec()?.dtype() == DType::Bool {
        return Err(argument("argument `y` is bool, expected numbers; convert it"));
    }
    if y.dim() == 0 {
        return Err(argument("argument `y` has no dimensions, expected at least one"));
    }
    normalise_dim(dim, y.dim())
}

/// # Errors
///
/// A distance that is no real number.
fn half(dx: Scalar) -> Result<f64> {
    match dx {
        Scalar::Bool(_) | Scalar::Complex(_) => {
            Err(argument(format!("argument `dx` is {dx}, expected a real number")))
        }
        real => Ok(real.to_f64()? / 2.0),
    }
}

fn nothing(y: &Tensor, at: usize) -> Result<Tensor> {
    let mut sizes = y.sizes().to_vec();
    sizes.remove(at);
    derivatives::zeros_of(&sizes, y)
}

/// The sums of neighbours.
fn pairs(y: &Tensor, at: usize) -> Result<Tensor> {
    let [before, behind] = ends(y, at)?;
    before.add(&behind)
}

/// All elements along a dimension but the last, and but the first.
fn ends(x: &Tensor, at: usize) -> Result<[Tensor; 2]> {
    let (dim, length) = (at as i64, x.sizes()[at]);
    Ok([x.slice(dim, 0, (length - 1).max(0), 1)?, x.slice(dim, length.min(1), length, 1)?])
}

/// The differences of neighbours, in as many dimensions as `y` has.
fn distances(y: &Tensor, x: &Tensor, at: usize) -> Result<Tensor> {
    if x.spec()?.dtype() == DType::Bool {
        return Err(argument("argument `x` is bool, expected numbers; convert it"));
    }
    let viewed = if x.dim() == 1 {
        let (found, expected) = (x.sizes()[0], y.sizes()[at]);
        if found != expected {
            let message = format!(
                "argument `x` has {found} points, expected {expected} as dimension {at} of `y` of shape {:?}",
                y.sizes()
            );
            return Err(argument(message));
        }
        let mut sizes = vec![1; y.dim()];
        sizes[at] = found;
        Reshape.call(x, &sizes)?
    } else if x.dim() < y.dim() {
        let sizes = [&vec![1; y.dim() - x.dim()], x.sizes()].concat();
        Reshape.call(x, &sizes)?
    } else {
        x.clone()
    };
    // Differences of integers may be negative, or too large for their dtype.
    let viewed = if viewed.dtype().is_integral() { viewed.to_dtype(DType::I64)? } else { viewed };
    let [before, behind] = ends(&viewed, at)?;
    behind.sub(&before)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    /// Numbers of which there is half.
    const DTYPES: &[DType] = &[
        DType::F32,
        DType::F64,
        DType::F16,
        DType::BF16,
        DType::Complex64,
        DType::Complex128,
        DType::I64,
        DType::I32,
        DType::I16,
        DType::I8,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
    ];

    pub(crate) fn collect(samples: &mut Samples) {
        let x = |sizes: &[i64]| generate::numbers(DType::F32, sizes, 0);
        let bools = || given(generate::numbers(DType::Bool, &[2], 0));
        samples
            .operator(TrapezoidX, DTYPES, with_points, |it| by_points(it, false))
            .tolerance(16.0)
            .refuses("`y` is bool", bools().and(x(&[2])))
            .refuses("no dimensions", given(x(&[])).and(x(&[])))
            .refuses("expected 3", given(x(&[2, 3])).and(x(&[2])))
            .refuses("range", given(x(&[2, 3])).and(x(&[3])).named("dim", 2));
        samples.operator(TrapzX, DTYPES, with_points, |it| by_points(it, false)).tolerance(16.0);
        samples.operator(CumulativeTrapezoidX, DTYPES, with_points, |it| by_points(it, true)).tolerance(16.0);
        samples
            .operator(TrapezoidDx, DTYPES, with_distance, |it| by_distance(it, false))
            .tolerance(16.0)
            .refuses("`y` is bool", bools())
            .refuses("a real number", given(x(&[2])).named("dx", Scalar::Complex(Complex64::I)));
        samples.operator(TrapzDx, DTYPES, with_distance, |it| by_distance(it, false)).tolerance(16.0);
        samples
            .operator(CumulativeTrapezoidDx, DTYPES, with_distance, |it| by_distance(it, true))
            .tolerance(16.0);
        samples.rounds(TrapezoidX, Roundings::all(Rounding::Sum(16)));
        samples.rounds(TrapzX, Roundings::all(Rounding::Sum(16)));
        samples.rounds(CumulativeTrapezoidX, Roundings::all(Rounding::Sum(16)));
        samples.differs(TrapezoidX, WITHOUT_WRAPPING);
        samples.differs(TrapzX, WITHOUT_WRAPPING);
        samples.differs(CumulativeTrapezoidX, WITHOUT_WRAPPING);
    }

    const WITHOUT_WRAPPING: Difference = Difference {
        id: "areas-do-not-wrap",
        what: "torch adds and subtracts neighbours in the dtype of integers, where they wrap; here in double precision and in 64 \
             bits",
        why: "the mathematical result",
        test: ("opgrid-operators/tests/all/differences/kernels.rs", "areas_do_not_wrap"),
        when: |seen| {
            let is_whole = |input: &&Operand| input.dtype.is_integral();
            !seen.elements.is_empty() && seen.inputs().iter().any(is_whole)
        },
        directed: None,
    };

    /// Numbers whose sums every dtype has.
    fn heights(dtype: DType, sizes: &[i64]) -> Plain {
        Plain::from_fn(dtype, sizes, |at| Scalar::Int((at.iter().sum::<i64>() * 3 + at[0]) % 5))
    }

    /// Numbers that ascend, so that no difference is below zero.
    fn points(dtype: DType, sizes: &[i64]) -> Plain {
        Plain::from_fn(dtype, sizes, |at| {
            let place: i64 = at.iter().sum();
            Scalar::Int(place + place * place / 2)
        })
    }

    fn with_points(dtype: DType) -> Vec<Sample> {
        let cases: [(&[i64], &[i64], i64); 5] = [
            (&[4], &[4], -1),
            (&[2, 3], &[3], 1),
            (&[2, 3], &[2], 0),
            (&[2, 3, 2], &[3, 2], 1),
            (&[2, 3], &[2, 3], -1),
        ];
        let one = |(y, x, dim): (&[i64], &[i64], i64)| {
            given(heights(dtype, y)).and(points(dtype, x)).named("dim", dim)
        };
        cases.into_iter().map(one).collect()
    }

    fn with_distance(dtype: DType) -> Vec<Sample> {
        let y = |sizes: &[i64]| given(heights(dtype, sizes));
        vec![y(&[4]), y(&[2, 3]).named("dim", 0).named("dx", 2.0), y(&[2, 3, 2]).named("dim", 1), y(&[1])]
    }

    fn by_distance(it: &Inputs, is_cumulative: bool) -> Result<Expected> {
        let dx: Scalar = it.value("dx")?;
        let dx = dx.to_f64()?;
        areas(it, is_cumulative, |_| dx.into())
    }

    fn by_points(it: &Inputs, is_cumulative: bool) -> Result<Expected> {
        let (y, x) = (it.tensor("y")?, it.tensor("x")?);
        let dim = it.value::<i64>("dim")?.rem_euclid(y.sizes().len() as i64) as usize;
        let at = |place: &[i64], step: i64| {
            let mut place = place.to_vec();
            place[dim] += step;
            let own = if x.sizes().len() == 1 {
                &place[dim..=dim]
            } else {
                &place[place.len() - x.sizes().len()..]
            };
            x.at(own).to_complex()
        };
        areas(it, is_cumulative, |place| at(place, 1) - at(place, 0))
    }

    /// Areas between each point and the next one, all together or the sums of the first ones.
    fn areas(it: &Inputs, is_cumulative: bool, distance: impl Fn(&[i64]) -> Complex64) -> Result<Expected> {
        let y = it.tensor("y")?;
        let dim = it.value::<i64>("dim")?.rem_euclid(y.sizes().len() as i64) as usize;
        let mut sizes = y.sizes().to_vec();
        let count = (sizes[dim] - 1).max(0);
        if is_cumulative {
            sizes[dim] = count;
        } else {
            sizes.remove(dim);
        }
        let is_integer = !y.dtype().is_floating_point() && !y.dtype().is_complex();
        let dtype = if is_integer { DType::F32 } else { y.dtype() };
        Ok(Plain::from_fn(dtype, &sizes, |at| {
            let mut place = at.to_vec();
            let last = if is_cumulative { at[dim] + 1 } else { count };
            if !is_cumulative {
                place.insert(dim, 0);
            }
            let area = |step: i64| {
                let (mut here, mut next) = (place.clone(), place.clone());
                (here[dim], next[dim]) = (step, step + 1);
                (y.at(&here).to_complex() + y.at(&next).to_complex()) * distance(&here) / 2.0
            };
            let sum: Complex64 = (0..last).map(area).sum();
            if dtype.is_complex() { Scalar::Complex(sum) } else { Scalar::Float(sum.re) }
        })
        .into())
    }
}
