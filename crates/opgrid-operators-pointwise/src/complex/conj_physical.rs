//! `aten::conj_physical`: complex numbers with the other sign of the imaginary part, in memory of their own.
//!
//! `out[i]` is the conjugate of `self[i]`
//!
//! - Shapes: that of `self`.
//! - Dtypes: that of `self`; real numbers are their own conjugates.
//! - Aliasing: real numbers give `self` itself, complex ones a new tensor. `conj_physical_` writes `self`,
//!   `conj_physical.out` writes `out`, which has the dtype of `self`.
//! - Dispatch: a composite of `_conj_physical`.
//! - Source: torch.conj_physical, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::access::check_written;

pub use opgrid_tensor::ops::complex::conj_physical::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(ConjPhysical, &kind::POINTWISE_UNARY).implicit(complex::conjugate);
    library.implement(ConjPhysicalOut).on_cpu_and_meta(complex::conjugate_into);
    library
        .implement(ConjPhysicalInplace)
        .on_cpu_and_meta(|input| {
            if input.dtype().is_complex() {
                complex::conjugate_into(input, input)
            } else {
                check_written(input.geometry())
            }
        })
        .derivative(|d, (input,)| d.by(input, [], |grad, []| derivatives::conjugate(grad)));
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.unary(ConjPhysical, ANY, DTypeRule::Promoted, number::conjugate);
    }
}
