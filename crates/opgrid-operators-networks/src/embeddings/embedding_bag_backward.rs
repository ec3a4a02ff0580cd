//! `aten::_embedding_bag_backward`, `aten::_embedding_bag_dense_backward`, `aten::_embedding_bag_per_sample_weights_backward`: the
//! gradients of the table of `_embedding_bag`, and of the weights of its indices.
//!
//! The gradient of a bag goes to the row of each of its indices, times `per_sample_weights` (`mode` 0) or over `bag_size` (`mode` 1); with
//! `mode` 2, that of column `j` to the row `maximum_indices[bag, j]`. The weight of an index has the product of its row with the gradient
//! of its bag.
//!
//! - Shapes: `grad` is `[bags, d]`, the gradient of the table `[num_weights, d]`, that of the weights a vector as `indices`.
//! - Dtypes: that of `grad`, a floating-point one; `indices`, `offset2bag` and `bag_size` are int32 or int64.
//! - Values: rows of `padding_idx` and bags without indices have none. With `scale_grad_by_freq` a row is divided by the number of its
//!   terms. Where `offset2bag` has no elements, `offsets` say which bag an index belongs to.
//! - Aliasing: the `out` forms write `out`.
//! - Dispatch: composites of `embedding_dense_backward`, `index_select` and arithmetic.
//! - Errors: other shapes or dtypes; a `mode` that there is not; weights with another `mode` than 0; gradients that are sparse.
//! - Source: torch.ops.aten._embedding_bag_backward, PyTorch 2.15.

use super::embedding::check_dense;
use crate::prelude::*;
use opgrid_kinds::indexing::check_index_dtype;
use opgrid_tensor::ops::{Arange, BucketizeTensor, EmbeddingDenseBackward, ScatterAdd};

pub use opgrid_tensor::ops::embeddings::embedding_bag_backward::*;

pub(super) fn register(library: &mut Library) {
    library.define(EmbeddingBagBackward).kind(&kind::INDEXING).implicit(
        |grad,
         indices,
         offsets,
         bags,
         sizes,
         rows,
         num_weights,
         scale,
         mode,
         sparse,
         samples,
         padding_idx| {
            check_dense(sparse)?;
            let found = bags_of(bags, indices, offsets)?;
            EmbeddingBagDenseBackward.call(
                grad,
                indices,
                &found,
                sizes,
                rows,
                num_weights,
                scale,
                mode,
                samples,
                padding_idx,
            )
        },
    );
    library.implicit(
        EmbeddingBagDenseBackward,
        &kind::INDEXING,
        |grad, indices, bags, sizes, rows, num_weights, scale, mode, samples, padding_idx| {
            let columns = check(grad, indices, bags)?;
            if mode == 2 {
                return by_largest(grad, sizes, rows, &[num_weights, columns]);
            }
            check_mode(mode, samples)?;
            by_rows(grad, indices, bags, sizes, (num_weights, scale, mode, padding_idx), samples)
        },
    );
    library.implicit(
        EmbeddingBagPerSampleWeightsBackward,
        &kind::INDEXING,
        |grad, weight, indices, offsets, bags, mode, padding_idx| {
            if mode != 0 {
                let message = format!("argument `mode` is {mode}, expected 0 (sum), of which weights are");
                return Err(argument(message));
            }
            let bags = bags_of(bags, indices, offsets)?;
            let columns = check(grad, indices, &bags)?;
            pointwise::check_one_dtype(("grad", grad), ("weight", weight))?;
            if weight.dim() != 2 || weight.sizes()[1] != columns {
                let message = format!(
                    "argument `weight` has shape {:?}, expected a matrix with {columns} columns",
                    weight.sizes()
                );
                return Err(argument(message));
            }
            by_samples(grad, weight, indices, &bags, padding_idx)
        },
    );
}

/// The bag of each index: as given, or as the offsets say.
///
/// # Errors
///
/// Those of the operators.
fn bags_of(bags: &Tensor, indices: &Tensor, offsets: &Tensor) -> Result<Tensor> {
    if bags.spec()?.numel() > 0 || indices.spec()?.numel() == 0 {
        Ok(bags.clone())
    } else {
        bags_by_offsets(indices, offsets)
    }
}

