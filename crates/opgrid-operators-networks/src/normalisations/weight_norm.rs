//! `aten::_weight_norm`, `aten::_weight_norm_interface`, `aten::norm_except_dim`: a weight as a direction and a length;
//! `aten::_weight_norm_interface_backward`, `aten::_weight_norm_differentiable_backward`: its gradients.
//!
//! `out = v * g / norm(v)`, where the norm is over all dimensions but `dim`, and over all where `dim` is -1. With the sum `s` of
//! `grad * v` over those dimensions, the gradient of `v` is `g / norm * (grad - v * s / norm ^ 2)` and that of `g` is `s / norm`.
//!
//! - Shapes: that of `v`; the norm has size 1 in all dimensions but `dim`, and with -1 no dimensions.
//! - Dtypes: floating-point and complex ones. `_weight_norm_interface` and gradients take floats alone, and the former gives norms of
//!   16-bit floats in float32.
//! - Aliasing: the `out` forms write `out0` and `out1`.
//! - Dispatch: composites, so that derivatives are those of what they call.
//! - Errors: a `dim` of `_weight_norm_interface`, or of gradients, that is neither the first nor the last one; other shapes.
//! - Source: torch.nn.utils.weight_norm, PyTorch 2.15.

use crate::prelude::*;
use opgrid_array::error::out_of_range;
use opgrid_array::views::normalise_dim;
use opgrid_tensor::ops::{NormScalar, NormScalarOptDim};

pub use opgrid_tensor::ops::normalisations::weight_norm::*;

pub(super) fn register(library: &mut Library) {
    library
        .define(WeightNorm)
        .kind(&kind::NORMALISATION)
        .implicit(|v, g, dim| v.mul(&g.div(&NormExceptDim.call(v, 2, dim)?)?));
    library.implicit(WeightNormInterface, &kind::NORMALISATION, |v, g, dim| {
        let dtype = check(v, g, dim)?;
        let norms = NormExceptDim.call(&v.to_dtype(dtype)?, 2, dim)?;
        Ok((v.mul(&g.div(&norms)?)?.to_dtype(v.dtype())?, norms))
    });
    library.implicit(WeightNormInterfaceBackward, &kind::NORMALISATION, gradients);
    library.implicit(WeightNormDifferentiableBackward, &kind::NORMALISATION, gradients);
    library.define(NormExceptDim).kind(&kind::REDUCTION).implicit(norm_except_dim);
}

fn gradients(grad: &Tensor, v: &Tensor, g: &Tensor, norms: &Tensor, dim: i64) -> Result<(Tensor, Tensor)> {
    let dtype = check(v, g, dim)?;
    pointwise::check_one_dtype(("saved_v", v), ("grad_w", grad))?;
    for (name, found, expected) in [("grad_w", grad, v), ("saved_norms", norms, g)] {
        if found.spec()?.sizes() != expected.sizes() {
            let message =
                format!("argument `{name}` has shape {:?}, expected {:?}", found.sizes(), expected.sizes());
            return Err(argument(message));
        }
    }
    let others: Vec<i64> = (0..v.dim() as i64).filter(|other| *other != dim).collect();
    let (wide, norms) = (v.to_dtype(dtype)?, norms.to_dtype(dtype)?);
    let grad = grad.to_dtype(dtype)?;
    let products = grad.mul(&wide)?;
    // A sum over no dimensions would be one over all.
    let sums = if others.is_empty() { products } else { products.sum_dim(&others, true)? };
    let rest = grad.sub(&wide.mul(&sums.div(&norms.mul(&norms)?)?)?)?;
    let by_v = g.div(&norms)?.mul(&rest)?.to_dtype(v.dtype())?;
    Ok((by_v, sums.div(&norms)?.to_dtype(g.dtype())?))
}

/// The dtype that norms are computed in.
///
/// # Errors
///
/// Other dtypes than floating-point ones, or two of them; lengths of another shape; a dimension in between.
fn check(v: &Tensor, g: &Tensor, dim: i64) -> Result<DType> {
    let spec = v.spec()?;
    pointwise::check_float(spec.dtype())?;
    pointwise::check_one_dtype(("v", v), ("g", g))?;
    let last = spec.sizes().len() as i64 - 1;
    if last < 0 || dim != 0 && dim != last {
        let message = format!(
            "argument `dim` is {dim}, expected the first or the last dimension of {:?}",
            spec.sizes()
        );
        return Err(argument(message));
    }
    let mut expected = vec![1; spec.sizes().len()];
    expected[dim as usize] = spec.sizes()[dim as usize];
    if g.sizes() != expected {
        return Err(argument(format!("argument `g` has shape {:?}, expected {expected:?}", g.sizes())));
    }
    Ok(normalisations::computed_in(spec.dtype()))
}

