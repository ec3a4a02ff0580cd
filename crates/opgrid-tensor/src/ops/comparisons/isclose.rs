//! `aten::isclose`: whether elements are as good as equal.
//!
//! `out[i] = |self[i] - other[i]| <= atol + |rtol * other[i]|`
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: one for both; integers and bools are compared in the default dtype; the result is bool.
//! - Values: infinite numbers are close to themselves only, and NaN to nothing unless `equal_nan`.
//! - Dispatch: a composite of comparisons and arithmetic.
//! - Errors: two dtypes; negative tolerances.
//! - Source: torch.isclose, PyTorch 2.15.

use crate::ops::prelude::*;
use crate::ops::{
    Abs, AddScalar, EqTensor, Isfinite, Isnan, LeTensor, LogicalAnd, LogicalOrInplace, MulScalar, SubTensor,
    ToCopy,
};

operator! {
    home = crate::home_of(register);
    pub Isclose = "aten::isclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> Tensor";
}

pub(super) fn register(library: &mut Library) {
    library
        .define(Isclose)
        .kind(&kind::POINTWISE_BINARY)
        .kernel(DispatchKey::CompositeImplicitAutograd, isclose);
}

pub(super) fn samples(samples: &mut Samples) {
    let x = make::numbers(DType::F32, &[2], 0);
    samples
        .of(Isclose, ANY, make::nearby, |it| Ok(reference(it)?.into()))
        .refuses("expected float32 as `self`", given(x.clone()).and(x.to(DType::F64)))
        .refuses("expected zero or more", given(x.clone()).and(x).and(-1.0));
}

/// Whether each pair of elements is close.
pub(super) fn reference(it: &Inputs) -> Result<Plain> {
    let (a, b) = (it.tensor("self")?, it.tensor("other")?);
    let [rtol, atol]: [f64; 2] = [it.value("rtol")?, it.value("atol")?];
    let equal_nan: bool = it.value("equal_nan")?;
    let sizes = naive::broadcast([a.sizes(), b.sizes()].into_iter())?;
    Ok(Plain::from_fn(DType::Bool, &sizes, |position| {
        let (a, b) = (a.at(position), b.at(position));
        let difference = (a.to_complex() - b.to_complex()).norm();
        let near = difference.is_finite() && difference <= atol + rtol * b.to_complex().norm();
        Scalar::Bool(near || number::same(a, b) || (equal_nan && number::is_nan(a) && number::is_nan(b)))
    }))
}

fn isclose(input: &Tensor, other: &Tensor, rtol: f64, atol: f64, equal_nan: bool) -> Result<Tensor> {
    check(input, other, rtol, atol)?;
    let close = EqTensor.call(input, other)?;
    let dtype = input.dtype();
    let has_nan = dtype.is_floating_point() || dtype.is_complex();
    if equal_nan && has_nan {
        let both = LogicalAnd.call(&Isnan.call(input)?, &Isnan.call(other)?)?;
        LogicalOrInplace.call(&close, &both)?;
    }
    if rtol == 0.0 && atol == 0.0 {
        return Ok(close);
    }
    let (a, b) = (with_fractions(input)?, with_fractions(other)?);
    let allowed =
        AddScalar.call(&Abs.call(&MulScalar.call(&b, rtol.into())?)?, atol.into(), Scalar::Int(1))?;
    let difference = Abs.call(&SubTensor.call(&a, &b, Scalar::Int(1))?)?;
    let near = LogicalAnd.call(&LeTensor.call(&difference, &allowed)?, &Isfinite.call(&difference)?)?;
    LogicalOrInplace.call(&close, &near)?;
    Ok(close)
}

fn with_fractions(tensor: &Tensor) -> Result<Tensor> {
    let dtype = inexact(tensor.dtype());
    match dtype == tensor.dtype() {
        true => Ok(tensor.clone()),
        false => ToCopy.call(tensor, Some(dtype), None, None, None, false, None),
    }
}

/// # Errors
///
/// Two dtypes; negative tolerances.
fn check(input: &Tensor, other: &Tensor, rtol: f64, atol: f64) -> Result<()> {
    if input.dtype() != other.dtype() {
        let message = format!(
            "aten::isclose: argument `other` has dtype {}, expected {} as `self`; convert one of them",
            other.dtype(),
            input.dtype()
        );
        return Err(argument(message));
    }
    pointwise::of_dtype([("self", input), ("other", other)], DType::Bool)
        .map_err(|error| error.within("aten::isclose"))?;
    match [("rtol", rtol), ("atol", atol)]
        .into_iter()
        .find(|(_, tolerance)| tolerance.is_nan() || *tolerance < 0.0)
    {
        Some((name, found)) => {
            Err(argument(format!("aten::isclose: argument `{name}` is {found}, expected zero or more")))
        }
        None => Ok(()),
    }
}

impl Tensor {
    /// Whether elements are as good as equal: `|self - other| <= atol + |rtol * other|`.
    ///
    /// # Errors
    ///
    /// Those of [`Isclose`].
    pub fn isclose(&self, other: &Self, rtol: f64, atol: f64) -> Result<Self> {
        Isclose.call(self, other, rtol, atol, false)
    }
}
