//! A tensor that counts its uses: a layer that wraps tensors, against the published surface only.
//!
//! [`counted`] gives a tensor that behaves like the one inside, in typed calls, boxed calls and methods, on every thread
//! that works for the caller. Each operator that takes it as an argument counts one use; what is written to it is written
//! to the tensor inside.
#![forbid(unsafe_code)]

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use opgrid::array::TensorSpec;
use opgrid::dispatch::{AnyTensor, List, TensorType, ValueRef, ValueView};
use opgrid::prelude::*;
use opgrid::tensor::Wrapper;

/// The layer's key, allocated when it is first asked for.
///
/// # Errors
///
/// No place is free between autograd and the tracer.
pub fn key() -> Result<DispatchKey> {
    DispatchKey::layer("Counting").above(DispatchKey::Autograd).below(DispatchKey::Tracer).register()
}

/// Puts the layer under every operator of a dispatcher; dropping the registration takes it out.
///
/// # Errors
///
/// The dispatcher has it already.
pub fn install(dispatcher: &Dispatcher) -> Result<Registration> {
    let mut everything = dispatcher.implementations("_", key()?);
    everything.fallback(Kernel::engine(count));
    everything.finish()
}

/// What stands behind the handle.
struct Counted {
    inner: Tensor,
    spec: TensorSpec,
    uses: Arc<AtomicU64>,
}

impl Wrapper for Counted {
    fn layer(&self) -> &str {
        "counting-tensor"
    }

    fn spec(&self) -> &TensorSpec {
        &self.spec
    }

    fn version(&self) -> u64 {
        self.inner.version()
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "counted({}, {} uses)", self.inner, self.uses.load(Ordering::Relaxed))
    }
}

/// The tensor, counting from now on.
///
/// # Errors
///
/// As [`key`]; an undefined tensor.
pub fn counted(inner: &Tensor) -> Result<Tensor> {
    let keys = inner.keys() | key()?.key_set();
    let spec = inner.spec()?.clone();
    Ok(Tensor::wrap(keys, Counted { inner: inner.clone(), spec, uses: Arc::default() }))
}

/// How often operators took a counted tensor; `None` for any other.
pub fn uses(tensor: &Tensor) -> Option<u64> {
    Some(tensor.wrapper::<Counted>()?.uses.load(Ordering::Relaxed))
}

/// The tensor inside of a counted one; any other is itself.
pub fn inner(tensor: &Tensor) -> Tensor {
    tensor.wrapper::<Counted>().map_or_else(|| tensor.clone(), |counted| counted.inner.clone())
}

/// The layer's kernel for every operator: counts, and goes on with the tensors inside.
fn count(call: &mut BoxedCall<'_>) -> Result<()> {
    let args: Vec<Value> = call.args().iter().map(|value| taken(*value)).collect();
    call.below_with(&args.iter().map(Value::borrow).collect::<Vec<_>>())?;
    // What was written is the tensor that the caller has, not the one inside.
    let results: Vec<Value> =
        (0..call.returns().len()).filter_map(|index| call.returns().take(index)).collect();
    call.returns().clear();
    for result in results {
        let outer = call.args().iter().zip(&args).find(|(_, inner)| is_same(&result, inner));
        let result = outer.map_or(result, |(outer, _)| outer.to_value());
        call.push(result);
    }
    Ok(())
}

/// The value with the tensor inside, whose use is counted.
fn taken(value: ValueRef<'_>) -> Value {
    let one = |tensor: &AnyTensor| match Tensor::from_any_ref(tensor) {
        Some(tensor) => {
            if let Some(counted) = tensor.wrapper::<Counted>() {
                counted.uses.fetch_add(1, Ordering::Relaxed);
            }
            inner(tensor).into_any()
        }
        None => tensor.clone(),
    };
    match value.view() {
        ValueView::Tensor(tensor) => one(tensor).into(),
        ValueView::Tensors(list) => List::Tensors(list.iter().map(one).collect()).into(),
        ValueView::OptionalTensors(list) => {
            List::OptionalTensors(list.iter().map(|tensor| tensor.as_ref().map(one)).collect()).into()
        }
        _ => value.to_value(),
    }
}

fn is_same(result: &Value, argument: &Value) -> bool {
    matches!((result, argument), (Value::Tensor(result), Value::Tensor(argument)) if result.is_same(argument))
}
