//! Losses: those of single elements are summed up for each example.

use opgrid_core::{Result, Value};
use opgrid_tensor::Tensor;
use opgrid_tensor::layers::vmap::BatchedCall;
use opgrid_tensor::ops::{
    DivTensor, Gather, MeanDim, MulTensor, NeScalar, NewZeros, SumDim, WhereScalarOther,
};

use super::Rule;
use super::arguments::{full, given, int, optional, rows};
use super::pointwise::aligned;

pub(super) const RULES: &[(&[&str], Rule)] = &[
    (&["nll_loss_forward", "nll_loss2d_forward"], nll_loss),
    // Their losses are those of rows.
    (&["multi_margin_loss", "multi_margin_loss_backward"], |call| call.one_by_one()),
    (&["multilabel_margin_loss_forward", "multilabel_margin_loss_backward"], |call| call.one_by_one()),
];

/// The numbers of reductions.
const NONE: i64 = 0;
const MEAN: i64 = 1;

/// Losses with a reduction: the operator gives those of elements.
pub(super) fn loss(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let reduction = call.schema().and_then(|schema| schema.argument_index("reduction"));
    let Some(place) = reduction else { return call.one_by_one() };
    let reduction = int(call, place)?;
    let mut args = aligned(call)?;
    // The losses are those of the input, and some broadcast no target.
    if let (Some(input), Some(target)) = (given(call, 0), given(call, 1))
        && input.dim() >= target.dim()
    {
        args[0] = full(call, 0)?.into();
        if input.sizes() == target.sizes() {
            args[1] = full(call, 1)?.into();
        }
    }
    args[place] = NONE.into();
    call.call_and(args, &mut |losses| match reduction {
        NONE => Ok(losses.clone()),
        MEAN => MeanDim.call(&rows(losses)?, Some(&[1]), false, None),
        _ => SumDim.call(&rows(losses)?, Some(&[1]), false, None),
    })
}

/// The losses where there are no classes, and nothing counts. Whether that is so is seen when a target is looked up among them.
fn without_classes(
    call: &mut BatchedCall<'_, '_>,
    dtype: opgrid_core::DType,
    counts: &Tensor,
    reduction: i64,
) -> Result<()> {
    let row = NewZeros.call(counts, &[1], Some(dtype), None, None, None)?;
    let losses = Gather.call(
        &row,
        0,
        &rows(counts)?.to_dtype(opgrid_core::DType::I64)?.reshape(counts.numel())?,
        false,
    )?;
    let losses = losses.reshape(counts.sizes())?;
    let total = SumDim.call(&rows(counts)?, Some(&[1]), false, None)?.to_dtype(dtype)?;
    let sum = SumDim.call(&rows(&losses)?, Some(&[1]), false, None)?;
    let result = match reduction {
        NONE => losses,
        MEAN => DivTensor.call(&sum, &total)?,
        _ => sum,
    };
    call.push(Value::from(result))?;
    call.push(total.into())
}

/// The losses of classes that numbers name.
fn nll_loss(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let (input, target, weight) = (full(call, 0)?, full(call, 1)?, optional(call, 2)?);
    let (reduction, ignored) = (int(call, 3)?, int(call, 4)?);
    // The dimension of the classes.
    let is_single = given(call, 0).is_some_and(|input| input.dim() == 1);
    let dim = if is_single { 1 } else { 2 };
    let target = if is_single { target.reshape(call.size())? } else { target };
    let counts = NeScalar.call(&target, ignored.into())?;
    let classes = WhereScalarOther.call(&counts, &target.to_dtype(opgrid_core::DType::I64)?, 0.into())?;
    if input.sizes()[dim as usize] == 0 {
        return without_classes(call, input.dtype(), &counts, reduction);
    }
    let chosen = Gather.call(&input, dim, &classes.unsqueeze(dim)?, false)?.squeeze(dim)?.neg()?;
    let weights = match &weight {
        Some(weight) => {
            let examples = classes.reshape([call.size(), classes.sizes()[1..].iter().product()])?;
            let each = Gather.call(weight, 1, &examples, false)?.reshape(classes.sizes())?;
            Some(WhereScalarOther.call(&counts, &each, 0.into())?)
        }
        None => None,
    };
    let losses = match &weights {
        Some(weights) => MulTensor.call(&chosen, weights)?,
        None => chosen,
    };
    let losses = WhereScalarOther.call(&counts, &losses, 0.into())?;
    let sum = |tensor: &Tensor| SumDim.call(&rows(tensor)?, Some(&[1]), false, None);
    if reduction == NONE && !is_single {
        let total = NewZeros.call(&losses, &[call.size()], None, None, None, None)?;
        call.push(Value::from(losses))?;
        return call.push(total.into());
    }
    let total = match &weights {
        Some(weights) => sum(weights)?,
        None => sum(&counts)?.to_dtype(input.dtype())?,
    };
    let loss = sum(&losses)?;
    call.push(if reduction == MEAN { DivTensor.call(&loss, &total)? } else { loss }.into())?;
    call.push(total.into())
}
