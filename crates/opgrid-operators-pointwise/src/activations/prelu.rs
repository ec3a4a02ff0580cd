//! `aten::prelu`, `aten::_prelu_kernel`, `aten::_prelu_kernel_backward`: slopes of their own for negative elements, one for all or one
//! for each channel, and the gradients.
//!
//! `out[i] = self[i] if self[i] > 0, weight * self[i] otherwise`; the gradient of `self[i]` is `grad_output[i]` or
//! `weight * grad_output[i]`, and that of the slope 0 or `self[i] * grad_output[i]`
//!
//! - Shapes: that of `self`; `weight` has one element or as many as `self` has channels, which are dimension 1.
//!   Gradients have the shape that all three broadcast to; those of a slope are not summed.
//! - Dtypes: one for both, a floating-point one.
//! - Dispatch: a composite of `reshape` and `_prelu_kernel`, which broadcasts its arguments. The gradients are composites of `where`
//!   and `mul`.
//! - Errors: other dtypes, two dtypes; a `weight` of another size or of more than one dimension.
//! - Source: torch.nn.functional.prelu, PyTorch 2.15; K. He et al., Delving Deep into Rectifiers (2015).

use crate::prelude::*;
use opgrid_tensor::ops::{Reshape, WhereSelf};
use opgrid_tensor::tensor::broadcast;

pub use opgrid_tensor::ops::activations::prelu::*;

/// The family of `aten::_prelu_kernel`: its kind, shape rule and `out` rule.
pub const PRELU_KERNEL: Family<PreluKernel> = Family::new(PreluKernel, &kind::POINTWISE_BINARY, shape);

pub(super) fn register(library: &mut Library) {
    library.family(&PRELU_KERNEL).cpu(cpu).derivative(|d, (input, weight)| {
        d.by(input, [input, weight], |grad, [x, weight]| by_input(grad, x, weight))?;
        d.by(weight, [input], |grad, [x]| by_weight(grad, x))
    });
    library.implicit(PreluKernelBackward, &kind::POINTWISE_TERNARY, |grad, input, weight| {
        let spec = shape(input, weight)?;
        pointwise::check_one_dtype(("self", input), ("grad_output", grad))?;
        let sizes = broadcast(&[grad.sizes(), spec.sizes()])?;
        // Both are as large as all three, also where they do not depend on one of them.
        let grad = &grad.expand(sizes.as_slice())?;
        Ok((by_input(grad, input, weight)?, by_weight(grad, input)?))
    });
    library.define(Prelu).kind(&kind::GATE).implicit(prelu);
}

fn by_input(grad: &Tensor, x: &Tensor, weight: &Tensor) -> Result<Tensor> {
    WhereSelf.call(&x.gt(0)?, grad, &(grad * weight)?)
}

/// The gradient of the slope of each element.
fn by_weight(grad: &Tensor, x: &Tensor) -> Result<Tensor> {
    derivatives::where_false(&x.gt(0)?, &(grad * x)?)
}

fn prelu(input: &Tensor, weight: &Tensor) -> Result<Tensor> {
    let (dims, count) = (input.spec()?.sizes().len(), weight.spec()?.numel());
    if count != 1 {
        let channels = match input.sizes() {
            [] => {
                return Err(argument(
                    "argument `self` has no dimensions, expected channels for each element of `weight`",
                ));
            }
            [_] => 1,
            [_, channels, ..] => *channels,
        };
        if channels != count {
            let message = format!(
                "argument `weight` has {count} elements, expected 1 or {channels} as `self` of shape {:?} has channels",
                input.sizes()
            );
            return Err(argument(message));
        }
    }
    if weight.dim() > 1 {
        let message =
            format!("argument `weight` has shape {:?}, expected no dimensions or one", weight.sizes());
        return Err(argument(message));
    }
    if weight.dim() == dims {
        return PreluKernel.call(input, weight);
    }
    let mut sizes = vec![1; dims];
    if let Some(channel) = sizes.get_mut(1) {
        *channel = count;
    }
    PreluKernel.call(input, &Reshape.call(weight, &sizes)?)
}

