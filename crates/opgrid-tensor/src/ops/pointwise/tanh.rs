//! `aten::tanh`: the hyperbolic tangent.
//!
//! `out[i] = (e ^ self[i] - e ^ -self[i]) / (e ^ self[i] + e ^ -self[i])`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point and complex ones stay what they are; integers and bools give the default dtype.
//! - Aliasing: `tanh_` writes `self`, `tanh.out` writes `out`.
//! - Errors: `tanh_` of integers and bools.
//! - Source: torch.tanh, PyTorch 2.15.

use crate::kernels::math::Conjugate;
use crate::ops::prelude::*;

operator! {
    home = crate::home_of(register);
    /// The hyperbolic tangent.
    pub Tanh = "aten::tanh(Tensor self) -> Tensor", in_place, out, method;
    /// The slope of [`Tanh`] by its result, times what stands in front of it; complex slopes are conjugated.
    pub TanhBackward = "aten::tanh_backward(Tensor grad_output, Tensor output) -> Tensor", out("grad_input", grad_input);
}

/// Kind, shape rule and `out` rule, for everybody.
pub const TANH: Family<Tanh> = Family::new(Tanh, &kind::POINTWISE_UNARY, pointwise::inexact_unary);

/// Kind, shape rule and `out` rule, for everybody.
pub const TANH_BACKWARD: Family<TanhBackward> =
    Family::new(TanhBackward, &kind::POINTWISE_BINARY, backward_shape);

pub(super) fn register(library: &mut Library) {
    library
        .family(&TANH)
        .cpu(cpu)
        .derivative(|d, (input,)| d.by(input, [d.result(0)], |grad, [out]| TanhBackward.call(grad, out)));
    library.family(&TANH_BACKWARD).cpu(backward_cpu).derivative(|d, (grad_output, output)| {
        d.by(grad_output, [output], |grad, [out]| TanhBackward.call(grad, &derivatives::conjugate(out)?))?;
        d.by(output, [grad_output, output], |grad, [before, out]| {
            let conjugate = derivatives::conjugate(out)?;
            derivatives::conjugate(grad)?.mul(&(before * (&conjugate * -2)?)?)
        })
    });
}

pub(super) fn samples(samples: &mut Samples) {
    samples.inexact(Tanh, f64::tanh, complex).tolerance(8.0);
    samples.differs(Tanh, math::NOT_FINITE);
    // Polynomials here, vector libraries there: one or two units in the last place each.
    samples.rounds(Tanh, Roundings::all(Rounding::Result(4)));
    let pairs = |dtype| make::computed_in(INEXACT, dtype, make::pairs_to_divide(dtype));
    samples
        .of(TanhBackward, INEXACT, pairs, |it| {
            it.binary(DTypeRule::Promoted, |grad, y| {
                let (grad, y) = (grad.to_complex(), y.to_complex());
                Scalar::Complex(grad * (1.0 - y * y).conj())
            })
        })
        .tolerance(16.0);
    samples.differs_as(TanhBackward, &[arithmetic::SIGN_OF_ZERO, math::NOT_FINITE]);
    samples.rounds(TanhBackward, Roundings::all(Rounding::Sum(8)).complex(Rounding::Result(64)));
}

/// Real numbers stay real, NaN as well.
fn complex(x: Complex64) -> Complex64 {
    if x.im == 0.0 { Complex64::new(x.re.tanh(), x.im) } else { x.tanh() }
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(inexact(input.dtype()), T: Inexact => elementwise::unary_by::<T, T>(out, input, math::HyperbolicTangent))
}

fn backward_shape(grad: &Tensor, output: &Tensor) -> Result<TensorSpec> {
    let spec = pointwise::promoted([("grad_output", grad), ("output", output)])?;
    pointwise::check_inexact(spec.dtype()).map(|()| spec)
}

fn backward_cpu(grad: &Tensor, output: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(result_type(&[grad, output])?, T: Inexact => {
        elementwise::binary::<T, T, T>(out, grad, output, |grad, output| {
            let one = Math::<T>::ONE;
            grad.times(one.minus(output.times(output)).conjugate())
        })
    })
}
