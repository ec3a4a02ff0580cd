//! `aten::sum`: the sum of all elements, or over dimensions.
//!
//! `out[j] = self[0, j] + self[1, j] + …`
//!
//! - Shapes: without the dimensions of `dim`, or with size 1 for them with `keepdim`; no `dim` means all.
//! - Dtypes: `dtype` if given, to which each element is converted first; otherwise that of `self`, int64 for
//!   integers and bools. Integers wrap around.
//! - Aliasing: `sum.IntList_out` writes `out`, in whose dtype it adds.
//! - Errors: a dimension out of range or named twice; an `out` of another dtype than `dtype`.
//! - Source: torch.sum, PyTorch 2.15; there the sum of all elements is made of `sum.dim_IntList`.

use super::prelude::*;

operator! {
    home = crate::home;
    pub Sum = "aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor";
    pub SumDim = "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor";
    pub SumDimOut = "aten::sum.IntList_out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)";
}

pub(super) fn register(library: &mut Library) {
    library.define(Sum).structured(|input, dtype| shape(input, None, false, dtype), |input, dtype, out| {
        cpu(input, None, false, dtype, out)
    });
    library.define(SumDim).structured(shape, cpu);
    library.define(SumDimOut).out_by(SumDim, out_shape, cpu);
}

fn shape(input: &Tensor, dim: Option<&[i64]>, keepdim: bool, dtype: Option<DType>) -> Result<TensorSpec> {
    let dtype = reduce::sum_dtype(input.dtype(), dtype);
    reduce::shape(input.spec()?, dim.unwrap_or(&[]), keepdim, dtype)
}

fn out_shape(
    input: &Tensor,
    dim: Option<&[i64]>,
    keepdim: bool,
    dtype: Option<DType>,
    out: &Tensor,
) -> Result<TensorSpec> {
    match dtype {
        Some(dtype) if dtype != out.dtype() => {
            let found = out.dtype();
            Err(argument(format!("expected out tensor to have dtype {dtype}, but got {found} instead")))
        }
        _ => shape(input, dim, keepdim, Some(out.dtype())),
    }
}

fn cpu(
    input: &Tensor,
    dim: Option<&[i64]>,
    _keepdim: bool,
    dtype: Option<DType>,
    out: &Tensor,
) -> Result<()> {
    reduce::sum(out, input, dim.unwrap_or(&[]), dtype.unwrap_or(out.dtype()))
}
