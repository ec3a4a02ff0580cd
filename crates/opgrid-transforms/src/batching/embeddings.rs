//! Rows of tables: of one for all examples, or of another one for each.

use opgrid_core::{DType, Result};
use opgrid_tensor::Tensor;
use opgrid_tensor::layers::vmap::BatchedCall;
use opgrid_tensor::ops::{
    ClampMin, Detach, EqScalar, Gather, GeScalar, GtScalar, LinalgVectorNorm, LogicalAnd, LogicalNot,
    LogicalOr, LtScalar, NewZeros, ScatterAdd, ScatterValue, WhereScalarOther, WhereScalarSelf, WhereSelf,
};

use super::arguments::{differs, flag, full, int, refused, rows};
use super::{Rule, as_it_is};

pub(super) const RULES: &[(&[&str], Rule)] = &[
    (&["embedding"], embedding),
    (&["embedding_dense_backward"], embedding_dense_backward),
    (&["embedding_renorm"], embedding_renorm),
];

/// # Errors
///
/// How often an index is there is asked of all indices, which those of one example are not.
fn check_scale(is_scaled: bool) -> Result<()> {
    if is_scaled {
        return Err(refused(
            "`scale_grad_by_freq` counts the indices of all examples together; call it without, or outside of `vmap`",
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
    check_scale(flag(call, 3))?;
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
        let ones = LogicalNot.call(&is_padding.squeeze(2)?)?.to_dtype(dtype)?;
        let indices = indices.to_dtype(DType::I64)?;
        let none = NewZeros.call(&ones, &[call.size(), count], None, None, None, None)?;
        let counts = Gather.call(&ScatterAdd.call(&none, 1, &indices, &ones)?, 1, &indices, false)?;
        // Padding counts nowhere.
        grad.div(&ClampMin.call(&counts, 1.into())?.unsqueeze(2)?)?
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
