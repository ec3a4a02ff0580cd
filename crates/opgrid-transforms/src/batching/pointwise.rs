//! Operators that compute each element from those at the same place.

use opgrid_core::{DType, Result, Value};
use opgrid_tensor::Tensor;
use opgrid_tensor::layers::vmap::BatchedCall;
use opgrid_tensor::ops::{CloneTensor, CopyInplace, LinalgCross, WhereSelf};

use super::arguments::{differs, full, given, int, with_dims};
use super::{Rule, as_it_is};

pub(super) const RULES: &[(&[&str], Rule)] = &[
    (&["masked_fill.Scalar", "masked_fill_.Scalar"], pointwise),
    (&["masked_fill.Tensor"], masked_fill),
    (&["fill.Tensor"], |call| like_the_first(call, 1)),
    (&["copy"], |call| like_the_first(call, 1)),
    (&["copy_", "_prelu_kernel"], pointwise),
    (&["fill_.Tensor"], |call| {
        // Whoever fills a tensor with one for each example copies that.
        let value = call.stretched(given(call, 1).expect("the schema says that it is a tensor"))?;
        let mut sizes = vec![1; call.rank() + 1];
        sizes[0] = call.size();
        let target = call.tensor(0).expect("the schema says that it is a tensor").0;
        CopyInplace.call(&target, &value.reshape(sizes)?, false)?;
        call.give_back()
    }),
    (&["linalg_cross"], linalg_cross),
    (&["_conj"], as_it_is),
];

/// Dimensions of size 1 behind that of the batch line the shapes up.
pub(crate) fn pointwise(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let args = aligned(call)?;
    call.call_with(args)
}

/// The arguments, whose tensors broadcast as those of an example do.
pub(super) fn aligned(call: &BatchedCall<'_, '_>) -> Result<Vec<Value>> {
    let rank = call.rank();
    let common = common_dtype(call, rank);
    let args = call.args().iter().enumerate();
    let args = args.map(|(at, value)| match call.aligned(at, rank)? {
        Some(aligned) => match common {
            // A number gives way to the dtype of tensors with dimensions, as it does in an example.
            Some(dtype) if rank > 0 && is_number(call, at) && may_widen(aligned.dtype(), dtype) => {
                Ok(aligned.to_dtype(dtype)?.into())
            }
            _ => Ok(aligned.into()),
        },
        // One number of all examples counts as much as those that differ.
        None if rank == 0 && common.is_some() && is_number(call, at) => {
            Ok(given(call, at).expect("it is a number").unsqueeze(0)?.into())
        }
        None => call.plain(*value),
    });
    args.collect()
}

/// Whether an argument is a tensor without dimensions that takes part in the dtype of the result and is not written.
fn is_number(call: &BatchedCall<'_, '_>, at: usize) -> bool {
    let is_written = call.schema().is_some_and(|schema| schema.arguments[at].is_write());
    !is_written && is_value(call, at) && given(call, at).is_some_and(|tensor| tensor.dim() == 0)
}

/// The dtype that tensors with dimensions have, or numbers if there are no others, where not all have the same.
fn common_dtype(call: &BatchedCall<'_, '_>, rank: usize) -> Option<DType> {
    let values = || (0..call.args().len()).filter(|at| is_value(call, *at)).filter_map(|at| given(call, at));
    let first = values().next()?.dtype();
    if values().all(|tensor| tensor.dtype() == first) {
        return None;
    }
    let dtypes = values().filter(|tensor| rank == 0 || tensor.dim() > 0).map(Tensor::dtype);
    dtypes.reduce(|one, other| {
        let is_wider =
            may_widen(one, other) && (!may_widen(other, one) || one.size_in_bytes() < other.size_in_bytes());
        if is_wider { other } else { one }
    })
}

/// Whether an argument takes part in the dtype of the result.
fn is_value(call: &BatchedCall<'_, '_>, at: usize) -> bool {
    let declared = call.schema().and_then(|schema| schema.arguments.get(at));
    // Numbers of the language give way to all tensors.
    let is_bare = given(call, at).is_some_and(Tensor::is_number);
    !is_bare && declared.is_none_or(|it| it.name != "condition" && it.name != "mask")
}

/// Whether numbers of one dtype are of a category that the other one holds.
fn may_widen(from: DType, to: DType) -> bool {
    let category = |dtype: DType| match dtype {
        DType::Bool => 0,
        _ if dtype.is_complex() => 3,
        _ if dtype.is_floating_point() => 2,
        _ => 1,
    };
    category(from) <= category(to)
}

/// `copy` and `fill`: the result is as the first tensor, with the elements of another one.
fn like_the_first(call: &mut BatchedCall<'_, '_>, place: usize) -> Result<()> {
    let own = full(call, 0)?;
    match call.aligned(place, own.dim() - 1)? {
        Some(source) => {
            let stretched = source.to_dtype(own.dtype())?.expand(own.sizes())?;
            call.push(CloneTensor.call(&stretched, Some(opgrid_core::MemoryFormat::Contiguous))?.into())
        }
        None => as_it_is(call),
    }
}

/// A value that differs from example to example is chosen instead of filled in.
fn masked_fill(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let rank = call.rank();
    let aligned = |at: usize| -> Result<Tensor> {
        match call.aligned(at, rank)? {
            Some(aligned) => Ok(aligned),
            None => Ok(call.tensor(at).expect("the schema says that it is a tensor").0),
        }
    };
    let (own, mask) = (aligned(0)?, aligned(1)?);
    if !differs(call, 2) {
        let args = vec![own.into(), mask.into(), call.args()[2].to_value()];
        return call.call_with(args);
    }
    let value = aligned(2)?.to_dtype(own.dtype())?;
    call.push(WhereSelf.call(&mask, &value, &own)?.into())
}

fn linalg_cross(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let (dim, rank) = (int(call, 2)?, call.rank());
    let dim = if dim < 0 { dim } else { dim - rank as i64 };
    let (a, b) = (with_dims(&full(call, 0)?, rank + 1)?, with_dims(&full(call, 1)?, rank + 1)?);
    call.push(LinalgCross.call(&a, &b, dim)?.into())
}
