//! `aten::sum`: the sum of all elements, or over dimensions.
//!
//! `out[j] = self[0, j] + self[1, j] + …`
//!
//! - Shapes: without the dimensions of `dim`, or with size 1 for them with `keepdim`; no `dim` means all.
//! - Dtypes: `dtype` if given, to which each element is converted first; otherwise that of `self`, int64 for
//!   integers and bools. Integers wrap around.
//! - Aliasing: `sum.out` writes `out`, and `sum.IntList_out`, in the dtype of `out` that it then adds in.
//! - Errors: a dimension out of range or named twice; an `out` of another dtype than `dtype`.
//! - Source: torch.sum, PyTorch 2.15; there the sum of all elements is made of `sum.dim_IntList`.

use crate::prelude::*;
use opgrid_kinds::derivatives::ReducedDims;
use opgrid_tensor::layers::vmap::DefineBatching;

pub use opgrid_tensor::ops::reductions::sum::*;

/// The family of `aten::sum`: its kind, shape rule and `out` rule.
pub const SUM: Family<Sum> =
    Family::new(Sum, &kind::REDUCTION, |input, dtype| shape(input, None, false, dtype)).same_dtype_out();

/// The family of `aten::sum.dim_IntList`: its kind, shape rule and `out` rule.
pub const SUM_DIM: Family<SumDim> = Family::new(SumDim, &kind::REDUCTION, shape).out_shape(out_shape);

pub(super) fn register(library: &mut Library) {
    library
        .family(&SUM)
        .cpu(|input, dtype, out| cpu(input, None, false, dtype, out))
        .derivative(|d, (input, _)| {
            let sizes = input.sizes().to_vec();
            d.by(input, [], move |grad, []| grad.expand(&sizes))
        })
        .batching(|call| {
            let dtype: Option<DType> = Option::from_value(call.args()[1])?;
            let Some((input, true)) = call.tensor(0) else { return call.one_by_one() };
            let dims: Vec<i64> = (1..input.dim() as i64).collect();
            // No dimensions would mean all.
            let sum = if dims.is_empty() {
                SumDim.call(&input.unsqueeze(1)?, Some(&[1]), false, dtype)?
            } else {
                SumDim.call(&input, Some(&dims), false, dtype)?
            };
            call.push(sum.into())
        });
    library.family(&SUM_DIM).cpu(cpu).derivative(|d, (input, dim, keepdim, _)| {
        let kept = ReducedDims::new(input, dim, keepdim)?;
        d.by(input, [], move |grad, []| kept.expand_to_input(grad))
    });
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
    shape(input, dim, keepdim, Some(accumulation::out_dtype(dtype, out)?))
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

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let in_f64 = |dtype| generate::and_named(generate::unary_numbers(dtype), "dtype", DType::F64);
        samples.operator(Sum, ANY, in_f64, reference).tolerance(4.0);
        samples
            .operator(
                SumDim,
                ANY,
                |dtype| generate::and_named(generate::over_dims(dtype), "dtype", DType::F64),
                reference,
            )
            .tolerance(4.0)
            .output_decides()
            .refuses("range", given(generate::numbers(DType::F32, &[2], 0)).and([2].to_vec()))
            .refuses(
                "multiple times",
                given(generate::numbers(DType::F32, &[2, 3], 0)).and([1, -1].to_vec()),
            );
        samples.differs_as(SumDim, &[departures::reduce::NOT_FINITE, READ_AFTER_WRITTEN]);
        samples.rounds(SumDim, Roundings::all(Rounding::Sum(2)));
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let x = it.tensor("self")?;
        let dtype = accumulation::samples::expected_dtype(it, x)?;
        let dims: Option<Vec<i64>> = it.option("dim")?;
        let keepdim = it.option("keepdim")?.unwrap_or(false);
        let zero = Plain::number(dtype, 0).at(&[]);
        let total =
            |elements: &[Scalar]| elements.iter().fold(zero, |sum, element| number::plus(sum, *element));
        Ok(x.to(dtype).reduced(dims.as_deref(), keepdim, dtype, total).into())
    }
}
