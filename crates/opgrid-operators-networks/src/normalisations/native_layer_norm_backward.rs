//! `aten::native_layer_norm_backward`: the gradients of `native_layer_norm`.
//!
//! With `normal = (input - mean) * rstd` and `grad = grad_out * weight`, for rows of `n` elements:
//! `out0 = rstd * (grad - Σ grad / n - normal * Σ(grad * normal) / n)`, `out1 = Σ grad_out * normal` over rows,
//! `out2 = Σ grad_out` over rows
//!
//! - Shapes: those of `input`, `weight` and `bias`; `mean` and `rstd` have an element for each row.
//! - Dtypes: as `native_layer_norm`.
//! - Values: `output_mask` says which gradients are asked for; the others are undefined, or outputs that stay as they are.
//! - Aliasing: `native_layer_norm_backward.out` writes its outputs, which must not overlap the inputs.
//! - Errors: other shapes, dtypes or devices; the gradient of a `weight` or `bias` that is not there.
//! - Source: torch.ops.aten.native_layer_norm_backward, PyTorch 2.15; J. L. Ba, J. R. Kiros, G. E. Hinton,
//!   Layer Normalization (2016).

use crate::kinds::normalisations::Normal;
use crate::prelude::*;
use opgrid_kernels::normalise;

pub use opgrid_tensor::ops::normalisations::native_layer_norm_backward::*;

/// What the derivative is computed from.
struct Arguments<'a> {
    grad: &'a Tensor,
    input: &'a Tensor,
    normalized_shape: &'a [i64],
    statistics: [&'a Tensor; 2],
    weight: Option<&'a Tensor>,
    bias: Option<&'a Tensor>,
}

pub(super) fn register(library: &mut Library) {
    library
        .define_with_forms(NativeLayerNormBackward, &kind::NORMALISATION)
        .on_cpu_and_meta(|grad, input, normalized_shape, mean, rstd, weight, bias, mask| {
            let args = Arguments { grad, input, normalized_shape, statistics: [mean, rstd], weight, bias };
            normalisations::masked(args.shapes(mask)?, mask, |outs| args.write(outs))
        })
        .derivative(|d, (grad, input, normalized_shape, mean, rstd, weight, _, _)| {
            let dims: Vec<i64> =
                (input.dim() - normalized_shape.len()..input.dim()).map(|dim| dim as i64).collect();
            let keep = [Some(grad), Some(input), Some(mean), Some(rstd), weight];
            d.together(
                [Some(grad), Some(input), Some(mean), Some(rstd), weight],
                keep,
                move |grads, kept, _| {
                    let [Some(grad), Some(input), Some(mean), Some(rstd), weight] = kept else {
                        return Ok([None, None, None, None, None]);
                    };
                    // Statistics may come in any shape with a number for each row.
                    let mut rows = input.sizes().to_vec();
                    let first = rows.len() - dims.len();
                    rows[first..].fill(1);
                    let (own, own_rstd) = (mean.sizes(), rstd.sizes());
                    let (mean, rstd) = (&mean.reshape(&rows)?, &rstd.reshape(&rows)?);
                    let [of_grad, of_input, of_mean, of_rstd, of_weight] =
                        Normal { input, mean, rstd, dims: &dims }.second(
                            grad,
                            weight,
                            [0, 1, 2].map(|at| grads.for_result(at)),
                        )?;
                    let summed = |of_each: Tensor, own: &[i64]| of_each.sum_dim(&dims, true)?.reshape(own);
                    let of_mean = of_mean.map(|of_mean| summed(of_mean, own)).transpose()?;
                    let of_rstd = of_rstd.map(|of_rstd| summed(of_rstd, own_rstd)).transpose()?;
                    Ok([of_grad, of_input, of_mean, of_rstd, of_weight])
                },
            )
        });
    library.implement(NativeLayerNormBackwardOut).on_cpu_and_meta(
        |grad, input, normalized_shape, mean, rstd, weight, bias, mask, out0, out1, out2| {
            let args = Arguments { grad, input, normalized_shape, statistics: [mean, rstd], weight, bias };
            normalisations::masked_out([out0, out1, out2], args.shapes(mask)?, mask, |outs| args.write(outs))
        },
    );
}

