//! `aten::frexp`: numbers as fractions times powers of two.
//!
//! `self[i] = mantissa[i] * 2 ^ exponent[i]` with a `mantissa` whose size is from 0.5 to before 1; what is zero, infinite or no number is its
//! own mantissa, with an exponent of 0
//!
//! - Shapes: those of `self`.
//! - Dtypes: floating-point ones for `self` and the mantissa; the exponent is int32.
//! - Aliasing: `frexp.Tensor_out` writes `mantissa` and `exponent`, of the dtypes of the results.
//! - Derivative: the exponent has none.
//! - Errors: other dtypes.
//! - Source: torch.frexp, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{LdexpTensor, Neg};
use opgrid_tensor::tensor::Element;

pub use opgrid_tensor::ops::pointwise::frexp::*;

/// The family of `aten::frexp.Tensor`: its kind, shape rule and `out` rule.
pub const FREXP: Family<FrexpTensor> = Family::new(FrexpTensor, &kind::POINTWISE_UNARY, |input| {
    let mantissa = pointwise::float_unary(input)?;
    let exponent = TensorSpec::new(mantissa.geometry().clone(), DType::I32, mantissa.device());
    Ok((mantissa, exponent))
})
.same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&FREXP)
        .cpu(|input, mantissa, exponent| {
            opgrid_kernels::indexing::check_apart(exponent.array()?, input.array()?)?;
            with_dtype!(input.dtype(), T: Float => {
                elementwise::unary::<i32, T>(exponent, input, |x| split(x.cast()).1)?;
                elementwise::unary::<T, T>(mantissa, input, |x| split(x.cast()).0.cast())
            })
        })
        .derivative(|d, (input,)| {
            d.differentiable(1);
            d.by(input, [d.result(1)], |grad, [exponent]| LdexpTensor.call(grad, &Neg.call(exponent)?))
        });
}

/// The mantissa and the exponent of a number. Numbers of other dtypes are normal ones in double precision, those of it may not be.
#[inline(always)]
fn split(x: f64) -> (f64, i32) {
    /// The exponent of numbers from 0.5 to before 1, as bits have it.
    const HALF: i32 = 1022;
    const BITS: u32 = 52;
    let scaled = x * 2f64.powi(64);
    let is_small = x.abs() < f64::MIN_POSITIVE;
    let (bits, scale) = if is_small { (scaled.to_bits(), 64) } else { (x.to_bits(), 0) };
    if x == 0.0 || !x.is_finite() {
        return (x, 0);
    }
    let exponent = (bits >> BITS) as i32 & 0x7ff;
    let mantissa = f64::from_bits(bits & !(0x7ff << BITS) | (HALF as u64) << BITS);
    (mantissa, exponent - HALF - scale)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(FrexpTensor, FLOATS, inputs, reference)
            .constant(&["exponent"])
            .refuses("floating-point", given(generate::numbers(DType::I64, &[2], 0)));
    }

    /// Numbers of each shape and size, subnormal ones among them.
    fn inputs(dtype: DType) -> Vec<Sample> {
        let small = [1e-45, -3e-310, 6e-8, 1e-40, 0.1, -0.7, 1.0, 0.5];
        let small = given(Plain::from_elements(dtype, &[small.len() as i64], &small));
        generate::unary(dtype).into_iter().chain([small]).collect()
    }

    /// By halving and doubling.
    fn reference(it: &Inputs) -> Result<Expected> {
        let x = it.tensor("self")?;
        let both: Vec<(f64, i64)> = x.elements().iter().map(|x| halved(x.to_complex().re)).collect();
        let (mantissas, exponents): (Vec<f64>, Vec<i64>) = both.into_iter().unzip();
        Ok([
            Plain::from_elements(x.dtype(), x.sizes(), &mantissas),
            Plain::from_elements(DType::I32, x.sizes(), &exponents),
        ]
        .into())
    }

    fn halved(mut x: f64) -> (f64, i64) {
        let mut exponent = 0;
        while x.is_finite() && x.abs() >= 1.0 {
            (x, exponent) = (x / 2.0, exponent + 1);
        }
        while x != 0.0 && x.abs() < 0.5 {
            (x, exponent) = (x * 2.0, exponent - 1);
        }
        (x, exponent)
    }
}
