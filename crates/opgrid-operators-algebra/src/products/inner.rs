//! `aten::inner`: sums of products along the last dimensions of two tensors.
//!
//! `out[…, …] = self[…, 0] * other[…, 0] + self[…, 1] * other[…, 1] + …`
//!
//! - Shapes: those of `self` and `other` without the last dimensions, concatenated; a tensor without dimensions scales the
//!   other one.
//! - Dtypes: one for both, no bools; as `mul` beside a tensor without dimensions.
//! - Dispatch: a composite of `tensordot` or `mul`.
//! - Aliasing: `inner.out` writes `out`, and gives it its shape if it has no elements.
//! - Errors: last dimensions of other sizes; two dtypes or devices; an `out` of another dtype, unless a tensor scales the other
//!   one.
//! - Source: torch.inner, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{MulOut, MulTensor, Tensordot};

pub use opgrid_tensor::ops::products::inner::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(Inner, &kind::PRODUCT).implicit(inner);
    library.implement(InnerOut).implicit(|input, other, out| {
        if input.spec()?.sizes().is_empty() || other.spec()?.sizes().is_empty() {
            MulOut.call(input, other, out)
        } else {
            result::copied(out, &inner(input, other)?)
        }
    });
}

fn inner(input: &Tensor, other: &Tensor) -> Result<Tensor> {
    match (input.spec()?.sizes().last(), other.spec()?.sizes().last()) {
        (Some(size), Some(found)) if size == found => Tensordot.call(input, other, &[-1], &[-1]),
        (Some(_), Some(_)) => {
            let message = format!(
                "argument `other` has shape {:?}, expected the last dimension of `self` of shape {:?}",
                other.sizes(),
                input.sizes()
            );
            Err(argument(message))
        }
        _ => MulTensor.call(input, other),
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2, 3], 0);
        samples
            .operator(Inner, NUMBERS, inputs, reference)
            .tolerance(64.0)
            .refuses("last dimension", given(x.clone()).and(generate::numbers(DType::F32, &[2], 0)))
            .refuses("convert one of them", given(x.clone()).and(x.to(DType::F64)));
        samples.differs_as(Inner, products::samples::DIFFERENCES);
        samples.differs(Inner, OF_BOOLS);
        samples.rounds(Inner, Roundings::all(Rounding::Sum(2)));
    }

    const OF_BOOLS: Difference = Difference {
        id: "inner-products-of-bools",
        what: "torch multiplies bool vectors if the elements of one of them are not adjacent, and \
             rejects them otherwise; here bools are always rejected",
        why: "results must not depend on strides",
        test: (
            "opgrid-operators/tests/all/differences/refused.rs",
            "what_is_refused_with_elements_is_refused_without",
        ),
        when: |seen| {
            let is_apart = |input: &&Operand| !input.geometry.is_contiguous();
            seen.we_refuse("not implemented for 'Bool'") && seen.inputs().iter().any(is_apart)
        },
        directed: Some(Directed {
            operator: "aten::inner",
            arguments: || {
                vec![
                    ("self", Operand::rows(0, DType::Bool, &[2], &[0.0, 0.0]).into()),
                    ("other", Operand::strided(1, DType::Bool, (&[2], &[0], 0), &[0.0, 0.0]).into()),
                ]
            },
            needs: None,
        }),
    };

    fn inputs(dtype: DType) -> Vec<Sample> {
        let shapes: [[&[i64]; 2]; 7] = [
            [&[3], &[3]],
            [&[2, 3], &[4, 3]],
            [&[2, 2, 3], &[3]],
            [&[], &[3]],
            [&[2, 3], &[]],
            [&[2, 0], &[3, 0]],
            [&[37], &[2, 37]],
        ];
        let is_sample = |shapes: &[&[i64]; 2]| {
            dtype != DType::Bool || shapes.iter().all(|sizes| !sizes.is_empty() && !sizes.contains(&0))
        };
        let shapes = shapes.into_iter().filter(is_sample);
        shapes
            .map(|[a, b]| given(generate::numbers(dtype, a, 1)).and(generate::numbers(dtype, b, 2)))
            .collect()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (a, b) = (it.tensor("self")?, it.tensor("other")?);
        let (Some((&k, rows)), Some((_, columns))) = (a.sizes().split_last(), b.sizes().split_last()) else {
            return it.binary(DTypeRule::Promoted, number::times);
        };
        let sizes = [rows, columns].concat();
        let product = Plain::from_fn(a.dtype(), &sizes, |position| {
            let (row, column) = position.split_at(rows.len());
            let term = |at| number::times(a.at(&[row, &[at]].concat()), b.at(&[column, &[at]].concat()));
            (0..k).map(term).reduce(number::plus).unwrap_or(Scalar::Int(0))
        });
        Ok(product.into())
    }
}
