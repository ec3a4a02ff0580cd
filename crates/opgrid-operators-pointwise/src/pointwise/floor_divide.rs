//! `aten::floor_divide`: quotient of two tensors, rounded downwards.
//!
//! `out[i] = floor(self[i] / other[i])`
//!
//! - Shapes, dtypes, errors: those of `div` with the rounding mode "floor".
//! - Aliasing: `floor_divide_` writes `self`, the `out` overloads write `out`.
//! - Dispatch: a composite of `div.Tensor_mode`, in all forms.
//! - Source: torch.floor_divide, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{DivInplaceTensorMode, DivOutMode, DivTensorMode};

pub use opgrid_tensor::ops::pointwise::floor_divide::*;

const FLOOR: Option<&str> = Some("floor");

pub(super) fn register(library: &mut Library) {
    library
        .define_with_forms(FloorDivide, &kind::POINTWISE_BINARY)
        .column(NumbersForTensors)
        .on_every_backend(|input, other| DivTensorMode.call(input, other, FLOOR));
    library
        .implement(FloorDivideInplaceTensor)
        .on_every_backend(|input, other| DivInplaceTensorMode.call(input, other, FLOOR));
    library
        .implement(FloorDivideOut)
        .on_every_backend(|input, other, out| DivOutMode.call(input, other, FLOOR, out));
    library
        .define_with_forms(FloorDivideScalar, &kind::POINTWISE_BINARY)
        .on_every_backend(|input, other| DivTensorMode.call(input, &other.into(), FLOOR));
    library
        .implement(FloorDivideInplaceScalar)
        .on_every_backend(|input, other| DivInplaceTensorMode.call(input, &other.into(), FLOOR));
    library
        .implement(FloorDivideScalarOut)
        .on_every_backend(|input, other, out| DivOutMode.call(input, &other.into(), FLOOR, out));
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::division;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.differs(
            FloorDivide,
            Difference {
                id: "floors-of-16-bit-floats-are-cut-once",
                what: "torch rounds quotients of 16-bit floats to 16 bits before it takes the floor, in \
                     some code paths; here the floor is taken first",
                why: "rounding first turns a quotient just below an integer into that integer",
                test: (
                    "opgrid-operators/tests/all/differences/numbers.rs",
                    "quotients_are_cut_before_they_are_rounded",
                ),
                when: |seen| {
                    let is_next = |(_, ours, torch): &(DType, Complex64, Complex64)| {
                        (ours - torch).norm() <= (torch.norm() / 128.0).max(1.0)
                    };
                    seen.meets_dtype(&[DType::F16, DType::BF16]) && seen.each(is_next)
                },
                directed: None,
            },
        );
        let reference = |it: &Inputs| it.binary(DTypeRule::Promoted, number::floored);
        samples.operator(
            FloorDivide,
            REAL,
            |dtype| generate::computed_in(REAL, dtype, generate::pairs_to_divide(dtype)),
            reference,
        );
        samples.operator(
            FloorDivideScalar,
            REAL,
            |dtype| division::samples::by_number(REAL, dtype),
            reference,
        );
        samples.differs(FloorDivide, departures::arithmetic::SIGN_OF_ZERO);
    }
}
