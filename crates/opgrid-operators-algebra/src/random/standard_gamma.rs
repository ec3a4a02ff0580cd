//! `aten::_standard_gamma`: random numbers of gamma distributions of scale one, and their derivative by the shape parameter.
//!
//! `out[i]` has the density `x ^ (a - 1) * exp(-x) / gamma(a)` with `a = self[i]`
//!
//! - Shapes: that of `self`; the result is row-major. `self` and `output` of `_standard_gamma_grad` broadcast.
//! - Dtypes: float32 and float64; numbers are drawn in double precision.
//! - Values: at least the smallest normal number of the dtype, so that logarithms are finite; NaN for a negative `a`.
//! - Random numbers: those of `generator` or of the stream of [`manual_seed`](opgrid_tensor::manual_seed), in the order of the elements.
//! - Aliasing: the overloads `out` write `out`.
//! - Derivative: of a sample, that which keeps its share of the distribution, which `_standard_gamma_grad` computes; that one has none.
//! - Errors: other dtypes; an `out` of another dtype.
//! - Source: torch._standard_gamma, PyTorch 2.15, whose derivative has three to six digits, and ours nine.

use opgrid_core::Generator;

use crate::kinds::draws;
use crate::prelude::*;
use opgrid_kernels::distributions;
use opgrid_tensor::tensor::{Element, finfo};

pub use opgrid_tensor::ops::random::standard_gamma::*;

/// The family of `aten::_standard_gamma`: its kind, shape rule and `out` rule.
pub const STANDARD_GAMMA: Family<StandardGamma> =
    Family::new(StandardGamma, &kind::RANDOM, shape).same_dtype_out();

/// The family of `aten::_standard_gamma_grad`: its kind, shape rule and `out` rule.
pub const STANDARD_GAMMA_GRAD: Family<StandardGammaGrad> =
    Family::new(StandardGammaGrad, &kind::POINTWISE_BINARY, |a, x| {
        draws::float_elements([("self", a), ("output", x)])
    });

pub(super) fn register(library: &mut Library) {
    library.family(&STANDARD_GAMMA).cpu(cpu).derivative(|d, (a, _)| {
        d.by(a, [a, d.result(0)], |grad, [a, x]| grad * StandardGammaGrad.call(a, x)?)
    });
    library.family(&STANDARD_GAMMA_GRAD).cpu(|a, x, out| {
        with_dtype!(out.dtype(), T: Float => {
            elementwise::binary::<T, T, T>(out, a, x, |a, x| {
                opgrid_special::standard_gamma_gradient(a.cast(), x.cast()).cast()
            })
        })
    });
}

fn shape(a: &Tensor, _generator: Option<&Generator>) -> Result<TensorSpec> {
    draws::check_double_or_single("self", a)?;
    draws::row_major(a)
}

