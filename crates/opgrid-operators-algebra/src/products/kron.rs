//! `aten::kron`: each element of one tensor times the whole of another.
//!
//! `out[i * m + k, j * n + l] = self[i, j] * other[k, l]`, where `[m, n]` are the sizes of `other`
//!
//! - Shapes: the products of the sizes; dimensions of size 1 are put in front of the tensor that has fewer.
//! - Dtypes: as `mul`.
//! - Dispatch: a composite of `mul` and views.
//! - Aliasing: `kron.out` writes `out`, and gives it its shape if it has no elements.
//! - Errors: those of `mul`; sizes whose products overflow.
//! - Source: torch.kron, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{MulTensor, Reshape};

pub use opgrid_tensor::ops::products::kron::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(Kron, &kind::PRODUCT).implicit(kron);
    library
        .implement(KronOut)
        .implicit(|input, other, out| result::converted(&[(out, &kron(input, other)?)]));
}

fn kron(input: &Tensor, other: &Tensor) -> Result<Tensor> {
    let dims = input.spec()?.sizes().len().max(other.spec()?.sizes().len());
    let size = |tensor: &Tensor, dim: usize| match (dim + tensor.dim()).checked_sub(dims) {
        Some(own) => tensor.sizes()[own],
        None => 1,
    };
    let (mut outer, mut inner, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
    for dim in 0..dims {
        let (left, right) = (size(input, dim), size(other, dim));
        outer.extend([left, 1]);
        inner.extend([1, right]);
        sizes.push(
            left.checked_mul(right).ok_or_else(|| argument("the sizes of the result overflow 64 bits"))?,
        );
    }
    let product = MulTensor.call(&Reshape.call(input, &outer)?, &Reshape.call(other, &inner)?)?;
    Reshape.call(&product, &sizes)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.operator(Kron, ANY, inputs, reference);
        samples.differs_as(
            Kron,
            &[departures::arithmetic::SIGN_OF_ZERO, departures::math::NOT_FINITE, READ_AFTER_WRITTEN],
        );
        samples.differs(
            Kron,
            Difference {
                id: "products-of-blocks-of-any-strides",
                what: "torch fails to merge dimensions of Kronecker products with some strides; here \
                     they are merged",
                why: "results must not depend on strides",
                test: (
                    "opgrid-operators/tests/all/differences/computed.rs",
                    "what_torch_refuses_by_accident_is_computed",
                ),
                when: |seen| seen.torch_refuses("view size is not compatible"),
                directed: None,
            },
        );
        samples.rounds(Kron, pointwise::samples::COMPLEX_ARITHMETIC);
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let shapes: [[&[i64]; 2]; 6] = [
            [&[2, 3], &[3, 2]],
            [&[2], &[3]],
            [&[2], &[2, 2]],
            [&[2, 2], &[]],
            [&[2, 0], &[3]],
            [&[1, 3, 2], &[2, 1]],
        ];
        let mut samples: Vec<Sample> = shapes
            .map(|[a, b]| given(generate::numbers(dtype, a, 1)).and(generate::numbers(dtype, b, 2)))
            .to_vec();
        let other = generate::beside(dtype, DType::F32);
        samples.push(given(generate::numbers(dtype, &[2], 1)).and(generate::numbers(other, &[3], 2)));
        samples
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (a, b) = (it.tensor("self")?, it.tensor("other")?);
        let dtype = it.common_dtype(&["self", "other"])?;
        let dims = a.sizes().len().max(b.sizes().len());
        let widened =
            |tensor: &Plain| [vec![1; dims - tensor.sizes().len()], tensor.sizes().to_vec()].concat();
        let (outer, inner) = (widened(a), widened(b));
        let sizes: Vec<i64> = outer.iter().zip(&inner).map(|(outer, inner)| outer * inner).collect();
        let product = Plain::from_fn(dtype, &sizes, |position| {
            let divided = |by: fn(i64, i64) -> i64| -> Vec<i64> {
                position.iter().zip(&inner).map(|(at, size)| by(*at, *size)).collect()
            };
            number::times(a.at(&divided(i64::wrapping_div)), b.at(&divided(i64::wrapping_rem)))
        });
        Ok(product.into())
    }
}
