//! `aten::hardshrink`, `aten::hardshrink_backward`: zero instead of elements near it, and the gradient.
//!
//! `out[i] = 0 if -lambd <= self[i] <= lambd, self[i] otherwise`; the gradient is that of the result, zero for the same elements
//!
//! - Shapes: that of `self`; that both tensors of the gradient broadcast to.
//! - Dtypes: floating-point ones. NaN stays NaN.
//! - Aliasing: `hardshrink.out` writes `out`, which has the dtype of `self`; `hardshrink_backward.grad_input` writes
//!   `grad_input`.
//! - Errors: other dtypes.
//! - Source: torch.nn.functional.hardshrink, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::tensor::Element;

pub use opgrid_tensor::ops::activations::hardshrink::*;

/// The family of `aten::hardshrink`: its kind, shape rule and `out` rule.
pub const HARDSHRINK: Family<Hardshrink> =
    Family::new(Hardshrink, &kind::POINTWISE_UNARY, shape).same_dtype_out();

/// The family of `aten::hardshrink_backward`: its kind, shape rule and `out` rule.
pub const HARDSHRINK_BACKWARD: Family<HardshrinkBackward> =
    Family::new(HardshrinkBackward, &kind::POINTWISE_BINARY, |grad, input, lambd| {
        activation::shrunk(("grad_out", grad), input, lambd)
    });

pub(super) fn register(library: &mut Library) {
    library.family(&HARDSHRINK).cpu(cpu).derivative(|d, (input, lambd)| {
        d.by(input, [input], move |grad, [x]| HardshrinkBackward.call(grad, x, lambd))
    });
    library.family(&HARDSHRINK_BACKWARD).cpu(activation::beyond).derivative(|d, (grad_out, input, lambd)| {
        d.by(grad_out, [input], move |grad, [x]| HardshrinkBackward.call(grad, x, lambd))?;
        d.by(input, [], |grad, []| derivatives::zeros(grad))
    });
}

fn shape(input: &Tensor, lambd: Scalar) -> Result<TensorSpec> {
    let spec = pointwise::float_unary(input)?;
    with_dtype!(spec.dtype(), T: Float => arithmetic::element::<T>(lambd).map(drop))?;
    Ok(spec)
}

fn cpu(input: &Tensor, lambd: Scalar, out: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T: Float => {
        let lambd = arithmetic::element::<T>(lambd)?.widen();
        elementwise::unary::<T, T>(out, input, move |x| {
            if (x >= -lambd) & (x <= lambd) { 0.0 } else { x }
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
                Hardshrink,
                FLOATS,
                |dtype| activation::samples::with_numbers(dtype, &[&[], &[1.25]]),
                |it| {
                    let lambd = activation::samples::real(it, "lambd")?;
                    let one = |x: f64| if -lambd <= x && x <= lambd { 0.0 } else { x };
                    it.unary(DTypeRule::Promoted, |x| number::float_by(x, one))
                },
            )
            .tolerance(2.0);
        samples.operator(
            HardshrinkBackward,
            FLOATS,
            |dtype| activation::samples::slopes(dtype, &[1.25]),
            |it| activation::samples::beyond(it, "grad_out"),
        );
        samples.differs_as(
            Hardshrink,
            &[departures::arithmetic::SIGN_OF_ZERO, pointwise::samples::NUMBER_IN_RANGE],
        );
    }
}
