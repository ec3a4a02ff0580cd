//! `aten::softshrink`, `aten::softshrink_backward`: elements moved towards zero, and the gradient.
//!
//! `out[i] = self[i] - lambd if self[i] > lambd, self[i] + lambd if self[i] < -lambd, 0 otherwise`; the gradient is that of the
//! result, zero for `-lambd <= self[i] <= lambd`
//!
//! - Shapes: that of `self`; that both tensors of the gradient broadcast to.
//! - Dtypes: floating-point ones. NaN stays NaN.
//! - Aliasing: `softshrink.out` writes `out`, which has the dtype of `self`; `softshrink_backward.grad_input` writes
//!   `grad_input`.
//! - Errors: other dtypes; a negative or infinite `lambd`.
//! - Source: torch.nn.functional.softshrink, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::tensor::Element;

pub use opgrid_tensor::ops::activations::softshrink::*;

/// The family of `aten::softshrink`: its kind, shape rule and `out` rule.
pub const SOFTSHRINK: Family<Softshrink> =
    Family::new(Softshrink, &kind::POINTWISE_UNARY, shape).same_dtype_out();

/// The family of `aten::softshrink_backward`: its kind, shape rule and `out` rule.
pub const SOFTSHRINK_BACKWARD: Family<SoftshrinkBackward> =
    Family::new(SoftshrinkBackward, &kind::POINTWISE_BINARY, |grad, input, lambd| {
        activation::shrunk(("grad_output", grad), input, lambd)
    });

pub(super) fn register(library: &mut Library) {
    library.family(&SOFTSHRINK).cpu(cpu).derivative(|d, (input, lambd)| {
        d.by(input, [input], move |grad, [x]| SoftshrinkBackward.call(grad, x, lambd))
    });
    library.family(&SOFTSHRINK_BACKWARD).cpu(activation::beyond).derivative(
        |d, (grad_output, input, lambd)| {
            d.by(grad_output, [input], move |grad, [x]| SoftshrinkBackward.call(grad, x, lambd))?;
            d.by(input, [], |grad, []| derivatives::zeros(grad))
        },
    );
}

fn shape(input: &Tensor, lambd: Scalar) -> Result<TensorSpec> {
    let spec = pointwise::float_unary(input)?;
    with_dtype!(spec.dtype(), T: Float => arithmetic::element::<T>(lambd).map(drop))?;
    if !(0.0..f64::INFINITY).contains(&lambd.to_complex().re) {
        let message = format!("argument `lambd` is {lambd}, expected a finite number, zero or more");
        return Err(argument(message));
    }
    Ok(spec)
}

fn cpu(input: &Tensor, lambd: Scalar, out: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T: Float => {
        let lambd = arithmetic::element::<T>(lambd)?.widen();
        elementwise::unary::<T, T>(out, input, move |x| {
            let below = if x < -lambd { x + lambd } else { 0.0 * x };
            if x > lambd { x - lambd } else { below }
        })
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(
                Softshrink,
                FLOATS,
                |dtype| activation::samples::with_numbers(dtype, &[&[], &[1.25]]),
                |it| {
                    let lambd = activation::samples::real(it, "lambd")?;
                    let one = |x: f64| {
                        if x > lambd {
                            x - lambd
                        } else if x < -lambd {
                            x + lambd
                        } else {
                            0.0 * x
                        }
                    };
                    it.unary(DTypeRule::Promoted, |x| number::float_by(x, one))
                },
            )
            .tolerance(2.0)
            .refuses(
                "expected a finite number, zero or more",
                given(generate::numbers(DType::F32, &[2], 0)).and(-1),
            );
        samples.operator(
            SoftshrinkBackward,
            FLOATS,
            |dtype| activation::samples::slopes(dtype, &[1.25]),
            |it| activation::samples::beyond(it, "grad_output"),
        );
        samples.differs_as(
            Softshrink,
            &[departures::arithmetic::SIGN_OF_ZERO, pointwise::samples::NUMBER_IN_RANGE],
        );
    }
}
