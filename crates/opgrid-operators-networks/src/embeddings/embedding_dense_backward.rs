//! `aten::embedding_dense_backward`: the gradient of the table of `embedding`.
//!
//! `out[i, j] = Σ grad_output[…, j]` over the places where `indices` is `i`
//!
//! - Shapes: `[num_weights, d]` for gradients of `d` elements, one for each index.
//! - Dtypes: that of `grad_output`; `indices` is int32 or int64. 16-bit floats are rounded once; integers wrap around.
//! - Values: the row `padding_idx` stays zero, and indices out of range do not count. With `scale_grad_by_freq` a row is
//!   divided by the number of its terms.
//! - Aliasing: `embedding_dense_backward.out` writes `out`, which must not overlap the inputs.
//! - Errors: another number of gradients than of indices; `scale_grad_by_freq` with integers.
//! - Source: torch.ops.aten.embedding_dense_backward, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::{embedding, indexing, normalise};
use opgrid_kinds::indexing::check_index_dtype;

pub use opgrid_tensor::ops::embeddings::embedding_dense_backward::*;

/// The family of `aten::embedding_dense_backward`: its kind, shape rule and `out` rule.
pub const EMBEDDING_DENSE_BACKWARD: Family<EmbeddingDenseBackward> =
    Family::new(EmbeddingDenseBackward, &kind::INDEXING, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&EMBEDDING_DENSE_BACKWARD).cpu(cpu).derivative(
        |d, (grad, indices, rows, padding_idx, scale_grad_by_freq)| {
            let sizes = grad.sizes().to_vec();
            d.by(grad, [indices], move |grad, [indices]| {
                let list = indices.reshape(&[-1])?;
                let is_out = list.lt(0)?.logical_or(&list.ge(rows)?)?;
                let is_ignored = is_out.logical_or(&list.eq(padding_idx)?)?;
                let list = list.masked_fill(&is_ignored, 0)?;
                let mut read = grad.index_select(0, &list)?;
                let is_ignored = is_ignored.unsqueeze(1)?;
                if scale_grad_by_freq {
                    // Of what is read: the first row stands for the ignored ones.
                    let ones = derivatives::zeros_of(&[list.numel(), 1], grad)?.add(1)?;
                    let ones = ones.masked_fill(&is_ignored, 0)?;
                    let counts = EmbeddingDenseBackward.call(&ones, &list, rows, -1, false)?;
                    read = read.div(&counts.index_select(0, &list)?.masked_fill(&is_ignored, 1)?)?;
                }
                read.masked_fill(&is_ignored, 0)?.reshape(&sizes)
            })
        },
    );
}

fn shape(
    grad: &Tensor,
    indices: &Tensor,
    num_weights: i64,
    _padding_idx: i64,
    scale_grad_by_freq: bool,
) -> Result<TensorSpec> {
    let (spec, index) = (grad.spec()?, indices.spec()?);
    check_index_dtype("indices", index)?;
    pointwise::same_device([("grad_output", grad), ("indices", indices)])?;
    with_dtype!(spec.dtype(), T: Any by itself => Ok(size_of::<T>()))?;
    if scale_grad_by_freq {
        pointwise::check_inexact(spec.dtype())?;
    }
    if num_weights < 0 {
        return Err(argument(format!("argument `num_weights` is {num_weights}, expected zero or more")));
    }
    let columns = match spec.sizes() {
        [.., columns] if columns.checked_mul(index.numel()) == Some(spec.numel()) => *columns,
        sizes => {
            let message = format!(
                "argument `grad_output` has shape {sizes:?}, expected {} rows, one for each index",
                index.numel()
            );
            return Err(argument(message));
        }
    };
    TensorSpec::contiguous(&[num_weights, columns], spec.dtype(), spec.device())
}

