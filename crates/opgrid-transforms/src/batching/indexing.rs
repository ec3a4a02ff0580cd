//! Operators that read or write at indices, where the indices may differ from example to example.

use opgrid_core::{List, Result, TensorType, Value, ValueView};
use opgrid_tensor::Tensor;
use opgrid_tensor::layers::vmap::BatchedCall;
use opgrid_tensor::layers::vmap::rule::pointwise;
use opgrid_tensor::ops::{Embedding, Gather};

use super::Rule;

pub(super) const RULES: &[(&[&str], Rule)] = &[
    (&["masked_fill.Scalar", "masked_fill.Tensor", "masked_fill_.Scalar", "masked_fill_.Tensor"], pointwise),
    (&["index.Tensor", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index.Tensor"], index),
    (&["index_select"], index_select),
    (&["embedding"], embedding),
];

/// Indices of all dimensions, with one of the batch where any of them differs from example to example.
fn index(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let ValueView::OptionalTensors(indices) = call.args()[1].view() else { return call.one_by_one() };
    let of_example = |tensor: &opgrid_core::AnyTensor| Tensor::from_any_ref(tensor).cloned();
    let is_mask = |tensor: &Tensor| tensor.dtype() == opgrid_core::DType::Bool;
    let indices: Vec<Option<Tensor>> = indices.iter().map(|it| it.as_ref().and_then(of_example)).collect();
    // A mask has other results for each example; dimensions without an index between those with one move.
    let places: Vec<usize> = (0..indices.len()).filter(|at| indices[*at].is_some()).collect();
    let is_apart = places.windows(2).any(|pair| pair[1] != pair[0] + 1);
    if indices.iter().flatten().any(is_mask) || is_apart || places.is_empty() {
        return call.one_by_one();
    }
    let rank = indices.iter().flatten().map(Tensor::dim).max().unwrap_or(0);
    let differ = indices.iter().flatten().any(|it| call.level().behind(it).is_some());
    let mut args: Vec<Value> = Vec::with_capacity(call.args().len());
    let own = call.stretched(
        &Tensor::from_any_ref(call.args()[0].as_tensor().expect("a tensor")).expect("ours").clone(),
    )?;
    args.push((&own).into());
    let mut all: Vec<Option<opgrid_core::AnyTensor>> = Vec::with_capacity(indices.len() + 1);
    // Indices beside that of the batch keep the result's dimensions where they are.
    let is_first = places[0] == 0;
    if differ || is_first {
        let front =
            Tensor::arange(0, call.size(), 1)?.reshape([vec![call.size()], vec![1; rank]].concat())?;
        if !is_first {
            return call.one_by_one();
        }
        all.push(Some(front.into_any()));
        for index in &indices {
            all.push(match index {
                Some(index) => {
                    let mut index = call.stretched(index)?;
                    while index.dim() <= rank {
                        index = index.unsqueeze(1)?;
                    }
                    Some(index.into_any())
                }
                None => None,
            });
        }
    } else {
        all.push(None);
        all.extend(indices.iter().map(|index| index.clone().map(Tensor::into_any)));
    }
    args.push(List::OptionalTensors(all).into());
    for (place, value) in call.args().iter().enumerate().skip(2) {
        args.push(match value.view() {
            ValueView::Tensor(_) => {
                // Values are broadcast to the places.
                let places = if is_first {
                    rank + own.dim() - 1 - places.len()
                } else {
                    own.dim() - 1 - places.len() + rank
                };
                match call.aligned(place, places)? {
                    Some(values) => values.into(),
                    None => call.plain(*value)?,
                }
            }
            _ => value.to_value(),
        });
    }
    call.call_with(args)
}

/// Elements along a dimension, by other indices for each example.
fn index_select(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let (Some((input, _)), Some(dim), Some((index, differs))) =
        (call.tensor(0), call.args()[1].as_int(), call.tensor(2))
    else {
        return call.one_by_one();
    };
    let rank = call.example_rank().unwrap_or(0);
    if rank == 0 || !(-rank..rank).contains(&dim) {
        return call.one_by_one();
    }
    let dim = if dim < 0 { dim + rank + 1 } else { dim + 1 };
    if !differs {
        return call.push(input.index_select(dim, &index)?.into());
    }
    if index.dim() > 2 {
        return call.one_by_one();
    }
    let input =
        call.stretched(Tensor::from_any_ref(call.args()[0].as_tensor().expect("a tensor")).expect("ours"))?;
    let count = index.numel() / call.size().max(1);
    let mut shape = vec![1; input.dim()];
    (shape[0], shape[dim as usize]) = (call.size(), count);
    let mut sizes = input.sizes().to_vec();
    sizes[dim as usize] = count;
    let index = index.reshape(shape)?.expand(sizes)?;
    call.push(Gather.call(&input, dim, &index, false)?.into())
}

/// Rows of one table, or of another one for each example.
fn embedding(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let (Some((weight, differs)), Some(_)) = (call.tensor(0), call.tensor(1)) else {
        return call.one_by_one();
    };
    let indices =
        call.stretched(Tensor::from_any_ref(call.args()[1].as_tensor().expect("a tensor")).expect("ours"))?;
    if !differs {
        let args = call.args().iter().map(|value| call.plain(*value)).collect::<Result<_>>()?;
        return call.call_with(args);
    }
    let [size, rows, width] = weight.sizes() else { return call.one_by_one() };
    let (size, rows, width) = (*size, *rows, *width);
    let begins =
        Tensor::arange(0, size, 1)?.mul(rows)?.reshape([vec![size], vec![1; indices.dim() - 1]].concat())?;
    let indices = indices.add(&begins)?;
    call.push(Embedding.call(&weight.reshape([size * rows, width])?, &indices, -1, false, false)?.into())
}
