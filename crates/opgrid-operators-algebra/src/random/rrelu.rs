//! `aten::rrelu`, `rrelu_with_noise`: random slopes for negative elements.
//!
//! `out[i] = noise[i] * self[i]`. In training, `noise[i]` is drawn from `[lower, upper)` for `self[i] <= 0` and 1 otherwise. Outside of it,
//! the slope of negative elements is `(lower + upper) / 2`, and `noise` stays as it is.
//!
//! - Shapes: that of `self`, which `noise` has, too.
//! - Dtypes: floating-point ones; in training, `noise` has that of `self`.
//! - Strides: row-major.
//! - Random numbers: those of `generator` or of the stream of [`manual_seed`](opgrid_tensor::manual_seed), in row-major order, in double
//!   precision, and none for positive elements.
//! - Aliasing: `rrelu_with_noise` writes `noise` in training; the overloads whose names end in `_` write `self`, `rrelu_with_noise.out` writes
//!   `out`.
//! - Dispatch: `rrelu`, `rrelu_with_noise_functional` and the overloads that write `self` are composites of `rrelu_with_noise`, or of
//!   `leaky_relu` outside of training, and `rrelu_with_noise_backward` of their gradients.
//! - Derivative: the noise has none.
//! - Errors: other dtypes and shapes; bounds that are no finite numbers in this order.
//! - Source: torch.nn.functional.rrelu, PyTorch 2.15; B. Xu et al., Empirical Evaluation of Rectified Activations (2015).

use opgrid_core::Generator;

use crate::prelude::*;
use opgrid_kernels::{normalise, random};
use opgrid_tensor::ops::{
    CloneTensor, CopyInplace, EmptyLike, LeakyRelu, LeakyReluBackward, LeakyReluOut, MulTensor,
};

pub use opgrid_tensor::ops::random::rrelu::*;

/// The family of `aten::rrelu_with_noise`: its kind and shape rule.
pub const RRELU_WITH_NOISE: Family<RreluWithNoise> =
    Family::new(RreluWithNoise, &kind::RANDOM, |input, noise, lower, upper, training, _| {
        shape(input, noise, lower, upper, training)
    });

pub(super) fn register(library: &mut Library) {
    library.family(&RRELU_WITH_NOISE).cpu(cpu).derivative(|d, (input, noise, lower, upper, training, _)| {
        d.by(input, [input, noise], move |grad, [x, noise]| {
            RreluWithNoiseBackward.call(grad, x, noise, lower, upper, training, false)
        })
    });
    library.define(RreluWithNoiseOut).kind(&kind::RANDOM).on_cpu_and_meta(
        |input, noise, lower, upper, training, generator, out| {
            let spec = shape(input, noise, lower, upper, training)?;
            result::same_dtype(out, &spec)?;
            result::compute_into(out, &spec, |out| cpu(input, noise, lower, upper, training, generator, out))
        },
    );
    library.define(RreluWithNoiseInplace).kind(&kind::RANDOM).implicit(
        |input, noise, lower, upper, training, generator| {
            let out = RreluWithNoise.call(input, noise, lower, upper, training, generator)?;
            CopyInplace.call(input, &out, false)
        },
    );
    library.define(RreluWithNoiseFunctional).kind(&kind::RANDOM).implicit(
        |input, noise, lower, upper, training, generator| {
            shape(input, noise, lower, upper, training)?;
            let noise = if training { places(input)? } else { CloneTensor.call(noise, None)? };
            Ok((with_noise(input, &noise, lower, upper, training, generator)?, noise))
        },
    );
    library.define(Rrelu).kind(&kind::RANDOM).implicit(rrelu);
    library.define(RreluInplace).kind(&kind::RANDOM).implicit(|input, lower, upper, training, generator| {
        CopyInplace.call(input, &rrelu(input, lower, upper, training, generator)?, false)
    });
    library.define_with_forms(RreluWithNoiseBackward, &kind::POINTWISE_TERNARY).implicit(backward);
    library.implement(RreluWithNoiseBackwardOut).implicit(
        |grad, input, noise, lower, upper, training, is_result, out| {
            result::converted(&[(out, &backward(grad, input, noise, lower, upper, training, is_result)?)])
        },
    );
}

fn rrelu(
    input: &Tensor,
    lower: Scalar,
    upper: Scalar,
    training: bool,
    generator: Option<&Generator>,
) -> Result<Tensor> {
    let noise = places(input)?;
    with_noise(input, &noise, lower, upper, training, generator)
}

/// A row-major tensor with a place for each slope, with any content.
fn places(input: &Tensor) -> Result<Tensor> {
    EmptyLike.call(input, None, None, None, None, Some(MemoryFormat::Contiguous))
}

/// Writes the noise in training; nothing is drawn outside of it.
fn with_noise(
    input: &Tensor,
    noise: &Tensor,
    lower: Scalar,
    upper: Scalar,
    training: bool,
    generator: Option<&Generator>,
) -> Result<Tensor> {
    if training {
        return RreluWithNoise.call(input, noise, lower, upper, training, generator);
    }
    LeakyRelu.call(&input.contiguous()?, middle(bounds(lower, upper)?))
}

