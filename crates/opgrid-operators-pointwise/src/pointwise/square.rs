//! `aten::square`: elements times themselves.
//!
//! `out[i] = self[i] ^ 2`
//!
//! - Shapes, dtypes, errors: those of `pow` with the exponent 2: bools give int64.
//! - Aliasing: `square_` writes `self`, `square.out` writes `out`.
//! - Dispatch: a composite of `pow`, in all forms.
//! - Source: torch.square, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{PowInplaceScalar, PowTensorScalar, PowTensorScalarOut};

pub use opgrid_tensor::ops::pointwise::square::*;

pub(super) fn register(library: &mut Library) {
    const TWO: Scalar = Scalar::Int(2);
    library
        .define_with_forms(Square, &kind::POINTWISE_UNARY)
        .implicit(|input| PowTensorScalar.call(input, TWO));
    library.implement(SquareInplace).implicit(|input| PowInplaceScalar.call(input, TWO));
    library.implement(SquareOut).implicit(|input, out| PowTensorScalarOut.call(input, TWO, out));
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(Square, ANY, generate::unary_numbers, |it| {
                let x = it.tensor("self")?;
                let dtype = if x.dtype() == DType::Bool { DType::I64 } else { x.dtype() };
                let square = |x| number::times(naive::convert(x, dtype), naive::convert(x, dtype));
                Ok(Plain::from_fn(dtype, x.sizes(), |position| square(x.at(position))).into())
            })
            .tolerance(2.0);
        samples.differs(Square, departures::math::NOT_FINITE);
        samples.rounds(Square, pointwise::samples::COMPLEX_ARITHMETIC);
    }
}
