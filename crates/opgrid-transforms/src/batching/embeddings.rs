//! Rows of tables: of one for all examples, or of another one for each.

use opgrid_core::{DType, Result, Value};
use opgrid_tensor::Tensor;
use opgrid_tensor::layers::autograd::is_grad_enabled;
use opgrid_tensor::layers::levels::Leveled;
use opgrid_tensor::layers::vmap::{Batch, BatchedCall};
use opgrid_tensor::ops::{
    ClampMin, Detach, EqScalar, Gather, GeScalar, GtScalar, LinalgVectorNorm, LogicalAnd, LogicalNot,
    LogicalOr, LtScalar, NewZeros, ScatterAdd, ScatterValue, WhereScalarOther, WhereScalarSelf, WhereSelf,
};

use super::arguments::{differs, flag, full, int, optional, refused, rows};
use super::{Rule, as_it_is};

pub(super) const RULES: &[(&[&str], Rule)] = &[
    (&["embedding"], embedding),
    (&["embedding_dense_backward"], embedding_dense_backward),
    (&["embedding_renorm"], embedding_renorm),
    (&["_embedding_bag", "_embedding_bag_forward_only"], embedding_bag),
];

/// Number of the argument `scale_grad_by_freq`.
const SCALES: usize = 3;

/// # Errors
///
/// A gradient is asked for of a table of all examples, which would count the indices of all of them, as those of one example do not. Where none is,
/// how often an index is there plays no part.
fn check_scale(call: &BatchedCall<'_, '_>) -> Result<()> {
    if !flag(call, SCALES) || !is_grad_enabled() {
        return Ok(());
    }
    let (table, _) = call.tensor(0).unwrap_or((Tensor::undefined(), false));
    // Tensors of levels around that are no batches may have a gradient there.
    let (mut behind, mut is_derived) = (&table, false);
    while let Some(leveled) = behind.wrapper::<Leveled>() {
        is_derived |= leveled.level().transform_as::<Batch>().is_none();
        behind = leveled.inner();
    }
    if is_derived || behind.requires_grad() {
        return Err(refused(
            "`scale_grad_by_freq` counts the indices of all examples together in a gradient around `vmap`; call it without, or take the \
             gradient within",
        ));
    }
    Ok(())
}

/// Indices `[examples, indices]` for the columns of tables `[examples, rows, columns]`.
fn for_columns(indices: &Tensor, columns: i64) -> Result<Tensor> {
    let sizes = [indices.sizes(), &[columns]].concat();
    indices.to_dtype(DType::I64)?.unsqueeze(2)?.expand(sizes)
}

fn embedding(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    check_scale(call)?;
    if !differs(call, 0) {
        return as_it_is(call);
    }
    let (table, indices, padding) = (full(call, 0)?, full(call, 1)?, int(call, 2)?);
    let columns = table.sizes()[2];
    let chosen = Gather.call(&table, 1, &for_columns(&rows(&indices)?, columns)?, false)?;
    let chosen = chosen.reshape([indices.sizes(), &[columns]].concat())?;
    // The padding gets no gradient.
    let chosen = match padding {
        -1 => chosen,
        _ => {
            let padding = if padding < 0 { padding + table.sizes()[1] } else { padding };
            WhereSelf.call(
                &EqScalar.call(&indices, padding.into())?.unsqueeze(-1)?,
                &Detach.call(&chosen)?,
                &chosen,
            )?
        }
    };
    call.push(chosen.into())
}

fn embedding_dense_backward(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let (grad, indices, count, padding) = (full(call, 0)?, full(call, 1)?, int(call, 2)?, int(call, 3)?);
    let (columns, dtype) = (grad.sizes()[grad.dim() - 1], grad.dtype());
    let indices = rows(&indices)?;
    let grad = grad.reshape([indices.sizes(), &[columns]].concat())?;
    // Rows that the table does not have get nothing, as those of padding.
    let is_beyond =
        LogicalOr.call(&LtScalar.call(&indices, 0.into())?, &GeScalar.call(&indices, count.into())?)?;
    let is_padding = LogicalOr.call(&EqScalar.call(&indices, padding.into())?, &is_beyond)?.unsqueeze(2)?;
    let grad = WhereScalarSelf.call(&is_padding, 0.into(), &grad)?;
    // Padding may be no row at all.
    let indices = WhereScalarSelf.call(&is_padding.squeeze(2)?, 0.into(), &indices)?;
    // Each index shares its gradient with those that are the same in its example.
    let grad = if flag(call, 4) {
        let ones = LogicalNot.call(&is_padding.squeeze(2)?)?.to_dtype(DType::F64)?;
        let indices = indices.to_dtype(DType::I64)?;
        let none = NewZeros.call(&ones, &[call.size(), count], None, None, None, None)?;
        let counts = Gather.call(&ScatterAdd.call(&none, 1, &indices, &ones)?, 1, &indices, false)?;
        // Padding counts nowhere.
        grad.div(&ClampMin.call(&counts, 1.into())?.to_dtype(dtype)?.unsqueeze(2)?)?
    } else {
        grad
    };
    let table = NewZeros.call(&grad, &[call.size(), count, columns], None, None, None, None)?;
    let sum = ScatterAdd.call(&table, 1, &for_columns(&indices, columns)?, &grad)?;
    call.push(sum.to_dtype(dtype)?.into())
}

