//! `aten::any`: whether some element is other than zero, of all elements or over dimensions.
//!
//! `out[j] = self[0, j] != 0 || self[1, j] != 0 || …`
//!
//! - Shapes: without the dimensions of `dim`, or with size 1 for them with `keepdim`; no `dim` means all, and an empty
//!   list none.
//! - Dtypes: bool; uint8 for uint8.
//! - Values: false for no elements. NaN is other than zero.
//! - Aliasing: `any.out`, `any.all_out` and `any.dims_out` write `out`.
//! - Errors: a dimension out of range or named twice; an `out` of another dtype than bool and uint8.
//! - Source: torch.any, PyTorch 2.15.

use super::prelude::*;
use crate::kernels::choice;

operator! {
    home = crate::home;
    /// Whether some element is other than zero.
    pub Any = "aten::any(Tensor self) -> Tensor", out("all_out"), method;
    /// Whether some element is other than zero, over a dimension.
    pub AnyDim = "aten::any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", out("out"), method(any_dim);
    pub AnyDims = "aten::any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", out;
}

/// Over all elements.
pub const ANY_ELEMENT: Family<Any> = Family::new(Any, &kind::REDUCTION, |input| shape(input, None, false))
    .out_shape(|input, out| out_shape(input, None, false, out));

/// Over one dimension.
pub const ANY_DIM: Family<AnyDim> =
    Family::new(AnyDim, &kind::REDUCTION, |input, dim, keepdim| shape(input, Some(&[dim]), keepdim))
        .out_shape(|input, dim, keepdim, out| out_shape(input, Some(&[dim]), keepdim, out));

/// Over several dimensions.
pub const ANY_DIMS: Family<AnyDims> = Family::new(AnyDims, &kind::REDUCTION, shape).out_shape(out_shape);

pub(super) fn register(library: &mut Library) {
    library.family(&ANY_ELEMENT).cpu(|input, out| cpu(input, None, false, out));
    library.family(&ANY_DIM).cpu(|input, dim, keepdim, out| cpu(input, Some(&[dim]), keepdim, out));
    library.family(&ANY_DIMS).cpu(cpu);
}

pub(super) fn samples(samples: &mut Samples) {
    samples.of(Any, ANY, make::unary, |it| reference(it, None)).output_decides();
    samples
        .of(AnyDim, ANY, make::over_dim, |it| reference(it, Some(vec![it.value("dim")?])))
        .output_decides()
        .refuses("range", given(make::numbers(DType::F32, &[2], 0)).and(2));
    samples.of(AnyDims, ANY, make::over_dims, |it| reference(it, it.value("dim")?)).output_decides();
    samples.differs(Any, READ_AFTER_WRITTEN);
    samples.differs(Any, reduce::TRUTH_OF_ELEMENTS);
}

fn reference(it: &Inputs, dims: Option<Vec<i64>>) -> Result<Expected> {
    let x = it.tensor("self")?;
    let dtype = if x.dtype() == DType::U8 { DType::U8 } else { DType::Bool };
    let answer = |elements: &[Scalar]| Scalar::Bool(elements.iter().any(|element| element.to_bool()));
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
        dims => choice::any(out, input, dims.unwrap_or(&[])),
    }
}
