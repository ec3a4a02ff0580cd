//! What the variance and the standard deviation share: the shape rule and samples.

use opgrid_core::{Result, Scalar};

use opgrid_array::error::argument;
use opgrid_kernels::{reduce, variance};
use opgrid_kinds::derivatives::{self, ReducedDims};
use opgrid_kinds::pointwise;
use opgrid_tensor::layers::autograd::Recorder;
use opgrid_tensor::tensor::{Tensor, TensorSpec, part_of};

/// The result over dimensions, all if none is named.
pub(crate) fn over_dims(
    input: &Tensor,
    dim: Option<&[i64]>,
    correction: Option<Scalar>,
    keepdim: bool,
) -> Result<TensorSpec> {
    let spec = input.spec()?;
    pointwise::check_inexact(spec.dtype())?;
    subtracted(correction)?;
    reduce::shape(spec, dim.unwrap_or(&[]), keepdim, part_of(spec.dtype()))
}

/// The result with the average.
pub(crate) fn with_average(
    input: &Tensor,
    dim: Option<&[i64]>,
    correction: Option<Scalar>,
    keepdim: bool,
) -> Result<(TensorSpec, TensorSpec)> {
    let spread = over_dims(input, dim, correction, keepdim)?;
    let average = TensorSpec::new(spread.geometry().clone(), input.dtype(), spread.device());
    Ok((spread, average))
}

/// Fills an output of that shape.
pub(crate) fn fill(
    input: &Tensor,
    dim: Option<&[i64]>,
    correction: Option<Scalar>,
    is_deviation: bool,
    out: &Tensor,
) -> Result<()> {
    variance::variance(out, input, dim.unwrap_or(&[]), subtracted(correction)?, is_deviation)
}

/// What overloads with a flag subtract from the number of elements.
pub(crate) fn correction(unbiased: bool) -> Option<Scalar> {
    Some(Scalar::Int(unbiased.into()))
}

/// What is subtracted from the number of elements: one unless it is said.
fn subtracted(correction: Option<Scalar>) -> Result<f64> {
    match correction {
        None => Ok(1.0),
        Some(Scalar::Complex(value)) => {
            Err(argument(format!("argument `correction` is {value}, expected a real number")))
        }
        Some(real) => real.to_f64(),
    }
}

/// The gradient of a variance.
///
/// # Errors
///
/// Those of the operators.
pub(crate) fn slope(grad: &Tensor, x: &Tensor, kept: &ReducedDims, correction: f64) -> Result<Tensor> {
    let count = kept.count as f64;
    let distance = (x - (kept.sum_to_kept(x)? / count)?)?;
    (kept.keep_dims(grad)? * (2.0 / (count - correction).max(0.0)))? * distance
}

/// The gradient of a variance by that of its root. A variance of zero has none; as in torch, the gradient of that is NaN.
///
/// # Errors
///
/// Those of the operators.
pub(crate) fn of_root(grad: &Tensor, deviation: &Tensor) -> Result<Tensor> {
    derivatives::where_false(&deviation.eq(0)?, &(grad / (deviation * 2)?)?)
}

