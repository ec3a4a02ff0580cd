//! `aten::linalg_matmul`: another name of `matmul`.
//!
//! - Dispatch: a composite of `matmul`; shapes, dtypes and errors are its own.
//! - Aliasing: `linalg_matmul.out` writes `out`, and gives it its shape if it has no elements.
//! - Source: torch.linalg.matmul, PyTorch 2.15.

use crate::ops::prelude::*;
use crate::ops::{Matmul, MatmulOut};

operator! {
    home = crate::home_of(register);
    pub LinalgMatmul = "aten::linalg_matmul(Tensor self, Tensor other) -> Tensor", out;
}

pub(super) fn register(library: &mut Library) {
    library
        .define_with_forms(LinalgMatmul, &kind::PRODUCT)
        .implicit(|input, other| Matmul.call(input, other));
    library.implement(LinalgMatmulOut).implicit(|input, other, out| MatmulOut.call(input, other, out));
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::ops::products::matmul;
    use crate::samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = make::numbers(DType::F32, &[2, 3], 0);
        samples
            .of(LinalgMatmul, NUMBERS, matmul::samples::inputs, matmul::samples::reference)
            .tolerance(64.0)
            .refuses("expected 3 rows", given(x.clone()).and(x));
        samples.differs_as(LinalgMatmul, products::samples::DIFFERENCES);
        samples.differs(LinalgMatmul, matmul::samples::ANY_STRIDES);
        samples.rounds(LinalgMatmul, Roundings::all(Rounding::Sum(2)));
    }
}
