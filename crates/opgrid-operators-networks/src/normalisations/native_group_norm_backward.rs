//! `aten::native_group_norm_backward`: the gradients of `native_group_norm`.
//!
//! With `normal = (input - mean) * rstd` and `grad = grad_out * weight`, for groups of `s` elements:
//! `out0 = rstd * (grad - Σ grad / s - normal * Σ(grad * normal) / s)`, `out1[c] = Σ grad_out * normal` and
//! `out2[c] = Σ grad_out` over all elements of channel `c`
//!
//! - Shapes: that of `input`, and `[C]` twice; `mean` and `rstd` have shape `[N, group]`.
//! - Dtypes: as `native_group_norm`.
//! - Values: `output_mask` says which gradients are asked for; the others are undefined, or outputs that stay as they are.
//! - Strides: those of `input` where it is channels-last, otherwise row-major.
//! - Aliasing: `native_group_norm_backward.out` writes its outputs, which must not overlap the inputs.
//! - Errors: other shapes, dtypes or devices.
//! - Source: torch.ops.aten.native_group_norm_backward, PyTorch 2.15; Y. Wu, K. He, Group Normalization (2018).

use super::native_group_norm;
use crate::kinds::normalisations::Normal;
use crate::prelude::*;
use opgrid_kernels::normalise::{self, Layout};

pub use opgrid_tensor::ops::normalisations::native_group_norm_backward::*;

/// What the derivative is computed from.
struct Arguments<'a> {
    grad: &'a Tensor,
    input: &'a Tensor,
    statistics: [&'a Tensor; 2],
    weight: Option<&'a Tensor>,
    sizes: [i64; 4],
}

pub(super) fn register(library: &mut Library) {
    library
        .define_with_forms(NativeGroupNormBackward, &kind::NORMALISATION)
        .on_cpu_and_meta(|grad, input, mean, rstd, weight, n, c, inner, group, mask| {
            let sizes = [n, c, inner, group];
            let args = Arguments { grad, input, statistics: [mean, rstd], weight, sizes };
            normalisations::masked(args.shapes()?, mask, |outs| args.write(outs))
        })
        .derivative(|d, (grad, input, mean, rstd, weight, n, c, inner, group, _)| {
            let keep = [Some(grad), Some(input), Some(mean), Some(rstd), weight];
            d.together(
                [Some(grad), Some(input), Some(mean), Some(rstd), weight],
                keep,
                move |grads, kept, _| {
                    let [Some(grad), Some(input), Some(mean), Some(rstd), weight] = kept else {
                        return Ok([None, None, None, None, None]);
                    };
                    let channels = c / group;
                    let flat = |of: &Tensor| of.reshape(&[n, group, channels, inner]);
                    let of_groups = |of: &Tensor| of.reshape(&[n, group, 1, 1]);
                    let of_channels = |of: &Tensor| of.reshape(&[1, group, channels, 1]);
                    let (rows, mean_of, rstd_of) = (flat(input)?, of_groups(mean)?, of_groups(rstd)?);
                    let by_input = grads.for_result(0).map(flat).transpose()?;
                    let [by_weight, by_bias] =
                        [1, 2].map(|at| grads.for_result(at).map(of_channels).transpose());
                    let normal = Normal { input: &rows, mean: &mean_of, rstd: &rstd_of, dims: &[2, 3] };
                    let [of_grad, of_input, of_mean, of_rstd, of_weight] = normal.second(
                        &flat(grad)?,
                        weight.map(of_channels).transpose()?.as_ref(),
                        [by_input.as_ref(), by_weight?.as_ref(), by_bias?.as_ref()],
                    )?;
                    let whole =
                        |of: Option<Tensor>, like: &Tensor| of.map(|of| of.reshape(like.sizes())).transpose();
                    let summed = |of: Option<Tensor>| {
                        of.map(|of| of.sum_dim(&[2, 3], false)?.reshape(mean.sizes())).transpose()
                    };
                    let of_weight =
                        of_weight.map(|of| of.sum_dim(&[0, 3], false)?.reshape(&[c])).transpose()?;
                    Ok([
                        whole(of_grad, grad)?,
                        whole(of_input, input)?,
                        summed(of_mean)?,
                        summed(of_rstd)?,
                        of_weight,
                    ])
                },
            )
        });
    library.implement(NativeGroupNormBackwardOut).on_cpu_and_meta(
        |grad, input, mean, rstd, weight, n, c, inner, group, mask, out0, out1, out2| {
            let sizes = [n, c, inner, group];
            let args = Arguments { grad, input, statistics: [mean, rstd], weight, sizes };
            normalisations::masked_out([out0, out1, out2], args.shapes()?, mask, |outs| args.write(outs))
        },
    );
}