/// The gradient: by the noise where it was drawn, and by the slope in the middle of the bounds otherwise.
fn backward(
    grad: &Tensor,
    input: &Tensor,
    noise: &Tensor,
    lower: Scalar,
    upper: Scalar,
    training: bool,
    is_result: bool,
) -> Result<Tensor> {
    pointwise::check_float(input.spec()?.dtype())?;
    if training {
        return MulTensor.call(grad, noise);
    }
    LeakyReluBackward.call(grad, input, middle([lower.to_f64()?, upper.to_f64()?]), is_result)
}

/// # Errors
///
/// Bounds that are no finite numbers in this order.
fn bounds(lower: Scalar, upper: Scalar) -> Result<[f64; 2]> {
    let [first, last] = [lower.to_f64()?, upper.to_f64()?];
    for (name, bound) in [("lower", first), ("upper", last)] {
        if !bound.is_finite() {
            return Err(argument(format!("argument `{name}` is {bound}, expected a finite number")));
        }
    }
    if first > last {
        return Err(argument(format!(
            "argument `lower` is {first}, expected at most `upper`, which is {last}"
        )));
    }
    Ok([first, last])
}

fn middle([lower, upper]: [f64; 2]) -> Scalar {
    Scalar::Float((lower + upper) / 2.0)
}

fn shape(input: &Tensor, noise: &Tensor, lower: Scalar, upper: Scalar, training: bool) -> Result<TensorSpec> {
    let (spec, found) = (input.spec()?, noise.spec()?);
    pointwise::check_float(spec.dtype())?;
    bounds(lower, upper)?;
    if found.sizes() != spec.sizes() {
        return Err(argument(format!(
            "argument `noise` has shape {:?}, expected {:?} as `self`",
            found.sizes(),
            spec.sizes()
        )));
    }
    if training {
        pointwise::check_one_dtype(("self", input), ("noise", noise))?;
    }
    pointwise::check_one_device(("self", input), ("noise", noise))?;
    TensorSpec::contiguous(spec.sizes(), spec.dtype(), spec.device())
}

