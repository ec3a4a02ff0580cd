//! Batches: a function of one example runs on a whole batch, one call for each operator in it.
//!
//! A batched tensor is a wrapper whose dimension 0 nobody sees but the layer. Kinds give the batching rules of
//! element-wise operators, reductions, views and products; an operator states its own where it is special. One without a
//! rule runs once for each example, which is counted as a slow path and refused in strict mode.
//!
//! # Examples
//!
//! ```
//! use opgrid_core::{Dispatcher, Result};
//! use opgrid::{Tensor, layers::vmap};
//!
//! let dispatcher = Dispatcher::new();
//! let _operators = opgrid::ops::register(&dispatcher)?;
//! let _layer = vmap::install(&dispatcher)?;
//! let (x, w) = (Tensor::arange(0, 6, 1)?.view(&[3, 2])?, Tensor::arange(1, 3, 1)?);
//! let dots = dispatcher.within(|| vmap::over(&[&x], |x| x[0].mul(&w)?.sum()))?;
//! assert_eq!(dots.to_vec::<i64>()?, [2, 8, 14]);
//! # Ok::<(), opgrid_core::Error>(())
//! ```

pub mod rule;

use std::any::Any;
use std::cell::Cell;

use opgrid_core::{
    BoxedCall, ContextPart, DispatchKey, Dispatcher, Kernel, Registration, Result, SlowPath, TensorType,
    Value, ValueView, register_context_part,
};

pub use rule::{BatchedCall, BatchingRule, DefineBatching};

use crate::error::argument;
use crate::families::kind;
use crate::ops::Stack;
use crate::tensor::{Geometry, Tensor, TensorSpec, Wrapper};

/// Puts the layer under every operator of a dispatcher; dropping the registration takes it out.
///
/// # Errors
///
/// The dispatcher has a fallback for batched tensors already, or rules for kinds.
pub fn install(dispatcher: &Dispatcher) -> Result<Registration> {
    register_context_part(&Level);
    let mut everything = dispatcher.implementations("_", DispatchKey::FuncTorchBatched);
    everything.fallback(Kernel::engine(batch));
    everything.kind_column(&kind::POINTWISE, BatchingRule::new(rule::pointwise));
    everything.kind_column(&kind::REDUCTION, BatchingRule::new(rule::along_dimensions));
    everything.kind_column(&kind::VIEW, BatchingRule::new(rule::along_dimensions));
    everything.kind_column(&kind::PRODUCT, BatchingRule::new(rule::product));
    everything.finish()
}

/// A batch behind a handle that looks like one example.
pub struct Batched {
    inner: Tensor,
    /// One more than that of the batches around.
    level: u32,
    spec: TensorSpec,
}

impl Wrapper for Batched {
    fn layer(&self) -> &str {
        "vmap"
    }

    fn spec(&self) -> &TensorSpec {
        &self.spec
    }

    fn version(&self) -> u64 {
        self.inner.version()
    }
}

/// The tensor as a batch along its dimension 0.
///
/// # Errors
///
/// It has no dimensions.
fn batched(inner: Tensor, level: u32) -> Result<Tensor> {
    let geometry = match inner.sizes() {
        // Without examples there is none that could be looked at.
        [0, example @ ..] => Geometry::contiguous(example)?,
        _ => inner.geometry().select(0, 0)?,
    };
    let spec = TensorSpec::new(geometry, inner.dtype(), inner.device());
    let keys = inner.keys() | DispatchKey::FuncTorchBatched.key_set();
    Ok(Tensor::wrap(keys, Batched { inner, level, spec }))
}

/// How many batches are around goes along where work goes to other threads.
struct Level;

impl ContextPart for Level {
    fn capture(&self) -> Option<Box<dyn Any + Send + Sync>> {
        let level = LEVEL.get();
        (level != 0).then(|| Box::new(level) as _)
    }

    fn within(&self, state: &(dyn Any + Send + Sync), body: &mut dyn FnMut()) {
        let _before = Before(LEVEL.replace(state.downcast_ref().copied().unwrap_or_default()));
        body();
    }
}

/// Puts back the level around.
struct Before(u32);

impl Drop for Before {
    fn drop(&mut self) {
        LEVEL.set(self.0);
    }
}

thread_local! {
    static LEVEL: Cell<u32> = const { Cell::new(0) };
}

