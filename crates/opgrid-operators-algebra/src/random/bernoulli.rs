//! `aten::bernoulli`: ones with given probabilities, and zeros.
//!
//! `out[i]` is 1 if `u < p`, with numbers `u` that are evenly distributed from 0 to before 1; `p` is `self[i]`, a number, or `p[i]`
//!
//! - Shapes: that of `self`, to which a tensor `p` broadcasts.
//! - Dtypes: any for the result; tensors of probabilities have floating-point ones.
//! - Random numbers: those of `generator` or of the stream of [`manual_seed`](opgrid_tensor::manual_seed), in the order in which
//!   elements lie in memory; in single precision for probabilities of that or 16 bits, in double precision for others.
//! - Aliasing: `bernoulli_` writes `self`, the overloads whose names end in `out` write `out`.
//! - Errors: probabilities that are not between 0 and 1, or of another dtype; an `out` of another dtype, but for `bernoulli.out`,
//!   whose `out` has any real one.
//! - Source: torch.bernoulli, PyTorch 2.15.

use opgrid_core::Generator;

use crate::kinds::draws;
use crate::prelude::*;
use opgrid_tensor::tensor::choose::unsupported;

pub use opgrid_tensor::ops::random::bernoulli::*;

/// The family of `aten::bernoulli`: its kind, shape rule and `out` rule.
pub const BERNOULLI: Family<Bernoulli> =
    Family::new(Bernoulli, &kind::RANDOM, |input, _| draws::like_floats(input)).out_shape(|input, _, out| {
        let (spec, dtype) = (draws::like_floats(input)?, out.spec()?.dtype());
        if dtype.is_complex() {
            return Err(unsupported(dtype, "a real dtype"));
        }
        Ok(TensorSpec::new(spec.geometry().clone(), dtype, spec.device()))
    });

/// The family of `aten::bernoulli.p`: its kind, shape rule and `out` rule.
pub const BERNOULLI_P: Family<BernoulliP> = Family::new(BernoulliP, &kind::RANDOM, with_number);

/// The family of `aten::bernoulli.Tensor`: its kind, shape rule and `out` rule.
pub const BERNOULLI_TENSOR: Family<BernoulliTensor> =
    Family::new(BernoulliTensor, &kind::RANDOM, |input, p, _| with_tensor(input, p)).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&BERNOULLI).cpu(by_tensor);
    library.family(&BERNOULLI_P).cpu(|_, p, generator, out| by_number(p, generator, out));
    library
        .define(BernoulliInplaceFloat)
        .kind(&kind::RANDOM)
        .in_place(with_number, |_, p, generator, out| by_number(p, generator, out));
    library.define(BernoulliFloatOut).kind(&kind::RANDOM).on_cpu_and_meta(|input, p, generator, out| {
        let spec = with_number(input, p, generator)?;
        result::same_dtype(out, &spec)?;
        result::compute_into(out, &spec, |out| by_number(p, generator, out))
    });
    library.family(&BERNOULLI_TENSOR).cpu(|_, p, generator, out| by_tensor(p, generator, out));
}

fn with_number(input: &Tensor, p: f64, _generator: Option<&Generator>) -> Result<TensorSpec> {
    if !(0.0..=1.0).contains(&p) {
        return Err(argument(format!("argument `p` is {p}, expected a probability between 0 and 1")));
    }
    with_dtype!(input.spec()?.dtype(), _T: Any by itself => draws::like(input))
}

fn with_tensor(input: &Tensor, p: &Tensor) -> Result<TensorSpec> {
    draws::like_floats(p)?;
    with_dtype!(input.spec()?.dtype(), _T: Any by itself => Ok(()))?;
    p.geometry().expand(input.sizes())?;
    draws::like(input)
}

fn by_number(p: f64, generator: Option<&Generator>, out: &Tensor) -> Result<()> {
    draws::fill(out, generator, |random| Bool::from(random.uniform(53) < p))
}

/// Draws for the probabilities of a tensor, in the order of the output in memory.
fn by_tensor(p: &Tensor, generator: Option<&Generator>, out: &Tensor) -> Result<()> {
    let bits = if p.dtype() == DType::F64 { 53 } else { 24 };
    let probabilities = draws::in_order_of(out, p)?;
    if let Some(p) = probabilities.iter().find(|p| !(0.0..=1.0).contains(*p)) {
        return Err(argument(format!("found the probability {p}, expected one between 0 and 1")));
    }
    draws::fill_by(out, generator, probabilities, |random, p| f64::from(u8::from(random.uniform(bits) < p)))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::departures::access::READ_FIRST;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.differs(Bernoulli, READ_FIRST);
        let ones = Distribution { least: 0.0, most: 1.0, mean: 0.25, deviation: 0.1875f64.sqrt() };
        let like = move |it: &Inputs| -> Result<Expected> {
            let x = it.tensor("self")?;
            Ok(Expected::Random(x.sizes().to_vec(), x.dtype(), ones))
        };
        let floats = INEXACT.split_at(4).0;
        samples
            .operator_with(
                Bernoulli,
                floats,
                |dtype| sizes().map(|sizes| given(Plain::from_elements(dtype, &sizes, &[0.25]))).to_vec(),
                like,
            )
            .refuses_data("between 0 and 1", given(Plain::from_elements(DType::F32, &[2], &[1.5])));
        let with_p = |dtype| draws::samples::tensors(dtype, |sample| sample.and(0.25));
        samples
            .operator_with(BernoulliP, ANY, with_p, like)
            .refuses("between 0 and 1", given(generate::numbers(DType::F32, &[2], 0)).and(1.5));
        samples.operator_with(BernoulliInplaceFloat, ANY, with_p, like);
        samples.operator_with(
            BernoulliFloatOut,
            ANY,
            |dtype| {
                let with_out = |sizes: Vec<i64>| {
                    given(generate::numbers(dtype, &sizes, 0))
                        .and(0.25)
                        .named("out", generate::numbers(dtype, &sizes, 0))
                };
                sizes().map(with_out).to_vec()
            },
            like,
        );
        samples
            .operator_with(
                BernoulliTensor,
                ANY,
                |dtype| {
                    let one = |sizes: Vec<i64>| {
                        given(generate::numbers(dtype, &sizes, 0)).and(Plain::from_elements(
                            DType::F32,
                            &sizes,
                            &[0.25],
                        ))
                    };
                    let stretched = given(generate::numbers(dtype, &[40, 50], 0)).and(Plain::from_elements(
                        DType::F64,
                        &[50],
                        &[0.25],
                    ));
                    sizes().map(one).into_iter().chain([stretched]).collect()
                },
                like,
            )
            .refuses(
                "floating-point",
                given(generate::numbers(DType::F32, &[2], 0)).and(generate::numbers(DType::I64, &[2], 0)),
            );
    }

    fn sizes() -> [Vec<i64>; 4] {
        [vec![2000], vec![40, 50], vec![0], vec![]]
    }
}
