//! New tensors beside those of a batch.

use opgrid_core::{DType, MemoryFormat, Result, Scalar, Value, ValueView};
use opgrid_tensor::Tensor;
use opgrid_tensor::layers::vmap::BatchedCall;
use opgrid_tensor::ops::{PowScalar, WhereSelf};
use opgrid_tensor::tensor::{complex_of, default_dtype};

use super::arguments::{full, given, int};
use super::folded::{fold, unfold};
use super::{Rule, as_it_is};

pub(super) const RULES: &[(&[&str], Rule)] = &[
    (
        &["empty_like", "full_like", "ones_like", "zeros_like", "zero", "fill.Scalar", "clone", "_to_copy"],
        like,
    ),
    (&["fill_.Scalar", "zero_"], as_it_is),
    (
        &[
            "linspace.Scalar_Tensor",
            "linspace.Tensor_Scalar",
            "linspace.Tensor_Tensor",
            "logspace.Scalar_Tensor",
            "logspace.Tensor_Scalar",
            "logspace.Tensor_Tensor",
        ],
        between,
    ),
];

/// Tensors like another one. Memory formats are those of the images of all examples.
fn like(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let format = call.schema().and_then(|schema| schema.argument_index("memory_format"));
    let format = format.and_then(|place| match call.args()[place].view() {
        ValueView::MemoryFormat(format) => Some(format),
        _ => None,
    });
    if !matches!(format, Some(MemoryFormat::ChannelsLast | MemoryFormat::ChannelsLast3d)) {
        return as_it_is(call);
    }
    let mut args: Vec<Value> = call.args().iter().map(|value| call.plain(*value)).collect::<Result<_>>()?;
    args[0] = fold(&full(call, 0)?)?.into();
    let size = call.size();
    call.call_and(args, &mut |result| unfold(result, size))
}

/// Numbers at equal distances between bounds, or powers of a base with such exponents.
fn between(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let Some(schema) = call.schema() else { return call.one_by_one() };
    let dtype_at = schema.argument_index("dtype");
    let dtype = dtype_at.and_then(|place| match call.args()[place].view() {
        ValueView::DType(dtype) => Some(dtype),
        _ => None,
    });
    let is_complex = [0, 1].iter().any(|place| match call.args()[*place].as_scalar() {
        Some(number) => matches!(number, Scalar::Complex(_)),
        None => given(call, *place).is_some_and(|bound| bound.dtype().is_complex()),
    });
    let dtype =
        dtype.unwrap_or_else(|| if is_complex { complex_of(default_dtype()) } else { default_dtype() });
    let wide = if dtype.is_complex() { DType::Complex128 } else { DType::F64 };
    let base = schema.argument_index("base").and_then(|place| call.args()[place].as_scalar());
    let some = [0, 1].iter().find_map(|place| given(call, *place).map(|_| *place)).unwrap_or(0);
    let beside = full(call, some)?;
    // Sequences convert the bounds first.
    let bound = |place: usize| -> Result<Tensor> {
        let bound = match call.args()[place].as_scalar() {
            Some(number) => {
                let like = beside.to_dtype(wide)?;
                opgrid_tensor::ops::NewFull.call(&like, &[call.size()], number, None, None, None, None)?
            }
            None => full(call, place)?,
        };
        let bound = if base.is_none() { bound.to_dtype(dtype)? } else { bound };
        bound.to_dtype(wide)?.unsqueeze(1)
    };
    let (start, end, steps) = (bound(0)?, bound(1)?, int(call, 2)?);
    let step = end.sub(&start)?.div((steps - 1).max(1))?;
    let places = Tensor::arange(0, steps, 1)?;
    let from_start = start.add(&step.mul(&places)?)?;
    let from_end = end.sub(&step.mul(&places.mul(-1)?.add(steps - 1)?)?)?;
    let is_first_half = places.lt((steps / 2).max(1))?;
    let numbers = WhereSelf.call(&is_first_half, &from_start, &from_end)?;
    let numbers = match base {
        Some(base) => PowScalar.call(base, &numbers)?,
        None => numbers,
    };
    call.push(numbers.to_dtype(dtype)?.into())
}
