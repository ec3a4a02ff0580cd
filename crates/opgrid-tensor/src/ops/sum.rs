//! `aten::sum`: the sum of all elements.
//!
//! `out = self[0] + self[1] + …`
//!
//! - Shapes: the result has no dimensions.
//! - Dtypes: `dtype` if given, to which each element is converted first; otherwise that of `self`, int64 for
//!   integers and bools. Integers wrap around.
//! - Source: torch.sum, PyTorch 2.15; there it is made of `sum.dim_IntList`.

use super::prelude::*;

operator! {
    home = crate::home;
    pub Sum = "aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor";
}

pub(super) fn register(library: &mut Library) {
    library.define(Sum).structured(shape, cpu);
}

fn shape(input: &Tensor, dtype: Option<DType>) -> Result<TensorSpec> {
    let spec = input.spec()?;
    let integral = spec.dtype() == DType::Bool || spec.dtype().is_integral();
    let own = if integral { DType::I64 } else { spec.dtype() };
    TensorSpec::contiguous(&[], dtype.unwrap_or(own), spec.device())
}

fn cpu(input: &Tensor, _dtype: Option<DType>, out: &Tensor) -> Result<()> {
    reduce::sum(out.array()?, input.array()?, &[])
}
