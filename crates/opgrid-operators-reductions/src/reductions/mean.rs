//! `aten::mean`: the average of all elements, or over dimensions.
//!
//! `out[j] = (self[0, j] + self[1, j] + …) / n`
//!
//! - Shapes: without the dimensions of `dim`, or with size 1 for them with `keepdim`; no `dim` means all.
//! - Dtypes: `dtype` if given, to which each element is converted first, or to float32 where that has 16 bits;
//!   otherwise that of `self`.
//! - Values: NaN for no elements.
//! - Aliasing: `mean.out` and `mean.dtype_out` write `out`, in whose dtype they compute.
//! - Errors: a dtype without fractions; a dimension out of range or named twice; an `out` of another dtype than `dtype`; a real
//!   `out` of `mean.dtype_out` for complex numbers, whatever `dtype` is.
//! - Source: torch.mean, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::mean;
use opgrid_kinds::derivatives::ReducedDims;

pub use opgrid_tensor::ops::reductions::mean::*;

/// The family of `aten::mean.dim`: its kind, shape rule and `out` rule.
pub const MEAN_DIM: Family<MeanDim> = Family::new(MeanDim, &kind::REDUCTION, shape).out_shape(out_shape);

pub(super) fn register(library: &mut Library) {
    library
        .define_with_forms(Mean, &kind::REDUCTION)
        .composite(|input, dtype| MeanDim.call(input, None, false, dtype))
        .derivative(|d, (input, _)| {
            let kept = ReducedDims::new(input, None, false)?;
            d.by(input, [], move |grad, []| kept.expand_to_input(&(grad / kept.count.max(1))?))
        });
    library.implement(MeanDtypeOut).composite(|input, dtype, out| {
        result::check_cast(input.spec()?.dtype(), out.spec()?.dtype())?;
        MeanOut.call(input, None, false, dtype, out)
    });
    library.family(&MEAN_DIM).cpu(cpu).derivative(|d, (input, dim, keepdim, _)| {
        let kept = ReducedDims::new(input, dim, keepdim)?;
        d.by(input, [], move |grad, []| kept.expand_to_input(&(grad / kept.count.max(1))?))
    });
}

fn shape(input: &Tensor, dim: Option<&[i64]>, keepdim: bool, dtype: Option<DType>) -> Result<TensorSpec> {
    let spec = input.spec()?;
    let dtype = dtype.unwrap_or(spec.dtype());
    if !dtype.is_floating_point() && !dtype.is_complex() {
        let message = format!(
            "cannot compute a mean in dtype {dtype}, expected a floating-point or complex one; pass `dtype`"
        );
        return Err(argument(message));
    }
    reduce::shape(spec, dim.unwrap_or(&[]), keepdim, dtype)
}

fn out_shape(
    input: &Tensor,
    dim: Option<&[i64]>,
    keepdim: bool,
    dtype: Option<DType>,
    out: &Tensor,
) -> Result<TensorSpec> {
    if let Some(dtype) = dtype {
        pointwise::check_out_dtype(out, dtype)?;
    }
    let spec = shape(input, dim, keepdim, dtype)?;
    match out.dtype() {
        // Another precision is computed in from the start.
        found if found.is_complex() || (found.is_floating_point() && !spec.dtype().is_complex()) => {
            Ok(TensorSpec::new(spec.geometry().clone(), found, spec.device()))
        }
        _ => Ok(spec),
    }
}

fn cpu(
    input: &Tensor,
    dim: Option<&[i64]>,
    _keepdim: bool,
    dtype: Option<DType>,
    out: &Tensor,
) -> Result<()> {
    mean::mean(out, input, dim.unwrap_or(&[]), dtype.unwrap_or(out.dtype()))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::reductions::norm::samples::SHAPED_BEFORE_READ;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.operator(Mean, INEXACT, generate::unary_numbers, reference).tolerance(4.0);
        samples
            .operator(MeanDim, INEXACT, generate::over_dims, reference)
            .tolerance(4.0)
            .refuses("range", given(generate::numbers(DType::F32, &[2], 0)).and([2].to_vec()));
        let converted = |dtype: DType| {
            let named =
                generate::over_dims(dtype).into_iter().map(|sample| sample.named("dtype", DType::F64));
            named.collect()
        };
        samples.operator(MeanDim, ANY, converted, reference).tolerance(4.0);
        samples
            .differs_as(MeanDim, &[departures::reduce::NOT_FINITE, READ_AFTER_WRITTEN, SHAPED_BEFORE_READ]);
        samples.differs(
            MeanDim,
            Difference {
                id: "averages-of-complex-numbers-are-complex",
                what: "torch writes means of complex numbers to real outputs, dropping the imaginary \
                     parts; here that is rejected",
                why: "values must not be lost silently",
                test: (
                    "opgrid-operators/tests/all/differences/computed.rs",
                    "averages_of_complex_numbers_are_complex",
                ),
                when: |seen| seen.operator == "aten::mean.out" && seen.we_refuse("can't be cast"),
                directed: Some(Directed {
                    operator: "aten::mean.out",
                    arguments: || {
                        vec![
                            ("self", Operand::rows(0, DType::Complex64, &[2], &[1.0, 2.0]).into()),
                            ("dim", Argument::None),
                            ("out", Operand::rows(1, DType::F64, &[], &[0.0]).into()),
                        ]
                    },
                    needs: None,
                }),
            },
        );
        samples.rounds(MeanDim, Roundings::all(Rounding::Sum(2)));
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let x = it.tensor("self")?;
        let dtype = it.value::<Option<DType>>("dtype")?.unwrap_or(x.dtype());
        let dims: Option<Vec<i64>> = it.option("dim")?;
        let keepdim = it.option("keepdim")?.unwrap_or(false);
        let zero = Plain::number(dtype, 0).at(&[]);
        let average = |elements: &[Scalar]| {
            let sum = elements.iter().fold(zero, |sum, element| number::plus(sum, *element));
            number::over(sum, Scalar::Float(elements.len() as f64))
        };
        Ok(x.to(dtype).reduced(dims.as_deref(), keepdim, dtype, average).into())
    }
}
