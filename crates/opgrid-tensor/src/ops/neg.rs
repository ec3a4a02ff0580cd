//! `aten::neg`: the negative of a tensor.
//!
//! `out[i] = -self[i]`
//!
//! - Shapes: that of `self`.
//! - Dtypes: that of `self`. The smallest integer, whose negative does not fit, stays what it is.
//! - Errors: bools.
//! - Source: torch.neg, PyTorch 2.15.

use super::prelude::*;

operator! {
    home = crate::home;
    pub Neg = "aten::neg(Tensor self) -> Tensor";
}

pub(super) fn register(library: &mut Library) {
    library.define(Neg).structured(shape, cpu);
}

fn shape(input: &Tensor) -> Result<TensorSpec> {
    if input.dtype() == DType::Bool {
        let message = "argument `self` is a bool tensor, which has no negative; invert a mask by `logical_not`";
        return Err(argument(message));
    }
    let spec = input.spec()?;
    TensorSpec::elementwise(&[spec.geometry()], spec.dtype(), spec.device())
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T: Number => elementwise::unary::<T, T>(out, input, Math::<T>::negated))
}
