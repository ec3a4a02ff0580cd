//! `aten::softplus`: a smooth step from zero to elements.
//!
//! `out[i] = ln(1 + e ^ (beta * self[i])) / beta`, and `self[i]` where the exponent is above `threshold`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones.
//! - Aliasing: `softplus.out` writes `out`, which has the dtype of `self`.
//! - Errors: other dtypes; numbers beyond the range of the dtype.
//! - Source: torch.nn.functional.softplus, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::activations;
use opgrid_tensor::ops::SoftplusBackward;

pub use opgrid_tensor::ops::activations::softplus::*;

/// The family of `aten::softplus`: its kind, shape rule and `out` rule.
pub const SOFTPLUS: Family<Softplus> = Family::new(Softplus, &kind::POINTWISE_UNARY, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&SOFTPLUS).cpu(cpu).derivative(|d, (input, beta, threshold)| {
        d.by(input, [input], move |grad, [x]| SoftplusBackward.call(grad, x, beta, threshold))
    });
}

fn shape(input: &Tensor, beta: Scalar, threshold: Scalar) -> Result<TensorSpec> {
    activation::with_factors(pointwise::float_unary(input)?, &[beta, threshold])
}

fn cpu(input: &Tensor, beta: Scalar, threshold: Scalar, out: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T: Float => {
        let (beta, threshold) = (arithmetic::element(beta)?, arithmetic::element(threshold)?);
        elementwise::unary_by::<T, T>(out, input, activations::Softplus::<Math<T>> { beta, threshold })
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(
                Softplus,
                FLOATS,
                |dtype| activation::samples::with_numbers(dtype, &[&[], &[2.0, 3.0]]),
                |it| {
                    let [beta, threshold] =
                        [activation::samples::real(it, "beta")?, activation::samples::real(it, "threshold")?];
                    let soft =
                        |x: f64| if beta * x > threshold { x } else { (beta * x).exp().ln_1p() / beta };
                    it.unary(DTypeRule::Promoted, |x| number::float_by(x, soft))
                },
            )
            .tolerance(8.0);
        samples.differs(Softplus, pointwise::samples::NUMBER_IN_RANGE);
        samples.rounds(Softplus, pointwise::samples::ELEMENTARY);
    }
}