impl Arguments<'_> {
    fn shapes(&self, mask: &[bool]) -> Result<[TensorSpec; 3]> {
        let (spec, [mean, rstd]) = (self.input.spec()?, self.statistics);
        let (rows, _) = normalisations::rows(spec.sizes(), self.normalized_shape)?;
        normalisations::check_gradient(self.grad, spec)?;
        normalisations::check_sizes([("weight", self.weight), ("bias", self.bias)], self.normalized_shape)?;
        let dtype = normalisations::statistics_dtype(spec, [("weight", self.weight), ("bias", self.bias)])?;
        normalisations::statistics_dtype(spec, [("mean", Some(mean)), ("rstd", Some(rstd))])?;
        for (name, statistic) in [("mean", mean), ("rstd", rstd)] {
            if statistic.numel() as usize != rows {
                let found = statistic.numel();
                let message =
                    format!("argument `{name}` has {found} elements, expected {rows}, one for each row");
                return Err(argument(message));
            }
        }
        let asked = mask.get(1..).unwrap_or_default();
        for ((name, parameter), asked) in
            [("weight", self.weight), ("bias", self.bias)].into_iter().zip(asked)
        {
            if *asked && parameter.is_none() {
                return Err(argument(format!(
                    "argument `{name}` is None, but `output_mask` asks for its gradient"
                )));
            }
        }
        let of_parameter = TensorSpec::contiguous(self.normalized_shape, dtype, spec.device())?;
        let of_input = TensorSpec::contiguous(spec.sizes(), spec.dtype(), spec.device())?;
        Ok([of_input, of_parameter.clone(), of_parameter])
    }

    fn write(&self, [of_input, of_weight, of_bias]: [Option<&Tensor>; 3]) -> Result<()> {
        let (_, length) = normalisations::rows(self.input.sizes(), self.normalized_shape)?;
        let [mean, rstd] = self.statistics;
        let inputs = [self.grad.array()?, self.input.array()?];
        let (means, rstds) = (normalise::numbers(mean.array()?)?, normalise::numbers(rstd.array()?)?);
        with_dtype!(self.input.dtype(), T: Float => {
            if let Some(out) = of_input.filter(|out| out.numel() > 0) {
                let weight = match self.weight {
                    Some(weight) => normalise::numbers(weight.array()?)?,
                    None => vec![Math::<T>::ONE; length],
                };
                normalise::rows_backward::<T>(out.array()?, inputs, [&means, &rstds], &weight, length)?;
            }
            let Some(out) = of_weight.or(of_bias) else { return Ok(()) };
            let (products, sums) =
                normalise::rows_parameters::<T>(out.array()?, inputs, [&means, &rstds], length)?;
            for (out, numbers) in [(of_weight, products), (of_bias, sums)] {
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
            .operator(NativeLayerNormBackward, normalisations::samples::FLOATS, inputs, reference)
            .tolerance(256.0)
            .refuses("`grad_out` has shape", sample(DType::F32, (&[2, 3], &[3, 2]), DType::F32))
            .refuses("`weight` has dtype", sample(DType::F32, (&[2, 3], &[2, 3]), DType::F64));
        samples.rounds(NativeLayerNormBackward, Roundings::all(Rounding::Sum(64)));
        samples.differs_as(
            NativeLayerNormBackward,
            &[normalisations::samples::SIZES_ARE_CHECKED, OF_ANY_STRIDES],
        );
    }

    const OF_ANY_STRIDES: Difference = Difference {
        id: "statistics-of-any-strides",
        what: "torch reads the means and deviations of rows as if they were contiguous; here they may \
             have any strides",
        why: "out-of-bounds reads are never allowed",
        test: ("opgrid-operators/tests/all/networks.rs", "statistics_may_have_any_strides"),
        when: |seen| {
            let lies_apart = |name: &&str| {
                let geometry = seen.tensor(name).map(|tensor| &tensor.geometry);
                geometry.is_some_and(|geometry| !geometry.is_contiguous())
            };
            matches!(seen.part, Part::Values | Part::Written) && ["mean", "rstd"].iter().any(lies_apart)
        },
        directed: None,
    };

    fn inputs(dtype: DType) -> Vec<Sample> {
        let shapes: [&[i64]; 4] = [&[2, 3], &[4, 37], &[0, 3], &[1, 5]];
        let mixed = (dtype.size_in_bytes() == 2 && dtype.is_floating_point()).then_some(DType::F32);
        let own = shapes.map(|sizes| sample(dtype, (sizes, sizes), dtype));
        own.into_iter().chain(mixed.map(|mixed| sample(dtype, (&[2, 3], &[2, 3]), mixed))).collect()
    }

    fn sample(dtype: DType, (sizes, grad): (&[i64], &[i64]), parameters: DType) -> Sample {
        let (rows, row) = ([sizes[0], 1], &sizes[1..]);
        let number = |seed| generate::numbers(parameters, &rows, seed);
        given(generate::numbers(dtype, grad, 1))
            .and(generate::numbers(dtype, sizes, 2))
            .and(row.to_vec())
            .and(number(3))
            .and(number(4))
            .and(generate::numbers(parameters, row, 5))
            .and(generate::numbers(parameters, row, 6))
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
        let real = |of: &Plain, position: &[i64]| of.at(position).to_complex().re;
        let [rows, n] = [x.sizes()[0], x.sizes()[1]];
        let normal = |i: i64, j: i64| (real(x, &[i, j]) - real(mean, &[i, 0])) * real(rstd, &[i, 0]);
        let weighed = |i: i64, j: i64| real(grad, &[i, j]) * real(weight, &[j]);
        let of_input = Plain::from_fn(x.dtype(), x.sizes(), |position| {
            let [i, j] = [position[0], position[1]];
            let constant = (0..n).map(|k| weighed(i, k)).sum::<f64>() / n as f64;
            let along = (0..n).map(|k| weighed(i, k) * normal(i, k)).sum::<f64>() / n as f64;
            Scalar::Float((weighed(i, j) - constant - normal(i, j) * along) * real(rstd, &[i, 0]))
        });
        let over_rows = |term: &dyn Fn(i64, i64) -> f64| {
            Plain::from_fn(weight.dtype(), &[n], |j| Scalar::Float((0..rows).map(|i| term(i, j[0])).sum()))
        };
        let of_weight = over_rows(&|i, j| real(grad, &[i, j]) * normal(i, j));
        Ok([of_input, of_weight, over_rows(&|i, j| real(grad, &[i, j]))].into())
    }
}
