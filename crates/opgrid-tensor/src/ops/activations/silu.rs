//! `aten::silu`: elements times their logistic function; and its slope.
//!
//! `out[i] = self[i] / (1 + e ^ -self[i])`
//!
//! - Shapes: that of `self`; `silu_backward` broadcasts.
//! - Dtypes: floating-point and complex ones; of `silu_backward` promoted, and not conjugated, as in torch.
//! - Aliasing: `silu_` writes `self`, `silu.out` writes `out`, which has the dtype of `self`.
//! - Errors: integers and bools.
//! - Source: torch.nn.functional.silu, PyTorch 2.15; S. Elfwing, E. Uchibe and K. Doya, Sigmoid-Weighted Linear Units for
//!   Neural Network Function Approximation in Reinforcement Learning (2017).

use crate::kernels::activations;
use crate::ops::prelude::*;

operator! {
    home = crate::home_of(register);
    /// Elements times their logistic function.
    pub Silu = "aten::silu(Tensor self) -> Tensor", in_place, out, method;
    pub SiluBackward = "aten::silu_backward(Tensor grad_output, Tensor self) -> Tensor", out("grad_input", grad_input);
}

/// Kind, shape rule and `out` rule, for everybody.
pub const SILU: Family<Silu> = Family::new(Silu, &kind::POINTWISE_UNARY, shape).same_dtype_out();

/// Kind, shape rule and `out` rule, for everybody.
pub const SILU_BACKWARD: Family<SiluBackward> =
    Family::new(SiluBackward, &kind::POINTWISE_BINARY, backward_shape);

pub(super) fn register(library: &mut Library) {
    library.family(&SILU).cpu(cpu).derivative(|d, (input,)| d.by(input, [input], gradient));
    library.family(&SILU_BACKWARD).cpu(backward_cpu).derivative(|d, (grad_output, input)| {
        d.by(grad_output, [input], gradient)?;
        d.by(input, [grad_output, input], |grad, [before, x]| {
            let gate = x.sigmoid()?;
            let rest = (1 - &gate)?;
            let curve = (((&rest - &gate)? * x)? + 2)?;
            derivatives::chained(grad, &(before * ((gate * rest)? * curve)?)?)
        })
    });
}

pub(super) fn samples(samples: &mut Samples) {
    samples
        .unary(Silu, INEXACT, DTypeRule::Promoted, |x| {
            number::inexact(x, |x| x / (1.0 + (-x).exp()), |x| x / (1.0 + (-x).exp()))
        })
        .tolerance(16.0);
    let pairs = |dtype| make::computed_in(INEXACT, dtype, make::pairs_to_divide(dtype));
    samples
        .of(SiluBackward, INEXACT, pairs, |it| {
            it.binary(DTypeRule::Promoted, |grad, x| {
                let (grad, x) = (grad.to_complex(), x.to_complex());
                let sigmoid = (1.0 + (-x).exp()).inv();
                Scalar::Complex(grad * sigmoid * (1.0 + x * (1.0 - sigmoid)))
            })
        })
        .tolerance(32.0);
    samples.differs_as(Silu, &[math::NOT_FINITE, math::IN_RANGE, math::SIGMOIDS]);
    samples.differs_as(SiluBackward, &[math::NOT_FINITE, math::IN_RANGE]);
    samples.rounds(Silu, pointwise::ELEMENTARY);
    // Terms are larger than the inputs near the poles of the complex function.
    samples.rounds(SiluBackward, Roundings::all(Rounding::Sum(16)).complex(Rounding::Products(64)));
}

fn shape(input: &Tensor) -> Result<TensorSpec> {
    pointwise::check_inexact(input.spec()?.dtype())?;
    pointwise::promoted([("self", input)])
}

fn backward_shape(grad: &Tensor, input: &Tensor) -> Result<TensorSpec> {
    let spec = pointwise::promoted([("grad_output", grad), ("self", input)])?;
    pointwise::check_inexact(spec.dtype()).map(|()| spec)
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T: Inexact => {
        elementwise::unary_by::<T, T>(out, input, activations::Silu)
    })
}

fn backward_cpu(grad: &Tensor, input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(result_type(&[grad, input])?, T: Inexact => {
        elementwise::binary::<T, T, T>(out, grad, input, |grad, x| {
            let (one, sigmoid) = (Math::<T>::ONE, Inexact::sigmoid(x));
            grad.times(sigmoid).times(one.plus(x.times(one.minus(sigmoid))))
        })
    })
}

/// The gradient times the conjugate of the slope, which is the slope at the conjugate.
fn gradient(grad: &Tensor, [x]: [&Tensor; 1]) -> Result<Tensor> {
    SiluBackward.call(grad, &derivatives::conjugate(x)?)
}
