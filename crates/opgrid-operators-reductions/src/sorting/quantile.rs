//! `aten::quantile`, `nanquantile`: the numbers below which parts of elements lie.
//!
//! `out = the element of the sorted ones at place q * (n - 1)`, or between those beside it, by `interpolation`
//!
//! - Shapes: without dimension `dim`, or with size 1 for it with `keepdim`; no `dim` means all elements. A `q` of one dimension stands in front.
//! - Dtypes: float32 and float64, one for both.
//! - Values: NaN where there is one; `nanquantile` leaves them out, and gives NaN where nothing is left. `interpolation` is `linear`, `lower`,
//!   `higher`, `nearest`, where halves go to the even place, or `midpoint`.
//! - Dispatch: composites of `sort`, `gather` and `lerp`.
//! - Aliasing: the `out` forms write `out`.
//! - Errors: no elements; other dtypes; a `q` of several dimensions or below 0 or above 1; another `interpolation`; an `out` of another dtype.
//! - Source: torch.quantile, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{
    Ceil, Floor, FullLike, Gather, LerpTensor, LogicalNot, MaskedFillScalar, MovedimInt, Reshape, Round, Sort,
};
use opgrid_tensor::tensor::views::normalise_dim;

pub use opgrid_tensor::ops::sorting::quantile::*;

/// Which number stands for a place between two elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interpolation {
    Linear,
    Lower,
    Higher,
    Nearest,
    Midpoint,
}

impl Interpolation {
    /// # Errors
    ///
    /// Another name.
    fn new(name: &str) -> Result<Self> {
        Ok(match name {
            "linear" => Self::Linear,
            "lower" => Self::Lower,
            "higher" => Self::Higher,
            "nearest" => Self::Nearest,
            "midpoint" => Self::Midpoint,
            other => {
                return Err(argument(format!(
                    "argument `interpolation` is `{other}`, expected `linear`, `lower`, `higher`, `nearest` or `midpoint`"
                )));
            }
        })
    }
}

macro_rules! quantile {
    ($library:ident, $of_tensor:ident $of_tensor_out:ident, $of_number:ident $of_number_out:ident, $ignores_nan:literal) => {
        $library.define_with_forms($of_tensor, &kind::SORTING).implicit(
            |input, q, dim, keepdim, interpolation| find(input, q, dim, keepdim, interpolation, $ignores_nan),
        );
        $library.implement($of_tensor_out).implicit(|input, q, dim, keepdim, interpolation, out| {
            write(out, &find(input, q, dim, keepdim, interpolation, $ignores_nan)?)
        });
        $library.define_with_forms($of_number, &kind::SORTING).implicit(
            |input, q, dim, keepdim, interpolation| {
                find(input, &number(input, q)?, dim, keepdim, interpolation, $ignores_nan)
            },
        );
        $library.implement($of_number_out).implicit(|input, q, dim, keepdim, interpolation, out| {
            write(out, &find(input, &number(input, q)?, dim, keepdim, interpolation, $ignores_nan)?)
        });
    };
}

pub(super) fn register(library: &mut Library) {
    quantile!(library, Quantile QuantileOut, QuantileScalar QuantileScalarOut, false);
    quantile!(library, Nanquantile NanquantileOut, NanquantileScalar NanquantileScalarOut, true);
}

/// Writes what was found, whose strides are those of the composite; an output without elements gets those of rows.
fn write(out: &Tensor, found: &Tensor) -> Result<()> {
    result::copied(out, &found.contiguous()?)
}

/// The part as a tensor like the input.
///
/// # Errors
///
/// A part below 0 or above 1.
fn number(input: &Tensor, q: f64) -> Result<Tensor> {
    check_dtype(input)?;
    if !(0.0..=1.0).contains(&q) {
        return Err(argument(format!("argument `q` is {q}, expected a number from 0 to 1")));
    }
    opgrid_tensor::ops::Full.call(
        &[],
        Scalar::Float(q),
        Some(input.dtype()),
        None,
        Some(input.device()),
        None,
    )
}

fn check_dtype(input: &Tensor) -> Result<()> {
    let dtype = input.spec()?.dtype();
    if !matches!(dtype, DType::F32 | DType::F64) {
        return Err(argument(format!("argument `self` is {dtype}, expected float32 or float64; convert it")));
    }
    Ok(())
}

