//! `aten::cauchy_`: sets every element to a random number of a Cauchy distribution.
//!
//! `self[i] = median + sigma * tan(pi * (u - 1 / 2))`, with numbers `u` that are evenly distributed from 0 to before 1
//!
//! - Dtypes: floating-point ones; numbers are drawn in double precision.
//! - Random numbers: those of `generator` or of the stream of [`manual_seed`](opgrid_tensor::manual_seed), in the order in which
//!   elements lie in memory.
//! - Aliasing: `cauchy` gives a new tensor, `cauchy_` writes `self`, `cauchy.out` writes `out`.
//! - Errors: other dtypes; a `sigma` that is not above zero; an `out` of another dtype.
//! - Source: torch.Tensor.cauchy_, PyTorch 2.15.

use std::f64::consts::PI;

use opgrid_core::Generator;

use crate::kinds::draws;
use crate::prelude::*;

pub use opgrid_tensor::ops::random::cauchy::*;

/// The family of `aten::cauchy`: its kind, shape rule and `out` rule.
pub const CAUCHY: Family<Cauchy> = Family::new(Cauchy, &kind::RANDOM, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&CAUCHY).cpu(cpu);
}

fn shape(input: &Tensor, _median: f64, sigma: f64, _generator: Option<&Generator>) -> Result<TensorSpec> {
    draws::check_positive("sigma", sigma)?;
    draws::like_floats(input)
}

fn cpu(_input: &Tensor, median: f64, sigma: f64, generator: Option<&Generator>, out: &Tensor) -> Result<()> {
    draws::fill(out, generator, |random| median + sigma * (PI * (random.uniform(53) - 0.5)).tan())
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        draws::samples::collect(
            samples,
            (Cauchy, CauchyInplace),
            INEXACT.split_at(4).0,
            |dtype| draws::samples::tensors(dtype, |sample| sample.and(0.0).and(0.001)),
            // Neither a mean nor a deviation is there to be looked at; 16-bit floats have no room for much.
            |_| {
                Ok(Distribution {
                    least: f64::NEG_INFINITY,
                    most: f64::INFINITY,
                    mean: 0.0,
                    deviation: f64::INFINITY,
                })
            },
        );
        samples.rounds(Cauchy, Roundings::all(Rounding::Near(64)));
    }
}
