//! `aten::linalg_vector_norm`: the norm of vectors, of all elements or over dimensions.
//!
//! `out[j] = (|self[0, j]| ^ ord + |self[1, j]| ^ ord + …) ^ (1 / ord)`; for an `ord` of 0 how many elements are other than
//! zero, for infinite ones the largest or the smallest magnitude
//!
//! - Shapes: without the dimensions of `dim`, or with size 1 for them with `keepdim`; no `dim` means all.
//! - Dtypes: `dtype` if given, to which each element is converted first; otherwise that of `self`. The result has that of
//!   the parts for complex numbers.
//! - Aliasing: `linalg_vector_norm.out` writes `out`.
//! - Derivative: zero where the norm is; the largest or the smallest of equal sizes share it.
//! - Errors: integers and bools; a complex `ord`; a `dtype` that is narrower than that of `self`, or complex for real
//!   numbers and the other way round; a negative or infinite `ord` for no elements; a dimension out of range or named
//!   twice; an `out` of another dtype.
//! - Source: torch.linalg.vector_norm, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::{choice, norm};
use opgrid_kinds::derivatives::ReducedDims;
use opgrid_tensor::layers::autograd::Recorder;
use opgrid_tensor::tensor::promote_types;

pub use opgrid_tensor::ops::reductions::linalg_vector_norm::*;

/// The family of `aten::linalg_vector_norm`: its kind, shape rule and `out` rule.
pub const LINALG_VECTOR_NORM: Family<LinalgVectorNorm> =
    Family::new(LinalgVectorNorm, &kind::REDUCTION, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&LINALG_VECTOR_NORM)
        .cpu(cpu)
        .derivative(|d, (input, ord, dim, keepdim, _)| derivative(d, input, ord, dim, keepdim));
}

fn shape(
    input: &Tensor,
    ord: Scalar,
    dim: Option<&[i64]>,
    keepdim: bool,
    dtype: Option<DType>,
) -> Result<TensorSpec> {
    let spec = input.spec()?;
    pointwise::check_inexact(spec.dtype())?;
    let order = order(ord)?;
    if order < 0.0 || order == f64::INFINITY {
        choice::check_not_empty(spec, dim.unwrap_or(&[]))?;
    }
    if let Some(dtype) = dtype {
        check_dtype(spec.dtype(), dtype)?;
    }
    reduce::shape(spec, dim.unwrap_or(&[]), keepdim, part_of(dtype.unwrap_or(spec.dtype())))
}

fn order(ord: Scalar) -> Result<f64> {
    match ord {
        Scalar::Complex(value) => Err(argument(format!("argument `ord` is {value}, expected a real number"))),
        real => real.to_f64(),
    }
}

fn check_dtype(input: DType, dtype: DType) -> Result<()> {
    let fits = dtype.is_complex() == input.is_complex() && (dtype.is_complex() || dtype.is_floating_point());
    if !fits {
        let expected = if input.is_complex() { "a complex" } else { "a real floating-point" };
        return Err(argument(format!("argument `dtype` is {dtype}, expected {expected} one for {input}")));
    }
    if promote_types(input, dtype)? != dtype {
        let message = format!(
            "argument `dtype` is {dtype}, expected one to which `self` of dtype {input} is converted \
             without loss"
        );
        return Err(argument(message));
    }
    Ok(())
}

fn cpu(
    input: &Tensor,
    ord: Scalar,
    dim: Option<&[i64]>,
    _keepdim: bool,
    dtype: Option<DType>,
    out: &Tensor,
) -> Result<()> {
    norm::norm(out, input, dim.unwrap_or(&[]), order(ord)?, dtype.unwrap_or(input.dtype()))
}

/// States the derivative of the norm of an order. It is zero where a norm is, and the elements that are the largest or the
/// smallest share it.
///
/// # Errors
///
/// A dimension out of range, an order or a correction that is no real number.
pub(super) fn derivative(
    d: &Recorder<'_>,
    input: &Tensor,
    ord: Scalar,
    dim: Option<&[i64]>,
    keepdim: bool,
) -> Result<()> {
    let (order, kept) = (ord.to_f64()?, ReducedDims::new(input, dim, keepdim)?);
    d.by(input, [input, d.result(0)], move |grad, [x, norm]| slope(order, grad, x, norm, &kept))
}

