//! `aten::gelu`: elements times the part of a normal distribution that lies below them; and its slope.
//!
//! `out[i] = self[i] * (1 + erf(self[i] / sqrt(2))) / 2`, with `approximate="tanh"`
//! `self[i] * (1 + tanh(sqrt(2 / pi) * (self[i] + 0.044715 self[i]^3))) / 2`
//!
//! - Shapes: that of `self`; `gelu_backward` broadcasts.
//! - Dtypes: floating-point ones; of `gelu_backward` promoted.
//! - Aliasing: `gelu_` writes `self`, `gelu.out` writes `out`, which has the dtype of `self`.
//! - Errors: other dtypes; an `approximate` that is neither "none" nor "tanh".
//! - Source: torch.nn.functional.gelu, PyTorch 2.15; D. Hendrycks and K. Gimpel, Gaussian Error Linear Units (2016).

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

use crate::kernels::activations::{Gelu as Exact, GeluByTanh, GeluByTanhSlope, GeluSlope};
use crate::ops::prelude::*;
use crate::samples::differences::DIED;

operator! {
    home = crate::home_of(register);
    /// Elements times the part of a normal distribution that lies below them.
    pub Gelu = "aten::gelu(Tensor self, *, str approximate=\"none\") -> Tensor", in_place, out, method;
    pub GeluBackward = "aten::gelu_backward(Tensor grad_output, Tensor self, *, str approximate=\"none\") -> Tensor", out("grad_input", grad_input);
}

/// Kind, shape rule and `out` rule, for everybody.
pub const GELU: Family<Gelu> = Family::new(Gelu, &kind::POINTWISE_UNARY, shape).same_dtype_out();

/// Kind, shape rule and `out` rule, for everybody.
pub const GELU_BACKWARD: Family<GeluBackward> =
    Family::new(GeluBackward, &kind::POINTWISE_BINARY, backward_shape);

pub(super) fn register(library: &mut Library) {
    library.family(&GELU).cpu(cpu).derivative(|d, (input, approximate)| {
        let approximate = approximate.to_owned();
        d.by(input, [input], move |grad, [x]| GeluBackward.call(grad, x, &approximate))
    });
    library.family(&GELU_BACKWARD).cpu(backward_cpu).derivative(|d, (grad_output, input, approximate)| {
        let (first, second) = (approximate.to_owned(), approximate.to_owned());
        d.by(grad_output, [input], move |grad, [x]| GeluBackward.call(grad, x, &first))?;
        d.by(input, [grad_output, input], move |grad, [before, x]| {
            let curve = if second == "tanh" { approximate_curve(x)? } else { exact_curve(x)? };
            grad * (before * curve)?
        })
    });
}

pub(super) fn samples(samples: &mut Samples) {
    let inputs = |dtype| make::and_named(make::unary(dtype), "approximate", "tanh");
    samples
        .of(Gelu, FLOATS, inputs, |it| {
            let function = if is_exact(&it.value::<String>("approximate")?)? { gelu } else { by_tanh };
            it.unary(DTypeRule::Promoted, |x| number::float_by(x, function))
        })
        .tolerance(16.0)
        .refuses("expected \"none\" or \"tanh\"", {
            given(make::numbers(DType::F32, &[2], 0)).named("approximate", "erf")
        });
    let pairs = |dtype| make::and_named(activation::pairs(dtype), "approximate", "tanh");
    samples
        .of(GeluBackward, FLOATS, pairs, |it| {
            let function = if is_exact(&it.value::<String>("approximate")?)? { gelu } else { by_tanh };
            // The slope by a difference, whose error is of the order of the fourth power of the step.
            activation::of_two(it, ["grad_output", "self"], |grad, x| {
                let step = 1e-3;
                let difference = |step: f64| (function(x + step) - function(x - step)) / (2.0 * step);
                grad * (4.0 * difference(step) - difference(2.0 * step)) / 3.0
            })
        })
        .tolerance(1e5);
    samples.differs(
        Gelu,
        Difference {
            id: "gelu-of-infinity",
            what: "torch multiplies infinity by an error function that its vector code has as NaN; here gelu of \
                   infinity is infinite",
            why: "the mathematical result",
            test: ("opgrid-tensor/tests/differences/numbers.rs", "results_that_are_not_finite"),
            when: |seen| seen.each(|(_, ours, torch)| !torch.is_finite() && (!ours.is_finite() || ours.re == 0.0)),
            directed: Some(Directed { operator: "aten::gelu", arguments: || vec![("self", Operand::rows(0, DType::F32, &[16], &[f64::INFINITY; 16]).into())], needs: Some("avx512f") }),
        },
    );
    samples.rounds(Gelu, Roundings::all(Rounding::Sum(16)));
    samples.rounds(GeluBackward, Roundings::all(Rounding::Sum(16)));
    samples.differs(
        Gelu,
        Difference {
            id: "gelu-is-written-to-outputs-of-any-strides",
            what: "torch's library for neural networks does not write outputs of other strides than the input's; here they are \
                   written",
            why: "the answer does not depend on the layout",
            test: ("opgrid-tensor/tests/differences/layouts.rs", "results_do_not_depend_on_the_layout"),
            when: |seen| {
                let (Some(input), Some(out)) = (seen.tensor("self"), seen.out()) else { return false };
                input.geometry.strides() != out.geometry.strides()
                    && seen.each(|(_, _, torch)| out.elements.contains(torch))
            },
            directed: None,
        },
    );
    samples.differs(GeluBackward, Difference {
            id: "slopes-of-gelu-of-any-strides",
            what: "torch's library for neural networks refuses gradients of some strides and dtypes, or dies of them; here they are \
                   converted, and lie as they do",
            why: "the answer does not depend on the layout",
            test: ("opgrid-tensor/tests/differences/computed.rs", "what_torch_refuses_by_accident_is_computed"),
            when: |seen| seen.torch_refuses("could not create a primitive") || seen.torch_refuses("could not construct a memory descriptor") || seen.torch_refuses("itensor_view_from_dense expects float") || seen.torch_refuses(DIED),
            directed: Some(Directed { operator: "aten::gelu_backward", arguments: || vec![("grad_output", Operand::rows(0, DType::I64, &[2], &[1.0, 2.0]).into()), ("self", Operand::rows(1, DType::F32, &[2], &[0.5, 1.0]).into())], needs: None }),
        });
}

