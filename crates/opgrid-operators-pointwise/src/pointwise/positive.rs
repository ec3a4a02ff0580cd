//! `aten::positive`: elements as they are.
//!
//! `out[i] = self[i]`
//!
//! - Aliasing: the result is `self` itself.
//! - Errors: bools.
//! - Source: torch.positive, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::positive::*;

pub(super) fn register(library: &mut Library) {
    library.define(Positive).kind(&kind::POINTWISE_UNARY).implicit(positive);
}

fn positive(input: &Tensor) -> Result<Tensor> {
    pointwise::check_numbers(input.spec()?.dtype()).map(|()| input.clone())
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.unary(Positive, NUMBERS, DTypeRule::Promoted, |x| x).view();
    }
}
