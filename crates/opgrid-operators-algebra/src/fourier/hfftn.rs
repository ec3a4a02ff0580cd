//! `aten::fft_hfftn`, `fft_ihfftn`, and the same of two dimensions: transforms of numbers with conjugates, along dimensions.
//!
//! `hfftn` transforms the first half, in the last dimension, of numbers whose other half are conjugates forward, to real ones;
//! `ihfftn` real numbers backward, to the first half.
//!
//! - Shapes, norm and dtypes: as [`FftIrfftn`](opgrid_tensor::ops::FftIrfftn) and [`FftRfftn`](opgrid_tensor::ops::FftRfftn).
//! - Aliasing: the `out` forms write `out`, converting results to other dtypes of their kind.
//! - Dispatch: composites of `_fft_c2c`, `_fft_c2r` and `_fft_r2c`, with conjugates between; those of two dimensions of those of
//!   several.
//! - Errors: those of `fft_irfftn` and `fft_rfftn`.
//! - Source: torch.fft.hfftn, PyTorch 2.15.

use super::fft::write;
use super::fftn::{half, transform, whole};
use crate::prelude::*;
use opgrid_kernels::fourier::Direction;
use opgrid_kinds::fourier::{normalisation, numbers};
use opgrid_tensor::ops::{ConjPhysical, FftC2c, FftC2r, FftR2c};

pub use opgrid_tensor::ops::fourier::hfftn::*;

pub(super) fn register(library: &mut Library) {
    transform!(library, FftHfftn, FftHfftnOut, FftHfft2, FftHfft2Out, to_real);
    transform!(library, FftIhfftn, FftIhfftnOut, FftIhfft2, FftIhfft2Out, of_real);
}

fn to_real(input: &Tensor, s: Option<&[i64]>, dim: Option<&[i64]>, norm: Option<&str>) -> Result<Tensor> {
    let norm = normalisation(norm, Direction::Forward)?;
    let (half, dims, n) = half(input, s, dim)?;
    let dims = numbers(&dims);
    let (others, last) = dims.split_at(dims.len() - 1);
    let half = ConjPhysical.call(&along(others, half, norm, Direction::Forward)?)?;
    FftC2r.call(&half, last, norm, n)
}

fn of_real(input: &Tensor, s: Option<&[i64]>, dim: Option<&[i64]>, norm: Option<&str>) -> Result<Tensor> {
    let norm = normalisation(norm, Direction::Backward)?;
    let (input, dims) = whole(input, s, dim)?;
    let dims = numbers(&dims);
    let (others, last) = dims.split_at(dims.len() - 1);
    let half = ConjPhysical.call(&FftR2c.call(&input, last, norm, true)?)?;
    along(others, half, norm, Direction::Backward)
}

/// Complex numbers transformed along dimensions, if there are any.
fn along(dims: &[i64], input: Tensor, norm: i64, direction: Direction) -> Result<Tensor> {
    match dims {
        [] => Ok(input),
        dims => FftC2c.call(&input, dims, norm, direction == Direction::Forward),
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::fourier::fft::samples::{REAL_TAKEN, TAKEN};
    use crate::fourier::fftn::samples::{
        half_reference, reference_of_halves, sampled, several_inputs, two_inputs,
    };
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let c = generate::numbers(DType::Complex64, &[2, 3], 0);
        sampled!(samples, FftHfftn, FftHfft2, TAKEN, |it| reference_of_halves(it, Direction::Forward))
            .refuses("no dimension", given(c.clone()).and(Value::None).and(Vec::<i64>::new()));
        sampled!(samples, FftIhfftn, FftIhfft2, REAL_TAKEN, |it| half_reference(it, Direction::Backward))
            .refuses("real numbers", given(c));
    }
}
