//! `aten::hardtanh`: elements limited to a range that does not change their dtype.
//!
//! `out[i] = min(max(self[i], min_val), max_val)`
//!
//! - Shapes: that of `self`.
//! - Dtypes: that of `self`, integers or floats; integers are limited by the integers in the bounds.
//! - Aliasing: `hardtanh_` writes `self`, `hardtanh.out` writes `out`, which has the dtype of `self`.
//! - Derivative: zero at the limits.
//! - Errors: bools and complex numbers; a bound beyond the range of the dtype.
//! - Source: torch.nn.functional.hardtanh, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::clamp;
use opgrid_tensor::ops::HardtanhBackward;

pub use opgrid_tensor::ops::activations::hardtanh::*;

/// The family of `aten::hardtanh`: its kind, shape rule and `out` rule.
pub const HARDTANH: Family<Hardtanh> = Family::new(Hardtanh, &kind::POINTWISE_UNARY, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&HARDTANH).cpu(cpu).derivative(|d, (input, low, high)| {
        d.by(input, [input], move |grad, [x]| HardtanhBackward.call(grad, x, low, high))
    });
}

/// The bounds as numbers of the dtype: integers have integers in them.
fn bounds(dtype: DType, low: Scalar, high: Scalar) -> [Option<Scalar>; 2] {
    [low, high].map(|bound| match bound {
        Scalar::Float(bound) if dtype.is_integral() && bound.abs() < 2f64.powi(63) => {
            Some(Scalar::Int(bound as i64))
        }
        bound => Some(bound),
    })
}

fn shape(input: &Tensor, low: Scalar, high: Scalar) -> Result<TensorSpec> {
    let spec = pointwise::real_unary(input)?;
    clamp::check_numbers(spec.dtype(), bounds(spec.dtype(), low, high))?;
    Ok(spec)
}

fn cpu(input: &Tensor, low: Scalar, high: Scalar, out: &Tensor) -> Result<()> {
    let dtype = input.dtype();
    let [low, high] = bounds(dtype, low, high);
    clamp::by_numbers(out.array()?, input.source()?, dtype, low, high)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype: DType| match dtype {
            // No other bounds are numbers of all dtypes.
            DType::U8 => activation::samples::with_numbers(dtype, &[&[0.0, 3.0]]),
            _ => activation::samples::with_numbers(dtype, &[&[], &[-2.5, 0.5]]),
        };
        samples.operator(Hardtanh, REAL, inputs, |it| {
            let [low, high] =
                [activation::samples::real(it, "min_val")?, activation::samples::real(it, "max_val")?];
            activation::samples::limited(it, low, high)
        });
        samples.differs_as(
            Hardtanh,
            &[departures::arithmetic::SIGN_OF_ZERO, pointwise::samples::NUMBER_IN_RANGE],
        );
    }
}