/// Runs `body` once with examples that stand for those along dimension 0 of each of `batches`. The result has those of all
/// examples along its dimension 0.
///
/// # Errors
///
/// No batches, batches of different sizes, tensors without dimensions; those of `body`.
pub fn over(batches: &[&Tensor], body: impl FnOnce(&[Tensor]) -> Result<Tensor>) -> Result<Tensor> {
    let sizes: Vec<Option<i64>> = batches.iter().map(|batch| batch.sizes().first().copied()).collect();
    let Some(Some(size)) = sizes.first().copied() else {
        return Err(argument("expected at least one batch, each with a dimension 0 of examples"));
    };
    if sizes.iter().any(|other| *other != Some(size)) {
        let message = format!("the batches have sizes {sizes:?} in dimension 0, expected one size for all");
        return Err(argument(message));
    }
    let level = LEVEL.get() + 1;
    let _before = Before(LEVEL.replace(level));
    let examples =
        batches.iter().map(|batch| batched((*batch).clone(), level)).collect::<Result<Vec<_>>>()?;
    let result = body(&examples)?;
    match result.wrapper::<Batched>().filter(|batched| batched.level == level) {
        Some(batched) => Ok(batched.inner.clone()),
        // It does not depend on the examples.
        None => result.expand(&[&[size], result.sizes()].concat()),
    }
}

/// The first example of the batches that a tensor stands for, where it stands for the examples of some.
///
/// # Errors
///
/// A batch has no examples.
pub fn first_example(tensor: &Tensor) -> Result<Option<Tensor>> {
    let mut example = None;
    while let Some(batched) = example.as_ref().unwrap_or(tensor).wrapper::<Batched>() {
        let first = batched.inner.select(0, 0)?;
        example = Some(first);
    }
    Ok(example)
}

/// The level and the size of the innermost batch among the arguments.
fn innermost(call: &BoxedCall<'_>) -> Option<(u32, i64)> {
    let of = |tensor: &opgrid_core::AnyTensor| {
        let batched = Tensor::from_any_ref(tensor)?.wrapper::<Batched>()?;
        Some((batched.level, batched.inner.sizes().first().copied().unwrap_or(0)))
    };
    let each = call.args().iter().flat_map(|value| match value.view() {
        ValueView::Tensors(list) => list.iter().filter_map(of).collect(),
        ValueView::OptionalTensors(list) => list.iter().flatten().filter_map(of).collect(),
        _ => value.as_tensor().and_then(of).into_iter().collect::<Vec<_>>(),
    });
    each.max()
}

/// The layer's kernel for every operator.
fn batch(call: &mut BoxedCall<'_>) -> Result<()> {
    // The key was included by hand: there is no batch.
    let Some((level, size)) = innermost(call) else { return call.below() };
    let in_lists = call.args().iter().any(|value| matches!(value.view(), ValueView::OptionalTensors(_)));
    match call.column::<BatchingRule>().filter(|_| !in_lists) {
        Some(rule) => {
            let name = call.operator().name().clone();
            let mut call = BatchedCall { call, size, level };
            rule.apply(&mut call).map_err(|error| error.within(format_args!("{name} on a batch")))
        }
        None => one_by_one(call, level, size),
    }
}

/// Calls the operator for each example.
fn one_by_one(call: &mut BoxedCall<'_>, level: u32, size: i64) -> Result<()> {
    call.note_slow_path(SlowPath::BATCH_LOOP)?;
    if call.schema().is_none_or(|schema| schema.arguments.iter().any(|argument| argument.is_write())) {
        let name = call.operator().name();
        return Err(argument(format!(
            "{name}: it has no batching rule and writes an argument, which cannot be done for one \
             example at a time; use the functional form, or give it a rule"
        )));
    }
    let mut results: Vec<Vec<Tensor>> = Vec::new();
    for at in 0..size {
        let args = call.args().iter().map(|value| example(*value, level, at)).collect::<Result<Vec<_>>>()?;
        let values = call.operator().call_values(args)?;
        for (place, value) in values.into_iter().enumerate() {
            if results.len() <= place {
                results.push(Vec::new());
            }
            results[place].push(value.try_into()?);
        }
    }
    if results.is_empty() {
        let name = call.operator().name();
        return Err(argument(format!(
            "{name}: a batch without examples needs a batching rule; give the operator one"
        )));
    }
    for each in results {
        call.push(batched(Stack.call(&each, 0)?, level)?);
    }
    Ok(())
}

/// The argument as it is for one example.
fn example(value: opgrid_core::ValueRef<'_>, level: u32, at: i64) -> Result<Value> {
    let one = |tensor: &opgrid_core::AnyTensor| -> Result<opgrid_core::AnyTensor> {
        let batched = Tensor::from_any_ref(tensor).and_then(|tensor| tensor.wrapper::<Batched>());
        match batched.filter(|batched| batched.level == level) {
            Some(batched) => Ok(batched.inner.select(0, at)?.into_any()),
            None => Ok(tensor.clone()),
        }
    };
    Ok(match value.view() {
        ValueView::Tensors(list) => {
            opgrid_core::List::Tensors(list.iter().map(one).collect::<Result<_>>()?).into()
        }
        ValueView::OptionalTensors(list) => {
            let each = list.iter().map(|tensor| tensor.as_ref().map(one).transpose());
            opgrid_core::List::OptionalTensors(each.collect::<Result<_>>()?).into()
        }
        _ => match value.as_tensor() {
            Some(tensor) => one(tensor)?.into(),
            None => value.to_value(),
        },
    })
}