/// The bag of each index, by the first index of each bag.
///
/// # Errors
///
/// Those of the operators.
pub(super) fn bags_by_offsets(indices: &Tensor, offsets: &Tensor) -> Result<Tensor> {
    let device = indices.device();
    let places = Arange.call(indices.numel().into(), Some(DType::I64), None, Some(device), None)?;
    BucketizeTensor.call(&places, offsets, false, true)?.sub(1)
}

/// The number of columns of a gradient.
///
/// # Errors
///
/// A gradient that is no matrix of floats; lists of other dtypes or shapes.
fn check(grad: &Tensor, indices: &Tensor, bags: &Tensor) -> Result<i64> {
    let spec = grad.spec()?;
    pointwise::check_float(spec.dtype())?;
    for (name, list) in [("indices", indices), ("offset2bag", bags)] {
        check_index_dtype(name, list.spec()?)?;
        if list.sizes() != [indices.numel()] {
            let message = format!(
                "argument `{name}` has shape {:?}, expected a vector of {} elements, one for each index",
                list.sizes(),
                indices.numel()
            );
            return Err(argument(message));
        }
    }
    match *spec.sizes() {
        [_, columns] => Ok(columns),
        ref sizes => Err(argument(format!("argument `grad` has shape {sizes:?}, expected a matrix"))),
    }
}

/// # Errors
///
/// A mode that there is not; weights of an average.
fn check_mode(mode: i64, samples: Option<&Tensor>) -> Result<()> {
    match (mode, samples) {
        (0, _) | (1, None) => Ok(()),
        (1, Some(_)) => {
            Err(argument("argument `per_sample_weights` is only supported for `mode` 0 (sum), found 1"))
        }
        (mode, _) => {
            Err(argument(format!("argument `mode` is {mode}, expected 0 (sum), 1 (mean) or 2 (max)")))
        }
    }
}

/// The gradient of the table where each index passes that of its bag on to its row.
///
/// # Errors
///
/// Those of the operators.
pub(super) fn by_rows(
    grad: &Tensor,
    indices: &Tensor,
    bags: &Tensor,
    sizes: &Tensor,
    (num_weights, scale_grad_by_freq, mode, padding_idx): (i64, bool, i64, i64),
    samples: Option<&Tensor>,
) -> Result<Tensor> {
    let grad = match mode {
        1 => grad.div(&sizes.clamp_min(1)?.to_dtype(grad.dtype())?.unsqueeze(1)?)?,
        _ => grad.clone(),
    };
    let each = of_indices(&grad, indices, bags, padding_idx)?;
    let each = match samples {
        Some(samples) => each.mul(&samples.unsqueeze(1)?)?,
        None => each,
    };
    EmbeddingDenseBackward.call(&each, indices, num_weights, padding_idx, scale_grad_by_freq)
}

/// The gradient of the table where the largest elements of bags were chosen, `rows` of them.
///
/// # Errors
///
/// Those of the operators.
pub(super) fn by_largest(grad: &Tensor, sizes: &Tensor, rows: &Tensor, table: &[i64]) -> Result<Tensor> {
    // Bags without elements have no largest ones.
    let grad = grad.masked_fill(&sizes.eq(0)?.unsqueeze(1)?, 0)?;
    ScatterAdd.call(&derivatives::zeros_of(table, &grad)?, 0, &rows.to_dtype(DType::I64)?, &grad)
}

/// The gradient of the weights of indices.
///
/// # Errors
///
/// Those of the operators.
pub(super) fn by_samples(
    grad: &Tensor,
    weight: &Tensor,
    indices: &Tensor,
    bags: &Tensor,
    padding_idx: i64,
) -> Result<Tensor> {
    let each = of_indices(grad, indices, bags, padding_idx)?;
    each.mul(&weight.index_select(0, indices)?)?.sum_dim(&[1], false)
}

