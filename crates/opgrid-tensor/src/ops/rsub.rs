//! `aten::rsub`: difference of two tensors, the first one scaled and subtracted.
//!
//! `out[i] = other[i] - alpha * self[i]`
//!
//! - Shapes, dtypes, errors: as [`SubTensor`] with the arguments in the other order.
//! - Dispatch: a composite of `sub`.
//! - Source: torch.rsub, PyTorch 2.15.

use super::SubTensor;
use super::prelude::*;

operator! {
    home = crate::home;
    pub RsubTensor = "aten::rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor";
    pub RsubScalar = "aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor";
}

pub(super) fn register(library: &mut Library) {
    library.define(RsubTensor).everywhere(rsub);
    library.define(RsubScalar).everywhere(|input, other, alpha| rsub(input, &other.into(), alpha));
}

fn rsub(input: &Tensor, other: &Tensor, alpha: Scalar) -> Result<Tensor> {
    SubTensor.call(other, input, alpha)
}