fn norm_except_dim(v: &Tensor, pow: i64, dim: i64) -> Result<Tensor> {
    if dim == -1 {
        return NormScalar.call(v, Scalar::Int(pow));
    }
    let dims = v.spec()?.geometry().dims();
    if dims == 0 {
        let message = format!("argument `dim` is {dim}, expected -1 for `v` without dimensions");
        return Err(out_of_range(message));
    }
    let kept = normalise_dim(dim, dims)? as i64;
    let norm = |v: &Tensor, dims: &[i64]| NormScalarOptDim.call(v, Some(Scalar::Int(pow)), dims, true);
    if dims == 1 {
        // A norm over no dimensions would be one over all.
        return norm(&v.unsqueeze(-1)?, &[-1])?.select(-1, 0);
    }
    norm(v, &(0..dims as i64).filter(|dim| *dim != kept).collect::<Vec<_>>())
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
        let x = |sizes: &[i64]| generate::numbers(DType::F32, sizes, 1);
        samples
            .operator(WeightNormInterface, FLOATS, outer_pairs, |it| {
                let (v, g, dim) = (it.tensor("v")?, it.tensor("g")?, it.value::<i64>("dim")?);
                let norm = norms(v, dim);
                let of_v = |position: &[i64]| {
                    v.at(position).to_complex().re * g.at(&kept(position, dim)).to_complex().re
                        / norm(position)
                };
                Ok([
                    Plain::from_fn(v.dtype(), v.sizes(), |position| of_v(position).into()),
                    Plain::from_fn(normalisations::computed_in(v.dtype()), g.sizes(), |position| {
                        norm(position).into()
                    }),
                ]
                .into())
            })
            .tolerance(16.0)
            .refuses("the first or the last", given(x(&[2, 3, 2])).and(x(&[1, 3, 1])).and(1))
            .refuses("argument `g` has shape", given(x(&[2, 3])).and(x(&[2])).and(0));
        samples.operator(WeightNormInterfaceBackward, FLOATS, saved, reference_of_gradients).tolerance(128.0);
        samples
            .operator(WeightNormDifferentiableBackward, FLOATS, saved, reference_of_gradients)
            .tolerance(128.0);
        samples.rounds(WeightNormInterface, Roundings::all(Rounding::Sum(16)));
        samples.rounds(WeightNormInterfaceBackward, Roundings::all(Rounding::Sum(128)));
        samples.rounds(WeightNormDifferentiableBackward, Roundings::all(Rounding::Sum(128)));
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

    /// Directions and lengths by the first or the last dimension.
    fn outer_pairs(dtype: DType) -> Vec<Sample> {
        let of = |sizes: &[i64], dim: i64| {
            let lengths = generate::numbers(dtype, &kept_sizes(sizes, dim), 2);
            given(generate::nonzero(dtype, sizes, 1)).and(lengths).and(dim)
        };
        vec![of(&[2, 3], 0), of(&[2, 3], 1), of(&[2, 3, 2], 0), of(&[2, 3, 2], 2), of(&[3], 0)]
    }

    /// Gradients of the pairs, with the norms.
    fn saved(dtype: DType) -> Vec<Sample> {
        let with = |sample: Sample| {
            let [v, g] = [0, 1].map(|at| sample.positional[at].tensors()[0]);
            let dim = sample.positional[2].clone();
            let place = v.sizes().iter().zip(g.sizes()).position(|(v, g)| v == g && *g > 1).unwrap_or(0);
            let norm = norms(v, place as i64);
            let saved = Plain::from_fn(normalisations::computed_in(dtype), g.sizes(), |position| {
                norm(position).into()
            });
            given(generate::numbers(dtype, v.sizes(), 3)).and(v.clone()).and(g.clone()).and(saved).and(dim)
        };
        outer_pairs(dtype).into_iter().map(with).collect()
    }

    fn reference_of_gradients(it: &Inputs) -> Result<Expected> {
        let [grad, v, g] = [it.tensor("grad_w")?, it.tensor("saved_v")?, it.tensor("saved_g")?];
        let (saved, dim) = (it.tensor("saved_norms")?, it.value::<i64>("dim")?);
        let real = |x: &Plain, position: &[i64]| x.at(position).to_complex().re;
        let sum = |position: &[i64]| {
            let own = position[dim as usize];
            let all = naive::positions(v.sizes()).filter(|other| other[dim as usize] == own);
            all.map(|other| real(grad, &other) * real(v, &other)).sum::<f64>()
        };
        Ok([
            Plain::from_fn(v.dtype(), v.sizes(), |position| {
                let place = kept(position, dim);
                let norm = real(saved, &place);
                let rest = real(grad, position) - real(v, position) * sum(position) / (norm * norm);
                Scalar::Float(real(g, &place) / norm * rest)
            }),
            Plain::from_fn(g.dtype(), g.sizes(), |position| {
                Scalar::Float(sum(position) / real(saved, position))
            }),
        ]
        .into())
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
