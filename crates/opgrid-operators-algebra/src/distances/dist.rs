//! `aten::dist`: the norm of the difference of two tensors.
//!
//! - Shapes: `self` and `other` broadcast; the result has no dimensions.
//! - Dtypes: floats and complex numbers, promoted; the result is real.
//! - Aliasing: `dist.out` writes `out`.
//! - Dispatch: a composite of `sub` and `linalg_vector_norm`.
//! - Errors: shapes that do not broadcast; integers; as `linalg_vector_norm`, the largest of no numbers.
//! - Source: torch.dist, PyTorch 2.15.

use crate::kinds::distances::by_difference;
use crate::prelude::*;
use opgrid_tensor::ops::{LinalgVectorNorm, SubTensor};

pub use opgrid_tensor::ops::distances::dist::*;

pub(super) fn register(library: &mut Library) {
    library
        .define_with_forms(Dist, &kind::DISTANCE)
        .composite(|input, other, p| {
            let apart = SubTensor.call(input, other, Scalar::Int(1))?;
            LinalgVectorNorm.call(&apart, p, None, false, None)
        })
        .derivative(|d, (input, other, p)| {
            let (order, out) = (p.to_complex().re, d.result(0));
            let derivative = move |grad: &Tensor, input: &Tensor, other: &Tensor, out: &Tensor| {
                let apart = input.sub(other)?;
                if order.is_infinite() {
                    let count = apart.abs()?.eq(out)?.to_dtype(out.dtype())?.sum()?;
                    by_difference(&grad.div(&count)?, &apart, out, order)
                } else {
                    by_difference(grad, &apart, out, order)
                }
            };
            d.by(input, [input, other, out], move |grad, [input, other, out]| {
                derivative(grad, input, other, out)
            })?;
            d.by(other, [input, other, out], move |grad, [input, other, out]| {
                derivative(grad, other, input, out)
            })
        });
    library
        .implement(DistOut)
        .composite(|input, other, p, out| result::converted(&[(out, &Dist.call(input, other, p)?)]));
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::distances::cdist;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(Dist, INEXACT, inputs, reference)
            .tolerance(64.0)
            .refuses("broadcast", generate::misfits());
        samples.differs(Dist, departures::norm::NO_ORDER);
        // Roots are raised again.
        samples.rounds(Dist, Roundings::all(Rounding::Near(64)));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let shapes: [[&[i64]; 2]; 4] = [[&[2, 3], &[2, 3]], [&[2, 1], &[3]], [&[], &[]], [&[0, 2], &[2]]];
        let one = |p: Scalar| {
            shapes
                .map(|[a, b]| {
                    given(generate::numbers(dtype, a, 1)).and(generate::numbers(dtype, b, 2)).and(p)
                })
                .to_vec()
        };
        [Scalar::Int(2), Scalar::Int(1), Scalar::Int(0), Scalar::Float(3.0)]
            .into_iter()
            .flat_map(one)
            .collect()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (a, b, p): (_, _, Scalar) = (it.tensor("self")?, it.tensor("other")?, it.value("p")?);
        let sizes = naive::broadcast([a.sizes(), b.sizes()].into_iter())?;
        let apart: Vec<f64> = naive::positions(&sizes)
            .map(|at| number::minus(a.at(&at), b.at(&at)).to_complex().norm())
            .collect();
        let dtype = match a.dtype() {
            DType::Complex64 => DType::F32,
            DType::Complex128 => DType::F64,
            dtype => dtype,
        };
        Ok(Plain::number(dtype, Scalar::Float(cdist::samples::norm(&apart, p.to_complex().re))).into())
    }
}
