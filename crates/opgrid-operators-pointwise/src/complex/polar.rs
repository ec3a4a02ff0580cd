//! `aten::polar`: complex numbers from distances and angles.
//!
//! `out[i] = abs[i] * (cos(angle[i]) + sin(angle[i]) j)`
//!
//! - Shapes: `abs` and `angle` broadcast.
//! - Dtypes: float16, float32 or float64, one for both; the result has the complex one of such parts, complex64 of 16 bits.
//! - Aliasing: `polar.out` writes `out`, which has the dtype of the result.
//! - Errors: other dtypes; two dtypes.
//! - Source: torch.polar, PyTorch 2.15.

use num_complex::Complex as Number;
use opgrid_tensor::tensor::f16;

use crate::prelude::*;

pub use opgrid_tensor::ops::complex::polar::*;

/// The family of `aten::polar`: its kind, shape rule and `out` rule.
pub const POLAR: Family<Polar> = Family::new(Polar, &kind::POINTWISE_BINARY, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&POLAR).cpu(cpu).derivative(|d, (abs, angle)| {
        d.by(abs, [abs, angle], |grad, [abs, angle]| {
            let of_abs = (grad.real()? * angle.cos()?)? + (grad.imag()? * angle.sin()?)?;
            // As torch has it: zero has no direction.
            derivatives::where_false(&abs.eq(0)?, &of_abs?)
        })?;
        d.by(angle, [d.result(0)], |grad, [out]| (grad * out.conj()?)?.imag())
    });
}

fn shape(abs: &Tensor, angle: &Tensor) -> Result<TensorSpec> {
    complex::of_two(("abs", abs), ("angle", angle))
}

fn cpu(abs: &Tensor, angle: &Tensor, out: &Tensor) -> Result<()> {
    match abs.dtype() {
        DType::F64 => elementwise::binary::<Number<f64>, f64, f64>(out, abs, angle, |a, b| {
            Number::new(a * b.cos(), a * b.sin())
        }),
        DType::F16 => elementwise::binary::<Number<f32>, f16, f16>(out, abs, angle, |a, b| {
            Number::new(a * b.cos(), a * b.sin())
        }),
        _ => elementwise::binary::<Number<f32>, f32, f32>(out, abs, angle, |a, b| {
            Number::new(a * b.cos(), a * b.sin())
        }),
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2], 0);
        samples
            .operator(
                Polar,
                complex::PARTS,
                |dtype| generate::of_one_dtype(generate::pairs_to_divide(dtype)),
                |it| {
                    complex::samples::of_parts(it, ["abs", "angle"], |a, b| {
                        Complex64::new(a * b.cos(), a * b.sin())
                    })
                },
            )
            .tolerance(4.0)
            .refuses("expected float32 as `abs`", given(x.clone()).and(x.to(DType::F64)));
        samples.rounds(Polar, pointwise::samples::ELEMENTARY);
        samples.differs(Polar, complex::samples::SIXTEEN_BITS);
    }
}
