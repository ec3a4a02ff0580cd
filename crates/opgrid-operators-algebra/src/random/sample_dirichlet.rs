//! `aten::_sample_dirichlet`: random numbers of Dirichlet distributions, and their derivative by the parameters.
//!
//! `out[…, :]` are numbers of gamma distributions of the shapes `self[…, :]`, divided by their sum
//!
//! - Shapes: that of `self`, whose last dimension is one distribution; the result is row-major. `_dirichlet_grad` broadcasts.
//! - Dtypes: float32 and float64; numbers are drawn in double precision.
//! - Values: at least the smallest normal number of the dtype. Where all of `self` are zero, all elements are equal.
//! - Random numbers: those of `generator` or of the stream of [`manual_seed`](opgrid_tensor::manual_seed), in the order of the elements.
//! - Aliasing: the overloads `out` write `out`.
//! - Derivative: with its own parameter, an element grows by `1 - x` times what `_dirichlet_grad` gives, and the others shrink in proportion. torch has
//!   this derivative in `torch.distributions` only.
//! - Errors: other dtypes; an `out` of another dtype.
//! - Source: torch._sample_dirichlet, PyTorch 2.15.

use opgrid_core::Generator;

use crate::kinds::draws;
use crate::prelude::*;
use opgrid_kernels::distributions;
use opgrid_tensor::tensor::{Element, finfo};

pub use opgrid_tensor::ops::random::sample_dirichlet::*;

/// The family of `aten::_sample_dirichlet`: its kind, shape rule and `out` rule.
pub const SAMPLE_DIRICHLET: Family<SampleDirichlet> =
    Family::new(SampleDirichlet, &kind::RANDOM, shape).same_dtype_out();

/// The family of `aten::_dirichlet_grad`: its kind, shape rule and `out` rule.
pub const DIRICHLET_GRAD: Family<DirichletGrad> =
    Family::new(DirichletGrad, &kind::POINTWISE_TERNARY, |x, alpha, total| {
        draws::float_elements([("x", x), ("alpha", alpha), ("total", total)])
    });

pub(super) fn register(library: &mut Library) {
    library.family(&SAMPLE_DIRICHLET).cpu(cpu).derivative(|d, (alpha, _)| {
        d.by(alpha, [alpha, d.result(0)], |grad, [alpha, x]| {
            if alpha.dim() == 0 {
                return derivatives::zeros(grad);
            }
            let total = alpha.sum_dim([-1], true)?;
            let scaled = (grad * x)?.sum_dim([-1], true)?;
            DirichletGrad.call(x, alpha, &total)? * (grad - scaled)?
        })
    });
    library.family(&DIRICHLET_GRAD).cpu(|x, alpha, total, out| {
        with_dtype!(out.dtype(), T: Float => {
            elementwise::ternary::<T, T, T, T>(out, x, alpha, total, |x, alpha, total| {
                opgrid_special::dirichlet_gradient(x.cast(), alpha.cast(), total.cast()).cast()
            })
        })
    });
}

fn shape(alpha: &Tensor, _generator: Option<&Generator>) -> Result<TensorSpec> {
    draws::check_double_or_single("self", alpha)?;
    draws::row_major(alpha)
}

