//! `aten::native_group_norm`, `aten::group_norm`: groups of channels without their average, divided by their deviation.
//!
//! `out[n, c, …] = (input[n, c, …] - mean[n, g]) * rstd[n, g] * weight[c] + bias[c]`, where channel `c` is in group `g` and
//! `rstd = 1 / sqrt(variance + eps)`
//!
//! - Shapes: `N * C * HxW` elements, of which `C` channels make `group` groups; `weight` and `bias` have an element for each
//!   channel. `mean` and `rstd` have shape `[N, group]`.
//! - Dtypes: as `native_layer_norm`.
//! - Strides: those of `input` where it is channels-last, otherwise row-major.
//! - Derivative: the averages and deviations have derivatives as well, unlike in torch, so that second gradients follow.
//! - Dispatch: `group_norm` is a composite of `native_group_norm`, whose first result it gives.
//! - Aliasing: `native_group_norm.out` writes its outputs, which must not overlap `input`.
//! - Errors: sizes that do not fit, no elements in a channel, other dtypes or devices.
//! - Source: torch.nn.functional.group_norm, PyTorch 2.15.

use crate::kinds::normalisations::Normal;
use crate::prelude::*;
use opgrid_kernels::normalise::{self, Affine, Layout};
use opgrid_tensor::ops::NativeGroupNormBackward;

pub use opgrid_tensor::ops::normalisations::native_group_norm::*;

/// The family of `aten::native_group_norm`: its kind, shape rule and `out` rule.
pub const NATIVE_GROUP_NORM: Family<NativeGroupNorm> =
    Family::new(NativeGroupNorm, &kind::NORMALISATION, |input, weight, bias, n, c, inner, group, _| {
        shape(input, [weight, bias], [n, c, inner, group])
    })
    .same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&NATIVE_GROUP_NORM)
        .cpu(|input, weight, bias, n, c, inner, group, eps, out, mean, rstd| {
            cpu(input, [weight, bias], ([n, c, inner, group], eps), [out, mean, rstd])
        })
        .derivative(|d, (input, weight, bias, n, c, inner, group, _)| {
            let keep = [Some(input), Some(d.result(1)), Some(d.result(2)), weight];
            d.together([Some(input), weight, bias], keep, move |grads, kept, needs| {
                let [Some(input), Some(mean), Some(rstd), weight] = kept else {
                    return Ok([None, None, None]);
                };
                let flat = |of: &Tensor| of.reshape(&[n, group, 1]);
                let (rows, mean_of, rstd_of) =
                    (input.reshape(&[n, group, c / group * inner])?, flat(mean)?, flat(rstd)?);
                let normal = Normal { input: &rows, mean: &mean_of, rstd: &rstd_of, dims: &[2] };
                let [by_mean, by_rstd] = [1, 2].map(|at| grads.for_result(at).map(flat).transpose());
                let by_statistics = normal.by_statistics(by_mean?.as_ref(), by_rstd?.as_ref())?;
                let by_statistics = by_statistics.map(|by| by.reshape(input.sizes())).transpose()?;
                let Some(grad) = grads.for_result(0) else { return Ok([by_statistics, None, None]) };
                let (by_input, by_weight, by_bias) = NativeGroupNormBackward
                    .call(grad, input, mean, rstd, weight, n, c, inner, group, &needs)?;
                let [by_input, by_weight, by_bias] =
                    [by_input, by_weight, by_bias].map(normalisations::defined);
                Ok([derivatives::sum_gradients([by_input, by_statistics])?, by_weight, by_bias])
            })
        });
    library.define(GroupNorm).kind(&kind::NORMALISATION).implicit(
        |input, num_groups, weight, bias, eps, _| {
            let sizes = input.spec()?.sizes();
            let &[n, c, ref inner @ ..] = sizes else {
                let message = format!(
                    "argument `input` has shape {sizes:?}, expected at least two dimensions, [N, C, …]"
                );
                return Err(argument(message));
            };
            if c == 0 {
                return Err(argument(format!(
                    "argument `input` has shape {sizes:?}, expected at least one channel"
                )));
            }
            let inner = inner.iter().try_fold(1i64, |product, size| product.checked_mul(*size));
            let inner = inner.ok_or_else(|| argument("the sizes of `input` overflow 64 bits"))?;
            NativeGroupNorm.call(input, weight, bias, n, c, inner, num_groups, eps).map(|(out, ..)| out)
        },
    );
}

