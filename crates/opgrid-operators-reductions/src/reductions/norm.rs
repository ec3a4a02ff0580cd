//! `aten::norm`: the norm of vectors, in the overloads that came before
//! [`LinalgVectorNorm`].
//!
//! `out[j] = (|self[0, j]| ^ p + |self[1, j]| ^ p + …) ^ (1 / p)`, with 2 for no `p`
//!
//! - Shapes, dtypes, errors: those of `linalg_vector_norm`.
//! - Aliasing: the overloads whose names end in `out` write `out`.
//! - Dispatch: made of `linalg_vector_norm`.
//! - Source: torch.norm, PyTorch 2.15.

use super::linalg_vector_norm;
use crate::prelude::*;
use opgrid_tensor::ops::{LinalgVectorNorm, LinalgVectorNormOut};

pub use opgrid_tensor::ops::reductions::norm::*;

pub(super) fn register(library: &mut Library) {
    let kind = &kind::REDUCTION;
    library
        .define_with_forms(NormScalar, kind)
        .composite(|input, p| LinalgVectorNorm.call(input, p, None, false, None))
        .derivative(|d, (input, p)| linalg_vector_norm::derivative(d, input, p, None, false));
    library
        .implement(NormScalarOut)
        .composite(|input, p, out| LinalgVectorNormOut.call(input, p, None, false, None, out));
    library
        .define_with_forms(NormScalarOptDim, kind)
        .composite(|input, p, dim, keepdim| LinalgVectorNorm.call(input, order(p), Some(dim), keepdim, None))
        .derivative(|d, (input, p, dim, keepdim)| {
            linalg_vector_norm::derivative(d, input, order(p), Some(dim), keepdim)
        });
    library.implement(NormOut).composite(|input, p, dim, keepdim, out| {
        LinalgVectorNormOut.call(input, order(p), Some(dim), keepdim, None, out)
    });
    library
        .define_with_forms(NormScalarOptDimDtype, kind)
        .composite(|input, p, dim, keepdim, dtype| {
            LinalgVectorNorm.call(input, order(p), Some(dim), keepdim, Some(dtype))
        })
        .derivative(|d, (input, p, dim, keepdim, _)| {
            linalg_vector_norm::derivative(d, input, order(p), Some(dim), keepdim)
        });
    library.implement(NormDtypeOut).composite(|input, p, dim, keepdim, dtype, out| {
        LinalgVectorNormOut.call(input, order(p), Some(dim), keepdim, Some(dtype), out)
    });
    library
        .define_with_forms(NormScalarOptDtype, kind)
        .composite(|input, p, dtype| LinalgVectorNorm.call(input, order(p), None, false, Some(dtype)))
        .derivative(|d, (input, p, _)| linalg_vector_norm::derivative(d, input, order(p), None, false));
    library.implement(NormScalarOptDtypeOut).composite(|input, p, dtype, out| {
        LinalgVectorNormOut.call(input, order(p), None, false, Some(dtype), out)
    });
}