/// # Errors
///
/// Parts of another dtype, of several dimensions, or out of range, where they have data.
fn check_parts(input: &Tensor, q: &Tensor) -> Result<()> {
    if q.spec()?.dtype() != input.dtype() {
        let message =
            format!("argument `q` is {}, expected {} as `self`; convert it", q.dtype(), input.dtype());
        return Err(argument(message));
    }
    if q.dim() > 1 {
        let message = format!("argument `q` has shape {:?}, expected a number or one dimension", q.sizes());
        return Err(argument(message));
    }
    if q.device() == Device::CPU && q.array().is_ok() {
        let misfit = q.lt(0)?.logical_or(&q.gt(1)?)?.any()?.to_vec::<Bool>()?;
        if misfit == [Bool::TRUE] {
            return Err(argument("argument `q` has numbers out of range, expected them to be from 0 to 1"));
        }
    }
    Ok(())
}

fn find(
    input: &Tensor,
    q: &Tensor,
    dim: Option<i64>,
    keepdim: bool,
    interpolation: &str,
    ignores_nan: bool,
) -> Result<Tensor> {
    check_dtype(input)?;
    if input.numel() == 0 {
        let message = format!("argument `self` has shape {:?}, expected elements", input.sizes());
        return Err(argument(message));
    }
    check_parts(input, q)?;
    let interpolation = Interpolation::new(interpolation)?;
    let at = dim.map(|dim| normalise_dim(dim, input.dim())).transpose()?;
    let lines = match at {
        _ if input.dim() == 0 => input.unsqueeze(0)?,
        Some(at) => MovedimInt.call(input, at as i64, -1)?,
        None => Reshape.call(input, &[-1])?,
    };
    let (sorted, _) = Sort.call(&lines, -1, false)?;
    let found = at_places(&sorted, &places(&sorted, q, ignores_nan)?, interpolation)?;
    // The parts stand in the last dimension.
    let whole = if keepdim {
        let mut sizes = vec![1; input.dim()];
        if let Some(at) = at.filter(|_| input.dim() > 0) {
            sizes = input.sizes().to_vec();
            sizes[at] = 1;
        }
        Reshape.call(&found, &[&sizes[..], &[found.sizes()[found.dim() - 1]]].concat())?
    } else if input.dim() == 0 || at.is_none() {
        Reshape.call(&found, &[-1])?
    } else {
        found
    };
    if q.dim() == 0 { whole.squeeze(-1) } else { MovedimInt.call(&whole, -1, 0) }
}

/// The places of parts among sorted elements, in a last dimension: the last one where there is a NaN, which is larger than every number.
fn places(sorted: &Tensor, q: &Tensor, ignores_nan: bool) -> Result<Tensor> {
    let q = if q.dim() == 0 { q.unsqueeze(0)? } else { q.clone() };
    let last = sorted.sizes()[sorted.dim() - 1] - 1;
    let is_nan = sorted.isnan()?;
    if ignores_nan {
        let count = LogicalNot.call(&is_nan)?.sum_dim([-1], true)?.sub(1)?;
        let places = q.mul(&count.to_dtype(q.dtype())?)?;
        return MaskedFillScalar.call(&places, &places.lt(0)?, Scalar::Int(0));
    }
    let any = is_nan.any_dim(-1, true)?;
    let places = q.mul(last)?;
    let sizes = [&any.sizes()[..any.dim() - 1], &[places.sizes()[0]]].concat();
    MaskedFillScalar.call(&places.expand(sizes)?, &any, Scalar::Int(last))
}

