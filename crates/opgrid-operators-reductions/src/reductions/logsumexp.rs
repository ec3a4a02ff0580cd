//! `aten::logsumexp`: the logarithm of the sum of exponentials over dimensions.
//!
//! `out[j] = log(e ^ self[0, j] + e ^ self[1, j] + …)`
//!
//! - Shapes: without the dimensions of `dim`, or with size 1 for them with `keepdim`; none named means all.
//! - Dtypes: floating-point and complex ones stay what they are; integers and bools give the default dtype.
//! - Values: -∞ for no elements. The largest element is taken out of the sum, so that no exponential is beyond the range.
//! - Aliasing: `logsumexp.out` writes `out`.
//! - Errors: a dimension out of range or named twice.
//! - Source: torch.logsumexp, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::log_sum;
use opgrid_kinds::derivatives::ReducedDims;

pub use opgrid_tensor::ops::reductions::logsumexp::*;

/// The family of `aten::logsumexp`: its kind, shape rule and `out` rule.
pub const LOGSUMEXP: Family<Logsumexp> = Family::new(Logsumexp, &kind::REDUCTION, shape);

pub(super) fn register(library: &mut Library) {
    library.family(&LOGSUMEXP).cpu(cpu).derivative(|d, (input, dim, keepdim)| {
        let kept = ReducedDims::new(input, Some(dim), keepdim)?;
        d.by(input, [input, d.result(0)], move |grad, [x, out]| {
            derivatives::chained(&kept.keep_dims(grad)?, &(x - kept.keep_dims(out)?)?.exp()?)
        })
    });
}

fn shape(input: &Tensor, dim: &[i64], keepdim: bool) -> Result<TensorSpec> {
    let spec = input.spec()?;
    reduce::shape(spec, dim, keepdim, inexact(spec.dtype()))
}

fn cpu(input: &Tensor, dim: &[i64], _keepdim: bool, out: &Tensor) -> Result<()> {
    log_sum::over(out, input, dim, inexact(input.dtype()))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(Logsumexp, ANY, generate::over_dims, reference)
            .tolerance(8.0)
            .refuses("range", given(generate::numbers(DType::F32, &[2], 0)).and([2].to_vec()));
        samples.differs_as(Logsumexp, &[READ_AFTER_WRITTEN, departures::math::NOT_FINITE]);
        samples.differs(
            Logsumexp,
            Difference {
                id: "logarithms-of-complex-sums-are-complex",
                what: "torch writes logarithms of complex sums to real outputs, dropping the imaginary \
                     parts; here that is rejected",
                why: "values must not be lost silently",
                test: (
                    "opgrid-operators/tests/all/differences/numbers.rs",
                    "logarithms_of_complex_sums_are_complex",
                ),
                when: |seen| {
                    let is_complex = seen.inputs().iter().any(|input| input.dtype.is_complex());
                    is_complex && seen.we_refuse("can't be cast to the desired output type")
                },
                directed: Some(Directed {
                    operator: "aten::logsumexp.out",
                    arguments: || {
                        vec![
                            ("self", Operand::rows(0, DType::Complex64, &[2], &[1.0, 2.0]).into()),
                            ("dim", Argument::Ints(vec![0])),
                            ("out", Operand::rows(1, DType::F32, &[0], &[]).into()),
                        ]
                    },
                    needs: None,
                }),
            },
        );
        samples.differs(
            Logsumexp,
            Difference {
                id: "logarithms-of-sums-over-all-dimensions",
                what: "torch fails if `logsumexp` is given an empty list of dimensions, which means \
                     all; here it returns one element",
                why: "an empty list means all dimensions in every reduction",
                test: (
                    "opgrid-operators/tests/all/differences/computed.rs",
                    "what_torch_refuses_by_accident_is_computed",
                ),
                when: |seen| seen.torch_refuses("doesn't match the broadcast shape"),
                directed: None,
            },
        );
        samples.rounds(Logsumexp, Roundings::all(Rounding::Sum(8)));
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (x, dims) = (it.tensor("self")?, it.value::<Vec<i64>>("dim")?);
        let dtype = inexact(x.dtype());
        let log = |elements: &[Scalar]| {
            let sum: Complex64 = elements.iter().map(|element| element.to_complex().exp()).sum();
            if dtype.is_complex() {
                Scalar::Complex(if sum == Complex64::ZERO { f64::NEG_INFINITY.into() } else { sum.ln() })
            } else {
                Scalar::Float(sum.re.ln())
            }
        };
        Ok(x.to(dtype).reduced(Some(&dims), it.value("keepdim")?, dtype, log).into())
    }
}
