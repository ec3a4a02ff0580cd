//! What `all` and `any` share: what their results are like, of all elements or over dimensions, and their samples.

use opgrid_core::{DType, Result};

use opgrid_array::error::argument;
use opgrid_kernels::reduce;
use opgrid_tensor::tensor::{Tensor, TensorSpec};

/// The result for all elements.
pub(crate) fn of_all(input: &Tensor) -> Result<TensorSpec> {
    over_dims(input, None, false)
}

/// The result over one dimension.
pub(crate) fn over_dim(input: &Tensor, dim: i64, keepdim: bool) -> Result<TensorSpec> {
    over_dims(input, Some(&[dim]), keepdim)
}

/// The result over dimensions: all where none are named, and none of an empty list.
pub(crate) fn over_dims(input: &Tensor, dim: Option<&[i64]>, keepdim: bool) -> Result<TensorSpec> {
    let spec = input.spec()?;
    let dtype = dtype_of(spec.dtype());
    match dim {
        Some([]) => TensorSpec::contiguous(spec.sizes(), dtype, spec.device()),
        dims => reduce::shape(spec, dims.unwrap_or(&[]), keepdim, dtype),
    }
}

/// The spec of a reduction of all elements into an output.
pub(crate) fn of_all_into(input: &Tensor, out: &Tensor) -> Result<TensorSpec> {
    in_dtype_of(out, of_all(input))
}

/// The spec of a reduction over one dimension into an output.
pub(crate) fn over_dim_into(input: &Tensor, dim: i64, keepdim: bool, out: &Tensor) -> Result<TensorSpec> {
    in_dtype_of(out, over_dim(input, dim, keepdim))
}

/// The spec of a reduction over dimensions into an output.
pub(crate) fn over_dims_into(
    input: &Tensor,
    dim: Option<&[i64]>,
    keepdim: bool,
    out: &Tensor,
) -> Result<TensorSpec> {
    in_dtype_of(out, over_dims(input, dim, keepdim))
}

fn in_dtype_of(out: &Tensor, spec: Result<TensorSpec>) -> Result<TensorSpec> {
    if ![DType::Bool, DType::U8].contains(&out.dtype()) {
        return Err(argument(format!("argument `out` has dtype {}, expected bool or uint8", out.dtype())));
    }
    let spec = spec?;
    Ok(TensorSpec::new(spec.geometry().clone(), out.dtype(), spec.device()))
}

fn dtype_of(input: DType) -> DType {
    if input == DType::U8 { DType::U8 } else { DType::Bool }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use opgrid_core::{Operator, Scalar};

    use super::*;
    use opgrid_samples::prelude::*;

    /// Samples of the three overloads; `holds` is what they ask of the elements.
    pub(crate) fn collect<A: Operator + Copy, B: Operator, C: Operator>(
        samples: &mut Samples,
        (of_all, over_dim, over_dims): (A, B, C),
        holds: fn(&[Scalar]) -> bool,
    ) {
        samples
            .operator_with(of_all, ANY, generate::unary, move |it| expected(it, None, holds))
            .output_decides();
        samples
            .operator_with(over_dim, ANY, generate::over_dim, move |it| {
                expected(it, Some(vec![it.value("dim")?]), holds)
            })
            .output_decides()
            .refuses("range", given(generate::numbers(DType::F32, &[2], 0)).and(2));
        samples
            .operator_with(over_dims, ANY, generate::over_dims, move |it| {
                expected(it, it.value("dim")?, holds)
            })
            .output_decides();
        samples.differs_as(of_all, &[READ_AFTER_WRITTEN, departures::reduce::TRUTH_OF_ELEMENTS]);
    }

    fn expected(it: &Inputs, dims: Option<Vec<i64>>, holds: fn(&[Scalar]) -> bool) -> Result<Expected> {
        let x = it.tensor("self")?;
        let (dtype, answer) = (dtype_of(x.dtype()), |elements: &[Scalar]| Scalar::Bool(holds(elements)));
        if dims.as_ref().is_some_and(Vec::is_empty) {
            return Ok(Plain::from_fn(dtype, x.sizes(), |position| answer(&[x.at(position)])).into());
        }
        Ok(x.reduced(dims.as_deref(), it.option("keepdim")?.unwrap_or(false), dtype, answer).into())
    }
}
