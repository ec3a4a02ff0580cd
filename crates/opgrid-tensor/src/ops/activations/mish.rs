//! `aten::mish`: elements times the hyperbolic tangent of their softplus.
//!
//! `out[i] = self[i] * tanh(ln(1 + e ^ self[i]))`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones.
//! - Aliasing: `mish_` writes `self`, `mish.out` writes `out`, which has the dtype of `self`.
//! - Errors: other dtypes.
//! - Source: torch.nn.functional.mish, PyTorch 2.15; D. Misra, Mish: A Self Regularized Non-Monotonic Activation Function (2019).

use crate::kernels::activations;
use crate::ops::Softplus;
use crate::ops::prelude::*;

operator! {
    home = crate::home_of(register);
    /// Elements times the hyperbolic tangent of their softplus.
    pub Mish = "aten::mish(Tensor self) -> Tensor", in_place, out, method;
}

/// Kind, shape rule and `out` rule, for everybody.
pub const MISH: Family<Mish> =
    Family::new(Mish, &kind::POINTWISE_UNARY, pointwise::float_unary).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&MISH).cpu(cpu).derivative(|d, (input,)| {
        d.by(input, [input], |grad, [x]| {
            let gate = Softplus.call(x, Scalar::Int(1), Scalar::Int(20))?.tanh()?;
            let slope = ((x * x.sigmoid()?)? * (1 - (&gate * &gate)?)?)?;
            grad * (slope + gate)?
        })
    });
}

pub(super) fn samples(samples: &mut Samples) {
    activation::samples(samples, Mish, |x| x * x.exp().ln_1p().tanh()).tolerance(16.0);
    samples.rounds(Mish, pointwise::ELEMENTARY);
    samples.differs(
        Mish,
        Difference {
            id: "mish-of-the-smallest-numbers",
            what: "torch loses digits of the smallest numbers in vectors; here they keep their digits",
            why: "the slope at zero is not zero",
            test: ("opgrid-tensor/tests/differences/layouts.rs", "results_do_not_depend_on_the_layout"),
            when: |seen| {
                seen.each(|(_, ours, torch)| {
                    ours.norm() < 1e-36 && (ours - torch).norm() <= 1e-4 * ours.norm() + 2e-43
                })
            },
            directed: None,
        },
    );
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T: Float => elementwise::unary_by::<T, T>(out, input, activations::Mish))
}
