//! `aten::gelu`: elements times the part of a normal distribution that lies below them.
//!
//! `out[i] = self[i] * (1 + erf(self[i] / sqrt(2))) / 2`, with `approximate="tanh"`
//! `self[i] * (1 + tanh(sqrt(2 / pi) * (self[i] + 0.044715 self[i]^3))) / 2`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones.
//! - Aliasing: `gelu_` writes `self`, `gelu.out` writes `out`, which has the dtype of `self`.
//! - Errors: other dtypes; an `approximate` that is neither "none" nor "tanh".
//! - Source: torch.nn.functional.gelu, PyTorch 2.15; D. Hendrycks and K. Gimpel, Gaussian Error Linear Units (2016).

use crate::prelude::*;
use opgrid_kernels::activations::{Gelu as Exact, GeluByTanh};
use opgrid_tensor::ops::GeluBackward;

pub use opgrid_tensor::ops::activations::gelu::*;

/// The family of `aten::gelu`: its kind, shape rule and `out` rule.
pub const GELU: Family<Gelu> = Family::new(Gelu, &kind::POINTWISE_UNARY, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&GELU).cpu(cpu).derivative(|d, (input, approximate)| {
        let approximate = approximate.to_owned();
        d.by(input, [input], move |grad, [x]| GeluBackward.call(grad, x, &approximate))
    });
}

fn shape(input: &Tensor, approximate: &str) -> Result<TensorSpec> {
    activation::is_exact(approximate)?;
    pointwise::float_unary(input)
}

fn cpu(input: &Tensor, approximate: &str, out: &Tensor) -> Result<()> {
    let is_exact = activation::is_exact(approximate)?;
    with_dtype!(input.dtype(), T: Float => if is_exact {
        elementwise::unary_by::<T, T>(out, input, Exact)
    } else {
        elementwise::unary_by::<T, T>(out, input, GeluByTanh)
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| generate::and_named(generate::unary(dtype), "approximate", "tanh");
        samples
            .operator(Gelu, FLOATS, inputs, |it| {
                let function = activation::samples::gelu(it)?;
                it.unary(DTypeRule::Promoted, |x| number::float_by(x, function))
            })
            .tolerance(16.0)
            .refuses("expected \"none\" or \"tanh\"", {
                given(generate::numbers(DType::F32, &[2], 0)).named("approximate", "erf")
            });
        samples.differs(
            Gelu,
            Difference {
                id: "gelu-of-infinity",
                what: "torch multiplies infinity by an error function that its vectorized code computes \
                     as NaN or zero; here gelu of infinity is infinity, and of minus infinity zero",
                why: "the mathematical result",
                test: ("opgrid-operators/tests/all/differences/numbers.rs", "results_that_are_not_finite"),
                when: |seen| {
                    seen.each(|(_, ours, torch)| !torch.is_finite() && (!ours.is_finite() || ours.re == 0.0))
                },
                directed: Some(Directed {
                    operator: "aten::gelu",
                    arguments: || {
                        vec![("self", Operand::rows(0, DType::F32, &[16], &[f64::INFINITY; 16]).into())]
                    },
                    needs: Some("avx512f"),
                }),
            },
        );
        samples.rounds(Gelu, Roundings::all(Rounding::Sum(16)));
        samples.differs(
            Gelu,
            Difference {
                id: "gelu-is-written-to-outputs-of-any-strides",
                what: "torch's neural network library does not write outputs whose strides differ from \
                     the input's; here they are written",
                why: "results must not depend on strides",
                test: (
                    "opgrid-operators/tests/all/differences/layouts.rs",
                    "results_do_not_depend_on_the_layout",
                ),
                when: |seen| {
                    let (Some(input), Some(out)) = (seen.tensor("self"), seen.out()) else { return false };
                    input.geometry.strides() != out.geometry.strides()
                        && seen.each(|(_, _, torch)| out.elements.contains(torch))
                },
                directed: None,
            },
        );
    }
}
