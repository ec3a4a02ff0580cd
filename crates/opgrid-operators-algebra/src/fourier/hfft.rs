//! `aten::fft_hfft`, `fft_ihfft`: Fourier transforms of numbers of which the second half are conjugates of the first.
//!
//! `hfft` transforms the first half of such numbers forward, to real ones; `ihfft` real numbers backward, to the first half.
//!
//! - Shapes, norm and dtypes: as [`FftIrfft`](opgrid_tensor::ops::FftIrfft) and [`FftRfft`](opgrid_tensor::ops::FftRfft).
//! - Aliasing: the `out` forms write `out`, converting results to other dtypes of their kind.
//! - Dispatch: composites of `_fft_c2r` and `_fft_r2c`, with conjugates before and behind.
//! - Errors: those of `fft_irfft` and `fft_rfft`.
//! - Source: torch.fft.hfft, PyTorch 2.15.

use super::fft::{always, of_real, to_real, transform, write};
use crate::prelude::*;
use opgrid_kernels::fourier::Direction;
use opgrid_tensor::ops::ConjPhysical;

pub use opgrid_tensor::ops::fourier::hfft::*;

pub(super) fn register(library: &mut Library) {
    transform!(library, FftHfft, FftHfftOut, always, |x, n, dim, norm| {
        to_real(x, n, dim, norm, Direction::Forward, |half| ConjPhysical.call(&half))
    });
    transform!(library, FftIhfft, FftIhfftOut, |_: &Tensor| false, |x, n, dim, norm| {
        ConjPhysical.call(&of_real(x, n, dim, norm, Direction::Backward)?)
    });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::fourier::fft::samples::{
        REAL_TAKEN, TAKEN, half, inputs, inputs_of_halves, of_half, reference,
    };
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(FftHfft, TAKEN, inputs_of_halves, |it| of_half(it, Direction::Forward))
            .tolerance(256.0);
        samples
            .operator(FftIhfft, REAL_TAKEN, inputs, |it| reference(it, Direction::Backward, half))
            .tolerance(256.0)
            .refuses("expected real numbers", given(generate::numbers(DType::Complex64, &[2, 3], 0)));
        samples.rounds(FftHfft, Roundings::all(Rounding::Sum(16)));
        samples.rounds(FftIhfft, Roundings::all(Rounding::Sum(16)));
    }
}