fn gelu(x: f64) -> f64 {
    0.5 * x * libm::erfc(-x / std::f64::consts::SQRT_2)
}

fn by_tanh(x: f64) -> f64 {
    0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh())
}

/// # Errors
///
/// The name of no way to compute.
fn is_exact(approximate: &str) -> Result<bool> {
    match approximate {
        "none" => Ok(true),
        "tanh" => Ok(false),
        other => {
            Err(argument(format!("argument `approximate` is \"{other}\", expected \"none\" or \"tanh\"")))
        }
    }
}

fn shape(input: &Tensor, approximate: &str) -> Result<TensorSpec> {
    is_exact(approximate)?;
    pointwise::float_unary(input)
}

fn backward_shape(grad: &Tensor, input: &Tensor, approximate: &str) -> Result<TensorSpec> {
    is_exact(approximate)?;
    activation::slope(("grad_output", grad), ("self", input))
}

fn cpu(input: &Tensor, approximate: &str, out: &Tensor) -> Result<()> {
    let is_exact = is_exact(approximate)?;
    with_dtype!(input.dtype(), T: Float => match is_exact {
        true => elementwise::unary_by::<T, T>(out, input, Exact),
        false => elementwise::unary_by::<T, T>(out, input, GeluByTanh),
    })
}

fn backward_cpu(grad: &Tensor, input: &Tensor, approximate: &str, out: &Tensor) -> Result<()> {
    let is_exact = is_exact(approximate)?;
    with_dtype!(result_type(&[grad, input])?, T: Float => match is_exact {
        true => elementwise::binary_by::<T, T, T>(out, grad, input, GeluSlope),
        false => elementwise::binary_by::<T, T, T>(out, grad, input, GeluByTanhSlope),
    })
}

/// The slope of the slope: `(2 - x ^ 2) * e ^ (-x ^ 2 / 2) / sqrt(2 * pi)`.
fn exact_curve(x: &Tensor) -> Result<Tensor> {
    let square = (x * x)?;
    let density = ((&square * -0.5)?.exp()? * (0.5 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2))?;
    density * (2 - square)?
}

/// The slope of the slope of `x / 2 * (1 + t)`, where `t` is the hyperbolic tangent of `u = k * (x + 0.044715 * x ^ 3)`:
/// `(1 - t ^ 2) * (u' + x / 2 * (u'' - 2 * t * u' ^ 2))`.
fn approximate_curve(x: &Tensor) -> Result<Tensor> {
    const K: f64 = FRAC_2_SQRT_PI * FRAC_1_SQRT_2;
    const CUBE: f64 = 0.044_715;
    let square = (x * x)?;
    let tanh = ((((&square * CUBE)? + 1)? * x)? * K)?.tanh()?;
    let first = (((square * (3.0 * CUBE))? + 1)? * K)?;
    let second = (x * (6.0 * CUBE * K))?;
    let bend = (second - ((&tanh * (&first * &first)?)? * 2)?)?;
    (1 - (&tanh * &tanh)?)? * (first + ((bend * x)? * 0.5)?)?
}
