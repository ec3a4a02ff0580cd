//! `aten::isinf`: whether elements are infinite.
//!
//! `out[i] = |self[i]| == inf`
//!
//! - Shapes: that of `self`.
//! - Dtypes: any; the result is bool, and false for all integers and bools. A complex number is infinite if one of its
//!   parts is.
//! - Aliasing: `isinf.out` writes `out`, a bool tensor.
//! - Source: torch.isinf, PyTorch 2.15.

use num_complex::Complex;

use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::isinf::*;

/// The family of `aten::isinf`: its kind, shape rule and `out` rule.
pub const ISINF: Family<Isinf> =
    Family::new(Isinf, &kind::POINTWISE_UNARY, pointwise::bool_unary).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&ISINF).cpu(cpu);
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    match input.dtype() {
        DType::Complex64 => elementwise::unary::<Bool, Complex<f32>>(out, input, |a| {
            (a.re.is_infinite() | a.im.is_infinite()).into()
        }),
        DType::Complex128 => elementwise::unary::<Bool, Complex<f64>>(out, input, |a| {
            (a.re.is_infinite() | a.im.is_infinite()).into()
        }),
        dtype if dtype.is_floating_point() => with_dtype!(dtype, T: Float => {
            elementwise::unary::<Bool, T>(out, input, |a| a.is_infinite().into())
        }),
        _ => elementwise::fill_for(out, input, false),
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.unary(Isinf, ANY, DTypeRule::Bool, |x| Scalar::Bool(number::is_infinite(x)));
    }
}
