//! `aten::complex`: complex numbers from their parts.
//!
//! `out[i] = real[i] + imag[i] j`
//!
//! - Shapes: `real` and `imag` broadcast.
//! - Dtypes: float16, float32 or float64, one for both; the result has the complex one of such parts, complex64 of 16 bits.
//! - Aliasing: `complex.out` writes `out`, which has the dtype of the result.
//! - Errors: other dtypes; two dtypes.
//! - Source: torch.complex, PyTorch 2.15.

use num_complex::Complex as Number;
use opgrid_tensor::tensor::f16;

use crate::prelude::*;

pub use opgrid_tensor::ops::complex::complex_tensor::*;

/// The family of `aten::complex`: its kind, shape rule and `out` rule.
pub const COMPLEX_OF_PARTS: Family<ComplexParts> =
    Family::new(ComplexParts, &kind::POINTWISE_BINARY, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&COMPLEX_OF_PARTS).cpu(cpu).derivative(|d, (real, imag)| {
        d.by(real, [], |grad, []| grad.real())?;
        d.by(imag, [], |grad, []| grad.imag())
    });
}

fn shape(real: &Tensor, imag: &Tensor) -> Result<TensorSpec> {
    complex::of_two(("real", real), ("imag", imag))
}

fn cpu(real: &Tensor, imag: &Tensor, out: &Tensor) -> Result<()> {
    match real.dtype() {
        DType::F64 => elementwise::binary::<Number<f64>, f64, f64>(out, real, imag, Number::new),
        DType::F16 => elementwise::binary::<Number<f32>, f16, f16>(out, real, imag, Number::new),
        _ => elementwise::binary::<Number<f32>, f32, f32>(out, real, imag, Number::new),
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.differs(ComplexParts, complex::samples::SIXTEEN_BITS);
        let x = generate::numbers(DType::F32, &[2], 0);
        samples
            .operator(
                ComplexParts,
                complex::PARTS,
                |dtype| generate::of_one_dtype(generate::pairs_to_divide(dtype)),
                |it| complex::samples::of_parts(it, ["real", "imag"], Complex64::new),
            )
            .refuses("expected float32 as `real`", given(x.clone()).and(x.to(DType::F64)));
    }
}