fn cpu(alpha: &Tensor, generator: Option<&Generator>, out: &Tensor) -> Result<()> {
    let length = alpha.sizes().last().map_or(1, |size| *size as usize);
    let limits = finfo(out.dtype())?;
    let alphas = draws::in_order_of(out, alpha)?;
    let mut numbers = opgrid_kernels::random::draw(generator, |random| {
        alphas.iter().map(|a| distributions::standard_gamma(random, *a)).collect::<Vec<f64>>()
    })?;
    for line in numbers.chunks_mut(length.max(1)) {
        let sum: f64 = line.iter().sum();
        let count = line.len() as f64;
        for number in line {
            let share = if sum == 0.0 { 1.0 / count } else { *number / sum };
            // A share of NaN stays.
            *number = if share < limits.smallest_normal { limits.smallest_normal } else { share };
        }
    }
    let numbers = opgrid_tensor::tensor::Array::from_slice(&numbers, &[out.numel()])?;
    elementwise::copy(out, &numbers.view(opgrid_kernels::random::order(out.spec()?)?)?)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::random::standard_gamma::samples::{GRADIENTS_KEEP_THEIR_DIGITS, SHAPES_ARE_POSITIVE};
    use opgrid_samples::prelude::*;

    const DTYPES: &[DType] = &[DType::F32, DType::F64];

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| -> Vec<Sample> {
            let of = |sizes: &[i64], a: f64| given(Plain::from_elements(dtype, sizes, &[a]));
            vec![of(&[1000, 4], 0.5), of(&[20, 50, 4], 3.0), of(&[0, 4], 1.0)]
        };
        samples
            .operator_with(SampleDirichlet, DTYPES, inputs, |it| {
                let x = it.tensor("self")?;
                let a = x.elements().first().map_or(1.0, |a| a.to_complex().re);
                let deviation = (0.25 * 0.75 / (4.0 * a + 1.0)).sqrt();
                let spread = Distribution { least: 0.0, most: 1.0, mean: 0.25, deviation };
                Ok(Expected::Random(x.sizes().to_vec(), x.dtype(), spread))
            })
            // As of `_standard_gamma`.
            .constant(&["self", ""]);
        samples
            .operator(DirichletGrad, DTYPES, at_samples, |it| {
                it.ternary(DTypeRule::Promoted, |x, alpha, total| {
                    let [x, alpha, total] = [x, alpha, total].map(|number| number.to_complex().re);
                    Scalar::Float(by_differences(x, alpha, total - alpha))
                })
            })
            .tolerance(1e7);
        samples.differs(SampleDirichlet, SHAPES_ARE_POSITIVE);
        samples.differs_as(DirichletGrad, &[SHAPES_ARE_POSITIVE, GRADIENTS_KEEP_THEIR_DIGITS]);
    }

    fn at_samples(dtype: DType) -> Vec<Sample> {
        let x = |sizes: &[i64]| Plain::from_elements(dtype, sizes, &[0.25, 0.5, 0.75, 0.125]);
        let alpha = |sizes: &[i64]| Plain::from_elements(dtype, sizes, &[2.0, 1.0, 1.5]);
        let total = |sizes: &[i64]| Plain::from_elements(dtype, sizes, &[4.0, 3.5]);
        let shapes: [[&[i64]; 3]; 4] =
            [[&[4], &[3, 1], &[4]], [&[2, 4], &[], &[2, 1]], [&[], &[], &[]], [&[0], &[1], &[]]];
        shapes.map(|[a, b, c]| given(x(a)).and(alpha(b)).and(total(c))).to_vec()
    }

    /// The derivative by differences of the beta distribution, divided by its density and by `1 - x`.
    fn by_differences(x: f64, a: f64, b: f64) -> f64 {
        const STEP: f64 = 1e-3;
        let slope = |step: f64| (beta_share(x, a + step, b) - beta_share(x, a - step, b)) / (2.0 * step);
        let change = (4.0 * slope(STEP) - slope(2.0 * STEP)) / 3.0;
        let density = ((a - 1.0) * x.ln() + (b - 1.0) * (1.0 - x).ln() - log_beta(a, b)).exp();
        -change / density / (1.0 - x)
    }

    fn log_beta(a: f64, b: f64) -> f64 {
        libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b)
    }

    /// The share of the beta distribution below `x`, by the power series of the hypergeometric function.
    fn beta_share(x: f64, a: f64, b: f64) -> f64 {
        let (mut term, mut sum) = (1.0, 1.0);
        for k in 0..2000 {
            let k = f64::from(k);
            term *= (a + b + k) / (a + 1.0 + k) * x;
            sum += term;
            if term < 1e-18 * sum {
                break;
            }
        }
        sum * (a * x.ln() + b * (1.0 - x).ln() - log_beta(a, b)).exp() / a
    }
}
