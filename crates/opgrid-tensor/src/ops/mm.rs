//! `aten::mm`: product of two matrices.
//!
//! `out[i, j] = self[i, 0] * mat2[0, j] + self[i, 1] * mat2[1, j] + …`
//!
//! - Shapes: `[m, k]` and `[k, n]` give `[m, n]`; nothing broadcasts.
//! - Dtypes: one for all, no bools. Integers wrap around.
//! - Errors: two dtypes or devices, other shapes.
//! - Source: torch.mm, PyTorch 2.15.

use super::prelude::*;
use crate::kernels::matmul;
use crate::tensor::choose::unsupported;

operator! {
    home = crate::home;
    pub Mm = "aten::mm(Tensor self, Tensor mat2) -> Tensor";
}

pub(super) fn register(library: &mut Library) {
    library.define(Mm).structured(shape, cpu);
}

fn shape(input: &Tensor, mat2: &Tensor) -> Result<TensorSpec> {
    let (a, b) = (input.spec()?, mat2.spec()?);
    let sizes = matmul::sizes(a.sizes(), b.sizes())?;
    if (a.dtype(), a.device()) != (b.dtype(), b.device()) {
        let message = format!(
            "argument `mat2` is {} on {}, expected {} on {} as `self`; convert one of them",
            b.dtype(),
            b.device(),
            a.dtype(),
            a.device()
        );
        return Err(argument(message));
    }
    if a.dtype() == DType::Bool {
        return Err(unsupported(a.dtype(), "a dtype of numbers"));
    }
    TensorSpec::contiguous(&sizes, a.dtype(), a.device())
}

fn cpu(input: &Tensor, mat2: &Tensor, out: &Tensor) -> Result<()> {
    matmul::mm(out.array()?, input.array()?, mat2.array()?)
}
