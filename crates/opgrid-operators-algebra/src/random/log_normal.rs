//! `aten::log_normal_`: sets every element to a random number of a log-normal distribution.
//!
//! `self[i] = e ^ (mean + std * n)`, with normal numbers `n` of mean 0 and deviation 1
//!
//! - Dtypes: floating-point ones; numbers are drawn in double precision.
//! - Random numbers: those of `generator` or of the stream of [`manual_seed`](opgrid_tensor::manual_seed), in the order in which
//!   elements lie in memory.
//! - Aliasing: `log_normal` gives a new tensor, `log_normal_` writes `self`, `log_normal.out` writes `out`.
//! - Errors: other dtypes; a `std` that is not above zero; an `out` of another dtype.
//! - Source: torch.Tensor.log_normal_, PyTorch 2.15.

use opgrid_core::Generator;

use crate::kinds::draws;
use crate::prelude::*;

pub use opgrid_tensor::ops::random::log_normal::*;

/// The family of `aten::log_normal`: its kind, shape rule and `out` rule.
pub const LOG_NORMAL: Family<LogNormal> = Family::new(LogNormal, &kind::RANDOM, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&LOG_NORMAL).cpu(cpu);
}

fn shape(input: &Tensor, _mean: f64, std: f64, _generator: Option<&Generator>) -> Result<TensorSpec> {
    draws::check_positive("std", std)?;
    draws::like_floats(input)
}

fn cpu(_input: &Tensor, mean: f64, std: f64, generator: Option<&Generator>, out: &Tensor) -> Result<()> {
    draws::fill(out, generator, |random| (random.normal() * std + mean).exp())
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        draws::samples::collect(
            samples,
            (LogNormal, LogNormalInplace),
            INEXACT.split_at(4).0,
            |dtype| draws::samples::tensors(dtype, |sample| sample.and(0.0).and(0.25)),
            |_| {
                let variance: f64 = 0.0625;
                let mean = (variance / 2.0).exp();
                let deviation = mean * variance.exp_m1().sqrt();
                Ok(Distribution { least: 0.0, most: f64::INFINITY, mean, deviation })
            },
        );
        samples.rounds(LogNormal, Roundings::all(Rounding::Result(32)));
    }
}
