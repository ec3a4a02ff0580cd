//! `aten::_fused_rms_norm`, `aten::rms_norm`: rows divided by the root of their average square.
//!
//! `out[…, j] = input[…, j] * rstd[…] * weight[j]`, with `rstd = 1 / sqrt(average of input² + eps)`
//!
//! - Shapes: a row has the dimensions `normalized_shape`, which are the last ones of `input`; `weight` has its shape. `rstd`
//!   has size 1 for them.
//! - Dtypes: floating-point and complex ones, of which squares are not absolute. The result has the dtype of `input`,
//!   whatever that of `weight`; `rstd` too, or float32 for 16-bit floats.
//! - Values: without `eps` it is the distance from 1 to the next number, of float32 for 16-bit floats.
//! - Strides: row-major.
//! - Dispatch: `rms_norm` is a composite of `_fused_rms_norm`, whose first result it gives.
//! - Errors: other shapes; integers; several devices.
//! - Source: torch.nn.functional.rms_norm, PyTorch 2.15; B. Zhang, R. Sennrich, Root Mean Square Layer Normalization (2019).

use crate::prelude::*;
use opgrid_kernels::normalise::{self, Affine, Divisor};
use opgrid_tensor::ops::{AddScalar, MeanDim, MulTensor, Reciprocal, Sqrt, ToCopy};
use opgrid_tensor::tensor::finfo;

pub use opgrid_tensor::ops::normalisations::rms_norm::*;

/// The family of `aten::_fused_rms_norm`: its kind, shape rule and `out` rule.
pub const FUSED_RMS_NORM: Family<FusedRmsNorm> = Family::new(FusedRmsNorm, &kind::NORMALISATION, shape);

pub(super) fn register(library: &mut Library) {
    library.family(&FUSED_RMS_NORM).cpu(cpu).derivative(|d, (input, normalized_shape, weight, _)| {
        let dims: Vec<i64> =
            (input.dim() - normalized_shape.len()..input.dim()).map(|dim| dim as i64).collect();
        let count: i64 = normalized_shape.iter().product();
        let rstd = d.result(1);
        let keep = [Some(input), Some(rstd), weight];
        d.together([Some(input)], keep, move |grads, kept, _| {
            let [Some(input), Some(rstd), weight] = kept else { return Ok([None]) };
            let by_rstd = match grads.for_result(1) {
                Some(grad) => {
                    let cube = rstd.mul(rstd)?.mul(rstd)?.mul(-1.0 / count as f64)?;
                    Some(grad.mul(&input.mul(&cube)?.conj()?)?)
                }
                None => None,
            };
            let Some(grad) = grads.for_result(0) else { return Ok([by_rstd]) };
            let grad = weight.map_or_else(|| Ok(grad.clone()), |weight| grad.mul(&weight.conj()?))?;
            let normal = input.mul(rstd)?.conj()?;
            let along = normal.mul(&grad.mul(&normal)?.mean_dim(&dims, true)?)?;
            Ok([derivatives::sum_gradients([Some(grad.sub(&along)?.mul(&rstd.conj()?)?), by_rstd])?])
        })?;
        d.by_all(weight, [input, rstd], |grads, [input, rstd]| {
            grads.for_result(0).map(|grad| grad.mul(&input.mul(rstd)?.conj()?)).transpose()
        })
    });
    library.define(RmsNorm).kind(&kind::NORMALISATION).implicit(|input, normalized_shape, weight, eps| {
        FusedRmsNorm.call(input, normalized_shape, weight, eps).map(|(out, _)| out)
    });
}

fn shape(
    input: &Tensor,
    normalized_shape: &[i64],
    weight: Option<&Tensor>,
    _eps: Option<f64>,
) -> Result<(TensorSpec, TensorSpec)> {
    let spec = input.spec()?;
    normalisations::rows(spec.sizes(), normalized_shape)?;
    normalisations::check_sizes([("weight", weight)], normalized_shape)?;
    pointwise::same_device([("input", input), ("weight", weight.unwrap_or(input))])?;
    let dtype = spec.dtype();
    with_dtype!(dtype, T: Inexact => Ok(size_of::<T>()))?;
    if let Some(weight) = weight.filter(|weight| weight.dtype().is_complex() && !dtype.is_complex()) {
        let message =
            format!("argument `weight` has dtype {}, expected a real one as the input", weight.dtype());
        return Err(argument(message));
    }
    let statistics =
        normalisations::row_statistics(spec, normalized_shape.len(), normalisations::computed_in(dtype))?;
    Ok((TensorSpec::contiguous(spec.sizes(), dtype, spec.device())?, statistics))
}