impl Arguments<'_> {
    fn shapes(&self) -> Result<[TensorSpec; 3]> {
        let (spec, [mean, rstd], [n, c, _, group]) = (self.input.spec()?, self.statistics, self.sizes);
        native_group_norm::check(spec, self.sizes)?;
        normalisations::check_gradient(self.grad, spec)?;
        normalisations::check_sizes([("weight", self.weight)], &[c])?;
        normalisations::check_sizes([("mean", Some(mean)), ("rstd", Some(rstd))], &[n, group])?;
        let parameters = [("mean", Some(mean)), ("rstd", Some(rstd)), ("weight", self.weight)];
        let dtype = normalisations::statistics_dtype(spec, parameters)?;
        let of_parameter = TensorSpec::contiguous(&[c], dtype, spec.device())?;
        Ok([normalisations::like_images(spec)?, of_parameter.clone(), of_parameter])
    }

    fn write(&self, [of_input, of_weight, of_bias]: [Option<&Tensor>; 3]) -> Result<()> {
        let Some(any) = of_input.or(of_weight).or(of_bias) else { return Ok(()) };
        let [count, channels, inner, groups] = self.sizes.map(|size| size as usize);
        let layout = Layout { count, channels, inner, channels_last: false };
        let inputs = [self.grad.array()?, self.input.array()?];
        let [mean, rstd] = self.statistics;
        let (means, rstds) =
            (normalise::numbers::<f64>(mean.array()?)?, normalise::numbers::<f64>(rstd.array()?)?);
        let weights = match self.weight {
            Some(weight) => normalise::numbers::<f64>(weight.array()?)?,
            None => vec![1.0; channels],
        };
        let per_group = channels / groups;
        with_dtype!(self.input.dtype(), T: Float => {
            let (products, sums) = normalise::plane_products::<T>(any.array()?, inputs, layout)?;
            // Of each image and channel.
            let planes = || (0..count * channels).map(|plane| (plane, plane % channels, plane / per_group));
            if let Some(out) = of_input {
                let size = (per_group * inner) as f64;
                let mut of_groups = vec![[0.0; 2]; count * groups];
                for (plane, channel, group) in planes() {
                    let [products_of, sums_of] = &mut of_groups[group];
                    *products_of += products[plane] * weights[channel];
                    *sums_of += sums[plane] * weights[channel];
                }
                let combination = |(_, channel, group): (usize, usize, usize)| {
                    let ([products, sums], mean, rstd) = (of_groups[group], means[group], rstds[group]);
                    let slope = rstd * rstd * rstd * (products - mean * sums) / size;
                    [rstd * weights[channel], -slope, slope * mean - rstd * sums / size]
                };
                let combinations: Vec<_> = planes().map(combination).collect();
                normalise::combine_planes::<T>(out.array()?, inputs, inner, &combinations)?;
            }
            let (mut of_weights, mut of_biases) = (vec![0.0; channels], vec![0.0; channels]);
            for (plane, channel, group) in planes() {
                of_weights[channel] += rstds[group] * (products[plane] - means[group] * sums[plane]);
                of_biases[channel] += sums[plane];
            }
            for (out, numbers) in [(of_weight, of_weights), (of_bias, of_biases)] {
                if let Some(out) = out {
                    normalise::write_numbers(out.array()?, &numbers)?;
                }
            }
            Ok(())
        })
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(NativeGroupNormBackward, normalisations::samples::FLOATS, inputs, reference)
            .tolerance(1024.0)
            .refuses("`grad_out` has shape", sample(DType::F32, (&[2, 4, 3], &[2, 3, 4]), 2, DType::F32))
            .refuses("divisible", sample(DType::F32, (&[2, 4, 3], &[2, 4, 3]), 3, DType::F32))
            .refuses("`mean` has dtype", sample(DType::F32, (&[2, 4, 3], &[2, 4, 3]), 2, DType::F64));
        samples.rounds(NativeGroupNormBackward, Roundings::all(Rounding::Sum(256)));
        samples.differs(NativeGroupNormBackward, normalisations::samples::COUNTS_ARE_CHECKED);
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let cases: [(&[i64], i64); 4] =
            [(&[2, 4, 3], 2), (&[2, 4, 2, 3], 4), (&[0, 4, 3], 2), (&[1, 2, 7], 1)];
        let mixed = (dtype.size_in_bytes() == 2 && dtype.is_floating_point()).then_some(DType::F32);
        let own = cases.map(|(sizes, group)| sample(dtype, (sizes, sizes), group, dtype));
        let (sizes, group) = cases[0];
        own.into_iter().chain(mixed.map(|mixed| sample(dtype, (sizes, sizes), group, mixed))).collect()
    }

    fn sample(dtype: DType, (sizes, grad): (&[i64], &[i64]), group: i64, parameters: DType) -> Sample {
        let [n, c] = [sizes[0], sizes[1]];
        // Deviations of sums of few elements, which keep their digits in all dtypes.
        let small = |sizes: &[i64], seed: i64, dtype| {
            let elements: Vec<f64> = (0..29).map(|at| ((at * 5 + seed * 3) % 9) as f64 / 4.0 - 1.0).collect();
            Plain::from_elements(dtype, sizes, &elements)
        };
        given(small(grad, 1, dtype))
            .and(small(sizes, 2, dtype))
            .and(small(&[n, group], 3, parameters))
            .and(small(&[n, group], 4, parameters))
            .and(small(&[c], 5, parameters))
            .and(n)
            .and(c)
            .and(sizes[2..].iter().product::<i64>())
            .and(group)
            .and(vec![true; 3])
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let [grad, x, mean, rstd, weight] = [
            it.tensor("grad_out")?,
            it.tensor("input")?,
            it.tensor("mean")?,
            it.tensor("rstd")?,
            it.tensor("weight")?,
        ];
        let [n, c, inner, groups]: [i64; 4] =
            [it.value("N")?, it.value("C")?, it.value("HxW")?, it.value("group")?];
        let real = |of: &Plain, position: &[i64]| of.at(position).to_complex().re;
        let (flat_x, flat_grad) = (x.with_sizes(&[n, c, inner]), grad.with_sizes(&[n, c, inner]));
        let per_group = c / groups;
        let normal = |n: i64, c: i64, i: i64| {
            let group = [n, c / per_group];
            (real(&flat_x, &[n, c, i]) - real(mean, &group)) * real(rstd, &group)
        };
        let own = |n: i64, c: i64, i: i64| real(&flat_grad, &[n, c, i]);
        let of_input = Plain::from_fn(x.dtype(), &[n, c, inner], |position| {
            let [n, c, i] = [position[0], position[1], position[2]];
            let first = c / per_group * per_group;
            let group = || (first..first + per_group).flat_map(|c| (0..inner).map(move |i| (c, i)));
            let size = (per_group * inner) as f64;
            let constant = group().map(|(c, i)| own(n, c, i) * real(weight, &[c])).sum::<f64>() / size;
            let along =
                group().map(|(c, i)| own(n, c, i) * real(weight, &[c]) * normal(n, c, i)).sum::<f64>() / size;
            let rest = own(n, c, i) * real(weight, &[c]) - constant - normal(n, c, i) * along;
            Scalar::Float(rest * real(rstd, &[n, c / per_group]))
        });
        let over_all = |term: &dyn Fn(i64, i64, i64) -> f64| {
            Plain::from_fn(weight.dtype(), &[c], |c| {
                Scalar::Float(
                    (0..n).flat_map(|n| (0..inner).map(move |i| (n, i))).map(|(n, i)| term(n, c[0], i)).sum(),
                )
            })
        };
        let of_weight = over_all(&|n, c, i| own(n, c, i) * normal(n, c, i));
        Ok([of_input.with_sizes(x.sizes()), of_weight, over_all(&own)].into())
    }
}