/// # Errors
///
/// Sizes that are not those of the input, or that do not make groups.
pub(super) fn check(input: &TensorSpec, [n, c, inner, group]: [i64; 4]) -> Result<()> {
    if group <= 0 {
        return Err(argument(format!("argument `group` is {group}, expected at least 1")));
    }
    if c <= 0 || c % group != 0 {
        let message = format!(
            "argument `C` is {c}, expected at least one channel, and channels that are divisible by `group`, {group}"
        );
        return Err(argument(message));
    }
    if inner <= 0 {
        return Err(argument(format!("argument `HxW` is {inner}, expected at least 1")));
    }
    let all = n.checked_mul(c).and_then(|images| images.checked_mul(inner));
    if all == Some(input.numel()) && n >= 0 {
        Ok(())
    } else {
        let found = input.numel();
        Err(argument(format!(
            "argument `input` has {found} elements, expected N * C * HxW, {n} * {c} * {inner}"
        )))
    }
}

fn shape(
    input: &Tensor,
    [weight, bias]: [Option<&Tensor>; 2],
    sizes: [i64; 4],
) -> Result<(TensorSpec, TensorSpec, TensorSpec)> {
    let spec = input.spec()?;
    let parameters = [("weight", weight), ("bias", bias)];
    check(spec, sizes)?;
    normalisations::check_sizes(parameters, &[sizes[1]])?;
    let dtype = normalisations::statistics_dtype(spec, parameters)?;
    let [n, _, _, group] = sizes;
    let statistics = TensorSpec::contiguous(&[n, group], dtype, spec.device())?;
    Ok((normalisations::like_images(spec)?, statistics.clone(), statistics))
}

