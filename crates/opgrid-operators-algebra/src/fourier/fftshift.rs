//! `aten::fft_fftshift`, `fft_ifftshift`: the frequency 0 in the middle, and back to the front.
//!
//! `out[k] = self[(k - size / 2) mod size]` along each dimension; the inverse shifts by `(size + 1) / 2`
//!
//! - Shapes: that of `self`; without `dim` all dimensions are shifted.
//! - Dtypes: all.
//! - Dispatch: composites of `roll`.
//! - Errors: a dimension out of range; none at all.
//! - Source: torch.fft.fftshift, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::Roll;
use opgrid_tensor::tensor::views::normalise_dim;

pub use opgrid_tensor::ops::fourier::fftshift::*;

pub(super) fn register(library: &mut Library) {
    library
        .define(FftFftshift)
        .kind(&kind::FOURIER)
        .implicit(|input, dim| shift(input, dim, |size| size / 2));
    library
        .define(FftIfftshift)
        .kind(&kind::FOURIER)
        .implicit(|input, dim| shift(input, dim, |size| size / 2 + size % 2));
}

fn shift(input: &Tensor, dim: Option<&[i64]>, by: fn(i64) -> i64) -> Result<Tensor> {
    let sizes = input.spec()?.sizes();
    let dims: Vec<i64> = dim.map_or_else(|| (0..sizes.len() as i64).collect(), <[i64]>::to_vec);
    if dims.is_empty() || sizes.is_empty() {
        return Err(argument("found no dimension to shift, expected at least one"));
    }
    let size = |dim: &i64| Ok(by(sizes[normalise_dim(*dim, sizes.len())?]));
    let shifts = dims.iter().map(size).collect::<Result<Vec<_>>>()?;
    Roll.call(input, &shifts, &dims)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(FftFftshift, ANY, inputs, |it| reference(it, |k, size| (k - size / 2).rem_euclid(size)))
            .refuses("no dimension", given(Plain::number(DType::F32, 1)))
            .refuses("no dimension", given(Plain::number(DType::F32, 1)).and(vec![0]))
            .refuses("range", given(generate::numbers(DType::F32, &[2], 0)).and(vec![1]));
        samples.operator(FftIfftshift, ANY, inputs, |it| reference(it, |k, size| (k + size / 2) % size));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let x = |sizes: &[i64]| given(generate::numbers(dtype, sizes, 1));
        vec![
            x(&[5]),
            x(&[4, 3]),
            x(&[2, 3, 4]).and(vec![0, 2]),
            x(&[3, 5]).and(vec![-1]),
            x(&[0, 3]),
            x(&[1]),
        ]
    }

    fn reference(it: &Inputs, from: fn(i64, i64) -> i64) -> Result<Expected> {
        let (x, dims): (_, Option<Vec<i64>>) = (it.tensor("self")?, it.option("dim")?);
        let rank = x.sizes().len();
        let dims: Vec<usize> = match dims {
            Some(dims) => dims.iter().map(|dim| naive::dimension(*dim, rank)).collect(),
            None => (0..rank).collect(),
        };
        Ok(Plain::from_fn(x.dtype(), x.sizes(), |position| {
            let mut at = position.to_vec();
            dims.iter().for_each(|&dim| at[dim] = from(position[dim], x.sizes()[dim]));
            x.at(&at)
        })
        .into())
    }
}