fn at_places(sorted: &Tensor, places: &Tensor, interpolation: Interpolation) -> Result<Tensor> {
    let element = |places: &Tensor| Gather.call(sorted, -1, &places.to_dtype(DType::I64)?, false);
    match interpolation {
        Interpolation::Lower => element(&Floor.call(places)?),
        Interpolation::Higher => element(&Ceil.call(places)?),
        Interpolation::Nearest => element(&Round.call(places)?),
        Interpolation::Linear | Interpolation::Midpoint => {
            let below = Floor.call(places)?;
            let weights = if interpolation == Interpolation::Linear {
                places.sub(&below)?
            } else {
                FullLike.call(places, Scalar::Float(0.5), None, None, None, None, None)?
            };
            LerpTensor.call(&element(&below)?, &element(&Ceil.call(places)?)?, &weights)
        }
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::OperatorSamples;
    use opgrid_samples::prelude::*;

    const DTYPES: &[DType] = &[DType::F32, DType::F64];

    pub(crate) fn collect(samples: &mut Samples) {
        let x = || given(generate::numbers(DType::F32, &[2, 3], 0));
        let by_tensors = |operator: &mut OperatorSamples| {
            operator
                .tolerance(16.0)
                .needs_distinct()
                .refuses(
                    "expected elements",
                    given(generate::numbers(DType::F32, &[0], 0)).and(part(DType::F32)),
                )
                .refuses("convert it", x().and(part(DType::F64)))
                .refuses("one dimension", x().and(generate::numbers(DType::F32, &[1, 1], 0)))
                .refuses("range", x().and(part(DType::F32)).and(2))
                .refuses("`linear`, `lower`", x().and(part(DType::F32)).named("interpolation", "cubic"));
        };
        by_tensors(samples.operator(Quantile, DTYPES, of_tensors, |it| reference(it, false)));
        by_tensors(samples.operator(Nanquantile, DTYPES, of_tensors, |it| reference(it, true)));
        let by_numbers = |operator: &mut OperatorSamples| {
            operator
                .tolerance(16.0)
                .needs_distinct()
                .refuses("from 0 to 1", x().and(1.5))
                .refuses("float32 or float64", given(generate::numbers(DType::I64, &[2], 0)).and(0.5));
        };
        by_numbers(samples.operator(QuantileScalar, DTYPES, of_numbers, |it| reference(it, false)));
        by_numbers(samples.operator(NanquantileScalar, DTYPES, of_numbers, |it| reference(it, true)));
        samples.rounds(Quantile, Roundings::all(Rounding::Sum(16)));
        samples.rounds(Nanquantile, Roundings::all(Rounding::Sum(16)));
    }

    fn part(dtype: DType) -> Plain {
        Plain::number(dtype, 0.25)
    }

    const NAMES: [&str; 5] = ["linear", "lower", "higher", "nearest", "midpoint"];

    fn of_tensors(dtype: DType) -> Vec<Sample> {
        let parts = || Plain::from_elements(dtype, &[3], &[0.0, 0.375, 1.0]);
        let x = |sizes: &[i64]| given(generate::numbers(dtype, sizes, 1));
        let named = NAMES.map(|name| x(&[2, 5]).and(parts()).and(1).named("interpolation", name));
        let with_nan = Plain::from_elements(dtype, &[2, 3], &[1.0, f64::NAN, 2.0, 4.0, 3.0, 8.0]);
        let others = [
            x(&[2, 3]).and(part(dtype)),
            x(&[2, 3]).and(parts()).and(0).and(true),
            x(&[5]).and(parts()).and(0),
            x(&[]).and(part(dtype)),
            given(with_nan).and(parts()).and(1),
        ];
        named.into_iter().chain(others).collect()
    }

    fn of_numbers(dtype: DType) -> Vec<Sample> {
        let x = |sizes: &[i64]| given(generate::numbers(dtype, sizes, 1));
        let named = NAMES.map(|name| x(&[2, 5]).and(0.375).and(1).named("interpolation", name));
        let others = [x(&[2, 3]).and(0.5), x(&[2, 3]).and(0.25).and(0).and(true), x(&[3]).and(1.0)];
        named.into_iter().chain(others).collect()
    }

    fn reference(it: &Inputs, ignores_nan: bool) -> Result<Expected> {
        let x = it.tensor("self")?;
        let (parts, is_number) = match it.tensor("q") {
            Ok(q) => (q.elements().iter().map(|q| q.to_complex().re).collect(), q.sizes().is_empty()),
            Err(_) => (vec![it.value::<f64>("q")?], true),
        };
        let (dim, keepdim): (Option<i64>, bool) = (it.option("dim")?, it.value("keepdim")?);
        let name: String = it.value("interpolation")?;
        let dims: Option<Vec<i64>> = dim.map(|dim| vec![dim]);
        let of_part = |part: f64| {
            let quantile = |line: &[Scalar]| {
                let mut line: Vec<f64> = line.iter().map(|x| x.to_complex().re).collect();
                if line.iter().any(|x| x.is_nan()) && !ignores_nan {
                    return Scalar::Float(f64::NAN);
                }
                line.retain(|x| !x.is_nan());
                if line.is_empty() {
                    return Scalar::Float(f64::NAN);
                }
                line.sort_by(f64::total_cmp);
                let place = part * (line.len() - 1) as f64;
                let (below, above) = (line[place.floor() as usize], line[place.ceil() as usize]);
                Scalar::Float(match name.as_str() {
                    "lower" => below,
                    "higher" => above,
                    "nearest" => line[place.round_ties_even() as usize],
                    "midpoint" => (below + above) / 2.0,
                    _ => below + (above - below) * place.fract(),
                })
            };
            x.reduced(dims.as_deref(), keepdim, x.dtype(), quantile)
        };
        let all: Vec<Plain> = parts.into_iter().map(of_part).collect();
        if is_number {
            return Ok(all[0].clone().into());
        }
        let sizes = [&[all.len() as i64], all[0].sizes()].concat();
        let elements: Vec<Scalar> = all.iter().flat_map(|one| one.elements().to_vec()).collect();
        Ok(Plain::from_elements(x.dtype(), &sizes, &elements).into())
    }
}
