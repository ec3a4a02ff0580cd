//! `aten::exponential_`: sets every element to a random number of an exponential distribution.
//!
//! `self[i] = -log(1 - u) / lambd`, with numbers `u` that are evenly distributed from 0 to before 1
//!
//! - Dtypes: floating-point ones; numbers are drawn in double precision.
//! - Random numbers: those of `generator` or of the stream of [`manual_seed`](opgrid_tensor::manual_seed), in the order in which
//!   elements lie in memory.
//! - Aliasing: `exponential` gives a new tensor, `exponential_` writes `self`, `exponential.out` writes `out`.
//! - Errors: other dtypes; a `lambd` that is not above zero; an `out` of another dtype.
//! - Source: torch.Tensor.exponential_, PyTorch 2.15.

use opgrid_core::Generator;

use crate::kinds::draws;
use crate::prelude::*;

pub use opgrid_tensor::ops::random::exponential::*;

/// The family of `aten::exponential`: its kind, shape rule and `out` rule.
pub const EXPONENTIAL: Family<Exponential> = Family::new(Exponential, &kind::RANDOM, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&EXPONENTIAL).cpu(cpu);
}

fn shape(input: &Tensor, lambd: f64, _generator: Option<&Generator>) -> Result<TensorSpec> {
    draws::check_positive("lambd", lambd)?;
    draws::like_floats(input)
}

fn cpu(_input: &Tensor, lambd: f64, generator: Option<&Generator>, out: &Tensor) -> Result<()> {
    draws::fill(out, generator, |random| -1.0 / lambd * (1.0 - random.uniform(53)).ln())
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        draws::samples::collect(
            samples,
            (Exponential, ExponentialInplace),
            INEXACT.split_at(4).0,
            |dtype| draws::samples::tensors(dtype, |sample| sample.and(2.0)),
            |_| Ok(Distribution { least: 0.0, most: f64::INFINITY, mean: 0.5, deviation: 0.5 }),
        );
        samples.rounds(Exponential, Roundings::all(Rounding::Result(4)));
    }
}