/// Rows that are used are no longer than that.
fn embedding_renorm(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let (table, indices) = (full(call, 0)?, rows(&full(call, 1)?)?);
    let number = |place: usize| call.args()[place].as_scalar().unwrap_or(0.into());
    let (most, order) = (number(2), number(3));
    let lengths = LinalgVectorNorm.call(&table, order, Some(&[2]), false, None)?;
    let none = NewZeros.call(&table, &table.sizes()[..2], Some(DType::Bool), None, None, None)?;
    let is_used = ScatterValue.call(&none, 1, &indices.to_dtype(DType::I64)?, true.into())?;
    let is_long = LogicalAnd.call(&is_used, &GtScalar.call(&lengths, most)?)?;
    let scale = lengths.add(1e-7)?.reciprocal()?.mul(most)?;
    let scale = WhereScalarOther.call(&is_long, &scale, 1.into())?;
    call.push(table.mul(&scale.unsqueeze(2)?)?.into())
}

/// The bags of all examples one after another, from one table in which the rows of all are.
fn embedding_bag(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    check_scale(call)?;
    let size = call.size();
    if size == 0 {
        return call.without_examples();
    }
    let (table, indices, offsets) = (full(call, 0)?, full(call, 1)?, full(call, 2)?);
    let (count, columns) = (table.sizes()[1], table.sizes()[2]);
    let (per_example, bags) = (indices.sizes()[1], offsets.sizes()[1]);
    let (has_last, padding) = (flag(call, 7), int(call, 8)?);
    // Indices are those of rows of the own table.
    let first_column = table.narrow(2, 0, columns.min(1))?.squeeze(2);
    if columns > 0 {
        Gather.call(&first_column?, 1, &indices.to_dtype(DType::I64)?, false)?;
    }
    let examples = Tensor::arange(0, size, 1)?.to_dtype(indices.dtype())?.unsqueeze(1)?;
    let own = indices.add(&examples.mul(count)?)?;
    let own = match padding {
        ..0 => own,
        // All examples have the padding of the first one, which counts nowhere.
        _ => WhereScalarSelf.call(&EqScalar.call(&indices, padding.into())?, padding.into(), &own)?,
    };
    // The last offset begins one more bag, which is left out.
    let begins = offsets.add(&examples.mul(per_example)?.to_dtype(offsets.dtype())?)?;
    let weights = optional(call, 6)?.map(|weights| weights.reshape(weights.numel())).transpose()?;
    let mut args: Vec<Value> = call.args().iter().map(|value| value.to_value()).collect();
    args[0] = table.reshape([size * count, columns])?.into();
    args[1] = own.reshape(size * per_example)?.into();
    args[2] = begins.reshape(size * bags)?.into();
    args[6] = weights.map_or(Value::None, Value::from);
    args[7] = false.into();
    let results = call.operator().call_values(args)?;
    let results: Vec<Tensor> = results.into_iter().map(Tensor::try_from).collect::<Result<_>>()?;
    for (place, result) in results.into_iter().enumerate() {
        let sizes = result.sizes().to_vec();
        let parted = match sizes.as_slice() {
            [] => result,
            // Nothing is said of bags.
            [0, rest @ ..] => result.reshape([&[size, 0], rest].concat())?,
            [all, rest @ ..] => result.reshape([&[size, all / size.max(1)], rest].concat())?,
        };
        let begins = |each: i64, dims: usize| -> Result<Tensor> {
            examples.mul(each)?.to_dtype(parted.dtype())?.reshape([vec![size], vec![1; dims - 1]].concat())
        };
        let is_max = int(call, 4)? == 2;
        let parted = match place {
            1 if parted.numel() > 0 => parted.sub(&begins(bags, parted.dim())?)?,
            3 if is_max && parted.numel() > 0 => {
                let own = parted.sub(&begins(count, parted.dim())?)?;
                WhereScalarSelf.call(&own.lt(0)?, 0.into(), &own)?
            }
            _ => parted,
        };
        // Sums without gradients say nothing of each offset.
        let is_said = place == 0 || int(call, 4)? != 0 || call.operator().name().base() == "_embedding_bag";
        let is_of_bags = place != 1 && is_said && parted.dim() > 1 && parted.sizes()[1] == bags;
        let parted = if has_last && is_of_bags { parted.narrow(1, 0, bags - 1)? } else { parted };
        call.push(parted.into())?;
    }
    Ok(())
}
