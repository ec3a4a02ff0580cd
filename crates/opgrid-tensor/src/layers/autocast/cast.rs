//! The kernels at autocast keys: they cast arguments and call on with autocast off.

use opgrid_core::schema::Argument;
use opgrid_core::{
    BoxedCall, DType, DispatchKey, DispatchKeySet, List, Result, TensorType, Value, ValueRef, ValueView,
    excluding,
};
use smallvec::SmallVec;

use super::rule::CastPolicy;
use super::{region, weights};
use crate::error::argument;
use crate::layers::levels::each_tensor;
use crate::ops::ToCopy;
use crate::tensor::Tensor;

/// How many arguments a call has without memory of its own.
const ARGUMENTS: usize = 12;

/// Runs a call of an operator that has a policy.
pub(super) fn run(policy: CastPolicy, call: &mut BoxedCall<'_>) -> Result<()> {
    let key = call.key();
    if !region::is_on(key) {
        // Backends of users share the layer, and it is on for another one.
        let layers = call.keys().layers() & !key.key_set().layers();
        return call.redispatch(DispatchKeySet::from_parts(layers, call.keys().backends()));
    }
    let mut changed: SmallVec<[(usize, Value); 4]> = SmallVec::new();
    match policy {
        CastPolicy::Refused(instead) => {
            return Err(argument(format!("{}: autocast refuses it; {instead}", call.operator().name())));
        }
        CastPolicy::FullByDtype => changed.extend(full_by_dtype(call, key)),
        CastPolicy::Lower => cast_all(call.args(), region::lower(key), key, &mut changed)?,
        CastPolicy::Full => cast_all(call.args(), DType::F32, key, &mut changed)?,
        CastPolicy::To(dtype) => cast_all(call.args(), dtype, key, &mut changed)?,
        CastPolicy::Widest => {
            let widest = widest(call.args(), key).map_err(|error| error.within(call.operator().name()))?;
            cast_all(call.args(), widest, key, &mut changed)?;
        }
    }
    // What is written is the caller's tensor; what was written to a cast of it would be lost.
    let writes = || call.schema().is_some_and(|schema| schema.arguments.iter().any(Argument::is_write));
    if changed.is_empty() || writes() {
        return pass_on(call, key, call.args());
    }
    let mut args: SmallVec<[ValueRef<'_>; ARGUMENTS]> = SmallVec::from_slice(call.args());
    for (place, value) in &changed {
        args[*place] = value.borrow();
    }
    pass_on(call, key, &args)
}

/// Calls on with autocast off.
fn pass_on(call: &mut BoxedCall<'_>, key: DispatchKey, args: &[ValueRef<'_>]) -> Result<()> {
    // A call of a transform's tensors has been sent here with this key alone, and starts anew.
    if call.keys().layers() == key.key_set().layers() {
        return excluding(DispatchKeySet::from_parts(key.key_set().layers(), 0), || call.call_with(args));
    }
    call.below_with(args)
}

/// Whether autocast for the key casts such a tensor.
fn is_castable(tensor: &Tensor, key: DispatchKey) -> bool {
    tensor.dtype().is_floating_point()
        && tensor.dtype() != DType::F64
        && tensor.keys().contains(key)
        && !tensor.is_number()
}

/// Casts the tensors of all arguments that are of another dtype.
fn cast_all(
    args: &[ValueRef<'_>],
    target: DType,
    key: DispatchKey,
    changed: &mut SmallVec<[(usize, Value); 4]>,
) -> Result<()> {
    let differs = |tensor: &Tensor| is_castable(tensor, key) && tensor.dtype() != target;
    for (place, value) in args.iter().enumerate() {
        match value.view() {
            ValueView::Tensor(tensor) => {
                if let Some(tensor) = Tensor::from_any_ref(tensor).filter(|tensor| differs(tensor)) {
                    changed.push((place, cast(tensor, target, key)?.into()));
                }
            }
            ValueView::Tensors(list) if list.iter().filter_map(Tensor::from_any_ref).any(differs) => {
                let one = |tensor: &opgrid_core::AnyTensor| match Tensor::from_any_ref(tensor) {
                    Some(tensor) if differs(tensor) => Ok(cast(tensor, target, key)?.into_any()),
                    _ => Ok(tensor.clone()),
                };
                let list = list.iter().map(one).collect::<Result<_>>()?;
                changed.push((place, List::Tensors(list).into()));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The tensor in another dtype. Of weights there is one for a region.
fn cast(tensor: &Tensor, target: DType, key: DispatchKey) -> Result<Tensor> {
    let is_weight = tensor.dtype() == DType::F32
        && target == region::lower(key)
        && region::is_cache_enabled()
        && tensor.requires_grad()
        && tensor.is_leaf();
    if is_weight { weights::cast(tensor, target) } else { plain_cast(tensor, target) }
}

/// The tensor in another dtype, as a call.
pub(super) fn plain_cast(tensor: &Tensor, target: DType) -> Result<Tensor> {
    ToCopy.call(tensor, Some(target), None, None, None, false, None)
}

/// The argument `dtype` as float32, where it says nothing and the first argument is of lower precision.
fn full_by_dtype(call: &BoxedCall<'_>, key: DispatchKey) -> Option<(usize, Value)> {
    let first = call.args().first()?.as_tensor().and_then(Tensor::from_any_ref)?;
    if !is_castable(first, key) {
        return None;
    }
    let place = call.schema()?.arguments.iter().position(|argument| argument.name == "dtype")?;
    let says_nothing = matches!(call.args().get(place)?.view(), ValueView::None);
    says_nothing.then(|| (place, DType::F32.into()))
}

/// The widest dtype of the tensors that autocast casts: float32 where one has it, else the lower precision.
///
/// # Errors
///
/// A dtype that is neither, before a tensor of float32.
fn widest(args: &[ValueRef<'_>], key: DispatchKey) -> Result<DType> {
    let lower = region::lower(key);
    let mut widest = Ok(lower);
    each_tensor(args, &mut |tensor| match (&widest, tensor.dtype()) {
        (Ok(before), dtype) if is_castable(tensor, key) && *before != DType::F32 && dtype != lower => {
            widest = if dtype == DType::F32 { Ok(DType::F32) } else { Err(dtype) };
        }
        _ => {}
    });
    widest.map_err(|other| {
        argument(format!(
            "autocast to {lower} found a tensor of {other}, expected {lower}, float32 or float64; cast it first, or call \
             the operator where autocast is off"
        ))
    })
}
