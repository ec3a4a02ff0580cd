//! `aten::binomial`: random numbers of binomial distributions.
//!
//! `out[i]` is how many of `count[i]` trials succeed, each with probability `prob[i]`
//!
//! - Shapes: `count` and `prob` broadcast; the result is row-major.
//! - Dtypes: float32 or float64, one for both; numbers are drawn in double precision.
//! - Values: a negative `count` is one of zero; a `prob` below 0 or above 1 is that bound; NaN where an argument is.
//! - Random numbers: those of `generator` or of the stream of [`manual_seed`](opgrid_tensor::manual_seed), in the order of the elements.
//! - Aliasing: `binomial.out` writes `out`.
//! - Errors: other dtypes; an `out` of another dtype.
//! - Source: torch.binomial, PyTorch 2.15.

use opgrid_core::Generator;

use crate::kinds::draws;
use crate::prelude::*;
use opgrid_kernels::distributions;

pub use opgrid_tensor::ops::random::binomial::*;

/// The family of `aten::binomial`: its kind, shape rule and `out` rule.
pub const BINOMIAL: Family<Binomial> = Family::new(Binomial, &kind::RANDOM, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&BINOMIAL).cpu(cpu);
}

fn shape(count: &Tensor, prob: &Tensor, _generator: Option<&Generator>) -> Result<TensorSpec> {
    draws::check_double_or_single("count", count)?;
    if prob.spec()?.dtype() != count.dtype() {
        let message =
            format!("argument `prob` is {}, expected {} as `count`; convert it", prob.dtype(), count.dtype());
        return Err(argument(message));
    }
    let spec = pointwise::promoted([("count", count), ("prob", prob)])?;
    TensorSpec::contiguous(spec.sizes(), spec.dtype(), spec.device())
}

fn cpu(count: &Tensor, prob: &Tensor, generator: Option<&Generator>, out: &Tensor) -> Result<()> {
    let mut counts = draws::in_order_of(out, count)?.into_iter();
    draws::fill_by(out, generator, draws::in_order_of(out, prob)?, |random, prob| {
        distributions::binomial(random, counts.next().unwrap_or(f64::NAN), prob)
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| -> Vec<Sample> {
            // Both algorithms, rare and frequent successes.
            let cases = [(8.0, 0.25), (8.0, 0.75), (100.0, 0.4), (100.0, 0.7)];
            let wide = |(n, p)| given(one(dtype, &[40, 50], n)).and(one(dtype, &[50], p));
            let few = [&[0][..], &[]].map(|sizes| given(one(dtype, sizes, 8.0)).and(one(dtype, &[], 0.5)));
            cases.map(wide).into_iter().chain(few).collect()
        };
        samples
            .operator_with(Binomial, &[DType::F32, DType::F64], inputs, |it| {
                let (count, prob) = (it.tensor("count")?, it.tensor("prob")?);
                let first = |x: &Plain| x.elements().first().map_or(1.0, |number| number.to_complex().re);
                let (n, p) = (first(count), first(prob));
                let deviation = (n * p * (1.0 - p)).sqrt();
                let spread = Distribution { least: 0.0, most: n, mean: n * p, deviation };
                Ok(Expected::Random(count.sizes().to_vec(), count.dtype(), spread))
            })
            .refuses("as `count`", given(one(DType::F32, &[2], 3.0)).and(one(DType::F64, &[2], 0.5)));
    }

    fn one(dtype: DType, sizes: &[i64], number: f64) -> Plain {
        Plain::from_elements(dtype, sizes, &[number])
    }
}
