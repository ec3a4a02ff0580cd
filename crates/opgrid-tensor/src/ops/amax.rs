//! `aten::amax`: the largest element over dimensions.
//!
//! `out[j] = max(self[0, j], self[1, j], …)`
//!
//! - Shapes: without the dimensions of `dim`, or with size 1 for them with `keepdim`; no `dim` means all.
//! - Dtypes: that of `self`. NaN wins over every number.
//! - Aliasing: `amax.out` writes `out`.
//! - Errors: complex numbers; nothing to choose from; a dimension out of range or named twice; an `out` of another
//!   dtype than `self`.
//! - Source: torch.amax, PyTorch 2.15.

use super::prelude::*;
use crate::kernels::choice;

operator! {
    home = crate::home;
    /// The largest element over dimensions, all if none is named.
    pub Amax = "aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", out, method;
}

/// Kind, shape rule and `out` rule, for everybody.
pub const AMAX: Family<Amax> = Family::new(Amax, &kind::REDUCTION, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&AMAX).cpu(cpu);
}

pub(super) fn samples(samples: &mut Samples) {
    samples
        .of(Amax, ORDERED, make::over_dims, reference)
        .refuses("", given(make::numbers(DType::F32, &[0], 0)))
        .refuses("range", given(make::numbers(DType::F32, &[2], 0)).and([2].to_vec()));
    samples.differs(Amax, arithmetic::SIGN_OF_ZERO);
    samples.differs(Amax, READ_AFTER_WRITTEN);
}

fn reference(it: &Inputs) -> Result<Expected> {
    let (x, dims) = (it.tensor("self")?, it.value::<Vec<i64>>("dim")?);
    let chosen = |elements: &[Scalar]| {
        let all = elements.iter().copied().reduce(|a, b| number::chosen(a, b, |order| order.is_lt()));
        all.unwrap_or(Scalar::Int(0))
    };
    Ok(x.reduced(Some(&dims), it.value("keepdim")?, x.dtype(), chosen).into())
}

fn shape(input: &Tensor, dim: &[i64], keepdim: bool) -> Result<TensorSpec> {
    pointwise::check_ordered(&[input])?;
    choice::check_not_empty(input.spec()?, dim)?;
    reduce::shape(input.spec()?, dim, keepdim, input.dtype())
}

fn cpu(input: &Tensor, dim: &[i64], _keepdim: bool, out: &Tensor) -> Result<()> {
    choice::largest(out, input, dim)
}
