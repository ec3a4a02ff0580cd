//! `aten::elu`: an exponential function for negative elements; its slope; and `selu` and `celu`, which set its numbers.
//!
//! `out[i] = scale * self[i] if self[i] > 0, scale * alpha * (e ^ (input_scale * self[i]) - 1) otherwise`
//!
//! - Shapes: that of `self`; `elu_backward` broadcasts.
//! - Dtypes: floating-point ones; of `elu_backward` promoted.
//! - Aliasing: `elu_`, `selu_` and `celu_` write `self`, the `out` overloads write `out`, which has the dtype of `self`.
//! - Dispatch: `selu` and `celu` are composites of `elu`, in all forms.
//! - Errors: other dtypes; `celu` with an `alpha` of zero; `elu_backward` of a result with a negative `alpha`.
//! - Source: torch.nn.functional.elu, PyTorch 2.15; D.-A. Clevert, T. Unterthiner and S. Hochreiter, Fast and Accurate Deep
//!   Network Learning by Exponential Linear Units (2015); G. Klambauer et al., Self-Normalizing Neural Networks (2017).

use crate::kernels::activations;
use crate::ops::prelude::*;

operator! {
    home = crate::home_of(register);
    /// An exponential function for negative elements.
    pub Elu = "aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor", in_place, out, method;
    pub EluBackward = "aten::elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Tensor self_or_result) -> Tensor", out("grad_input", grad_input);
    /// `elu` with the numbers that keep mean and variance.
    pub Selu = "aten::selu(Tensor self) -> Tensor", in_place, method;
    /// `elu` whose slope is one at zero for every `alpha`.
    pub Celu = "aten::celu(Tensor self, Scalar alpha=1.) -> Tensor", in_place, out, method;
}

/// Kind, shape rule and `out` rule, for everybody.
pub const ELU: Family<Elu> = Family::new(Elu, &kind::POINTWISE_UNARY, shape).same_dtype_out();

/// Kind, shape rule and `out` rule, for everybody.
pub const ELU_BACKWARD: Family<EluBackward> =
    Family::new(EluBackward, &kind::POINTWISE_BINARY, backward_shape);

/// The numbers for which a normal distribution keeps its mean and variance.
const SELU_ALPHA: Scalar = Scalar::Float(1.673_263_242_354_377_2);
const SELU_SCALE: Scalar = Scalar::Float(1.050_700_987_355_480_5);
const ONE: Scalar = Scalar::Int(1);

pub(super) fn register(library: &mut Library) {
    library.family(&ELU).cpu(cpu).derivative(|d, (input, alpha, scale, input_scale)| {
        d.by(input, [input], move |grad, [x]| EluBackward.call(grad, alpha, scale, input_scale, false, x))
    });
    library.family(&ELU_BACKWARD).cpu(backward_cpu).derivative(
        |d, (grad_output, alpha, scale, input_scale, is_result, x)| {
            d.by(grad_output, [x], move |grad, [x]| {
                EluBackward.call(grad, alpha, scale, input_scale, is_result, x)
            })?;
            d.by(x, [grad_output, x], move |grad, [before, x]| {
                let product = ((grad * before)? * input_scale)?;
                let curved = match is_result {
                    true => product,
                    false => EluBackward.call(&product, alpha, scale, input_scale, false, x)?,
                };
                derivatives::where_true(&x.lt_scalar(0)?, &curved)
            })
        },
    );
    library
        .define_with_forms(Selu, &kind::POINTWISE_UNARY)
        .implicit(|input| Elu.call(input, SELU_ALPHA, SELU_SCALE, ONE));
    library.implement(SeluInplace).implicit(|input| EluInplace.call(input, SELU_ALPHA, SELU_SCALE, ONE));
    library
        .define_with_forms(Celu, &kind::POINTWISE_UNARY)
        .on_every_backend(|input, alpha| Elu.call(input, alpha, ONE, one_over(alpha)?))
        .derivative(|d, (input, alpha)| {
            d.by(input, [input], move |grad, [x]| {
                EluBackward.call(grad, alpha, ONE, one_over(alpha)?, false, x)
            })
        });
    library
        .implement(CeluInplace)
        .on_every_backend(|input, alpha| EluInplace.call(input, alpha, ONE, one_over(alpha)?));
    library
        .implement(CeluOut)
        .on_every_backend(|input, alpha, out| EluOut.call(input, alpha, ONE, one_over(alpha)?, out));
}