fn cpu(
    grad: &Tensor,
    indices: &Tensor,
    _num_weights: i64,
    padding_idx: i64,
    scale_grad_by_freq: bool,
    out: &Tensor,
) -> Result<()> {
    indexing::check_apart(out.array()?, indices.array()?)?;
    let indices: Vec<i64> = normalise::numbers(indices.array()?)?;
    let (out, grad) = (out.array()?, grad.array()?);
    with_dtype!(grad.dtype(), T: Any by bits => {
        embedding::add_rows::<T>(out, grad, &indices, padding_idx, |count| {
            if scale_grad_by_freq {
                opgrid_tensor::Element::cast(1.0 / count as f64)
            } else {
                Math::<T>::ONE
            }
        })
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::embeddings::embedding_renorm;
    use opgrid_samples::differences::DIED;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let grad = generate::numbers(DType::F32, &[3, 2], 0);
        let of = |grad: Plain, indices: Plain| given(grad).and(indices).and(4).and(-1).and(false);
        let indices = Plain::from_elements(DType::I64, &[3], &[1, 0, 1]);
        samples
            .operator(EmbeddingDenseBackward, ANY, inputs, reference)
            .tolerance(4.0)
            .refuses("one for each index", of(grad.clone(), indices.with_sizes(&[2])))
            .refuses("expected int32 or int64", of(grad.clone(), indices.to(DType::F32)))
            .refuses("`num_weights` is -1", given(grad).and(indices).and(-1).and(-1).and(false));
        samples.differs(EmbeddingDenseBackward, embedding_renorm::samples::TABLES_OF_NUMBERS);
        samples.differs(
            EmbeddingDenseBackward,
            Difference {
                id: "frequencies-of-rows-that-are-there",
                what: "torch counts indices of rows that do not exist in memory out of bounds, and \
                     crashes; here they are skipped, as torch does when it does not count",
                why: "out-of-bounds writes are never allowed",
                test: (
                    "opgrid-operators/tests/all/differences/computed.rs",
                    "frequencies_of_rows_that_are_there",
                ),
                when: |seen| {
                    let Some(Scalar::Int(rows)) = seen.number("num_weights") else { return false };
                    let is_beyond = |index: &Complex64| index.re < 0.0 || index.re >= rows as f64;
                    let is_counted = matches!(seen.number("scale_grad_by_freq"), Some(Scalar::Bool(true)));
                    let is_met = seen.torch_refuses(DIED) || !seen.elements.is_empty();
                    is_counted
                        && is_met
                        && seen.tensor("indices").is_some_and(|x| x.elements.iter().any(is_beyond))
                },
                directed: None,
            },
        );
        samples.rounds(EmbeddingDenseBackward, Roundings::all(Rounding::Sum(2)));
    }

    pub(crate) fn inputs(dtype: DType) -> Vec<Sample> {
        let of = |sizes: &[i64], indices: &[i64], padding: i64, scale: bool| {
            let grad = generate::numbers(dtype, &[sizes, &[3]].concat(), 1);
            given(grad).and(Plain::from_elements(DType::I64, sizes, indices)).and(5).and(padding).and(scale)
        };
        let mut samples = vec![
            of(&[4], &[0, 2, 2, 4], -1, false),
            of(&[2, 2], &[1, 1, 2, 1], 2, false),
            of(&[3], &[7, -1, 0], -1, false),
            of(&[0], &[], -1, false),
            of(&[], &[3], -1, false),
        ];
        if dtype.is_floating_point() || dtype.is_complex() {
            samples.push(of(&[5], &[0, 2, 2, 2, 2], -1, true));
            samples.push(of(&[5], &[0, 2, 1, 1, 2], 2, true));
        }
        samples
    }

    pub(crate) fn reference(it: &Inputs) -> Result<Expected> {
        let grad = it.tensor("grad_output").or_else(|_| it.tensor("grad"))?;
        let indices = it.tensor("indices")?;
        let [rows, padding]: [i64; 2] = [it.value("num_weights")?, it.value("padding_idx")?];
        let is_scaled: bool = it.value("scale_grad_by_freq")?;
        let columns = grad.sizes()[grad.sizes().len() - 1];
        let flat = grad.with_sizes(&[indices.elements().len() as i64, columns]);
        let sums = Plain::from_fn(grad.dtype(), &[rows, columns], |position| {
            let is_it = |index: &Scalar| number::whole(*index) == position[0] && position[0] != padding;
            let places = indices.elements().iter().enumerate().filter(|(_, index)| is_it(index));
            let terms: Vec<Scalar> = places.map(|(place, _)| flat.at(&[place as i64, position[1]])).collect();
            let count = terms.len() as f64;
            let sum = terms.into_iter().reduce(number::plus).unwrap_or(Scalar::Int(0));
            if is_scaled && count > 0.0 { number::over(sum, Scalar::Float(count)) } else { sum }
        });
        Ok(sums.into())
    }
}