fn cpu(a: &Tensor, generator: Option<&Generator>, out: &Tensor) -> Result<()> {
    let least = finfo(out.dtype())?.smallest_normal;
    // The larger one of NaN and a number would be the number.
    let at_least = |x: f64| if x < least { least } else { x };
    draws::fill_by(out, generator, draws::in_order_of(out, a)?, |random, a| {
        at_least(distributions::standard_gamma(random, a))
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    const DTYPES: &[DType] = &[DType::F32, DType::F64];

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| -> Vec<Sample> {
            let of = |a: f64| {
                [&[2000][..], &[40, 50], &[0], &[]]
                    .map(|sizes| given(Plain::from_elements(dtype, sizes, &[a])))
            };
            [of(0.5), of(4.0)].into_iter().flatten().collect()
        };
        samples
            .operator_with(StandardGamma, DTYPES, inputs, |it| {
                let x = it.tensor("self")?;
                let mean = x.elements().first().map_or(1.0, |a| a.to_complex().re);
                let spread = Distribution { least: 0.0, most: f64::INFINITY, mean, deviation: mean.sqrt() };
                Ok(Expected::Random(x.sizes().to_vec(), x.dtype(), spread))
            })
            // The derivative is that of the distribution, not of what is drawn from one state of a generator.
            .constant(&["self", ""]);
        samples
            .operator(StandardGammaGrad, DTYPES, at_samples, |it| {
                it.binary(DTypeRule::Promoted, |a, x| {
                    Scalar::Float(by_differences(a.to_complex().re, x.to_complex().re))
                })
            })
            .tolerance(1e7);
        samples.differs(StandardGamma, SHAPES_ARE_POSITIVE);
        samples.differs_as(StandardGammaGrad, &[SHAPES_ARE_POSITIVE, GRADIENTS_KEEP_THEIR_DIGITS]);
    }

    /// Differences for distributions whose shape is no positive number.
    pub(crate) const SHAPES_ARE_POSITIVE: Difference = Difference {
        id: "shapes-of-distributions-are-positive",
        what: "torch draws from gamma and Dirichlet distributions whose shapes are not positive numbers, which gives the \
             smallest number and moves the generator, and has gradients there; here these are NaN",
        why: "there is no such distribution",
        test: ("opgrid-operators/tests/all/differences/kernels.rs", "distributions_have_positive_shapes"),
        when: |seen| {
            let is_strange = |x: &Complex64| x.re.is_nan() || x.re <= 0.0 || x.re.is_infinite();
            let has_strange = |input: &&Operand| input.elements.iter().any(is_strange);
            let [x, a, total] = ["x", "alpha", "total"].map(|name| seen.elements_of(name));
            // A share of one or more, or a sum of shapes that is less than one of them.
            let most = |of: &[Complex64]| of.iter().map(|x| x.re).fold(f64::NEG_INFINITY, f64::max);
            let least = total.iter().map(|x| x.re).fold(f64::INFINITY, f64::min);
            let is_outside = most(&x) >= 1.0 || least <= most(&a);
            !seen.elements.is_empty() && (seen.inputs().iter().any(has_strange) || is_outside)
        },
        directed: None,
    };

    /// Differences for gradients of what is drawn.
    pub(crate) const GRADIENTS_KEEP_THEIR_DIGITS: Difference = Difference {
        id: "gradients-of-draws-keep-their-digits",
        what: "torch approximates the derivatives of gamma and Dirichlet distributions by their shapes with errors of up to \
             a thousandth, and in the `out` form for float32 only; here they are right to a few units of double precision",
        why: "the mathematical result",
        test: ("opgrid-operators/tests/all/differences/kernels.rs", "distributions_have_positive_shapes"),
        when: |seen| {
            let is_near = |ours: f64, torch: f64| (ours - torch).abs() <= 2e-3 * ours.abs().max(torch.abs());
            seen.each(|(_, ours, torch)| is_near(ours.re, torch.re))
                || seen.torch_refuses("Found dtype Double")
        },
        directed: None,
    };

    fn at_samples(dtype: DType) -> Vec<Sample> {
        let a = |sizes: &[i64]| Plain::from_elements(dtype, sizes, &[0.5, 1.0, 3.0, 8.0, 2.25]);
        let x = |sizes: &[i64]| Plain::from_elements(dtype, sizes, &[0.25, 1.5, 2.0, 3.0, 2.5, 0.5, 0.0]);
        let shapes: [[&[i64]; 2]; 5] =
            [[&[7], &[7]], [&[5, 1], &[7]], [&[], &[7]], [&[5], &[]], [&[0], &[1]]];
        shapes.map(|[left, right]| given(a(left)).and(x(right))).to_vec()
    }

    /// The derivative by differences of the distribution, divided by the density.
    fn by_differences(a: f64, x: f64) -> f64 {
        const STEP: f64 = 1e-3;
        if x == 0.0 {
            return 0.0;
        }
        let share = |a: f64| gamma_share(a, x);
        let near = (share(a + STEP) - share(a - STEP)) / (2.0 * STEP);
        let far = (share(a + 2.0 * STEP) - share(a - 2.0 * STEP)) / (4.0 * STEP);
        let density = ((a - 1.0) * x.ln() - x - libm::lgamma(a)).exp();
        -((4.0 * near - far) / 3.0) / density
    }

    /// The share of the gamma distribution of shape `a` below `x`, by its power series.
    fn gamma_share(a: f64, x: f64) -> f64 {
        let (mut term, mut sum, mut k) = (1.0, 1.0, a);
        while term > 1e-18 * sum {
            k += 1.0;
            term *= x / k;
            sum += term;
        }
        sum * (a * x.ln() - x - libm::lgamma(a + 1.0)).exp()
    }
}
