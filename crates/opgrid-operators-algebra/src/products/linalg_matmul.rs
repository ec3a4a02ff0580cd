//! `aten::linalg_matmul`: another name of `matmul`.
//!
//! - Dispatch: a composite of `matmul`; shapes, dtypes and errors are its own.
//! - Aliasing: `linalg_matmul.out` writes `out`, and gives it its shape if it has no elements.
//! - Source: torch.linalg.matmul, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{Matmul, MatmulOut};

pub use opgrid_tensor::ops::products::linalg_matmul::*;

pub(super) fn register(library: &mut Library) {
    library
        .define_with_forms(LinalgMatmul, &kind::PRODUCT)
        .implicit(|input, other| Matmul.call(input, other));
    library.implement(LinalgMatmulOut).implicit(|input, other, out| MatmulOut.call(input, other, out));
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::products::matmul;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2, 3], 0);
        samples
            .operator(LinalgMatmul, NUMBERS, matmul::samples::inputs, matmul::samples::reference)
            .tolerance(64.0)
            .refuses("expected 3 rows", given(x.clone()).and(x));
        samples.differs_as(LinalgMatmul, products::samples::DIFFERENCES);
        samples.differs(LinalgMatmul, matmul::samples::ANY_STRIDES);
        samples.rounds(LinalgMatmul, Roundings::all(Rounding::Sum(2)));
    }
}
