//! A layer that remembers results: the same operator on the same tensors, unchanged, is not computed again.
//!
//! [`caching`] switches it on for a scope. A call is known by its operator, its tensors and their versions, and its other
//! arguments; a write through any view of a tensor changes the version, so that what was remembered no longer fits.
//! Operators that write or draw random numbers are passed on. The cache goes along to the threads that work for the
//! caller.
#![forbid(unsafe_code)]

use std::any::Any;
use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

use opgrid::dispatch::{
    ContextPart, IncludeGuard, Kind, TensorType, ValueRef, ValueView, WeakTensor, register_context_part,
};
use opgrid::families::kind;
use opgrid::prelude::*;

/// The layer's key, allocated when it is first asked for.
///
/// # Errors
///
/// No place is free between autograd and the tracer.
pub fn key() -> Result<DispatchKey> {
    DispatchKey::layer("Caching").above(DispatchKey::Autograd).below(DispatchKey::Tracer).register()
}

/// Puts the layer under every operator of a dispatcher; dropping the registration takes it out.
///
/// # Errors
///
/// The dispatcher has it already.
pub fn install(dispatcher: &Dispatcher) -> Result<Registration> {
    register_context_part(&Current);
    let mut everything = dispatcher.implementations("_", key()?);
    everything.fallback(Kernel::engine(remember));
    everything.finish()
}

/// What is remembered, and how often it helped.
#[derive(Default)]
pub struct Cache(Mutex<State>);

#[derive(Default)]
struct State {
    entries: Vec<Entry>,
    hits: u64,
}

struct Entry {
    operator: OperatorHandle,
    args: Vec<Known>,
    results: Vec<Value>,
    /// The versions of the results, which the caller may write to.
    versions: Vec<u64>,
}

/// An argument as it was.
enum Known {
    /// The tensor is not kept alive for the cache's sake.
    Tensor(WeakTensor, u64),
    Other(Value),
}

impl Known {
    /// `None` for lists of tensors, which are not remembered.
    fn from_value(value: ValueRef<'_>) -> Option<Self> {
        match value.view() {
            ValueView::Tensor(tensor) => {
                let version = Tensor::from_any_ref(tensor)?.version();
                Some(Self::Tensor(tensor.downgrade(), version))
            }
            ValueView::Tensors(_) | ValueView::OptionalTensors(_) | ValueView::Generator(_) => None,
            _ => Some(Self::Other(value.to_value())),
        }
    }

    fn fits(&self, value: ValueRef<'_>) -> bool {
        match (self, value.as_tensor()) {
            (Self::Tensor(weak, version), Some(tensor)) => {
                let is_same = weak.upgrade().is_some_and(|known| known.is_same(tensor));
                is_same && Tensor::from_any_ref(tensor).is_some_and(|tensor| tensor.version() == *version)
            }
            (Self::Other(known), None) => *known == value.to_value(),
            _ => false,
        }
    }
}

impl Cache {
    /// How often a result was remembered instead of computed.
    pub fn hits(&self) -> u64 {
        self.state(|state| state.hits)
    }

    fn state<X>(&self, body: impl FnOnce(&mut State) -> X) -> X {
        body(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn find(&self, operator: &OperatorHandle, args: &[ValueRef<'_>]) -> Option<Vec<Value>> {
        self.state(|state| {
            let fits = |entry: &&Entry| {
                entry.operator == *operator
                    && entry.args.len() == args.len()
                    && entry.args.iter().zip(args).all(|(known, value)| known.fits(*value))
                    && versions(&entry.results) == entry.versions
            };
            let results = state.entries.iter().find(fits)?.results.clone();
            state.hits += 1;
            Some(results)
        })
    }
}

thread_local! {
    static CACHE: RefCell<Option<Arc<Cache>>> = const { RefCell::new(None) };
}

/// The cache of this thread goes along where work goes to others.
struct Current;

impl ContextPart for Current {
    fn capture(&self) -> Option<Box<dyn Any + Send + Sync>> {
        CACHE.with_borrow(|cache| Some(Box::new(cache.clone()?) as _))
    }

    fn within(&self, state: &(dyn Any + Send + Sync), body: &mut dyn FnMut()) {
        let _before = Before(CACHE.replace(state.downcast_ref().cloned()));
        body();
    }
}

/// Puts back the cache of the scope around.
struct Before(Option<Arc<Cache>>);

impl Drop for Before {
    fn drop(&mut self) {
        CACHE.set(self.0.take());
    }
}

/// Runs `body` with results remembered in `cache`.
///
/// # Errors
///
/// As [`key`].
pub fn caching<X>(cache: &Arc<Cache>, body: impl FnOnce() -> X) -> Result<X> {
    let _before = Before(CACHE.replace(Some(cache.clone())));
    let _on = IncludeGuard::new(key()?);
    Ok(body())
}

/// The layer's kernel for every operator.
fn remember(call: &mut BoxedCall<'_>) -> Result<()> {
    let writes =
        call.schema().is_none_or(|schema| schema.arguments.iter().any(|argument| argument.is_write()));
    // A view is its tensor's memory, and random numbers are others each time.
    let is_special =
        call.column::<Kind>().is_some_and(|kind| kind.is(&kind::VIEW) || kind.is(&kind::FACTORY));
    let cache = CACHE.with_borrow(Clone::clone).filter(|_| !writes && !is_special);
    let args =
        cache.as_ref().and_then(|_| call.args().iter().map(|value| Known::from_value(*value)).collect());
    let (Some(cache), Some(args)) = (cache, args) else { return call.below() };
    if let Some(results) = cache.find(call.operator(), call.args()) {
        results.into_iter().for_each(|result| call.push(result));
        return Ok(());
    }
    call.below()?;
    let (operator, results) = (call.operator().clone(), call.returns().iter().cloned().collect::<Vec<_>>());
    let versions = versions(&results);
    cache.state(|state| state.entries.push(Entry { operator, args, results, versions }));
    Ok(())
}

/// How often the tensors among the values were written.
fn versions(values: &[Value]) -> Vec<u64> {
    let of =
        |value: &Value| value.borrow().as_tensor().and_then(Tensor::from_any_ref).map_or(0, Tensor::version);
    values.iter().map(of).collect()
}
