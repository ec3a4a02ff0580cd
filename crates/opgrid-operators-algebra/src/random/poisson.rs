//! `aten::poisson`: random numbers of Poisson distributions.
//!
//! `out[i]` is a number of events, `self[i]` on average
//!
//! - Shapes: that of `self`; the result is row-major.
//! - Dtypes: floating-point ones; numbers are drawn in double precision.
//! - Random numbers: those of `generator` or of the stream of [`manual_seed`](opgrid_tensor::manual_seed), in the order of the elements.
//! - Values: infinite for an infinite rate.
//! - Aliasing: `poisson.out` writes `out`.
//! - Derivative: zero.
//! - Errors: other dtypes; rates that are negative or NaN; an `out` of another dtype.
//! - Source: torch.poisson, PyTorch 2.15.

use opgrid_core::Generator;

use crate::kinds::draws;
use crate::prelude::*;
use opgrid_kernels::distributions;

pub use opgrid_tensor::ops::random::poisson::*;

/// The family of `aten::poisson`: its kind, shape rule and `out` rule.
pub const POISSON: Family<Poisson> = Family::new(Poisson, &kind::RANDOM, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&POISSON)
        .cpu(cpu)
        .derivative(|d, (rate, _)| d.by(rate, [], |grad, []| derivatives::zeros(grad)));
}

fn shape(rate: &Tensor, _generator: Option<&Generator>) -> Result<TensorSpec> {
    draws::like_floats(rate)?;
    draws::row_major(rate)
}

fn cpu(rate: &Tensor, generator: Option<&Generator>, out: &Tensor) -> Result<()> {
    let rates = draws::in_order_of(out, rate)?;
    if let Some(rate) = rates.iter().find(|rate| rate.is_nan() || **rate < 0.0) {
        return Err(argument(format!("argument `self` has the rate {rate}, expected zero or more")));
    }
    draws::fill_by(out, generator, rates, distributions::poisson)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| -> Vec<Sample> {
            let of = |rate: f64| {
                [&[2000][..], &[40, 50], &[0], &[]]
                    .map(|sizes| given(Plain::from_elements(dtype, sizes, &[rate])))
            };
            // One rate for each of the two algorithms.
            [of(3.0), of(25.0)].into_iter().flatten().collect()
        };
        samples
            .operator_with(Poisson, INEXACT.split_at(4).0, inputs, |it| {
                let x = it.tensor("self")?;
                let mean = x.elements().first().map_or(3.0, |rate| rate.to_complex().re);
                let spread = Distribution { least: 0.0, most: f64::INFINITY, mean, deviation: mean.sqrt() };
                Ok(Expected::Random(x.sizes().to_vec(), x.dtype(), spread))
            })
            .refuses_data("the rate -1", given(Plain::from_elements(DType::F32, &[2], &[3.0, -1.0])))
            .refuses_data("the rate NaN", given(Plain::from_elements(DType::F32, &[1], &[f64::NAN])));
    }
}
