//! `aten::_weight_norm`, `aten::norm_except_dim`: a weight as a direction and a length.
//!
//! `out = v * g / norm(v)`, where the norm is over all dimensions but `dim`, and over all where `dim` is -1.
//!
//! - Shapes: that of `v`; the norm has size 1 in all dimensions but `dim`, and with -1 no dimensions.
//! - Dtypes: floating-point and complex ones.
//! - Dispatch: composites, so that derivatives are those of what they call.
//! - Source: torch.nn.utils.weight_norm, PyTorch 2.15.

use crate::prelude::*;
use opgrid_array::views::normalise_dim;
use opgrid_tensor::ops::{NormScalar, NormScalarOptDim};

pub use opgrid_tensor::ops::normalisations::weight_norm::*;

pub(super) fn register(library: &mut Library) {
    library
        .define(WeightNorm)
        .kind(&kind::NORMALISATION)
        .implicit(|v, g, dim| v.mul(&g.div(&NormExceptDim.call(v, 2, dim)?)?));
    library.define(NormExceptDim).kind(&kind::REDUCTION).implicit(norm_except_dim);
}

fn norm_except_dim(v: &Tensor, pow: i64, dim: i64) -> Result<Tensor> {
    if dim == -1 {
        return NormScalar.call(v, Scalar::Int(pow));
    }
    let dims = v.spec()?.geometry().dims();
    let kept = normalise_dim(dim, dims)?;
    let others: Vec<i64> = (0..dims as i64).filter(|dim| *dim != kept as i64).collect();
    if others.is_empty() {
        return v.abs();
    }
    NormScalarOptDim.call(v, Some(Scalar::Int(pow)), &others, true)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(WeightNorm, INEXACT, pairs, |it| {
                let (v, g, dim) = (it.tensor("v")?, it.tensor("g")?, it.value::<i64>("dim")?);
                let norm = norms(v, dim);
                let at = |position: &[i64]| {
                    let kept = kept(position, dim);
                    v.at(position).to_complex() * g.at(&kept).to_complex() / norm(position)
                };
                Ok(Plain::from_fn(v.dtype(), v.sizes(), |position| at(position).into()).into())
            })
            .tolerance(16.0);
        samples
            .operator(NormExceptDim, INEXACT, vectors, |it| {
                let (v, dim) = (it.tensor("v")?, it.value::<i64>("dim")?);
                let norm = norms(v, dim);
                let sizes = kept_sizes(v.sizes(), dim);
                let dtype = match v.dtype() {
                    DType::Complex64 => DType::F32,
                    DType::Complex128 => DType::F64,
                    dtype => dtype,
                };
                Ok(Plain::from_fn(dtype, &sizes, |position| norm(position).into()).into())
            })
            .tolerance(16.0)
            .refuses("range", given(generate::numbers(DType::F32, &[2, 3], 1)).and(2).and(5));
        samples.rounds(WeightNorm, Roundings::all(Rounding::Sum(16)));
        samples.rounds(NormExceptDim, Roundings::all(Rounding::Sum(16)));
    }

    fn pairs(dtype: DType) -> Vec<Sample> {
        let of = |sizes: &[i64], dim: i64| {
            let lengths = kept_sizes(sizes, dim);
            given(generate::nonzero(dtype, sizes, 1)).and(generate::numbers(dtype, &lengths, 2)).and(dim)
        };
        vec![of(&[2, 3], 0), of(&[2, 3], 1), of(&[2, 3, 2], 1), of(&[2, 3], -1)]
    }

    fn vectors(dtype: DType) -> Vec<Sample> {
        let of = |sizes: &[i64], dim: i64| given(generate::nonzero(dtype, sizes, 1)).and(2).and(dim);
        vec![of(&[2, 3], 0), of(&[2, 3], 1), of(&[2, 3, 2], 1), of(&[2, 3], -1)]
    }

    /// The sizes of the norm.
    fn kept_sizes(sizes: &[i64], dim: i64) -> Vec<i64> {
        if dim == -1 {
            return Vec::new();
        }
        (0..).zip(sizes).map(|(place, &size)| if place == dim { size } else { 1 }).collect()
    }

    /// Where the norm of an element stands.
    fn kept(position: &[i64], dim: i64) -> Vec<i64> {
        if dim == -1 {
            return Vec::new();
        }
        (0..).zip(position).map(|(place, &at)| if place == dim { at } else { 0 }).collect()
    }

    /// The norm of all elements that share a position's place in `dim`.
    fn norms(v: &Plain, dim: i64) -> impl Fn(&[i64]) -> f64 + '_ {
        move |position| {
            let is_meant = |other: &Vec<i64>| dim == -1 || other[dim as usize] == position[dim as usize];
            let all = naive::positions(v.sizes()).filter(is_meant);
            all.map(|other| v.at(&other).to_complex().norm_sqr()).sum::<f64>().sqrt()
        }
    }
}