/// The gradient of the norms of an order by that of the norms, which are given too.
///
/// # Errors
///
/// Those of the operators.
pub(super) fn slope(
    order: f64,
    grad: &Tensor,
    x: &Tensor,
    norm: &Tensor,
    kept: &ReducedDims,
) -> Result<Tensor> {
    let (whole, norm) = (kept.keep_dims(grad)?, kept.keep_dims(norm)?);
    if order == 0.0 {
        return derivatives::zeros(x);
    }
    if order == 1.0 {
        return x.sgn()? * whole;
    }
    if order.is_infinite() {
        return extremum::distribute_gradient(grad, &x.abs()?, &norm, kept)? * x.sgn()?;
    }
    if order == 2.0 {
        return derivatives::where_false(&norm.eq(0)?, &(x / &norm)?)? * whole;
    }
    // Small orders have steep slopes around zero, where they count as none.
    let powers = if order < 2.0 {
        let powers = (x.sgn()? * x.abs()?.pow(order - 1.0)?)?;
        derivatives::where_false(&x.eq(0)?, &powers)?
    } else {
        (x * x.abs()?.pow(order - 2.0)?)?
    };
    let scale = (whole / norm.pow(order - 1.0)?)?;
    powers * derivatives::where_false(&norm.eq(0)?, &scale)?
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::reductions::norm;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let two = given(generate::numbers(DType::F32, &[2], 0));
        let none = given(generate::numbers(DType::F32, &[0], 0));
        samples
            .operator(LinalgVectorNorm, INEXACT, inputs, reference)
            .tolerance(8.0)
            .refuses("range", two.clone().and(2).and([2].to_vec()))
            .refuses("expected a real number", two.clone().and(Scalar::Complex(Complex64::I)))
            .refuses("without loss", two.clone().named("dtype", DType::F16))
            .refuses("real", two.named("dtype", DType::Complex64))
            .refuses("no elements", none.clone().and(-1))
            .refuses("no elements", none.and(f64::INFINITY));
        samples.differs_as(
            LinalgVectorNorm,
            &[
                READ_AFTER_WRITTEN,
                norm::samples::SHAPED_BEFORE_READ,
                departures::norm::NO_ORDER,
                norm::samples::LONG_SUMS,
            ],
        );
        samples.rounds(LinalgVectorNorm, Roundings::all(Rounding::Sum(32)));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let orders = [0.0, 1.0, 2.0, 3.0, -1.0, 0.5, f64::INFINITY, f64::NEG_INFINITY];
        let over = |sample: Sample| {
            let [input, dims, keepdim] = sample.positional.as_slice() else { return Vec::new() };
            let one = |order: f64| given(input.clone()).and(order).and(dims.clone()).and(keepdim.clone());
            orders.map(one).to_vec()
        };
        let wide = if dtype.is_complex() { DType::Complex128 } else { DType::F64 };
        let x = generate::numbers(dtype, &[2, 3], 1);
        let more = [
            given(x.clone()),
            given(x).and(2).named("dtype", wide),
            given(generate::numbers(dtype, &[0], 0)),
        ];
        // Without elements along a dimension there is no largest one, and no negative power.
        let is_there = |sample: &Sample| !sample.positional[0].tensors().iter().any(|x| x.sizes() == [0, 3]);
        generate::over_dims(dtype).into_iter().flat_map(over).filter(is_there).chain(more).collect()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let x = it.tensor("self")?;
        let dtype = it.option::<DType>("dtype")?.unwrap_or(x.dtype());
        let (order, dims): (f64, Option<Vec<i64>>) =
            (it.value::<Scalar>("ord")?.to_f64()?, it.option("dim")?);
        let norm = |elements: &[Scalar]| {
            let sizes = elements.iter().map(|element| element.to_complex().norm());
            Scalar::Float(match order {
                0.0 => sizes.filter(|size| *size != 0.0).count() as f64,
                f64::INFINITY => sizes.fold(0.0, f64::max),
                f64::NEG_INFINITY => sizes.fold(f64::INFINITY, f64::min),
                order => sizes.map(|size| size.powf(order)).sum::<f64>().powf(1.0 / order),
            })
        };
        Ok(x.to(dtype).reduced(dims.as_deref(), it.value("keepdim")?, part_of(dtype), norm).into())
    }
}
