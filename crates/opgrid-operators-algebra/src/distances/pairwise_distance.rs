//! `aten::pairwise_distance`: how far the points of two lists lie from each other.
//!
//! `out[…]` is the `p`-norm of `x1[…, :] - x2[…, :] + eps`
//!
//! - Shapes: `x1` and `x2` broadcast; without the last dimension, or with size 1 for it with `keepdim`.
//! - Dtypes: promoted; integers give the default dtype, complex numbers real distances.
//! - Dispatch: a composite of `sub`, `add` and `norm`.
//! - Errors: bools; shapes that do not broadcast.
//! - Source: torch.nn.functional.pairwise_distance, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{AddScalar, NormScalarOptDim, SubTensor};

pub use opgrid_tensor::ops::distances::pairwise_distance::*;

pub(super) fn register(library: &mut Library) {
    library.define(PairwiseDistance).kind(&kind::DISTANCE).implicit(|x1, x2, p, eps, keepdim| {
        let apart = SubTensor.call(x1, x2, Scalar::Int(1))?;
        let apart = AddScalar.call(&apart, Scalar::Float(eps), Scalar::Int(1))?;
        let dim: &[i64] = if apart.sizes().is_empty() { &[] } else { &[-1] };
        NormScalarOptDim.call(&apart, Some(Scalar::Float(p)), dim, keepdim)
    });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::distances::cdist;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(PairwiseDistance, NUMBERS, inputs, reference)
            .tolerance(64.0)
            .refuses("broadcast", generate::misfits());
        samples.rounds(PairwiseDistance, Roundings::all(Rounding::Sum(8)));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        // Far enough apart that `eps` does not decide, and no integer wraps around.
        let list = |sizes: &[i64], at: i64| {
            Plain::from_elements(dtype, sizes, &(0..12).map(|k| at + k * 5 % 7).collect::<Vec<i64>>())
        };
        let pair = |a: &[i64], b: &[i64]| given(list(a, 9)).and(list(b, 1));
        vec![
            pair(&[3, 4], &[3, 4]),
            pair(&[2, 3], &[3]).and(1.0),
            pair(&[2, 1, 3], &[2, 3]).and(3.0).and(0.5).and(true),
            pair(&[4], &[4]),
            pair(&[], &[]),
            pair(&[0, 3], &[1, 3]),
        ]
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (a, b): (_, _) = (it.tensor("x1")?, it.tensor("x2")?);
        let (p, eps): (f64, f64) = (it.value("p")?, it.value("eps")?);
        let sizes = naive::broadcast([a.sizes(), b.sizes()].into_iter())?;
        let apart = |at: &[i64]| (a.at(at).to_complex() - b.at(at).to_complex() + eps).norm();
        let apart = Plain::from_fn(DType::F64, &sizes, |at| Scalar::Float(apart(at)));
        let distance = |list: &[Scalar]| {
            let list: Vec<f64> = list.iter().map(|x| x.to_complex().re).collect();
            Scalar::Float(cdist::samples::norm(&list, p))
        };
        let dtype = part_of(inexact(a.dtype()));
        let dims: &[i64] = if sizes.is_empty() { &[] } else { &[-1] };
        Ok(apart.reduced(Some(dims), it.value("keepdim")?, DType::F64, distance).to(dtype).into())
    }
}
