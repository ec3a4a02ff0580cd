//! Operators that draw random numbers: refused, or the same numbers for all examples, or others for each, as whoever entered the batch wants
//! it.
//!
//! They belong to the innermost batch of the thread, whatever their arguments are, so that they have kernels for calls inside of
//! batches beside their rules.

use opgrid_core::{
    BoxedCall, DType, DispatchKey, Dispatcher, Kind, Reason, Registration, Result, Value, ValueView,
};
use opgrid_tensor::Tensor;
use opgrid_tensor::families::kind;
use opgrid_tensor::layers::levels::{self, innermost_of, map_tensors};
use opgrid_tensor::layers::vmap::{Batch, BatchedCall, INSIDE, Randomness};
use opgrid_tensor::ops::{CopyInplace, EmptyLike, Floor, NewEmpty, Stack, UniformInplace};

use super::arguments::{full, given, refused, with_dims};
use super::folded::{fold, unfold};

/// Operators whose tensors say what is drawn, and not only how many numbers.
const OF_VALUES: [&str; 10] = [
    "bernoulli",
    "bernoulli.Tensor",
    "bernoulli_.Tensor",
    "multinomial",
    "native_dropout",
    "normal.Tensor_Tensor",
    "normal.Tensor_float",
    "normal.float_Tensor",
    "randint_like.Tensor",
    "rrelu_with_noise",
];

/// Gives operators that draw random numbers kernels for calls inside of batches.
pub(super) fn install(dispatcher: &Dispatcher) -> Result<Registration> {
    let mut library = dispatcher.implementations("aten", INSIDE);
    for operator in dispatcher.operators() {
        let is_random = operator.column::<Kind>()?.is_some_and(|own| *own == kind::RANDOM);
        let composite = Reason::Alias(DispatchKey::CompositeImplicitAutograd);
        let is_ours = operator.name().to_string().starts_with("aten::");
        if is_ours && is_random && operator.slot(DispatchKey::Cpu)?.reason != composite {
            library.implement(operator.name().to_string().as_str()).boxed(INSIDE, inside);
        }
    }
    library.finish()
}

/// A call on a thread inside of a batch, on tensors that are not of it.
fn inside(call: &mut BoxedCall<'_>) -> Result<()> {
    let Some(level) = innermost_of::<Batch>() else { return call.below() };
    let name = call.operator().name().clone();
    let drawn = draw(call, level);
    drawn.map_err(|error| error.within(format_args!("{name} in a batch")))
}

fn draw(call: &mut BoxedCall<'_>, level: levels::Level) -> Result<()> {
    if level.transform_as::<Batch>().is_some_and(|batch| batch.randomness() == Randomness::Different) {
        levels::check_writes(call, &level)?;
    }
    drawn(&mut BatchedCall::new(call, level))
}

/// The rule of operators of the kind.
pub(super) fn random(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    match innermost_of::<Batch>() {
        Some(level) if !level.is_same(call.level()) => drawn(&mut call.at(level)),
        _ => drawn(call),
    }
}

fn drawn(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    match call.level().transform_as::<Batch>().map(Batch::randomness).unwrap_or_default() {
        Randomness::Refused => Err(refused(
            "it draws random numbers, and the batch was entered without saying whether they are the same for all \
             examples; enter it with `Randomness::Same` or `Randomness::Different`",
        )),
        Randomness::Same => same(call),
        Randomness::Different => different(call),
    }
}

/// Whether any of the tensors is a batch.
fn is_any_batch(call: &BatchedCall<'_, '_>) -> bool {
    let mut is_any = false;
    levels::each_tensor(call.args(), &mut |tensor| is_any |= call.level().behind(tensor).is_some());
    is_any
}

/// The name without the namespace.
fn name(call: &BatchedCall<'_, '_>) -> String {
    let name = call.operator().name().to_string();
    name.split_once("::").map_or(name.clone(), |(_, name)| name.to_owned())
}

/// One draw for all examples.
fn same(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let level = call.level().clone();
    let is_batch = is_any_batch(call);
    if is_batch && OF_VALUES.contains(&name(call).as_str()) {
        return Err(refused(
            "an argument differs from example to example, so that no numbers are the same for all; enter the batch with \
             `Randomness::Different`, or pass an argument that is the same for all",
        ));
    }
    // Only the sizes count of what differs.
    let args = levels::map_all(call.args(), &mut |tensor| match level.behind(tensor) {
        Some(leveled) => NewEmpty.call(leveled.inner(), tensor.sizes(), None, None, None, None),
        None => Ok(tensor.clone()),
    })?;
    let results = level.outside(|| call.operator().call_values(args))?;
    if is_batch && call.writes() {
        let target = full(call, 0)?;
        let numbers = Tensor::try_from(results.into_iter().next().unwrap_or(Value::None))?;
        CopyInplace.call(&target, &numbers, false)?;
        call.push_same(call.args()[0].to_value());
        return Ok(());
    }
    results.into_iter().for_each(|result| call.push_same(result));
    Ok(())
}

/// Other numbers for each example.
fn different(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let (level, size) = (call.level().clone(), call.size());
    let rank = call.rank();
    match call.operator().name().base() {
        "randperm" => {
            let args = || call.args().iter().map(|value| value.to_value()).collect();
            let each = (0..size).map(|_| {
                let results = level.outside(|| call.operator().call_values(args()))?;
                Tensor::try_from(results.into_iter().next().unwrap_or(Value::None))
            });
            let each = each.collect::<Result<Vec<_>>>()?;
            return if each.is_empty() {
                call.without_examples()
            } else {
                call.push(Stack.call(&each, 0)?.into())
            };
        }
        "multinomial" if rank == 2 => {
            let mut args: Vec<Value> = call.args().iter().map(|value| value.to_value()).collect();
            args[0] = fold(&full(call, 0)?)?.into();
            return level.outside(|| call.call_and(args, &mut |result| unfold(result, size)));
        }
        "randint_like" if given(call, 1).is_some() => {
            let (like, most) = (full(call, 0)?, full(call, 1)?);
            let numbers = EmptyLike.call(&like, Some(DType::F64), None, None, None, None)?;
            level.outside(|| UniformInplace.call(&numbers, 0.0, 1.0, None))?;
            let most = super::arguments::with_last_dims(&most.to_dtype(DType::F64)?, like.dim())?;
            let dtype = call.schema().and_then(|schema| schema.argument_index("dtype"));
            let dtype = dtype.and_then(|place| match call.args()[place].view() {
                ValueView::DType(dtype) => Some(dtype),
                _ => None,
            });
            let numbers = Floor.call(&numbers.mul(&most)?)?.to_dtype(dtype.unwrap_or(like.dtype()))?;
            return call.push(numbers.into());
        }
        _ => {}
    }
    let Some(schema) = call.schema() else { return call.one_by_one() };
    let args = call.args().iter().zip(&schema.arguments).map(|(value, declared)| match value.view() {
        ValueView::Ints(sizes) if declared.name == "size" => Ok([&[size], sizes].concat().into()),
        _ => map_tensors(*value, &mut |tensor| with_dims(&call.stretched(tensor)?, rank + 1)),
    });
    let args = args.collect::<Result<_>>()?;
    level.outside(|| call.call_with(args))
}
