//! `aten::mul`: product of two tensors.
//!
//! `out[i] = self[i] * other[i]`
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: promoted; the product of bools is "and". Integers wrap around.
//! - Source: torch.mul, PyTorch 2.15.

use super::prelude::*;

operator! {
    home = crate::home;
    pub MulTensor = "aten::mul.Tensor(Tensor self, Tensor other) -> Tensor";
}

pub(super) fn register(library: &mut Library) {
    library.define(MulTensor).structured(shape, cpu);
}

fn shape(input: &Tensor, other: &Tensor) -> Result<TensorSpec> {
    pointwise::shape([("self", input), ("other", other)])
}

fn cpu(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[input, other])?;
    with_dtype!(dtype, T => elementwise::binary::<T, T, T>(out, input, other, Math::<T>::times))
}
