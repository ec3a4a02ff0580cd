//! `aten::uniform_`: sets every element to a random number of a range.
//!
//! `self[i]` is drawn from `[from, to)`, independently of the others.
//!
//! - Dtypes: floating-point and complex ones; of complex numbers both parts are drawn.
//! - Random numbers: those of `generator` or of the stream of [`manual_seed`](opgrid_tensor::manual_seed), in the order in which
//!   elements lie in memory.
//! - Aliasing: `uniform` gives a new tensor, `uniform_` writes `self`, `uniform.out` writes `out`.
//! - Errors: another dtype; `from` larger than `to`; bounds, or a distance between them, beyond the range of the dtype.
//! - Source: torch.Tensor.uniform_, PyTorch 2.15.

use num_complex::Complex;
use opgrid_core::Generator;
use opgrid_tensor::tensor::{bf16, f16};

use crate::kinds::draws;
use crate::prelude::*;
use opgrid_kernels::iter::produce::Sequence;
use opgrid_kernels::random::{self, Random};
use opgrid_kernels::sequence;
use opgrid_tensor::tensor::{Array, Element, Number, finfo};

pub use opgrid_tensor::ops::random::uniform::*;

/// The family of `aten::uniform`: its kind, shape rule and `out` rule.
pub const UNIFORM: Family<Uniform> = Family::new(Uniform, &kind::RANDOM, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&UNIFORM).cpu(cpu);
}

fn shape(input: &Tensor, from: f64, to: f64, _generator: Option<&Generator>) -> Result<TensorSpec> {
    let spec = input.spec()?;
    if from > to {
        return Err(argument(format!("argument `from` is {from}, expected at most `to`, which is {to}")));
    }
    pointwise::check_inexact(spec.dtype())?;
    let limit = finfo(spec.dtype())?.max;
    if let Some((name, bound)) =
        [("from", from), ("to", to)].into_iter().find(|(_, bound)| !(-limit..=limit).contains(bound))
    {
        let message = format!(
            "argument `{name}` is {bound}, which is out of bounds for {}; expected a number between {:e} and {limit:e}",
            spec.dtype(),
            -limit
        );
        return Err(argument(message));
    }
    if to - from > limit {
        let message = format!(
            "argument `to` is {to}, expected at most {limit:e} above `from`, which is {from}, for {}",
            spec.dtype()
        );
        return Err(argument(message));
    }
    draws::like(input)
}

fn cpu(_input: &Tensor, from: f64, to: f64, generator: Option<&Generator>, out: &Tensor) -> Result<()> {
    if out.dtype() == DType::F32 && out.is_contiguous() {
        let write = |random: &mut Random| {
            sequence::produced(out.array()?, |sequence| single(random, sequence, from as f32, to as f32))
        };
        return random::draw(generator, write)?;
    }
    let n = out.numel() as usize;
    let drawn = random::draw(generator, |random| drawn(random, out.dtype(), n, from, to))??;
    elementwise::copy(out, &drawn.view(random::order(out.spec()?)?)?)
}

fn drawn(random: &mut Random, dtype: DType, n: usize, from: f64, to: f64) -> Result<Array> {
    match dtype {
        DType::F16 => real::<f16>(random, 24, n, from, to),
        DType::BF16 => real::<bf16>(random, 24, n, from, to),
        DType::F32 => real::<f32>(random, 24, n, from, to),
        DType::Complex64 => complex(random, 24, n, from, to, |re, im| Complex::new(re as f32, im as f32)),
        DType::Complex128 => complex(random, 53, n, from, to, Complex::new),
        _ => real::<f64>(random, 53, n, from, to),
    }
}

/// Numbers for all elements that are left, a block at a time.
fn single(random: &mut Random, sequence: &mut Sequence<'_, f32>, from: f32, to: f32) -> Result<()> {
    let mut block = [0.0; 512];
    while sequence.rest() > 0 {
        let n = sequence.rest().min(block.len());
        random.fill_uniform(&mut block[..n]);
        let drawn = &block[..n];
        sequence.extend_with(n, move |i| drawn[i] * (to - from) + from);
    }
    Ok(())
}

/// Computed in double precision for doubles, in single precision for others.
fn between(random: &mut Random, bits: u32, from: f64, to: f64) -> f64 {
    let x = random.uniform(bits);
    match bits {
        53 => x * (to - from) + from,
        _ => f64::from(x as f32 * (to as f32 - from as f32) + from as f32),
    }
}

fn real<T: Element>(random: &mut Random, bits: u32, n: usize, from: f64, to: f64) -> Result<Array> {
    let element = |value: f64| T::from_number(Number::F64(value));
    let (first, end) = (element(from), element(to));
    let numbers = (0..n).map(|_| match element(between(random, bits, from, to)) {
        // The end is none of the numbers, also where they are rounded to it.
        number if T::DTYPE.size_in_bytes() == 2 && number == end => first,
        number => number,
    });
    Array::from_slice(&numbers.collect::<Vec<_>>(), &[n as i64])
}

fn complex<T: Element>(
    random: &mut Random,
    bits: u32,
    n: usize,
    from: f64,
    to: f64,
    join: impl Fn(f64, f64) -> T,
) -> Result<Array> {
    let numbers = (0..n).map(|_| {
        let re = between(random, bits, from, to);
        join(re, between(random, bits, from, to))
    });
    Array::from_slice(&numbers.collect::<Vec<_>>(), &[n as i64])
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            let one = |sizes: &[i64]| given(generate::numbers(dtype, sizes, 0));
            vec![one(&[2000]), one(&[40, 50]).and(-2.0).and(4.0), one(&[0]), one(&[])]
        };
        draws::samples::collect(samples, (Uniform, UniformInplace), INEXACT, inputs, |it| {
            Ok(Distribution::uniform(it.value("from")?, it.value("to")?))
        })
        .refuses("expected at most", given(generate::numbers(DType::F32, &[2], 0)).and(1.0).and(0.0))
        .refuses("out of bounds for float16", given(generate::numbers(DType::F16, &[2], 0)).and(0.0).and(1e5))
        .refuses(
            "out of bounds for float64",
            given(generate::numbers(DType::F64, &[2], 0)).and(0.0).and(f64::INFINITY),
        )
        .refuses("above `from`", given(generate::numbers(DType::F16, &[2], 0)).and(-6e4).and(6e4));
        // A product and a sum, which are fused where torch was compiled so.
        samples.rounds(UniformInplace, Roundings::all(Rounding::Sum(2)));
    }
}
