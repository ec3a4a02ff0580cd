//! `aten::nansum`: the sum of what is a number, of all elements or over dimensions.
//!
//! `out[j] = self[0, j] + self[1, j] + …`, without the elements that are NaN
//!
//! - Shapes: without the dimensions of `dim`, or with size 1 for them with `keepdim`; no `dim` means all.
//! - Dtypes: `dtype` if given, to which each element is converted first; otherwise that of `self`, int64 for
//!   integers and bools. Integers wrap around.
//! - Aliasing: `nansum.out` writes `out`, in whose dtype the sum is computed.
//! - Derivative: `grad`, zero for NaN.
//! - Errors: complex numbers, floats as such; a dimension out of range or named twice; an `out` of another dtype than `dtype`, or
//!   one for floats that holds none.
//! - Source: torch.nansum, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kinds::derivatives::ReducedDims;
use opgrid_tensor::ops::{Isnan, NanToNum};

pub use opgrid_tensor::ops::reductions::nansum::*;

/// The family of `aten::nansum`: its kind, shape rule and `out` rule.
pub const NANSUM: Family<Nansum> = Family::new(Nansum, &kind::REDUCTION, shape).out_shape(out_shape);

pub(super) fn register(library: &mut Library) {
    library.family(&NANSUM).cpu(cpu).derivative(|d, (input, dim, keepdim, _)| {
        let kept = ReducedDims::new(input, dim, keepdim)?;
        d.by(input, [input], move |grad, [x]| {
            derivatives::where_false(&Isnan.call(x)?, &kept.expand_to_input(grad)?)
        })
    });
}

fn shape(input: &Tensor, dim: Option<&[i64]>, keepdim: bool, dtype: Option<DType>) -> Result<TensorSpec> {
    pointwise::check_ordered(&[input])?;
    let dtype = reduce::sum_dtype(input.dtype(), dtype);
    if dtype.is_complex() && input.dtype().is_floating_point() {
        return Err(argument(format!("argument `dtype` is {dtype}, expected one that is not complex")));
    }
    reduce::shape(input.spec()?, dim.unwrap_or(&[]), keepdim, dtype)
}

fn out_shape(
    input: &Tensor,
    dim: Option<&[i64]>,
    keepdim: bool,
    dtype: Option<DType>,
    out: &Tensor,
) -> Result<TensorSpec> {
    let sum = accumulation::out_dtype(dtype, out)?;
    if dtype.is_none() && input.dtype().is_floating_point() && !sum.is_floating_point() {
        return Err(argument(format!(
            "argument `out` has dtype {sum}, expected a floating-point one as `self`; `dtype={sum}` converts the elements first"
        )));
    }
    shape(input, dim, keepdim, Some(sum))
}

fn cpu(
    input: &Tensor,
    dim: Option<&[i64]>,
    _keepdim: bool,
    _dtype: Option<DType>,
    out: &Tensor,
) -> Result<()> {
    let dims = dim.unwrap_or(&[]);
    if !input.dtype().is_floating_point() {
        reduce::sum(out, input, dims, out.dtype())
    } else if out.dtype() == DType::Bool {
        // What is no number would be true.
        reduce::sum(out, &NanToNum.call(input, Some(0.0), None, None)?, dims, DType::Bool)
    } else {
        reduce::sum_of_numbers(out, input, dims, out.dtype())
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(Nansum, ORDERED, inputs, reference)
            .tolerance(4.0)
            .output_decides()
            .refuses("range", given(generate::numbers(DType::F32, &[2], 0)).and([2].to_vec()))
            .refuses(
                "complex",
                given(generate::numbers(DType::F32, &[2], 0)).named("dtype", DType::Complex64),
            );
        samples.differs_as(Nansum, &[READ_AFTER_WRITTEN, departures::reduce::NOT_FINITE]);
        samples.differs(
            Nansum,
            Difference {
                id: "sums-of-nothing-are-checked",
                what: "torch rejects complex sums, and outputs of other categories than the sum, only \
                     if there are elements; here also if there are none",
                why: "whether a call is valid must not depend on sizes or elements",
                test: (
                    "opgrid-operators/tests/all/differences/refused.rs",
                    "what_is_refused_with_elements_is_refused_without",
                ),
                when: |seen| {
                    let is_nothing = seen.tensor("self").is_some_and(Operand::is_empty);
                    let words =
                        ["expected a floating-point one as `self`", "expected one that is not complex"];
                    is_nothing && words.into_iter().any(|words| seen.we_refuse(words))
                },
                directed: Some(Directed {
                    operator: "aten::nansum.out",
                    arguments: || {
                        vec![
                            ("self", Operand::rows(0, DType::F32, &[0], &[]).into()),
                            ("out", Operand::rows(1, DType::I8, &[], &[0.0]).into()),
                        ]
                    },
                    needs: None,
                }),
            },
        );
        samples.rounds(Nansum, Roundings::all(Rounding::Sum(4)));
    }

    /// Samples of numbers, some of which are NaN.
    fn inputs(dtype: DType) -> Vec<Sample> {
        let wide = if dtype.is_floating_point() { DType::F64 } else { DType::I32 };
        let mut all = generate::over_dims(dtype);
        all.push(given(generate::numbers(dtype, &[2, 3], 0)).named("dtype", wide));
        if dtype.is_floating_point() {
            let nan = f64::NAN;
            let missing = given(Plain::from_elements(dtype, &[2, 3], &[1.0, nan, 4.0, nan, nan, nan]));
            all.push(missing.clone().and(vec![1]).named("dtype", DType::Bool));
            all.extend([missing.clone(), missing.clone().and(vec![1]), missing.and(vec![0]).and(true)]);
        }
        all
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let x = it.tensor("self")?;
        let dtype = accumulation::samples::expected_dtype(it, x)?;
        let (dims, keepdim) = (it.option::<Vec<i64>>("dim")?, it.option("keepdim")?.unwrap_or(false));
        let zero = Plain::number(dtype, 0).at(&[]);
        let total = |elements: &[Scalar]| {
            let numbers = elements.iter().filter(|element| !element.to_complex().re.is_nan());
            numbers.fold(zero, |sum, element| number::plus(sum, naive::convert(*element, dtype)))
        };
        Ok(x.reduced(dims.as_deref(), keepdim, dtype, total).into())
    }
}
