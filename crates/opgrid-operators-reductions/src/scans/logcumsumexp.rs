//! `aten::logcumsumexp`: the logarithms of the sums of exponentials of all elements up to each one along a dimension.
//!
//! `out[i] = log(e ^ self[0] + e ^ self[1] + … + e ^ self[i])`, with indices of dimension `dim`
//!
//! - Shapes: that of `self`; row-major.
//! - Dtypes: floating-point and complex ones. Of the logarithms of a complex number it is the one next to that of the
//!   highest exponential, of the last one among several, so that the first one is `self[0]` itself.
//! - Aliasing: `logcumsumexp.out` writes `out`.
//! - Errors: integers and bools; a dimension out of range; an `out` of another dtype.
//! - Source: torch.logcumsumexp, PyTorch 2.15.

use crate::kinds::scans;
use crate::prelude::*;
use opgrid_kernels::log_sum;
use opgrid_tensor::ops::WhereScalarOther;

pub use opgrid_tensor::ops::scans::logcumsumexp::*;

/// The family of `aten::logcumsumexp`: its kind, shape rule and `out` rule.
pub const LOGCUMSUMEXP: Family<Logcumsumexp> = Family::new(Logcumsumexp, &kind::SCAN, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&LOGCUMSUMEXP).cpu(cpu).derivative(|d, (input, dim)| {
        d.by(input, [input, d.result(0)], move |grad, [x, out]| slope(grad, x, out, dim))
    });
}

fn shape(input: &Tensor, dim: i64) -> Result<TensorSpec> {
    let spec = input.spec()?;
    scans::dimension(input, dim)?;
    pointwise::check_inexact(spec.dtype())?;
    TensorSpec::contiguous(spec.sizes(), spec.dtype(), spec.device())
}

fn cpu(input: &Tensor, dim: i64, out: &Tensor) -> Result<()> {
    log_sum::scan(out.array()?, input.array()?, scans::dimension(input, dim)?)
}

/// The gradient, whose sums from the end are taken of logarithms too: of positive and of negative numbers apart.
fn slope(grad: &Tensor, x: &Tensor, out: &Tensor, dim: i64) -> Result<Tensor> {
    if x.dim() == 0 {
        return Ok(grad.clone());
    }
    let part = |log: &Tensor| {
        let sums = (log - out)?.flip(&[dim])?.logcumsumexp(dim)?.flip(&[dim])?;
        (sums + x)?.exp()
    };
    if x.dtype().is_complex() {
        return part(&grad.conj()?.log()?)?.conj();
    }
    let log = grad.abs()?.log()?;
    let least = Scalar::Float(if x.dtype() == DType::F64 { f64::MIN } else { f32::MIN.into() });
    let positive = part(&WhereScalarOther.call(&grad.gt(0)?, &log, least)?)?;
    let negative = part(&WhereScalarOther.call(&grad.lt(0)?, &log, least)?)?;
    positive - negative
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(Logcumsumexp, INEXACT, generate::along_dim, reference)
            .tolerance(16.0)
            .refuses("range", given(generate::numbers(DType::F32, &[2], 0)).and(1));
        samples.differs_as(Logcumsumexp, &[READ_AFTER_WRITTEN, departures::math::NOT_FINITE]);
        samples.rounds(Logcumsumexp, Roundings::all(Rounding::Sum(8)).complex(Rounding::Sum(64)));
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let x = it.tensor("self")?;
        let line = |x: &[Vec<Scalar>]| {
            let mut sum: Option<Complex64> = None;
            let next = |element: &Scalar| {
                let element = element.to_complex();
                let joined = match sum {
                    None => element,
                    Some(sum) => {
                        let (low, high) = if element.re < sum.re { (element, sum) } else { (sum, element) };
                        high + (1.0 + (low - high).exp()).ln()
                    }
                };
                sum = Some(joined);
                Scalar::Complex(joined)
            };
            x[0].iter().map(next).collect()
        };
        Ok(Plain::of_lines(&[x], it.value("dim")?, x.dtype(), line).into())
    }
}
