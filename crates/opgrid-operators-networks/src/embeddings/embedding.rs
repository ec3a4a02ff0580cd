//! `aten::embedding`, `aten::embedding_backward`: rows of a table by their indices, and the gradient of the table.
//!
//! `out[…, j] = weight[indices[…], j]`
//!
//! - Shapes: that of `indices`, then the length of a row; row-major.
//! - Dtypes: that of `weight`; `indices` is int32 or int64.
//! - Derivative: the row `padding_idx` has the gradient zero; `scale_grad_by_freq` divides by how often a row is read.
//! - Dispatch: a composite of `index_select` and views; the gradient is `embedding_dense_backward`. `padding_idx`,
//!   `scale_grad_by_freq` and `sparse` are for gradients.
//! - Aliasing: `embedding.out` writes `out`, and gives it its shape if it has no elements.
//! - Errors: a `weight` that is no matrix, an index out of range (negative ones are), other dtypes of indices; gradients that are sparse.
//! - Source: torch.nn.functional.embedding, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{EmbeddingDenseBackward, IndexSelect, Reshape};

pub use opgrid_tensor::ops::embeddings::embedding::*;

pub(super) fn register(library: &mut Library) {
    library
        .define_with_forms(Embedding, &kind::INDEXING)
        .on_every_backend(|weight, indices, _, _, _| embedding(weight, indices))
        .derivative(|d, (weight, indices, padding_idx, scale_grad_by_freq, _)| {
            let rows = weight.sizes()[0];
            d.by(weight, [indices], move |grad, [indices]| {
                EmbeddingDenseBackward.call(grad, indices, rows, padding_idx, scale_grad_by_freq)
            })
        });
    library
        .implement(EmbeddingOut)
        .on_every_backend(|weight, indices, _, _, _, out| result::copied(out, &embedding(weight, indices)?));
    library.implicit(
        EmbeddingBackward,
        &kind::INDEXING,
        |grad, indices, num_weights, padding_idx, scale_grad_by_freq, sparse| {
            check_dense(sparse)?;
            EmbeddingDenseBackward.call(grad, indices, num_weights, padding_idx, scale_grad_by_freq)
        },
    );
}

/// # Errors
///
/// A gradient that is asked for as a sparse tensor.
pub(super) fn check_dense(sparse: bool) -> Result<()> {
    if sparse {
        Err(argument("argument `sparse` is true, expected false, for gradients are dense here"))
    } else {
        Ok(())
    }
}

fn embedding(weight: &Tensor, indices: &Tensor) -> Result<Tensor> {
    let &[_, columns] = weight.spec()?.sizes() else {
        return Err(argument(format!("argument `weight` has shape {:?}, expected a matrix", weight.sizes())));
    };
    let sizes = indices.spec()?.sizes();
    if let [_] = sizes {
        return IndexSelect.call(weight, 0, indices);
    }
    let rows = IndexSelect.call(weight, 0, &Reshape.call(indices, &[indices.numel()])?)?;
    Reshape.call(&rows, &[sizes, &[columns]].concat())
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::embeddings::embedding_dense_backward;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let (x, indices) =
            (generate::numbers(DType::F32, &[3, 2], 0), Plain::from_elements(DType::I64, &[2], &[2, 0]));
        samples
            .operator(Embedding, STORED, inputs, reference)
            .refuses("expected a matrix", given(generate::numbers(DType::F32, &[3], 0)).and(indices.clone()))
            .refuses("expected int32 or int64", given(x.clone()).and(indices.to(DType::I16)))
            .refuses_data("", given(x.clone()).and(Plain::from_elements(DType::I64, &[1], &[3])))
            .refuses_data("", given(x.clone()).and(Plain::from_elements(DType::I64, &[1], &[-1])));
        samples
            .operator(
                EmbeddingBackward,
                ANY,
                |dtype| {
                    let all = embedding_dense_backward::samples::inputs(dtype);
                    all.into_iter().map(|sample| sample.and(false)).collect()
                },
                embedding_dense_backward::samples::reference,
            )
            .tolerance(4.0)
            .refuses("`sparse` is true", given(x).and(indices).and(4).and(-1).and(false).and(true));
        samples.rounds(EmbeddingBackward, Roundings::all(Rounding::Sum(2)));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let cases: [(&[i64], &[i64], DType); 5] = [
            (&[2, 2], &[0, 3, 1, 3], DType::I64),
            (&[3], &[2, 2, 0], DType::I32),
            (&[], &[1], DType::I64),
            (&[0, 2], &[], DType::I64),
            (&[1, 1, 2], &[3, 0], DType::I64),
        ];
        let one = |(sizes, indices, index_dtype): (&[i64], &[i64], DType)| {
            given(generate::numbers(dtype, &[4, 3], 1)).and(Plain::from_elements(index_dtype, sizes, indices))
        };
        cases.into_iter().map(one).collect()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (weight, indices) = (it.tensor("weight")?, it.tensor("indices")?);
        let sizes = [indices.sizes(), &weight.sizes()[1..]].concat();
        let rows = Plain::from_fn(weight.dtype(), &sizes, |position| {
            let (place, column) = position.split_at(indices.sizes().len());
            weight.at(&[&[number::whole(indices.at(place))], column].concat())
        });
        Ok(rows.into())
    }
}