fn cpu(
    input: &Tensor,
    noise: &Tensor,
    lower: Scalar,
    upper: Scalar,
    training: bool,
    generator: Option<&Generator>,
    out: &Tensor,
) -> Result<()> {
    let [lower, upper] = bounds(lower, upper)?;
    if !training {
        return LeakyReluOut.call(input, middle([lower, upper]), out);
    }
    // Slopes and products have the precision that the dtype is computed in.
    let is_double = input.dtype() == DType::F64;
    let rounded = |value: f64| if is_double { value } else { f64::from(value as f32) };
    let elements: Vec<f64> = normalise::numbers(input.array()?)?;
    let slopes: Vec<f64> = random::draw(generator, |random| {
        let slope = |x: &f64| {
            if *x <= 0.0 { rounded(random.uniform(53) * (upper - lower) + lower) } else { 1.0 }
        };
        elements.iter().map(slope).collect()
    })?;
    let products: Vec<f64> = elements.iter().zip(&slopes).map(|(x, slope)| rounded(x * slope)).collect();
    normalise::write_numbers(noise.array()?, &slopes)?;
    normalise::write_numbers(out.array()?, &products)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = || generate::numbers(DType::F32, &[2, 3], 0);
        let plain = |dtype| with_bounds(tensors(dtype).into_iter().map(given).collect());
        samples
            .operator(Rrelu, FLOATS, plain, of_negative)
            .tolerance(4.0)
            .refuses("at most `upper`", given(x()).and(1.0).and(0.5))
            .refuses("`upper` is inf", given(x()).and(1.0).and(f64::INFINITY))
            .refuses("`lower` is NaN", given(x()).and(f64::NAN).and(1.0));
        samples.operator(RreluInplace, FLOATS, plain, of_negative).tolerance(4.0);
        let beside_noise = |dtype| {
            let with_noise = |x: Plain| given(x.clone()).and(Plain::from_elements(dtype, x.sizes(), &[1]));
            with_bounds(tensors(dtype).into_iter().map(with_noise).collect())
        };
        samples
            .operator(RreluWithNoise, FLOATS, beside_noise, of_negative)
            .tolerance(4.0)
            // Gradients need the noise, which the next call writes; those of `rrelu` have their own.
            .constant(&["self", "noise"])
            .refuses("`noise` has shape [3]", given(x()).and(generate::numbers(DType::F32, &[3], 0)))
            .refuses(
                "expected float32 as `self`",
                given(x()).and(x().to(DType::F64)).and(0.1).and(0.5).and(true),
            );
        let drawn = |dtype| {
            let with_noise = |x: Plain| given(x.clone()).and(Plain::from_elements(dtype, x.sizes(), &[1]));
            let in_training = |call: Sample| call.and(0.25).and(0.75).and(true);
            tensors(dtype).into_iter().take(2).map(with_noise).map(in_training).collect()
        };
        samples
            .operator(RreluWithNoiseInplace, FLOATS, drawn, of_negative)
            .tolerance(4.0)
            .constant(&["noise"]);
        let with_output = |dtype| {
            let noise = |x: &Plain| Plain::from_elements(dtype, x.sizes(), &[1]);
            let calls = tensors(dtype).into_iter().map(|x| (given(x.clone()).and(noise(&x)), noise(&x)));
            let with = |(call, out): (Sample, Plain)| {
                let call = call.named("out", out);
                let bounds = call.clone().named("lower", 0.25).named("upper", 0.75);
                [call, bounds.named("training", true)]
            };
            calls.flat_map(with).collect()
        };
        samples
            .operator(RreluWithNoiseOut, FLOATS, with_output, of_negative)
            .tolerance(4.0)
            .constant(&["noise"]);
        samples
            .operator(RreluWithNoiseFunctional, FLOATS, beside_noise, |it| {
                let (x, noise) = (it.tensor("self")?, it.tensor("noise")?);
                let is_drawn = x.elements().iter().any(|x| x.to_complex().re <= 0.0);
                let noise = if it.value("training")? && is_drawn {
                    let [lower, upper] = both_bounds(it)?;
                    Expected::Random(x.sizes().to_vec(), x.dtype(), Distribution::uniform(lower, upper))
                } else {
                    noise.clone().into()
                };
                Ok(Expected::Several(vec![of_negative(it)?, noise]))
            })
            .tolerance(4.0)
            .constant(&["noise", "noise_out"]);
        let gradients = |dtype| {
            let with = |x: Plain| {
                let noise = generate::nonzero(dtype, x.sizes(), 2);
                let call = given(generate::nonzero(dtype, x.sizes(), 1)).and(x).and(noise);
                [(0.25, 0.5, true), (0.25, 0.25, true), (0.25, 0.75, false)].map(
                    |(lower, upper, training)| call.clone().and(lower).and(upper).and(training).and(false),
                )
            };
            tensors(dtype).into_iter().flat_map(with).collect()
        };
        samples
            .operator(RreluWithNoiseBackward, FLOATS, gradients, |it| {
                let (grad, x, noise) = (it.tensor("grad_output")?, it.tensor("self")?, it.tensor("noise")?);
                let [lower, upper] = both_bounds(it)?;
                let by_noise: bool = it.value("training")?;
                Ok(Plain::from_fn(x.dtype(), x.sizes(), |at| match x.at(at).to_complex().re {
                    _ if by_noise => number::times(grad.at(at), noise.at(at)),
                    x if x > 0.0 => grad.at(at),
                    _ => number::times(grad.at(at), Scalar::Float((lower + upper) / 2.0)),
                })
                .into())
            })
            .tolerance(4.0)
            .constant(&["noise"]);
        samples.rounds(Rrelu, Roundings::all(Rounding::Result(2)));
        samples.rounds(RreluWithNoise, Roundings::all(Rounding::Result(2)));
        samples.rounds(RreluWithNoiseFunctional, Roundings::all(Rounding::Result(2)));
        samples.rounds(RreluWithNoiseBackward, Roundings::all(Rounding::Result(2)));
    }

    /// Many equal negative elements, and few of both signs.
    fn tensors(dtype: DType) -> Vec<Plain> {
        let equal = |sizes: &[i64], element: i64| Plain::from_elements(dtype, sizes, &[element]);
        vec![equal(&[2000], -1), equal(&[40, 50], -2), equal(&[2, 3], 3), equal(&[0, 2], 1), equal(&[], 2)]
    }

    /// Each call with bounds, in training and outside of it, and without any.
    fn with_bounds(calls: Vec<Sample>) -> Vec<Sample> {
        let with = |call: Sample| {
            [call.clone().and(0.25).and(0.75).and(true), call.clone().and(0.25).and(0.5).and(false), call]
        };
        calls.into_iter().flat_map(with).collect()
    }

    fn both_bounds(it: &Inputs) -> Result<[f64; 2]> {
        Ok([it.value::<Scalar>("lower")?, it.value::<Scalar>("upper")?].map(|bound| bound.to_complex().re))
    }

    /// What becomes of equal elements.
    fn of_negative(it: &Inputs) -> Result<Expected> {
        let x = it.tensor("self")?;
        let element = x.elements().first().map_or(0.0, |x| x.to_complex().re);
        let [lower, upper] = both_bounds(it)?;
        if !it.value("training")? || element > 0.0 || x.elements().is_empty() {
            let slope = if element > 0.0 { 1.0 } else { (lower + upper) / 2.0 };
            return Ok(Plain::from_elements(x.dtype(), x.sizes(), &[element * slope]).into());
        }
        let distribution = Distribution::uniform(upper * element, lower * element);
        Ok(Expected::Random(x.sizes().to_vec(), x.dtype(), distribution))
    }
}
