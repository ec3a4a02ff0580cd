//! `aten::normal_`: sets every element to a normally distributed random number.
//!
//! `self[i]` is drawn from the distribution of mean `mean` and deviation `std`, independently of the others.
//!
//! - Dtypes: floating-point and complex ones; of complex numbers both parts are drawn, with half the variance each.
//! - Random numbers: those of `generator` or of the stream of [`manual_seed`](opgrid_tensor::manual_seed), in the order in which
//!   elements lie in memory.
//! - Aliasing: writes `self`, which must not repeat elements.
//! - Errors: another dtype; a negative `std`.
//! - Source: torch.Tensor.normal_, PyTorch 2.15. 16-bit floats are drawn in single precision.

use std::f64::consts::FRAC_1_SQRT_2;

use num_complex::Complex;
use opgrid_core::Generator;

use crate::prelude::*;
use opgrid_kernels::random::{self, Random};
use opgrid_kernels::sequence;
use opgrid_tensor::tensor::Array;

pub use opgrid_tensor::ops::random::normal::*;

pub(super) fn register(library: &mut Library) {
    library.define(NormalInplace).kind(&kind::RANDOM).in_place(shape, cpu);
}

fn shape(input: &Tensor, _mean: f64, std: f64, _generator: Option<&Generator>) -> Result<TensorSpec> {
    let spec = input.spec()?;
    if std.is_nan() || std < 0.0 {
        return Err(argument(format!("argument `std` is {std}, expected zero or more")));
    }
    pointwise::check_inexact(spec.dtype())?;
    Ok(spec.clone())
}

fn cpu(_input: &Tensor, mean: f64, std: f64, generator: Option<&Generator>, out: &Tensor) -> Result<()> {
    let (n, dtype) = (out.numel() as usize, out.dtype());
    let single = ![DType::F64, DType::Complex128].contains(&dtype);
    let groups = match dtype.size_in_bytes() {
        _ if !out.is_contiguous() => Groups::None,
        2 => Groups::Whole,
        _ => Groups::All,
    };
    if dtype == DType::F32 && n >= 16 && out.is_contiguous() {
        let numbers = random::draw(generator, |random| drawn_single(random, n, n))?;
        let (mean, std) = (mean as f32, std as f32);
        let numbers = numbers.as_slice();
        return sequence::numbered(out.array()?, move |i| numbers[i as usize] * std + mean);
    }
    let numbers = if dtype.is_complex() {
        let parts = random::draw(generator, |random| drawn(random, 2 * n, single, groups))?;
        let numbers = parts.chunks_exact(2).map(|parts| {
            let number = Complex::new(parts[0], parts[1]) * (std * FRAC_1_SQRT_2);
            number + Complex::new(mean, mean)
        });
        Array::from_slice(&numbers.collect::<Vec<_>>(), &[out.numel()])?
    } else {
        let drawn = random::draw(generator, |random| drawn(random, n, single, groups))?;
        let numbers = drawn.into_iter().map(|number| number * std + mean);
        Array::from_slice(&numbers.collect::<Vec<_>>(), &[out.numel()])?
    };
    elementwise::copy(out, &numbers.view(random::order(out.spec()?)?)?)
}

/// How many numbers are drawn before the last group is.
#[derive(Clone, Copy)]
pub enum Groups {
    /// There are no groups.
    None,
    /// Numbers of whole groups.
    Whole,
    /// All, so that a part of a group is drawn twice.
    All,
}

/// `n` normal numbers: in groups if there are enough for one.
fn drawn(random: &mut Random, n: usize, single: bool, groups: Groups) -> Vec<f64> {
    let first = match groups {
        Groups::Whole => n / 16 * 16,
        Groups::All => n,
        Groups::None => 0,
    };
    if first < 16 {
        (0..n).map(|_| random.normal()).collect()
    } else if single {
        drawn_single(random, n, first).into_iter().map(f64::from).collect()
    } else {
        let mut numbers = vec![0.0; n];
        random.fill_normal(&mut numbers, first);
        numbers
    }
}

/// Draws `n` normal numbers in single precision, in groups for which `first` numbers are drawn.
fn drawn_single(random: &mut Random, n: usize, first: usize) -> Vec<f32> {
    let mut numbers = vec![0.0; n];
    random.fill_normal_single(&mut numbers, first);
    numbers
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
        samples
            .operator(NormalInplace, INEXACT, inputs, |it| {
                let (x, [mean, std]) = (it.tensor("self")?, [it.value::<f64>("mean")?, it.value("std")?]);
                Ok(Expected::Random(x.sizes().to_vec(), x.dtype(), Distribution::normal(mean, std)))
            })
            .refuses("zero or more", given(generate::numbers(DType::F32, &[2], 0)).and(0.0).and(-1.0))
            .refuses("zero or more", given(generate::numbers(DType::F32, &[2], 0)).and(0.0).and(f64::NAN));
        // Box and Muller's formula, by another logarithm, sine and cosine.
        samples.rounds(NormalInplace, Roundings::all(Rounding::Sum(32)));
    }
}
