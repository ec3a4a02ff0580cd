//! `aten::hardtanh_backward`: the slope of `hardtanh`, times what stands in front of it.
//!
//! `grad_input[i] = grad_output[i] if min_val < self[i] < max_val, 0 otherwise`
//!
//! - Shapes: both broadcast.
//! - Dtypes: promoted, floating-point ones.
//! - Values: NaN counts as between the limits.
//! - Aliasing: `hardtanh_backward.grad_input` writes `grad_input`.
//! - Errors: other dtypes; a bound beyond the range of the dtype.
//! - Source: torch.ops.aten.hardtanh_backward, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::activations::hardtanh_backward::*;

/// The family of `aten::hardtanh_backward`: its kind, shape rule and `out` rule.
pub const HARDTANH_BACKWARD: Family<HardtanhBackward> =
    Family::new(HardtanhBackward, &kind::POINTWISE_BINARY, shape);

pub(super) fn register(library: &mut Library) {
    library.family(&HARDTANH_BACKWARD).cpu(cpu).derivative(|d, (grad_output, input, low, high)| {
        d.by(grad_output, [input], move |grad, [x]| HardtanhBackward.call(grad, x, low, high))?;
        d.by(input, [], |grad, []| derivatives::zeros(grad))
    });
}

fn shape(grad: &Tensor, input: &Tensor, low: Scalar, high: Scalar) -> Result<TensorSpec> {
    activation::with_factors(activation::slope(("grad_output", grad), ("self", input))?, &[low, high])
}

fn cpu(grad: &Tensor, input: &Tensor, low: Scalar, high: Scalar, out: &Tensor) -> Result<()> {
    with_dtype!(result_type(&[grad, input])?, T: Float => {
        let (low, high) = (arithmetic::element::<Math<T>>(low)?, arithmetic::element::<Math<T>>(high)?);
        elementwise::binary::<T, T, T>(out, grad, input, move |grad, x| {
            if x <= low || x >= high { 0.0 } else { grad }
        })
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let slopes = |dtype| -> Vec<Sample> {
            activation::samples::pairs(dtype)
                .into_iter()
                .map(|sample| sample.and(-1).and(Scalar::Float(0.5)))
                .collect()
        };
        samples.operator(HardtanhBackward, FLOATS, slopes, |it| {
            let [low, high] =
                [activation::samples::real(it, "min_val")?, activation::samples::real(it, "max_val")?];
            activation::samples::of_two(it, ["grad_output", "self"], |grad, x| {
                if x <= low || x >= high { 0.0 } else { grad }
            })
        });
        samples.differs(HardtanhBackward, activation::samples::AT_NAN);
    }
}