fn shape(input: &Tensor, weight: &Tensor) -> Result<TensorSpec> {
    pointwise::check_one_dtype(("self", input), ("weight", weight))?;
    pointwise::check_float(input.dtype())?;
    let spec = pointwise::promoted([("self", input), ("weight", weight)])?;
    if spec.sizes() == input.sizes() {
        // The result lies as the input, whatever the slopes do.
        Ok(TensorSpec::new(input.geometry().like(MemoryFormat::Preserve)?, spec.dtype(), spec.device()))
    } else {
        Ok(spec)
    }
}

fn cpu(input: &Tensor, weight: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T: Float => {
        elementwise::binary::<T, T, T>(out, input, weight, |x, slope| if x > 0.0 { x } else { slope * x })
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            let cases: [(&[i64], &[i64]); 7] = [
                (&[2, 3], &[3]),
                (&[2, 3, 4], &[3]),
                (&[4], &[1]),
                (&[], &[]),
                (&[0, 2], &[2]),
                (&[2, 3], &[]),
                (&[3, 37], &[1]),
            ];
            cases
                .map(|(x, weight)| {
                    given(generate::numbers(dtype, x, 1)).and(generate::numbers(dtype, weight, 2))
                })
                .to_vec()
        };
        let x = || given(generate::numbers(DType::F32, &[2, 3], 0));
        samples
            .operator(Prelu, FLOATS, inputs, |it| {
                let (x, weight) = (it.tensor("self")?, it.tensor("weight")?);
                let channel = if x.sizes().len() > 1 { 1 } else { 0 };
                Ok(Plain::from_fn(x.dtype(), x.sizes(), |position| {
                    let slope = match weight.elements() {
                        [one] => *one,
                        all => all[position[channel] as usize],
                    };
                    leaky(x.at(position), slope)
                })
                .into())
            })
            .tolerance(2.0)
            .refuses("channels", x().and(generate::numbers(DType::F32, &[2], 0)))
            .refuses("dimensions", x().and(generate::numbers(DType::F32, &[1, 1], 0)));
        let pairs = |dtype| generate::of_one_dtype(generate::pairs(dtype));
        samples
            .operator(PreluKernel, FLOATS, pairs, |it| it.binary(DTypeRule::Promoted, leaky))
            .tolerance(2.0)
            .refuses("expected float32 as `self`", x().and(generate::numbers(DType::F64, &[3], 0)));
        let triples = |dtype| generate::of_one_dtype(generate::triples(dtype));
        samples
            .operator(PreluKernelBackward, FLOATS, triples, |it| {
                let names = ["grad_output", "self", "weight"];
                let [grad, x, weight] = [it.tensor(names[0])?, it.tensor(names[1])?, it.tensor(names[2])?];
                let sizes = naive::broadcast([grad, x, weight].into_iter().map(Plain::sizes))?;
                let of = |above: fn(f64, f64, f64) -> f64, below: fn(f64, f64, f64) -> f64| {
                    Plain::from_fn(x.dtype(), &sizes, |position| {
                        let [grad, x, weight] = [grad, x, weight].map(|of| of.at(position).to_complex().re);
                        Scalar::Float(if x > 0.0 { above(grad, x, weight) } else { below(grad, x, weight) })
                    })
                };
                Ok([
                    of(|grad, _, _| grad, |grad, _, weight| grad * weight),
                    of(|_, _, _| 0.0, |grad, x, _| grad * x),
                ]
                .into())
            })
            .tolerance(2.0)
            .refuses(
                "expected float32 as `self`",
                given(generate::numbers(DType::F64, &[3], 0))
                    .and(generate::numbers(DType::F32, &[3], 0))
                    .and(generate::numbers(DType::F32, &[3], 0)),
            );
        samples.rounds(PreluKernelBackward, Roundings::all(Rounding::Result(2)));
        samples.rounds(Prelu, Roundings::all(Rounding::Result(2)));
        samples.rounds(PreluKernel, Roundings::all(Rounding::Result(2)));
    }

    fn leaky(x: Scalar, slope: Scalar) -> Scalar {
        if x.to_complex().re > 0.0 { x } else { number::times(slope, x) }
    }
}
