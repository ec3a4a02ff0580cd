//! `aten::leaky_relu`: a small slope for negative elements.
//!
//! `out[i] = self[i] if self[i] > 0, negative_slope * self[i] otherwise`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones.
//! - Aliasing: `leaky_relu_` writes `self`, `leaky_relu.out` writes `out`, which has the dtype of `self`.
//! - Errors: other dtypes; a slope beyond the range of the dtype.
//! - Source: torch.nn.functional.leaky_relu, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::LeakyReluBackward;

pub use opgrid_tensor::ops::activations::leaky_relu::*;

/// The family of `aten::leaky_relu`: its kind, shape rule and `out` rule.
pub const LEAKY_RELU: Family<LeakyRelu> =
    Family::new(LeakyRelu, &kind::POINTWISE_UNARY, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&LEAKY_RELU).cpu(cpu).derivative(|d, (input, slope)| {
        d.by(input, [input], move |grad, [x]| LeakyReluBackward.call(grad, x, slope, false))
    });
}

fn shape(input: &Tensor, slope: Scalar) -> Result<TensorSpec> {
    activation::with_factors(pointwise::float_unary(input)?, &[slope])
}

fn cpu(input: &Tensor, slope: Scalar, out: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T: Float => {
        let slope = arithmetic::element::<Math<T>>(slope)?;
        elementwise::unary::<T, T>(out, input, move |x| if x > 0.0 { x } else { x * slope })
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(
                LeakyRelu,
                FLOATS,
                |dtype| activation::samples::with_numbers(dtype, &[&[], &[0.5], &[-2.0]]),
                |it| {
                    let slope = activation::samples::real(it, "negative_slope")?;
                    let one = |x: f64| if x > 0.0 { x } else { slope * x };
                    it.unary(DTypeRule::Promoted, |x| number::float_by(x, one))
                },
            )
            .tolerance(2.0);
        samples.differs(LeakyRelu, pointwise::samples::NUMBER_IN_RANGE);
        samples.rounds(LeakyRelu, Roundings::all(Rounding::Result(2)));
    }
}
