//! `aten::copysign`: elements with the sign of others.
//!
//! `out[i] = |self[i]| with the sign of other[i]`
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: promoted; integers and bools give the default dtype.
//! - Aliasing: `copysign_` writes `self`, the `out` overloads write `out`.
//! - Derivative: zero at zero; `other` is constant.
//! - Dispatch: overloads with numbers put them in a tensor's place.
//! - Errors: complex numbers; `copysign_` of integers and bools.
//! - Source: torch.copysign, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::copysign::*;

/// The family of `aten::copysign.Tensor`: its kind, shape rule and `out` rule.
pub const COPYSIGN: Family<CopysignTensor> =
    Family::new(CopysignTensor, &kind::POINTWISE_BINARY, pointwise::inexact_real_binary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&COPYSIGN)
        .cpu(cpu)
        .derivative(|d, (input, other)| {
            d.by(input, [input, d.result(0)], |grad, [x, out]| {
                grad * derivatives::where_false(&x.eq(0)?, &(out / x)?)?
            })?;
            d.by(other, [], |grad, []| derivatives::zeros(grad))
        })
        .number(CopysignScalar, CopysignTensor)
        .number(CopysignInplaceScalar, CopysignInplaceTensor)
        .number(CopysignScalarOut, CopysignOut);
}

fn cpu(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    let dtype = inexact(result_type(&[input, other])?);
    with_dtype!(dtype, T: Float => {
        elementwise::binary::<T, T, T>(out, input, other, Math::<T>::copysign)
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let function = |a: Scalar, b: Scalar| Scalar::Float(a.to_complex().re.copysign(b.to_complex().re));
        samples.binary(CopysignTensor, ORDERED, DTypeRule::Inexact, function);
        samples.beside_number(CopysignScalar, ORDERED, DTypeRule::Inexact, function);
    }
}
