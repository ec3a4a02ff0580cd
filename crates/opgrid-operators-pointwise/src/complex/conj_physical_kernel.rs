//! `aten::_conj_physical`: complex numbers with the other sign of the imaginary part, in memory of their own.
//!
//! `out[i]` is the conjugate of `self[i]`
//!
//! - Shapes: that of `self`.
//! - Dtypes: that of `self`; real numbers are their own conjugates.
//! - Aliasing: `_conj_physical.out` writes `out`, which has the dtype of `self`.
//! - Source: torch.ops.aten._conj_physical, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::complex::conj_physical_kernel::*;

/// The family of `aten::_conj_physical`: its kind, shape rule and `out` rule.
pub const CONJ_PHYSICAL_KERNEL: Family<ConjPhysicalKernel> =
    Family::new(ConjPhysicalKernel, &kind::POINTWISE_UNARY, pointwise::unary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&CONJ_PHYSICAL_KERNEL)
        .cpu(complex::conjugates)
        .derivative(|d, (input,)| d.by(input, [], |grad, []| derivatives::conjugate(grad)));
    library
        .define(ConjPhysicalKernelOut)
        .kind(&kind::POINTWISE_UNARY)
        .on_cpu_and_meta(complex::conjugate_into);
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.unary(ConjPhysicalKernel, ANY, DTypeRule::Promoted, number::conjugate);
        let with_output = |dtype| -> Vec<Sample> {
            let x = |sizes: &[i64], seed| generate::numbers(dtype, sizes, seed);
            [&[2, 3][..], &[], &[0]].map(|sizes| given(x(sizes, 1)).named("out", x(sizes, 2))).to_vec()
        };
        samples.operator_with(ConjPhysicalKernelOut, ANY, with_output, |it| {
            it.unary(DTypeRule::Promoted, number::conjugate)
        });
    }
}
