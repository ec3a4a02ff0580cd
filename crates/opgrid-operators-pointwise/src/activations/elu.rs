//! `aten::elu`: an exponential function for negative elements.
//!
//! `out[i] = scale * self[i] if self[i] > 0, scale * alpha * (e ^ (input_scale * self[i]) - 1) otherwise`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones.
//! - Aliasing: `elu_` writes `self`, `elu.out` writes `out`, which has the dtype of `self`.
//! - Errors: other dtypes; numbers beyond the range of the dtype.
//! - Source: torch.nn.functional.elu, PyTorch 2.15; D.-A. Clevert, T. Unterthiner and S. Hochreiter, Fast and Accurate Deep
//!   Network Learning by Exponential Linear Units (2015).

use crate::prelude::*;
use opgrid_kernels::activations;
use opgrid_tensor::ops::EluBackward;

pub use opgrid_tensor::ops::activations::elu::*;

/// The family of `aten::elu`: its kind, shape rule and `out` rule.
pub const ELU: Family<Elu> = Family::new(Elu, &kind::POINTWISE_UNARY, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&ELU).cpu(cpu).derivative(|d, (input, alpha, scale, input_scale)| {
        d.by(input, [input], move |grad, [x]| EluBackward.call(grad, alpha, scale, input_scale, false, x))
    });
}

fn shape(input: &Tensor, alpha: Scalar, scale: Scalar, input_scale: Scalar) -> Result<TensorSpec> {
    activation::with_factors(pointwise::float_unary(input)?, &[alpha, scale, input_scale])
}

fn cpu(input: &Tensor, alpha: Scalar, scale: Scalar, input_scale: Scalar, out: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T: Float => {
        let [alpha, scale, input_scale] = [alpha, scale, input_scale].map(arithmetic::element::<Math<T>>);
        let (alpha, scale, input_scale) = (alpha?, scale?, input_scale?);
        let elu = activations::Elu::<Math<T>> { factor: alpha * scale, scale, input_scale };
        elementwise::unary_by::<T, T>(out, input, elu)
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let numbers = |dtype| activation::samples::with_numbers(dtype, &[&[], &[0.5, 2.0, 0.25]]);
        samples
            .operator(Elu, FLOATS, numbers, |it| {
                let numbers = activation::samples::elu_numbers(it)?;
                it.unary(DTypeRule::Promoted, |x| {
                    number::float_by(x, |x| activation::samples::elu(x, numbers))
                })
            })
            .tolerance(4.0);
        samples.rounds(Elu, pointwise::samples::ELEMENTARY);
    }
}
