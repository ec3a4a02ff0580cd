//! `aten::nanmean`: the average of what is a number, of all elements or over dimensions.
//!
//! `out[j] = (self[0, j] + self[1, j] + …) / n`, of the `n` elements that are not NaN
//!
//! - Shapes: without the dimensions of `dim`, or with size 1 for them with `keepdim`; no `dim` means all.
//! - Dtypes: floating-point ones; `dtype` if given, in which sums are computed.
//! - Values: NaN where there is no number.
//! - Aliasing: `nanmean.out` writes `out`.
//! - Dispatch: a composite of `masked_fill`, `sum` and `div`.
//! - Errors: other dtypes; a dimension out of range or named twice.
//! - Source: torch.nanmean, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{DivTensor, Isnan, LogicalNot, MaskedFillScalar, SumDim};

pub use opgrid_tensor::ops::reductions::nanmean::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(Nanmean, &kind::REDUCTION).implicit(nanmean);
    library.implement(NanmeanOut).implicit(|input, dim, keepdim, dtype, out| {
        result::converted(&[(out, &nanmean(input, dim, keepdim, dtype)?)])
    });
}

fn nanmean(input: &Tensor, dim: Option<&[i64]>, keepdim: bool, dtype: Option<DType>) -> Result<Tensor> {
    pointwise::check_float(input.spec()?.dtype())?;
    dtype.map_or(Ok(()), pointwise::check_float)?;
    let missing = Isnan.call(input)?;
    let numbers = MaskedFillScalar.call(input, &missing, Scalar::Int(0))?;
    let count = SumDim.call(&LogicalNot.call(&missing)?, dim, keepdim, None)?;
    DivTensor.call(&SumDim.call(&numbers, dim, keepdim, dtype)?, &count)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.differs(
            Nanmean,
            Difference {
                id: "averages-into-wider-outputs",
                what: "torch rejects an output of `nanmean` whose dtype is not `dtype`; here results \
                     are converted to it",
                why: "all outputs behave alike",
                test: (
                    "opgrid-operators/tests/all/differences/outputs.rs",
                    "outputs_take_what_converts_to_them",
                ),
                when: |seen| {
                    // It computes in the dtype of the output, which may be one without such sums.
                    let is_complex = seen.out().is_some_and(|out| out.dtype.is_complex());
                    seen.torch_refuses("provided dtype must match dtype of result")
                        || is_complex && seen.torch_refuses("\"nansum_cpu\" not implemented for")
                },
                directed: None,
            },
        );
        samples.differs(
            Nanmean,
            Difference {
                id: "complex-averages-of-nothing",
                what: "torch returns NaN as the complex mean of an empty tensor, and rejects that of \
                     others; here both are rejected",
                why: "whether a call is valid must not depend on sizes or elements",
                test: (
                    "opgrid-operators/tests/all/differences/refused.rs",
                    "what_is_refused_with_elements_is_refused_without",
                ),
                when: |seen| {
                    let is_nothing = seen.tensor("self").is_some_and(Operand::is_empty);
                    is_nothing && seen.we_refuse("not implemented for 'Complex")
                },
                directed: Some(Directed {
                    operator: "aten::nanmean",
                    arguments: || {
                        vec![
                            ("self", Operand::rows(0, DType::F32, &[0], &[]).into()),
                            ("dtype", Argument::DType(DType::Complex64)),
                        ]
                    },
                    needs: None,
                }),
            },
        );
        samples.differs_as(Nanmean, &[READ_AFTER_WRITTEN, departures::math::NOT_FINITE]);
        samples
            .operator(Nanmean, FLOATS, inputs, reference)
            .tolerance(8.0)
            .refuses("range", given(generate::numbers(DType::F32, &[2], 0)).and([2].to_vec()));
        samples.rounds(Nanmean, Roundings::all(Rounding::Sum(8)));
    }

    /// Samples of numbers, some of which are NaN.
    fn inputs(dtype: DType) -> Vec<Sample> {
        let nan = f64::NAN;
        let missing = given(Plain::from_elements(dtype, &[2, 3], &[1.0, nan, 4.0, nan, nan, nan]));
        let more = [missing.clone(), missing.clone().and(vec![1]), missing.and(vec![0]).and(true)];
        generate::over_dims(dtype).into_iter().chain(more).collect()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let x = it.tensor("self")?;
        let (dims, keepdim) = (it.option::<Vec<i64>>("dim")?, it.option("keepdim")?.unwrap_or(false));
        let average = |elements: &[Scalar]| {
            let numbers =
                elements.iter().map(|element| element.to_complex().re).filter(|element| !element.is_nan());
            Scalar::Float(numbers.clone().sum::<f64>() / numbers.count() as f64)
        };
        Ok(x.reduced(dims.as_deref(), keepdim, x.dtype(), average).into())
    }
}
