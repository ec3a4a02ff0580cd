//! `aten::rsub`: difference of two tensors, the first one scaled and subtracted.
//!
//! `out[i] = other[i] - alpha * self[i]`
//!
//! - Shapes, dtypes, errors: as [`SubTensor`] with the arguments in the other order.
//! - Dispatch: a composite of `sub`.
//! - Source: torch.rsub, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::SubTensor;

pub use opgrid_tensor::ops::pointwise::rsub::*;

pub(super) fn register(library: &mut Library) {
    library.define(RsubTensor).kind(&kind::POINTWISE_BINARY).on_every_backend(rsub).derivative(
        |d, (input, other, alpha)| {
            d.by(input, [], move |grad, []| derivatives::times(&(-grad)?, alpha))?;
            d.by(other, [], |grad, []| Ok(grad.clone()))
        },
    );
    library
        .define(RsubScalar)
        .kind(&kind::POINTWISE_BINARY)
        .on_every_backend(|input, other, alpha| rsub(input, &other.into(), alpha))
        .derivative(|d, (input, _, alpha)| {
            d.by(input, [], move |grad, []| derivatives::times(&(-grad)?, alpha))
        });
}

fn rsub(input: &Tensor, other: &Tensor, alpha: Scalar) -> Result<Tensor> {
    SubTensor.call(other, input, alpha)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let scaled = |dtype| generate::scaled_pairs(dtype, "alpha", 2);
        samples.operator(RsubTensor, NUMBERS, scaled, reference).tolerance(2.0);
        samples
            .operator(RsubScalar, NUMBERS, generate::with_number, reference)
            .tolerance(2.0)
            .refuses("subtraction is not defined", given(generate::numbers(DType::F32, &[2], 0)).and(true));
        samples.differs_as(RsubTensor, &[departures::arithmetic::SIGN_OF_ZERO, departures::math::NOT_FINITE]);
        samples.rounds(RsubTensor, pointwise::samples::SCALED_SUM);
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let alpha = it.value("alpha")?;
        it.binary(DTypeRule::Promoted, |a, b| number::minus(b, number::times(alpha, a)))
    }
}