/// The order that is meant where none is given.
fn order(p: Option<Scalar>) -> Scalar {
    p.unwrap_or(Scalar::Int(2))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;
    use opgrid_tensor::tensor::{FloatLimits, finfo};

    pub(crate) fn collect(samples: &mut Samples) {
        let of_all = |dtype| {
            let orders = [2, 1, 3].map(|order| given(generate::numbers(dtype, &[2, 3], 1)).and(order));
            orders
                .into_iter()
                .chain([given(generate::numbers(dtype, &[], 1)), given(generate::numbers(dtype, &[0], 1))])
                .collect()
        };
        samples.operator(NormScalar, INEXACT, of_all, reference).tolerance(8.0);
        samples.operator(NormScalarOptDim, INEXACT, over_dims, reference).tolerance(8.0);
        samples
            .operator(
                NormScalarOptDimDtype,
                INEXACT,
                |dtype| {
                    over_dims(dtype).into_iter().map(|sample| sample.named("dtype", wide(dtype))).collect()
                },
                reference,
            )
            .tolerance(8.0);
        samples
            .operator(
                NormScalarOptDtype,
                INEXACT,
                |dtype| {
                    vec![
                        given(generate::numbers(dtype, &[2, 3], 1)).and(1).named("dtype", wide(dtype)),
                        given(generate::numbers(dtype, &[0], 1)).and(1).named("dtype", wide(dtype)),
                        given(generate::numbers(dtype, &[], 1)).and(1).named("dtype", wide(dtype)),
                    ]
                },
                reference,
            )
            .tolerance(8.0);
        samples.differs(NormScalar, READ_AFTER_WRITTEN);
        samples.differs(NormScalar, SHAPED_BEFORE_READ);
        samples.differs(NormScalar, departures::norm::NO_ORDER);
        samples.differs(NormScalar, LONG_SUMS);
        // The root multiplies the error of the sum.
        samples.rounds(NormScalar, Roundings::all(Rounding::Sum(32)));
    }

    /// Differences for norms into an output that is also the input, without elements, and gets its shape in torch
    /// before it is read.
    pub(crate) const SHAPED_BEFORE_READ: Difference = Difference {
        when: |seen| {
            let shares = |out: &Operand| seen.inputs().iter().any(|input| input.memory == out.memory);
            let is_shape = matches!(seen.part, Part::Sizes | Part::Strides);
            is_shape && seen.out().is_some_and(|out| out.is_empty() && shares(out))
        },
        ..READ_AFTER_WRITTEN
    };

    /// Differences for norms of many elements.
    pub(crate) const LONG_SUMS: Difference = Difference {
        id: "norms-keep-the-digits-of-long-sums",
        what: "torch sums powers and complex magnitudes one after another, and the root of an order \
             below one amplifies the rounding error; here they are summed in several partial sums",
        why: "the mathematical result",
        test: ("opgrid-operators/tests/all/differences/numbers.rs", "norms_of_many_elements"),
        when: |seen| {
            let order = seen.number("p").or_else(|| seen.number("ord"));
            let order = order.and_then(|order| order.to_f64().ok()).unwrap_or(2.0).abs();
            let is_small = (0.0..=1.0).contains(&order);
            let units = if order == 0.0 { 256.0 } else { 256.0 / order.max(1.0 / 64.0) };
            let is_long = seen.tensor("self").is_some_and(|input| input.elements.len() > 64);
            is_small
                && is_long
                && seen.each(|(dtype, ours, torch)| {
                    let near =
                        |limits: FloatLimits| (ours - torch).norm() <= units * limits.eps * ours.norm();
                    finfo(*dtype).is_ok_and(near)
                })
        },
        directed: None,
    };

    /// The widest dtype of the same kind.
    fn wide(dtype: DType) -> DType {
        if dtype.is_complex() { DType::Complex128 } else { DType::F64 }
    }

    fn over_dims(dtype: DType) -> Vec<Sample> {
        let one = |sample: Sample| match sample.positional.as_slice() {
            [input, dims, keepdim] => given(input.clone()).and(2).and(dims.clone()).and(keepdim.clone()),
            _ => sample,
        };
        generate::over_dims(dtype).into_iter().map(one).collect()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let x = it.tensor("self")?;
        let dtype = it.option::<DType>("dtype")?.unwrap_or(x.dtype());
        let order = it.option::<Scalar>("p")?.unwrap_or(Scalar::Int(2)).to_f64()?;
        let (dims, keepdim): (Option<Vec<i64>>, Option<bool>) = (it.option("dim")?, it.option("keepdim")?);
        let norm = |elements: &[Scalar]| {
            let powers = elements.iter().map(|element| element.to_complex().norm().powf(order));
            Scalar::Float(powers.sum::<f64>().powf(1.0 / order))
        };
        Ok(x.to(dtype).reduced(dims.as_deref(), keepdim.unwrap_or(false), part_of(dtype), norm).into())
    }
}