pub(super) fn samples(samples: &mut Samples) {
    let numbers = |dtype| activation::with_numbers(dtype, &[&[], &[0.5, 2.0, 0.25]]);
    samples
        .of(Elu, FLOATS, numbers, |it| {
            let [alpha, scale, input_scale] = numbers_of(it)?;
            it.unary(DTypeRule::Promoted, |x| number::float_by(x, |x| elu(x, alpha, scale, input_scale)))
        })
        .tolerance(4.0);
    let slopes = |dtype| -> Vec<Sample> {
        let with = |sample: Sample| {
            let mut tensors = sample.positional.into_iter();
            let grad = Sample { positional: tensors.by_ref().take(1).collect(), ..Sample::default() };
            let grad = grad.and(Scalar::Float(0.5)).and(2).and(Scalar::Float(0.25));
            let of = |is_result: bool| {
                let mut sample = grad.clone().and(is_result);
                sample.positional.extend(tensors.clone());
                sample
            };
            [of(false), of(true)]
        };
        activation::pairs(dtype).into_iter().flat_map(with).collect()
    };
    let x = || make::numbers(DType::F32, &[2], 0);
    samples
        .of(EluBackward, FLOATS, slopes, |it| {
            let [alpha, scale, input_scale] = numbers_of(it)?;
            let is_result: bool = it.value("is_result")?;
            activation::of_two(it, ["grad_output", "self_or_result"], |grad, x| match x > 0.0 {
                true => grad * scale,
                false if is_result => grad * input_scale * (x + alpha * scale),
                false => grad * input_scale * alpha * scale * (x * input_scale).exp(),
            })
        })
        .tolerance(8.0)
        .refuses("`alpha`", given(x()).and(-1).and(1).and(1).and(true).and(x()));
    activation::samples(samples, Selu, |x| elu(x, 1.673_263_242_354_377_2, 1.050_700_987_355_480_5, 1.0))
        .tolerance(8.0);
    samples
        .of(
            Celu,
            FLOATS,
            |dtype| activation::with_numbers(dtype, &[&[], &[0.5]]),
            |it| {
                let alpha = activation::real(it, "alpha")?;
                it.unary(DTypeRule::Promoted, |x| number::float_by(x, |x| elu(x, alpha, 1.0, 1.0 / alpha)))
            },
        )
        .tolerance(8.0)
        .refuses("`alpha` is 0", given(x()).and(0));
    samples.rounds(Elu, pointwise::ELEMENTARY);
    samples.rounds(EluBackward, Roundings::all(Rounding::Sum(32)));
    samples.rounds(Selu, pointwise::ELEMENTARY);
    samples.rounds(Celu, pointwise::ELEMENTARY);
}

fn numbers_of(it: &Inputs) -> Result<[f64; 3]> {
    Ok([activation::real(it, "alpha")?, activation::real(it, "scale")?, activation::real(it, "input_scale")?])
}

fn elu(x: f64, alpha: f64, scale: f64, input_scale: f64) -> f64 {
    if x < 0.0 { alpha * scale * (x * input_scale).exp_m1() } else { scale * x }
}

/// # Errors
///
/// Zero.
fn one_over(alpha: Scalar) -> Result<Scalar> {
    match alpha.to_complex() {
        zero if zero == Complex64::ZERO => {
            Err(argument("argument `alpha` is 0, by which elements are divided; expected another number"))
        }
        alpha if alpha.im == 0.0 => Ok(Scalar::Float(1.0 / alpha.re)),
        alpha => Ok(Scalar::Complex(alpha.inv())),
    }
}

/// # Errors
///
/// A number that is none of the dtype, which has floats.
fn check(dtype: DType, numbers: [Scalar; 3]) -> Result<()> {
    let all =
        |number: &Scalar| with_dtype!(dtype, T: Float => arithmetic::element::<Math<T>>(*number).map(drop));
    numbers.iter().try_for_each(all)
}

fn shape(input: &Tensor, alpha: Scalar, scale: Scalar, input_scale: Scalar) -> Result<TensorSpec> {
    check(input.spec()?.dtype(), [alpha, scale, input_scale])?;
    pointwise::float_unary(input)
}

fn backward_shape(
    grad: &Tensor,
    alpha: Scalar,
    scale: Scalar,
    input_scale: Scalar,
    is_result: bool,
    input: &Tensor,
) -> Result<TensorSpec> {
    let spec = activation::slope(("grad_output", grad), ("self_or_result", input))?;
    check(spec.dtype(), [alpha, scale, input_scale])?;
    // A NaN is not positive either.
    if is_result && !alpha.to_complex().re.ge(&0.0) {
        return Err(argument(format!(
            "argument `alpha` is {alpha}, with which results do not say on which side of zero elements were; call `elu` \
             instead of `elu_`"
        )));
    }
    Ok(spec)
}

fn cpu(input: &Tensor, alpha: Scalar, scale: Scalar, input_scale: Scalar, out: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T: Float => {
        let [alpha, scale, input_scale] = [alpha, scale, input_scale].map(arithmetic::element::<Math<T>>);
        let (alpha, scale, input_scale) = (alpha?, scale?, input_scale?);
        let elu = activations::Elu::<Math<T>> { factor: alpha * scale, scale, input_scale };
        elementwise::unary_by::<T, T>(out, input, elu)
    })
}

fn backward_cpu(
    grad: &Tensor,
    alpha: Scalar,
    scale: Scalar,
    input_scale: Scalar,
    is_result: bool,
    input: &Tensor,
    out: &Tensor,
) -> Result<()> {
    with_dtype!(result_type(&[grad, input])?, T: Float => {
        let [alpha, scale, input_scale] = [alpha, scale, input_scale].map(arithmetic::element::<Math<T>>);
        let (alpha, scale, input_scale) = (alpha?, scale?, input_scale?);
        let factor = alpha * scale;
        match is_result {
            true => elementwise::binary::<T, T, T>(out, grad, input, move |grad, result| {
                if result <= 0.0 { grad * input_scale * (result + factor) } else { grad * scale }
            }),
            false => elementwise::binary::<T, T, T>(out, grad, input, move |grad, x| {
                let below = grad * input_scale * factor * Inexact::exp(x * input_scale);
                if x <= 0.0 { below } else { grad * scale }
            }),
        }
    })
}