fn cpu(
    input: &Tensor,
    [weight, bias]: [Option<&Tensor>; 2],
    ([n, c, inner, group], eps): ([i64; 4], f64),
    [out, mean, rstd]: [&Tensor; 3],
) -> Result<()> {
    if input.numel() == 0 {
        return Ok(());
    }
    let [weight, bias] = [normalisations::array(weight)?, normalisations::array(bias)?];
    let (target, source, layout) = if input.sizes().starts_with(&[n, c]) {
        normalisations::images(out.array()?, input.array()?)?
    } else {
        // Other dimensions, of as many elements.
        let [count, channels, inner] = [n, c, inner].map(|size| size as usize);
        let layout = Layout { count, channels, inner, channels_last: false };
        (out.array()?.clone(), input.array()?.clone(), layout)
    };
    let (means, rstds) = with_dtype!(input.dtype(), T: Float => {
        let affine = Affine::<Math<T>>::new(weight, bias)?;
        normalise::groups::<T>(&target, &source, &affine, layout, (group as usize, eps))
    })?;
    normalise::write_numbers(mean.array()?, &means)?;
    normalise::write_numbers(rstd.array()?, &rstds)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2, 4, 3], 0);
        let of = |weight: Given, group: i64, inner: i64| {
            given(x.clone()).and(weight).and(Value::None).and(2).and(4).and(inner).and(group).and(1e-5)
        };
        let none = || Given::from(Value::None);
        samples
            .operator(NativeGroupNorm, normalisations::samples::FLOATS, native_inputs, |it| {
                let [out, mean, rstd] = reference(it, it.value("group")?)?;
                Ok([out, mean, rstd].into())
            })
            .tolerance(16.0)
            .refuses("divisible", of(none(), 3, 3))
            .refuses("`group` is 0", of(none(), 0, 3))
            .refuses("has 24 elements", of(none(), 2, 2))
            .refuses("`weight` has shape", of(generate::numbers(DType::F32, &[3], 0).into(), 2, 3))
            .refuses("`weight` has dtype", of(generate::numbers(DType::F64, &[4], 0).into(), 2, 3));
        samples
            .operator(GroupNorm, normalisations::samples::FLOATS, inputs, |it| {
                let [out, ..] = reference(it, it.value("num_groups")?)?;
                Ok(out.into())
            })
            .tolerance(16.0)
            .refuses("at least two dimensions", given(generate::numbers(DType::F32, &[4], 0)).and(2))
            .refuses("at least one channel", given(generate::numbers(DType::F32, &[1, 0, 2], 0)).and(1))
            .refuses("`HxW` is 0", given(generate::numbers(DType::F32, &[2, 4, 0], 0)).and(2));
        samples.rounds(NativeGroupNorm, Roundings::all(Rounding::Sum(16)));
        samples.rounds(GroupNorm, Roundings::all(Rounding::Sum(16)));
        samples.differs_as(
            NativeGroupNorm,
            &[normalisations::samples::COUNTS_ARE_CHECKED, normalisations::samples::WITHOUT_DEVIATION],
        );
        samples.differs(GroupNorm, normalisations::samples::WITHOUT_DEVIATION);
    }

    /// Sizes, groups, and whether there are weights and biases.
    const CASES: [(&[i64], i64, bool, bool); 7] = [
        (&[2, 4, 3], 2, true, true),
        (&[2, 4, 3], 4, false, false),
        (&[2, 4, 3], 1, true, false),
        (&[2, 6], 3, false, true),
        (&[0, 4, 3], 2, true, true),
        (&[2, 4, 2, 3], 2, true, true),
        (&[1, 2, 33, 35], 2, true, true),
    ];

    /// Weight and bias of a case, in this dtype.
    fn parameters((sizes, _, weight, bias): (&[i64], i64, bool, bool), dtype: DType) -> [Given; 2] {
        [(weight, 2), (bias, 3)].map(|(is_there, seed)| {
            if is_there { generate::numbers(dtype, &sizes[1..2], seed).into() } else { Value::None.into() }
        })
    }

    fn native_inputs(dtype: DType) -> Vec<Sample> {
        let one = |case: (&[i64], i64, bool, bool), parameters_dtype| {
            let (sizes, group, ..) = case;
            let [weight, bias] = parameters(case, parameters_dtype);
            let sample = given(generate::numbers(dtype, sizes, 1)).and(weight).and(bias);
            sample.and(sizes[0]).and(sizes[1]).and(sizes[2..].iter().product::<i64>()).and(group).and(1e-5)
        };
        let mixed = (dtype.size_in_bytes() == 2 && dtype.is_floating_point()).then_some(DType::F32);
        CASES
            .into_iter()
            .map(|case| one(case, dtype))
            .chain(mixed.map(|mixed| one(CASES[0], mixed)))
            .collect()
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let one = |case: (&[i64], i64, bool, bool)| {
            let [weight, bias] = parameters(case, dtype);
            given(generate::numbers(dtype, case.0, 1)).and(case.1).and(weight).and(bias)
        };
        CASES.into_iter().map(one).collect()
    }

    fn reference(it: &Inputs, groups: i64) -> Result<[Plain; 3]> {
        let x = it.tensor("input")?;
        let (weight, bias) = (it.tensor("weight").ok(), it.tensor("bias").ok());
        let [n, c] = [x.sizes()[0], x.sizes()[1]];
        let inner: i64 = x.sizes()[2..].iter().product();
        let parameters = weight.or(bias).map_or(x.dtype(), Plain::dtype);
        let real = |of: &Plain, position: &[i64]| of.at(position).to_complex().re;
        let grouped = x.with_sizes(&[n, groups, c / groups * inner]);
        let (means, rstds) = naive::row_statistics(&grouped, 2, it.value("eps")?);
        let out = Plain::from_fn(x.dtype(), x.sizes(), |position| {
            let [n, c, group] = [position[0], position[1], position[1] / (c / groups)];
            let normal = (real(x, position) - real(&means, &[n, group, 0])) * real(&rstds, &[n, group, 0]);
            let scaled = normal * weight.map_or(1.0, |weight| real(weight, &[c]));
            Scalar::Float(scaled + bias.map_or(0.0, |bias| real(bias, &[c])))
        });
        let [means, rstds] = [means, rstds].map(|of| of.with_sizes(&[n, groups]).to(parameters));
        Ok([out, means, rstds])
    }
}
