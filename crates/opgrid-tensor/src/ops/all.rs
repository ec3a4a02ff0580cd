//! `aten::all`: whether every element is other than zero, of all elements or over dimensions.
//!
//! `out[j] = self[0, j] != 0 && self[1, j] != 0 && …`
//!
//! - Shapes: without the dimensions of `dim`, or with size 1 for them with `keepdim`; no `dim` means all, and an empty
//!   list none.
//! - Dtypes: bool; uint8 for uint8.
//! - Values: true for no elements. NaN is other than zero.
//! - Aliasing: `all.out`, `all.all_out` and `all.dims_out` write `out`.
//! - Errors: a dimension out of range or named twice; an `out` of another dtype than bool and uint8.
//! - Source: torch.all, PyTorch 2.15.

use super::prelude::*;
use crate::kernels::choice;

operator! {
    home = crate::home;
    /// Whether every element is other than zero.
    pub All = "aten::all(Tensor self) -> Tensor", out("all_out"), method;
    /// Whether every element is other than zero, over a dimension.
    pub AllDim = "aten::all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", out("out"), method(all_dim);
    pub AllDims = "aten::all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", out;
}

/// Over all elements.
pub const ALL_ELEMENTS: Family<All> = Family::new(All, &kind::REDUCTION, |input| shape(input, None, false))
    .out_shape(|input, out| out_shape(input, None, false, out));

/// Over one dimension.
pub const ALL_DIM: Family<AllDim> =
    Family::new(AllDim, &kind::REDUCTION, |input, dim, keepdim| shape(input, Some(&[dim]), keepdim))
        .out_shape(|input, dim, keepdim, out| out_shape(input, Some(&[dim]), keepdim, out));

/// Over several dimensions.
pub const ALL_DIMS: Family<AllDims> = Family::new(AllDims, &kind::REDUCTION, shape).out_shape(out_shape);

pub(super) fn register(library: &mut Library) {
    library.family(&ALL_ELEMENTS).cpu(|input, out| cpu(input, None, false, out));
    library.family(&ALL_DIM).cpu(|input, dim, keepdim, out| cpu(input, Some(&[dim]), keepdim, out));
    library.family(&ALL_DIMS).cpu(cpu);
}

pub(super) fn samples(samples: &mut Samples) {
    samples.of(All, ANY, make::unary, |it| reference(it, None)).output_decides();
    samples
        .of(AllDim, ANY, make::over_dim, |it| reference(it, Some(vec![it.value("dim")?])))
        .output_decides()
        .refuses("range", given(make::numbers(DType::F32, &[2], 0)).and(2));
    samples.of(AllDims, ANY, make::over_dims, |it| reference(it, it.value("dim")?)).output_decides();
    samples.differs(All, READ_AFTER_WRITTEN);
    samples.differs(All, reduce::TRUTH_OF_ELEMENTS);
}

fn reference(it: &Inputs, dims: Option<Vec<i64>>) -> Result<Expected> {
    let x = it.tensor("self")?;
    let dtype = if x.dtype() == DType::U8 { DType::U8 } else { DType::Bool };
    let answer = |elements: &[Scalar]| Scalar::Bool(elements.iter().all(|element| element.to_bool()));
    if dims.as_ref().is_some_and(Vec::is_empty) {
        return Ok(Plain::from_fn(dtype, x.sizes(), |position| answer(&[x.at(position)])).into());
    }
    Ok(x.reduced(dims.as_deref(), it.option("keepdim")?.unwrap_or(false), dtype, answer).into())
}

fn shape(input: &Tensor, dim: Option<&[i64]>, keepdim: bool) -> Result<TensorSpec> {
    let spec = input.spec()?;
    let dtype = if spec.dtype() == DType::U8 { DType::U8 } else { DType::Bool };
    match dim {
        Some([]) => TensorSpec::contiguous(spec.sizes(), dtype, spec.device()),
        dims => reduce::shape(spec, dims.unwrap_or(&[]), keepdim, dtype),
    }
}

fn out_shape(input: &Tensor, dim: Option<&[i64]>, keepdim: bool, out: &Tensor) -> Result<TensorSpec> {
    if ![DType::Bool, DType::U8].contains(&out.dtype()) {
        return Err(argument(format!("argument `out` has dtype {}, expected bool or uint8", out.dtype())));
    }
    let spec = shape(input, dim, keepdim)?;
    Ok(TensorSpec::new(spec.geometry().clone(), out.dtype(), spec.device()))
}

fn cpu(input: &Tensor, dim: Option<&[i64]>, _keepdim: bool, out: &Tensor) -> Result<()> {
    match dim {
        Some([]) => elementwise::unary::<Bool, Bool>(out, input, |value| value),
        dims => choice::all(out, input, dims.unwrap_or(&[])),
    }
}
