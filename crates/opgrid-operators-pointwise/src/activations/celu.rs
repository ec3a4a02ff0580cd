//! `aten::celu`: `elu` whose slope is one at zero for every `alpha`.
//!
//! `out[i] = self[i] if self[i] > 0, alpha * (e ^ (self[i] / alpha) - 1) otherwise`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones.
//! - Aliasing: `celu_` writes `self`, `celu.out` writes `out`, which has the dtype of `self`.
//! - Dispatch: calls `elu`, in all forms.
//! - Errors: other dtypes; an `alpha` of zero.
//! - Source: torch.nn.functional.celu, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{Elu, EluBackward, EluInplace, EluOut};

pub use opgrid_tensor::ops::activations::celu::*;

const ONE: Scalar = Scalar::Int(1);

pub(super) fn register(library: &mut Library) {
    library
        .define_with_forms(Celu, &kind::POINTWISE_UNARY)
        .on_every_backend(|input, alpha| Elu.call(input, alpha, ONE, one_over(alpha)?))
        .derivative(|d, (input, alpha)| {
            d.by(input, [input], move |grad, [x]| {
                EluBackward.call(grad, alpha, ONE, one_over(alpha)?, false, x)
            })
        });
    library
        .implement(CeluInplace)
        .on_every_backend(|input, alpha| EluInplace.call(input, alpha, ONE, one_over(alpha)?));
    library
        .implement(CeluOut)
        .on_every_backend(|input, alpha, out| EluOut.call(input, alpha, ONE, one_over(alpha)?, out));
}

/// # Errors
///
/// Zero.
fn one_over(alpha: Scalar) -> Result<Scalar> {
    match alpha.to_complex() {
        zero if zero == Complex64::ZERO => {
            Err(argument("argument `alpha` is 0, expected another number, as elements are divided by it"))
        }
        alpha if alpha.im == 0.0 => Ok(Scalar::Float(1.0 / alpha.re)),
        alpha => Ok(Scalar::Complex(alpha.inv())),
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(
                Celu,
                FLOATS,
                |dtype| activation::samples::with_numbers(dtype, &[&[], &[0.5]]),
                |it| {
                    let alpha = activation::samples::real(it, "alpha")?;
                    it.unary(DTypeRule::Promoted, |x| {
                        number::float_by(x, |x| activation::samples::elu(x, [alpha, 1.0, 1.0 / alpha]))
                    })
                },
            )
            .tolerance(8.0)
            .refuses("`alpha` is 0", given(generate::numbers(DType::F32, &[2], 0)).and(0));
        samples.rounds(Celu, pointwise::samples::ELEMENTARY);
    }
}
