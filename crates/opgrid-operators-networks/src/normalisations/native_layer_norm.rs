//! `aten::native_layer_norm`, `aten::layer_norm`: rows without their average, divided by their deviation.
//!
//! `out[…, j] = (input[…, j] - mean[…]) * rstd[…] * weight[j] + bias[j]`, with `rstd = 1 / sqrt(variance + eps)`
//!
//! - Shapes: a row has the dimensions `normalized_shape`, which are the last ones of `input`; `weight` and `bias` have its
//!   shape. `mean` and `rstd` have size 1 for them.
//! - Dtypes: floating-point ones. Parameters have the dtype of `input`, or all are float32 beside 16-bit floats; so do `mean`
//!   and `rstd`. The variance is that of all elements, without a correction.
//! - Strides: row-major.
//! - Derivative: the averages and deviations have derivatives as well, unlike in torch, so that second gradients follow.
//! - Dispatch: `layer_norm` is a composite of `native_layer_norm`, whose first result it gives.
//! - Aliasing: `native_layer_norm.out` writes its outputs, which must not overlap `input`.
//! - Errors: other shapes, dtypes or devices.
//! - Source: torch.nn.functional.layer_norm, PyTorch 2.15.

use crate::kinds::normalisations::Normal;
use crate::prelude::*;
use opgrid_kernels::normalise::{self, Affine, Divisor};
use opgrid_tensor::ops::NativeLayerNormBackward;

pub use opgrid_tensor::ops::normalisations::native_layer_norm::*;

/// The family of `aten::native_layer_norm`: its kind, shape rule and `out` rule.
pub const NATIVE_LAYER_NORM: Family<NativeLayerNorm> =
    Family::new(NativeLayerNorm, &kind::NORMALISATION, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&NATIVE_LAYER_NORM)
        .cpu(|input, normalized_shape, weight, bias, eps, out, mean, rstd| {
            cpu(input, normalized_shape, [weight, bias], eps, [out, mean, rstd])
        })
        .derivative(|d, (input, normalized_shape, weight, bias, _)| {
            let shape = normalized_shape.to_vec();
            let keep = [Some(input), Some(d.result(1)), Some(d.result(2)), weight, bias];
            d.together([Some(input), weight, bias], keep, move |grads, kept, needs| {
                let [Some(input), Some(mean), Some(rstd), weight, bias] = kept else {
                    return Ok([None, None, None]);
                };
                let dims: Vec<i64> = (input.dim() - shape.len()..input.dim()).map(|dim| dim as i64).collect();
                let normal = Normal { input, mean, rstd, dims: &dims };
                let by_statistics = normal.by_statistics(grads.for_result(1), grads.for_result(2))?;
                let Some(grad) = grads.for_result(0) else { return Ok([by_statistics, None, None]) };
                let (by_input, by_weight, by_bias) =
                    NativeLayerNormBackward.call(grad, input, &shape, mean, rstd, weight, bias, &needs)?;
                let [by_input, by_weight, by_bias] =
                    [by_input, by_weight, by_bias].map(normalisations::defined);
                Ok([derivatives::sum_gradients([by_input, by_statistics])?, by_weight, by_bias])
            })
        });
    library.define(LayerNorm).kind(&kind::NORMALISATION).implicit(
        |input, normalized_shape, weight, bias, eps, _| {
            NativeLayerNorm.call(input, normalized_shape, weight, bias, eps).map(|(out, ..)| out)
        },
    );
}

fn shape(
    input: &Tensor,
    normalized_shape: &[i64],
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    _eps: f64,
) -> Result<(TensorSpec, TensorSpec, TensorSpec)> {
    let spec = input.spec()?;
    let parameters = [("weight", weight), ("bias", bias)];
    normalisations::rows(spec.sizes(), normalized_shape)?;
    normalisations::check_sizes(parameters, normalized_shape)?;
    let dtype = normalisations::statistics_dtype(spec, parameters)?;
    let statistics = normalisations::row_statistics(spec, normalized_shape.len(), dtype)?;
    let out = TensorSpec::contiguous(spec.sizes(), spec.dtype(), spec.device())?;
    Ok((out, statistics.clone(), statistics))
}