fn cpu(
    input: &Tensor,
    normalized_shape: &[i64],
    weight: Option<&Tensor>,
    eps: Option<f64>,
    out: &Tensor,
    rstd: &Tensor,
) -> Result<()> {
    let dtype = input.dtype();
    let eps = eps.map_or_else(|| finfo(normalisations::computed_in(dtype)).map(|limits| limits.eps), Ok)?;
    if input.numel() == 0 {
        return elementwise::fill(rstd, f64::NAN);
    }
    if dtype.is_complex() {
        return of_complex((input, weight), normalized_shape.len(), eps, [out, rstd]);
    }
    let (_, length) = normalisations::rows(input.sizes(), normalized_shape)?;
    let weight = normalisations::array(weight)?;
    let (_, rstds) = with_dtype!(dtype, T: Float => {
        let affine = Affine::<Math<T>>::new(weight, None)?;
        normalise::rows::<T>(out.array()?, input.array()?, &affine, length, (Divisor::RootMeanSquare, eps))
    })?;
    normalise::write_numbers(rstd.array()?, &rstds)
}

/// Step by step, for these are rare.
fn of_complex(
    (input, weight): (&Tensor, Option<&Tensor>),
    row_dims: usize,
    eps: f64,
    [out, rstd]: [&Tensor; 2],
) -> Result<()> {
    let dims: Vec<i64> = (1..=row_dims as i64).map(|dim| -dim).collect();
    let squares = MeanDim.call(&MulTensor.call(input, input)?, Some(&dims), true, None)?;
    let root = Sqrt.call(&AddScalar.call(&squares, eps.into(), 1.into())?)?;
    let factor = Reciprocal.call(&root)?;
    let mut normal = MulTensor.call(input, &factor)?;
    if let Some(weight) = weight {
        let weight = ToCopy.call(weight, Some(input.dtype()), None, None, None, false, None)?;
        normal = MulTensor.call(&normal, &weight)?;
    }
    elementwise::copy(out, &normal)?;
    elementwise::copy(rstd, &factor)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2, 3], 0);
        samples
            .operator(FusedRmsNorm, INEXACT, |dtype| inputs(dtype, true), |it| Ok(reference(it)?.into()))
            .tolerance(64.0)
            .refuses(
                "end with `normalized_shape`",
                given(x.clone()).and([2].to_vec()).and(Value::None).and(Value::None),
            )
            .refuses(
                "`weight` has shape",
                given(x.clone())
                    .and([3].to_vec())
                    .and(generate::numbers(DType::F32, &[2], 0))
                    .and(Value::None),
            );
        samples
            .operator(
                RmsNorm,
                INEXACT,
                |dtype| inputs(dtype, false),
                |it| {
                    let [out, _] = reference(it)?;
                    Ok(out.into())
                },
            )
            .tolerance(64.0)
            .refuses("at least one dimension", given(x).and(Vec::<i64>::new()));
        samples.rounds(FusedRmsNorm, Roundings::all(Rounding::Sum(16)));
        samples.rounds(RmsNorm, Roundings::all(Rounding::Sum(16)));
        samples.differs_as(RmsNorm, &[REAL_WEIGHTS, BESIDE_NEGATIVE_EPS]);
        samples.differs_as(FusedRmsNorm, &[REAL_WEIGHTS, departures::math::NOT_FINITE, BESIDE_NEGATIVE_EPS]);
        samples.differs(
            FusedRmsNorm,
            Difference {
                id: "shapes-of-rows-are-checked",
                what: "torch only counts the sizes of `normalized_shape` in `_fused_rms_norm`, and \
                     broadcasts weights; here both are checked as in `rms_norm`",
                why: "kernels that are called directly check their arguments",
                test: ("opgrid-operators/tests/all/networks.rs", "statistics_are_checked"),
                when: |seen| {
                    seen.we_refuse("`normalized_shape`") || seen.we_refuse("argument `weight` has shape")
                },
                directed: None,
            },
        );
    }

    const REAL_WEIGHTS: Difference = Difference {
        id: "real-rows-have-real-weights",
        what: "torch ignores the imaginary part of weights for real inputs; here complex weights are \
             rejected",
        why: "values must not be lost silently",
        test: ("opgrid-operators/tests/all/networks.rs", "statistics_are_checked"),
        when: |seen| seen.we_refuse("expected a real one as the input"),
        directed: None,
    };

    const BESIDE_NEGATIVE_EPS: Difference = Difference {
        id: "what-a-negative-eps-leaves",
        what: "torch adds squares in another order; a negative `eps` cancels most of their mean, so \
             that the last digits of the sum become the first of the difference",
        why: "equally precise",
        test: ("opgrid-operators/tests/all/networks.rs", "what_a_negative_eps_leaves_is_as_near_as_the_sum"),
        when: |seen| {
            let Some(input) = seen.tensor("input") else { return false };
            let (Some(Argument::Ints(row)), Some(eps)) =
                (seen.argument("normalized_shape"), seen.number("eps"))
            else {
                return false;
            };
            let (Ok(limits), Ok(eps)) =
                (finfo(part_of(normalisations::computed_in(input.dtype))), eps.to_f64())
            else {
                return false;
            };
            let row = row.iter().product::<i64>().max(1) as usize;
            // By how much the steps of the mean grow.
            let growth = |row: &[Complex64]| {
                let squares = row.iter().map(|x| x * x / row.len() as f64);
                squares.clone().map(|square| square.norm()).sum::<f64>()
                    / (squares.sum::<Complex64>() + eps).norm()
            };
            let step = 16.0 * limits.eps * input.elements.chunks(row).map(growth).fold(0.0, f64::max);
            let is_near = |(_, ours, torch): &differences::Pair| (ours - torch).norm() <= step * ours.norm();
            eps < 0.0 && matches!(seen.part, Part::Values | Part::Written) && seen.each(is_near)
        },
        directed: None,
    };

    fn inputs(dtype: DType, needs_all: bool) -> Vec<Sample> {
        /// Sizes, how many of them are normalised, the dtype of a weight, and what is added to the mean.
        pub type Case = (&'static [i64], usize, Option<DType>, Option<f64>);
        let cases: [Case; 6] = [
            (&[2, 3], 1, Some(dtype), None),
            (&[2, 3], 1, None, Some(1e-2)),
            (&[2, 3, 4], 2, Some(dtype), None),
            (&[5], 1, None, None),
            (&[0, 3], 1, Some(dtype), None),
            (&[2, 40], 1, Some(if dtype.is_complex() { dtype } else { DType::F32 }), None),
        ];
        let one = |(sizes, row_dims, weight, eps): (&[i64], usize, Option<DType>, Option<f64>)| {
            let row = &sizes[sizes.len() - row_dims..];
            let sample = given(generate::nonzero(dtype, sizes, 1)).and(row.to_vec());
            let sample = match weight {
                Some(weight) => sample.and(generate::numbers(weight, row, 2)),
                None => sample.and(Value::None),
            };
            match eps {
                Some(eps) => sample.and(eps),
                None if needs_all => sample.and(Value::None),
                None => sample,
            }
        };
        cases.into_iter().map(one).collect()
    }

    fn reference(it: &Inputs) -> Result<[Plain; 2]> {
        let (x, row): (_, Vec<i64>) = (it.tensor("input")?, it.value("normalized_shape")?);
        let weight = it.tensor("weight").ok();
        let computed = normalisations::computed_in(x.dtype());
        let eps = it.option::<f64>("eps")?.unwrap_or(finfo(computed)?.eps);
        let axis = x.sizes().len() - row.len();
        let (outer, inner) = x.sizes().split_at(axis);
        let rstd = Plain::from_fn(computed, &[outer, &vec![1; row.len()]].concat(), |position| {
            let squares = naive::positions(inner).map(|inner| {
                let x = x.at(&[&position[..axis], &inner].concat()).to_complex();
                x * x
            });
            let n = inner.iter().product::<i64>() as f64;
            Scalar::Complex((squares.sum::<Complex64>() / n + eps).sqrt().inv())
        });
        let out = Plain::from_fn(x.dtype(), x.sizes(), |position| {
            let before = [&position[..axis], &vec![0; row.len()][..]].concat();
            let normal = x.at(position).to_complex() * rstd.at(&before).to_complex();
            Scalar::Complex(
                weight.map_or(normal, |weight| normal * weight.at(&position[axis..]).to_complex()),
            )
        });
        Ok([out, rstd])
    }
}
