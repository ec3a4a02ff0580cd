//! `aten::conj`: complex numbers with the other sign of the imaginary part.
//!
//! `out[i]` is the conjugate of `self[i]`
//!
//! - Shapes: that of `self`.
//! - Dtypes: that of `self`; real numbers are their own conjugates.
//! - Aliasing: real numbers give `self` itself, complex ones a new tensor, as `_conj_copy` does of both.
//! - Dispatch: a composite of `_conj_physical`.
//! - Source: torch.conj, PyTorch 2.15.
//!
//! Conjugates are computed when they are asked for. torch marks a view with a bit instead, and a layer of its dispatcher
//! computes the conjugate before any operator that does not know the bit. The bit saves a pass over memory in front of
//! products of matrices, which can conjugate while they read; nothing here does so, and every other operator would have to
//! ask for the bit or be kept from it. So `is_conj` and `is_neg` are false for every tensor, `resolve_conj` and
//! `resolve_neg` give the tensor itself, and programs that are written for the bit get the same numbers. What differs is
//! memory: writing to a conjugate does not write to what it is a conjugate of.

use crate::prelude::*;

pub use opgrid_tensor::ops::complex::conj::*;

pub(super) fn register(library: &mut Library) {
    library.define(Conj).kind(&kind::POINTWISE_UNARY).implicit(complex::conjugate);
    library
        .define(ConjKernel)
        .kind(&kind::POINTWISE_UNARY)
        .on_every_backend(complex::conjugate)
        .derivative(|d, (input,)| d.by(input, [], |grad, []| derivatives::conjugate(grad)));
    library.copy_of_view(ConjCopy, ConjKernel);
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.unary(Conj, ANY, DTypeRule::Promoted, number::conjugate);
        samples.unary(ConjKernel, ANY, DTypeRule::Promoted, number::conjugate);
        samples.copy_of_view(ConjCopy, ConjKernel);
        samples.differs(Conj, complex::samples::COMPUTED);
        let what = "torch's kernel of `conj` returns a view with the conjugate bit set; here it computes new numbers";
        samples.differs(
            ConjKernel,
            Difference { id: "kernels-of-conjugates-compute", what, ..complex::samples::COMPUTED },
        );
        samples.differs(
            ConjCopy,
            Difference {
                id: "copies-of-real-conjugates",
                what: "torch fails with an internal assertion for the copied conjugate of real numbers; here it is a copy",
                why: "real numbers are their own conjugates",
                test: ("opgrid-operators/tests/all/differences/kernels.rs", "kernels_take_what_functions_take"),
                when: |seen| seen.torch_refuses("isComplexType"),
                directed: None,
            },
        );
    }
}
