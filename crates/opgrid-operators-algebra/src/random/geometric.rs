//! `aten::geometric_`: sets every element to a random number of a geometric distribution, the first success of trials.
//!
//! `self[i] = ceil(log(u) / log(1 - p))`, with numbers `u` that are evenly distributed from 0 to before 1
//!
//! - Dtypes: integers and floats; numbers are drawn in double precision.
//! - Random numbers: those of `generator` or of the stream of [`manual_seed`](opgrid_tensor::manual_seed), in the order in which
//!   elements lie in memory.
//! - Aliasing: `geometric` gives a new tensor, `geometric_` writes `self`, `geometric.out` writes `out`.
//! - Errors: other dtypes; a `p` that is not between zero and one; an `out` of another dtype.
//! - Source: torch.Tensor.geometric_, PyTorch 2.15.

use opgrid_core::Generator;

use crate::kinds::draws;
use crate::prelude::*;

pub use opgrid_tensor::ops::random::geometric::*;

/// The family of `aten::geometric`: its kind, shape rule and `out` rule.
pub const GEOMETRIC: Family<Geometric> = Family::new(Geometric, &kind::RANDOM, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&GEOMETRIC).cpu(cpu);
}

fn shape(input: &Tensor, p: f64, _generator: Option<&Generator>) -> Result<TensorSpec> {
    if !(p > 0.0 && p < 1.0) {
        return Err(argument(format!("argument `p` is {p}, expected a number between zero and one")));
    }
    pointwise::check_real(input.spec()?.dtype())?;
    draws::like(input)
}

fn cpu(_input: &Tensor, p: f64, generator: Option<&Generator>, out: &Tensor) -> Result<()> {
    draws::fill(out, generator, |random| (random.uniform(53).ln() / (-p).ln_1p()).ceil())
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        draws::samples::collect(
            samples,
            (Geometric, GeometricInplace),
            REAL,
            |dtype| draws::samples::tensors(dtype, |sample| sample.and(0.5)),
            |_| Ok(Distribution { least: 1.0, most: f64::INFINITY, mean: 2.0, deviation: 2f64.sqrt() }),
        );
        samples.rounds(Geometric, Roundings::all(Rounding::Exact));
    }
}