fn cpu(
    input: &Tensor,
    normalized_shape: &[i64],
    [weight, bias]: [Option<&Tensor>; 2],
    eps: f64,
    [out, mean, rstd]: [&Tensor; 3],
) -> Result<()> {
    let (rows, length) = normalisations::rows(input.sizes(), normalized_shape)?;
    let [weight, bias] = [normalisations::array(weight)?, normalisations::array(bias)?];
    let (means, rstds) = match input.numel() {
        // As torch: nothing has no deviation.
        0 => (vec![0.0; rows], vec![f64::NAN; rows]),
        _ => with_dtype!(input.dtype(), T: Float => {
            let affine = Affine::<Math<T>>::new(weight, bias)?;
            normalise::rows::<T>(out.array()?, input.array()?, &affine, length, (Divisor::Deviation, eps))
        })?,
    };
    normalise::write_numbers(mean.array()?, &means)?;
    normalise::write_numbers(rstd.array()?, &rstds)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2, 3], 0);
        let of = |shape: &[i64], weight: Plain| {
            given(x.clone()).and(shape.to_vec()).and(weight).and(Value::None).and(1e-5)
        };
        samples
            .operator(
                NativeLayerNorm,
                normalisations::samples::FLOATS,
                |dtype| inputs(dtype, true),
                |it| {
                    let [out, mean, rstd] = reference(it)?;
                    Ok([out, mean, rstd].into())
                },
            )
            .tolerance(16.0)
            .refuses("end with `normalized_shape`", of(&[2], generate::numbers(DType::F32, &[2], 0)))
            .refuses("at least one dimension", of(&[], generate::numbers(DType::F32, &[], 0)))
            .refuses("`weight` has shape", of(&[3], generate::numbers(DType::F32, &[2], 0)))
            .refuses("`weight` has dtype", of(&[3], generate::numbers(DType::F64, &[3], 0)));
        samples
            .operator(
                LayerNorm,
                normalisations::samples::FLOATS,
                |dtype| inputs(dtype, false),
                |it| {
                    let [out, ..] = reference(it)?;
                    Ok(out.into())
                },
            )
            .tolerance(16.0);
        samples.rounds(NativeLayerNorm, Roundings::all(Rounding::Sum(16)));
        samples.rounds(LayerNorm, Roundings::all(Rounding::Sum(16)));
        samples.differs(NativeLayerNorm, normalisations::samples::WITHOUT_DEVIATION);
        samples.differs(LayerNorm, normalisations::samples::WITHOUT_DEVIATION);
    }

    fn inputs(dtype: DType, needs_all: bool) -> Vec<Sample> {
        let cases: [(&[i64], usize, bool, bool); 8] = [
            (&[2, 3], 1, true, true),
            (&[2, 3], 1, false, false),
            (&[2, 3, 4], 2, true, true),
            (&[2, 3, 4], 1, true, false),
            (&[5], 1, false, true),
            (&[0, 3], 1, true, true),
            (&[2, 0], 1, false, false),
            (&[3, 1200], 1, true, true),
        ];
        let one = |(sizes, row_dims, weight, bias): (&[i64], usize, bool, bool), parameters: DType| {
            let row = &sizes[sizes.len() - row_dims..];
            let parameter = |is_there: bool, seed| {
                if is_there {
                    Given::from(generate::numbers(parameters, row, seed))
                } else {
                    Given::from(Value::None)
                }
            };
            let sample = given(generate::numbers(dtype, sizes, 1)).and(row.to_vec());
            let sample = sample.and(parameter(weight, 2)).and(parameter(bias, 3));
            if needs_all { sample.and(1e-5) } else { sample }
        };
        let mixed = (dtype.size_in_bytes() == 2 && dtype.is_floating_point()).then_some(DType::F32);
        cases
            .into_iter()
            .map(|case| one(case, dtype))
            .chain(mixed.map(|mixed| one(cases[0], mixed)))
            .collect()
    }

    /// Result, averages and reciprocal deviations.
    fn reference(it: &Inputs) -> Result<[Plain; 3]> {
        let (x, row): (_, Vec<i64>) = (it.tensor("input")?, it.value("normalized_shape")?);
        let (weight, bias) = (it.tensor("weight").ok(), it.tensor("bias").ok());
        let eps: f64 = it.value("eps")?;
        let axis = x.sizes().len() - row.len();
        let parameters = weight.or(bias).map_or(x.dtype(), Plain::dtype);
        let real = |x: Scalar| x.to_complex().re;
        let (means, rstds) = naive::row_statistics(x, axis, eps);
        let at = |position: &[i64], of: &Plain| {
            real(of.at(&[&position[..axis], &vec![0; row.len()][..]].concat()))
        };
        let out = Plain::from_fn(x.dtype(), x.sizes(), |position| {
            let own = &position[axis..];
            let normal = (real(x.at(position)) - at(position, &means)) * at(position, &rstds);
            let scaled = normal * weight.map_or(1.0, |weight| real(weight.at(own)));
            Scalar::Float(scaled + bias.map_or(0.0, |bias| real(bias.at(own))))
        });
        Ok([out, means.to(parameters), rstds.to(parameters)])
    }
}