/// States the derivative of a variance, or of its root; `has_average` where the average is a second result.
///
/// # Errors
///
/// A dimension out of range, a correction that is no real number.
pub(crate) fn derivative(
    d: &Recorder<'_>,
    input: &Tensor,
    (dim, correction, keepdim): (Option<&[i64]>, Option<Scalar>, bool),
    is_deviation: bool,
) -> Result<()> {
    let (kept, correction) = (ReducedDims::new(input, dim, keepdim)?, subtracted(correction)?);
    d.by_all(input, [input, d.result(0)], move |grads, [x, out]| {
        let spread = match grads.for_result(0) {
            // The deviation of one element is constant.
            Some(grad) if is_deviation && kept.count == 1 && correction < 1.0 => {
                let zeros = derivatives::zeros_of(kept.keep_dims(grad)?.sizes(), grad)?;
                Some(slope(&zeros, x, &kept, correction)?)
            }
            Some(grad) if is_deviation => Some(slope(&of_root(grad, out)?, x, &kept, correction)?),
            Some(grad) => Some(slope(grad, x, &kept, correction)?),
            None => None,
        };
        let average =
            grads.for_result(1).map(|grad| kept.expand_to_input(&(grad / kept.count.max(1))?)).transpose()?;
        derivatives::sum(spread, average)
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use num_complex::Complex64;
    use opgrid_core::{DType, Operator};

    use super::*;
    use opgrid_samples::prelude::*;

    /// Samples of the three overloads that give the average too; `finish` is what becomes of the variance.
    pub(crate) fn with_average<A: Operator, D: Operator, C: Operator + Copy>(
        samples: &mut Samples,
        (of_all, over_dim, corrected): (A, D, C),
        finish: fn(f64) -> f64,
    ) {
        let reference = move |it: &Inputs| -> Result<Expected> {
            let x = it.tensor("self")?;
            let (dims, keepdim): (Option<Vec<i64>>, Option<bool>) =
                (it.option("dim")?, it.option("keepdim")?);
            let average = |elements: &[Scalar]| {
                let sum: Complex64 = elements.iter().map(|element| element.to_complex()).sum();
                Scalar::Complex(sum / elements.len() as f64)
            };
            let average = x.reduced(dims.as_deref(), keepdim.unwrap_or(false), x.dtype(), average);
            Ok(Expected::Several(vec![expected(it, finish)?, average.into()]))
        };
        samples.operator_with(of_all, INEXACT, generate::unary_numbers, reference).tolerance(8.0);
        samples.operator_with(over_dim, INEXACT, biased, reference).tolerance(8.0);
        samples.operator_with(corrected, INEXACT, with_corrections, reference).tolerance(8.0);
        samples.differs_as(
            corrected,
            &[departures::reduce::NOT_FINITE, READ_AFTER_WRITTEN, NO_SPREAD, OF_MANY, AVERAGE],
        );
        // Squares are larger than what they are of.
        samples.rounds(corrected, Roundings::all(Rounding::Near(64)));
    }

    /// Differences for means of numbers at the end of the range.
    const AVERAGE: Difference = Difference {
        id: "averages-beside-spreads",
        what: "torch computes a running mean together with the variance, where `mean` sums; here the \
             mean equals that of `mean`, whose sum may overflow",
        why: "there is one definition of the mean",
        test: (
            "opgrid-operators/tests/all/differences/numbers.rs",
            "averages_beside_spreads_are_those_of_mean",
        ),
        when: |seen| {
            let is_far = |x: &Complex64| x.re.abs().max(x.im.abs()) > 1e38;
            let has_far = seen.tensor("self").is_some_and(|input| input.elements.iter().any(is_far));
            has_far && seen.each(|(_, ours, _)| !ours.is_finite())
        },
        directed: Some(Directed {
            operator: "aten::var_mean.correction",
            arguments: || {
                let far = [f64::MAX, f64::MAX, 0.0, 0.0];
                vec![("self", Operand::rows(0, DType::F64, &[4], &far).into())]
            },
            needs: None,
        }),
    };

    /// Differences for elements that are all equal.
    const NO_SPREAD: Difference = Difference {
        id: "equal-numbers-do-not-vary",
        what: "torch divides rounded sums, so that the mean of equal numbers may differ from them; here \
             equal numbers have zero variance",
        why: "the mean of equal numbers is that number",
        test: ("opgrid-operators/tests/all/differences/numbers.rs", "coefficients_of_what_does_not_vary"),
        when: |seen| {
            let Some(input) = seen.tensor("self") else { return false };
            let largest = input.elements.iter().map(|element| element.norm()).fold(1.0, f64::max);
            seen.each(|(dtype, ours, torch)| {
                let rounded = |limits: opgrid_tensor::tensor::FloatLimits| {
                    let beyond = !torch.is_finite() && largest * largest > limits.max;
                    beyond || torch.norm() <= 8.0 * limits.eps * largest * largest
                };
                ours.norm() == 0.0 && opgrid_tensor::tensor::finfo(*dtype).is_ok_and(rounded)
            })
        },
        directed: Some(Directed {
            operator: "aten::var.correction",
            arguments: || {
                vec![("self", Operand::rows(0, DType::F32, &[11], &[f64::from(100_000.1f32); 11]).into())]
            },
            needs: None,
        }),
    };

    /// The squared distances of numbers from their average, added by halves, so that few steps round one after the other.
    fn squares_of(numbers: &[f64]) -> f64 {
        fn halved(numbers: &[f64], value: &dyn Fn(f64) -> f64) -> f64 {
            match numbers {
                [] => 0.0,
                [only] => value(*only),
                _ => {
                    let (left, right) = numbers.split_at(numbers.len() / 2);
                    halved(left, value) + halved(right, value)
                }
            }
        }
        let first = numbers.first().copied().unwrap_or_default();
        let mean = first + halved(numbers, &|number| number - first) / numbers.len() as f64;
        halved(numbers, &|number| (number - mean) * (number - mean))
    }

    /// Differences for many elements.
    const OF_MANY: Difference = Difference {
        id: "variances-of-many",
        what: "torch updates a mean and a variance in float64 with each element, so that rounding \
             errors accumulate; here each block is read twice, for the mean and for distances from it, \
             and blocks are combined",
        why: "rounding errors accumulate less",
        test: ("opgrid-operators/tests/all/differences/numbers.rs", "variances_of_many_are_exact"),
        when: |seen| {
            // Of all elements, where the result can be computed here: it is ours that has to be near.
            let Some(input) = seen.tensor("self").filter(|input| input.dtype == DType::F64) else {
                return false;
            };
            let correction = seen.number("correction").map_or(1.0, |number| number.to_complex().re);
            let squares = squares_of(&input.elements.iter().map(|element| element.re).collect::<Vec<_>>());
            let is_near = |ours: f64| {
                [correction, 0.0, 1.0].into_iter().any(|correction| {
                    let variance = squares / (input.elements.len() as f64 - correction);
                    [variance, variance.sqrt()]
                        .into_iter()
                        .any(|exact| (ours / exact - 1.0).abs() < 16.0 * f64::EPSILON)
                })
            };
            seen.each(|(_, ours, _)| is_near(ours.re))
        },
        directed: Some(Directed {
            operator: "aten::var.correction",
            arguments: || {
                let ramp: Vec<f64> = (0..10_000).map(|step| 10.0 + f64::from(step % 100) / 100.0).collect();
                vec![("self", Operand::rows(0, DType::F64, &[10_000], &ramp).into())]
            },
            // On processors of other makers, torch's loop rounds this call as ours does.
            needs: Some("GenuineIntel"),
        }),
    };

    /// Samples of the three overloads; `finish` is what becomes of the variance.
    pub(crate) fn collect<A: Operator, D: Operator, C: Operator + Copy>(
        samples: &mut Samples,
        (of_all, over_dim, corrected): (A, D, C),
        finish: fn(f64) -> f64,
    ) {
        let reference = move |it: &Inputs| expected(it, finish);
        samples.operator_with(of_all, INEXACT, generate::unary_numbers, reference).tolerance(8.0);
        samples.operator_with(over_dim, INEXACT, biased, reference).tolerance(8.0);
        samples
            .operator_with(corrected, INEXACT, with_corrections, reference)
            .tolerance(8.0)
            .refuses("range", given(generate::numbers(DType::F32, &[2], 0)).and([2].to_vec()))
            .refuses(
                "real number",
                given(generate::numbers(DType::F32, &[2], 0))
                    .named("correction", Scalar::Complex(Complex64::I)),
            );
        samples
            .differs_as(corrected, &[departures::reduce::NOT_FINITE, READ_AFTER_WRITTEN, NO_SPREAD, OF_MANY]);
        // Squares are larger than what they are of.
        samples.rounds(corrected, Roundings::all(Rounding::Near(64)));
    }

    fn biased(dtype: DType) -> Vec<Sample> {
        let with_flags = |sample: Sample| {
            let [input, dims, keepdim] = sample.positional.as_slice() else { return Vec::new() };
            [true, false]
                .map(|unbiased| given(input.clone()).and(dims.clone()).and(unbiased).and(keepdim.clone()))
                .to_vec()
        };
        generate::over_dims(dtype).into_iter().flat_map(with_flags).collect()
    }

    fn with_corrections(dtype: DType) -> Vec<Sample> {
        let with = |sample: Sample| {
            let [input, dims, keepdim] = sample.positional.as_slice() else { return Vec::new() };
            let plain = given(input.clone()).and(dims.clone()).named("keepdim", keepdim.clone());
            let corrected = [Scalar::Int(0), Scalar::Float(1.5), Scalar::Int(100)];
            corrected
                .map(|correction| plain.clone().named("correction", correction))
                .into_iter()
                .chain([plain.clone()])
                .collect()
        };
        generate::over_dims(dtype).into_iter().flat_map(with).collect()
    }

    fn expected(it: &Inputs, finish: fn(f64) -> f64) -> Result<Expected> {
        let x = it.tensor("self")?;
        let dims: Option<Vec<i64>> = it.option("dim")?;
        let keepdim = it.option("keepdim")?.unwrap_or(false);
        let unbiased = it.option::<bool>("unbiased")?.map(|unbiased| Scalar::Int(unbiased.into()));
        let correction = subtracted(it.option::<Scalar>("correction")?.or(unbiased))?;
        let spread = |elements: &[Scalar]| {
            let points: Vec<Complex64> = elements.iter().map(|element| element.to_complex()).collect();
            let count = points.len() as f64;
            let mean = points.iter().sum::<Complex64>() / count;
            let squares: f64 = points.iter().map(|point| (point - mean).norm_sqr()).sum();
            Scalar::Float(if points.is_empty() {
                f64::NAN
            } else {
                finish(squares / (count - correction).max(0.0))
            })
        };
        Ok(x.reduced(dims.as_deref(), keepdim, part_of(x.dtype()), spread).into())
    }
}
