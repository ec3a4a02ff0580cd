//! `aten::sigmoid`: the logistic function.
//!
//! `out[i] = 1 / (1 + e ^ -self[i])`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point and complex ones stay what they are; integers and bools give the default dtype.
//! - Aliasing: `sigmoid_` writes `self`, `sigmoid.out` writes `out`.
//! - Errors: `sigmoid_` of integers and bools.
//! - Source: torch.sigmoid, PyTorch 2.15.

use crate::kernels::math::Conjugate;
use crate::ops::prelude::*;

operator! {
    home = crate::home_of(register);
    /// The logistic function.
    pub Sigmoid = "aten::sigmoid(Tensor self) -> Tensor", in_place, out, method;
    /// The slope of [`Sigmoid`] by its result, times what stands in front of it; complex slopes are conjugated.
    pub SigmoidBackward = "aten::sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor", out("grad_input", grad_input);
}

/// Kind, shape rule and `out` rule, for everybody.
pub const SIGMOID: Family<Sigmoid> = Family::new(Sigmoid, &kind::POINTWISE_UNARY, pointwise::inexact_unary);

/// Kind, shape rule and `out` rule, for everybody.
pub const SIGMOID_BACKWARD: Family<SigmoidBackward> =
    Family::new(SigmoidBackward, &kind::POINTWISE_BINARY, backward_shape);

pub(super) fn register(library: &mut Library) {
    library
        .family(&SIGMOID)
        .cpu(cpu)
        .derivative(|d, (input,)| d.by(input, [d.result(0)], |grad, [out]| SigmoidBackward.call(grad, out)));
    library.family(&SIGMOID_BACKWARD).cpu(backward_cpu).derivative(|d, (grad_output, output)| {
        d.by(grad_output, [output], |grad, [out]| SigmoidBackward.call(grad, &derivatives::conjugate(out)?))?;
        d.by(output, [grad_output, output], |grad, [before, out]| {
            let conjugate = derivatives::conjugate(out)?;
            derivatives::conjugate(grad)?.mul(&(before * (1 - (&conjugate * 2)?)?)?)
        })
    });
}

pub(super) fn samples(samples: &mut Samples) {
    samples.inexact(Sigmoid, |x| 1.0 / (1.0 + (-x).exp()), |x| (1.0 + (-x).exp()).inv()).tolerance(8.0);
    samples.differs(Sigmoid, math::SIGMOIDS);
    // Polynomials here, vector libraries there; near its poles the sum below the line loses digits.
    samples.rounds(Sigmoid, Roundings::all(Rounding::Result(4)).complex(Rounding::Result(512)));
    let pairs = |dtype| make::computed_in(INEXACT, dtype, make::pairs_to_divide(dtype));
    samples
        .of(SigmoidBackward, INEXACT, pairs, |it| {
            it.binary(DTypeRule::Promoted, |grad, y| {
                let (grad, y) = (grad.to_complex(), y.to_complex());
                Scalar::Complex(grad * ((1.0 - y) * y).conj())
            })
        })
        .tolerance(16.0);
    samples.differs_as(SigmoidBackward, &[arithmetic::SIGN_OF_ZERO, math::NOT_FINITE, math::IN_RANGE]);
    samples.differs(
        SigmoidBackward,
        Difference {
            id: "slopes-of-sigmoids-beyond-the-range",
            what: "torch multiplies three factors in another order, and those of 16 bits in 16 bits, so that a product may leave \
                   the range on the way in one order and not in the other",
            why: "one of the factors is at the end of the range",
            test: ("opgrid-tensor/tests/differences/numbers.rs", "results_that_are_not_finite"),
            when: |seen| {
                let is_extreme = seen.inputs().iter().any(|input| {
                    let far = if input.dtype == DType::F16 { 255.0 } else { 1e18 };
                    input.elements.iter().any(|x| !x.is_finite() || x.norm() > far)
                });
                let is_such = |(dtype, ours, torch): &differences::Pair| {
                    (dtype.is_complex() || *dtype == DType::F16) && (!ours.is_finite() || !torch.is_finite())
                };
                is_extreme && seen.each(is_such)
            },
            directed: None,
        },
    );
    // A product of three.
    samples.rounds(SigmoidBackward, Roundings::all(Rounding::Near(64)));
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(inexact(input.dtype()), T: Inexact => elementwise::unary_by::<T, T>(out, input, math::Logistic))
}

fn backward_shape(grad: &Tensor, output: &Tensor) -> Result<TensorSpec> {
    let spec = pointwise::promoted([("grad_output", grad), ("output", output)])?;
    pointwise::check_inexact(spec.dtype()).map(|()| spec)
}

fn backward_cpu(grad: &Tensor, output: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(result_type(&[grad, output])?, T: Inexact => {
        elementwise::binary::<T, T, T>(out, grad, output, |grad, output| {
            let one = Math::<T>::ONE;
            grad.times(one.minus(output).conjugate()).times(output.conjugate())
        })
    })
}