/// The gradient of the bag of each index; zeros for those that do not count.
fn of_indices(grad: &Tensor, indices: &Tensor, bags: &Tensor, padding_idx: i64) -> Result<Tensor> {
    let &[count, columns] = grad.sizes() else {
        return Err(argument(format!("argument `grad` has shape {:?}, expected a matrix", grad.sizes())));
    };
    if count == 0 {
        return derivatives::zeros_of(&[indices.numel(), columns], grad);
    }
    // Indices behind the last bag belong to none.
    let is_none = bags.ge(count)?.logical_or(&indices.eq(padding_idx)?)?.unsqueeze(1)?;
    grad.index_select(0, &bags.clamp_max(count - 1)?)?.masked_fill(&is_none, 0)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = |sizes: &[i64]| generate::numbers(DType::F32, sizes, 0);
        let list = |elements: &[i64]| Plain::from_elements(DType::I64, &[elements.len() as i64], elements);
        samples.operator(EmbeddingBagBackward, FLOATS, |dtype| tables(dtype, true), by_table).tolerance(8.0);
        let of = |mode: i64, bags: &[i64], weights: Given| {
            let lists = given(x(&[2, 2])).and(list(&[1, 0])).and(list(bags)).and(list(&[1, 1]));
            lists.and(list(&[1, 1])).and(3).and(false).and(mode).and(weights).and(-1)
        };
        samples
            .operator(EmbeddingBagDenseBackward, FLOATS, |dtype| tables(dtype, false), by_table)
            .tolerance(8.0)
            .refuses("`offset2bag` has shape", of(0, &[0], Value::None.into()))
            .refuses("`mode` is 3", of(3, &[0, 1], Value::None.into()))
            .refuses("only supported for `mode` 0", of(1, &[0, 1], x(&[2]).into()));
        samples
            .operator(EmbeddingBagPerSampleWeightsBackward, FLOATS, weights, by_weights)
            .tolerance(16.0)
            .refuses("`mode` is 1", {
                let lists = given(x(&[2, 2])).and(x(&[3, 2])).and(list(&[1, 0])).and(list(&[0, 1]));
                lists.and(list(&[0, 1])).and(1).and(-1)
            });
        samples.rounds(EmbeddingBagBackward, Roundings::all(Rounding::Sum(4)));
        samples.rounds(EmbeddingBagDenseBackward, Roundings::all(Rounding::Sum(4)));
        samples.rounds(EmbeddingBagPerSampleWeightsBackward, Roundings::all(Rounding::Sum(8)));
    }

    const INDICES: [i64; 5] = [2, 0, 2, 3, 1];
    const OFFSETS: [i64; 4] = [0, 2, 2, 3];
    const BAGS: [i64; 5] = [0, 0, 2, 3, 3];

    fn list(elements: &[i64]) -> Plain {
        Plain::from_elements(DType::I64, &[elements.len() as i64], elements)
    }

    /// Gradients of four bags, of which one is empty, in all modes.
    fn tables(dtype: DType, with_offsets: bool) -> Vec<Sample> {
        let of = |mode: i64, scale: bool, has_weights: bool, padding: i64, has_bags: bool| {
            let mut sample = given(generate::numbers(dtype, &[4, 3], 1)).and(list(&INDICES));
            if with_offsets {
                sample = sample.and(list(&OFFSETS));
            }
            let largest = Plain::from_elements(DType::I64, &[4, 3], &[2, 0, 2, -1, -1, -1, 2, 2, 2, 3, 1, 1]);
            let largest =
                Plain::from_fn(DType::I64, largest.sizes(), |position| match largest.at(position) {
                    // Of an empty bag any row is as good.
                    Scalar::Int(-1) => Scalar::Int(0),
                    row => row,
                });
            let weights: Given =
                if has_weights { generate::numbers(dtype, &[5], 2).into() } else { Value::None.into() };
            sample =
                sample.and(list(if has_bags { &BAGS } else { &[] })).and(list(&[2, 0, 1, 2])).and(largest);
            sample = sample.and(5).and(scale).and(mode);
            if with_offsets {
                sample = sample.and(false);
            }
            sample.and(weights).and(padding)
        };
        let mut samples = vec![
            of(0, false, false, -1, true),
            of(0, false, true, -1, true),
            of(0, true, false, -1, true),
            of(0, false, true, 2, true),
            of(1, false, false, -1, true),
            of(1, true, false, 2, true),
            of(2, false, false, -1, true),
        ];
        if with_offsets {
            samples.push(of(0, false, false, -1, false));
        }
        samples
    }

    /// The row and the bag of each index.
    fn places(it: &Inputs) -> Result<Vec<(i64, usize)>> {
        let whole = |x: &Plain| x.elements().iter().map(|x| number::whole(*x)).collect::<Vec<_>>();
        let (rows, bags) = (whole(it.tensor("indices")?), whole(it.tensor("offset2bag")?));
        let offsets = it.tensor("offsets").map(whole).unwrap_or_default();
        let bag = |place: usize| match bags.get(place) {
            Some(bag) => *bag as usize,
            None => offsets.iter().filter(|offset| **offset <= place as i64).count() - 1,
        };
        Ok(rows.iter().enumerate().map(|(place, row)| (*row, bag(place))).collect())
    }

    fn by_table(it: &Inputs) -> Result<Expected> {
        let (grad, sizes, largest) =
            (it.tensor("grad")?, it.tensor("bag_size")?, it.tensor("maximum_indices")?);
        let weights = it.tensor("per_sample_weights").ok();
        let (rows, mode, padding): (i64, i64, i64) =
            (it.value("num_weights")?, it.value("mode")?, it.value("padding_idx")?);
        let (is_scaled, places): (bool, _) = (it.value("scale_grad_by_freq")?, places(it)?);
        let real = |x: &Plain, position: &[i64]| x.at(position).to_complex().re;
        Ok(Plain::from_fn(grad.dtype(), &[rows, grad.sizes()[1]], |position| {
            let (row, column) = (position[0], position[1]);
            if mode == 2 {
                let is_it = |bag: &i64| {
                    real(sizes, &[*bag]) > 0.0 && number::whole(largest.at(&[*bag, column])) == row
                };
                let bags = (0..grad.sizes()[0]).filter(is_it);
                return Scalar::Float(bags.map(|bag| real(grad, &[bag, column])).sum());
            }
            let own = (0..).zip(&places).filter(|(_, (own, _))| *own == row && row != padding);
            let term = |(place, (_, bag)): (i64, &(i64, usize))| {
                let bag = *bag as i64;
                let share = if mode == 1 { real(sizes, &[bag]).max(1.0) } else { 1.0 };
                let weight = weights.map_or(1.0, |weights| real(weights, &[place]));
                real(grad, &[bag, column]) * weight / share
            };
            let count = if is_scaled { own.clone().count().max(1) as f64 } else { 1.0 };
            Scalar::Float(own.map(term).sum::<f64>() / count)
        })
        .into())
    }

    /// Gradients of bags beside a table, whose indices have weights.
    fn weights(dtype: DType) -> Vec<Sample> {
        let of = |padding: i64, bags: &[i64]| {
            given(generate::numbers(dtype, &[4, 3], 1))
                .and(generate::numbers(dtype, &[5, 3], 2))
                .and(list(&INDICES))
                .and(list(&OFFSETS))
                .and(list(bags))
                .and(0)
                .and(padding)
        };
        vec![of(-1, &BAGS), of(2, &BAGS), of(-1, &[])]
    }

    fn by_weights(it: &Inputs) -> Result<Expected> {
        let (grad, weight, padding): (_, _, i64) =
            (it.tensor("grad")?, it.tensor("weight")?, it.value("padding_idx")?);
        let places = places(it)?;
        let real = |x: &Plain, position: &[i64]| x.at(position).to_complex().re;
        Ok(Plain::from_fn(grad.dtype(), &[places.len() as i64], |position| {
            let (row, bag) = places[position[0] as usize];
            let columns = 0..grad.sizes()[1];
            let terms =
                columns.map(|column| real(grad, &[bag as i64, column]) * real(weight, &[row, column]));
            Scalar::Float(if row == padding { 0.0 } else { terms.sum() })
        })
        .into())
    }
}
