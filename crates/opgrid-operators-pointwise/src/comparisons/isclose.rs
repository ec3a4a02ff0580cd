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

use crate::prelude::*;

pub use opgrid_tensor::ops::comparisons::isclose::*;

pub(super) fn register(library: &mut Library) {
    library
        .define(Isclose)
        .kind(&kind::POINTWISE_BINARY)
        .kernel(DispatchKey::CompositeImplicitAutograd, isclose);
}

fn isclose(input: &Tensor, other: &Tensor, rtol: f64, atol: f64, equal_nan: bool) -> Result<Tensor> {
    comparison::check_close(input, other, rtol, atol).map_err(|error| error.within("aten::isclose"))?;
    let close = input.eq(other)?;
    if equal_nan && inexact(input.dtype()) == input.dtype() {
        close.logical_or_(&input.isnan()?.logical_and(&other.isnan()?)?)?;
    }
    if rtol == 0.0 && atol == 0.0 {
        return Ok(close);
    }
    let (a, b) = (comparison::with_fractions(input)?, comparison::with_fractions(other)?);
    let (difference, allowed) = (a.sub(&b)?.abs()?, b.mul(rtol)?.abs()?.add(atol)?);
    close.logical_or_(&difference.le(&allowed)?.logical_and(&difference.isfinite()?)?)?;
    Ok(close)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2], 0);
        samples
            .operator(Isclose, ANY, generate::nearby, |it| Ok(comparison::samples::is_close(it)?.into()))
            .refuses("expected float32 as `self`", given(x.clone()).and(x.to(DType::F64)))
            .refuses("expected zero or more", given(x.clone()).and(x).and(-1.0));
    }
}
