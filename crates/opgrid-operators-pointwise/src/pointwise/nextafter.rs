//! `aten::nextafter`: the next number of the dtype in the direction of another one.
//!
//! `out[i]` is the float beside `self[i]` that is nearer to `other[i]`, or `other[i]` if both are equal
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: promoted; floating-point ones.
//! - Aliasing: `nextafter_` writes `self`, `nextafter.out` writes `out`.
//! - Derivative: that of `self`; `other` is constant.
//! - Errors: integers, bools and complex numbers.
//! - Source: torch.nextafter, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::neighbours::Neighbours;
use opgrid_tensor::tensor::Element;

pub use opgrid_tensor::ops::pointwise::nextafter::*;

/// The family of `aten::nextafter`: its kind, shape rule and `out` rule.
pub const NEXTAFTER: Family<Nextafter> = Family::new(Nextafter, &kind::POINTWISE_BINARY, |input, other| {
    let spec = pointwise::promoted([("self", input), ("other", other)])?;
    pointwise::check_float(spec.dtype())?;
    Ok(spec)
});

pub(super) fn register(library: &mut Library) {
    library.family(&NEXTAFTER).cpu(cpu).derivative(|d, (input, other)| {
        // Where both are one there is no neighbour to go to.
        d.by(input, [input, other], |grad, [a, b]| derivatives::where_false(&a.eq(b)?, grad))?;
        d.by(other, [], |grad, []| derivatives::zeros(grad))
    });
}

fn cpu(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(result_type(&[input, other])?, T: Float => {
        elementwise::binary::<T, T, T>(out, input, other, |x, towards| {
            T::narrow(x).next_towards(T::narrow(towards)).widen()
        })
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| generate::computed_in(FLOATS, dtype, generate::pairs_to_divide(dtype));
        samples.operator(Nextafter, FLOATS, inputs, |it| {
            let digits = match it.common_dtype(&["self", "other"])? {
                DType::F16 => 11,
                DType::BF16 => 8,
                DType::F32 => 24,
                _ => 53,
            };
            it.binary(DTypeRule::Promoted, |a, b| {
                Scalar::Float(neighbour(a.to_complex().re, b.to_complex().re, digits))
            })
        });
    }

    /// The next number with so many binary digits; none of the samples is near the ends of a range.
    fn neighbour(a: f64, b: f64, digits: i32) -> f64 {
        if a == b {
            return b;
        }
        let exponent = ((a.abs().to_bits() >> 52) as i32) - 1023;
        let grows = (b > a) == (a > 0.0);
        let is_power = a.abs() == 2f64.powi(exponent);
        let step = 2f64.powi(exponent + 1 - digits) / if is_power && !grows { 2.0 } else { 1.0 };
        if b > a { a + step } else { a - step }
    }
}
