//! A layer with a key of its own: a meter that counts the work of calls where it is switched on.
//!
//! The key stands above autograd and below the tracer. A boxed fallback serves every operator and counts the elements
//! of its results; `aten::mm` has a typed kernel, which knows better what a product of matrices costs. While a kernel
//! of the layer calls on, the layer is excluded: what an operator calls on its way is part of its own work.
#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;

use opgrid::dispatch::{ExcludeGuard, IncludeGuard, TensorType};
use opgrid::ops;
use opgrid::prelude::*;

/// The layer's key, allocated when it is first asked for.
///
/// # Errors
///
/// No place is free between autograd and the tracer.
pub fn meter() -> Result<DispatchKey> {
    DispatchKey::layer("Meter").above(DispatchKey::Autograd).below(DispatchKey::Tracer).register()
}

/// Installs the meter; until then calls step over its key. Dropping the registration takes it out.
///
/// # Errors
///
/// The dispatcher has a meter already.
pub fn install(dispatcher: &Dispatcher) -> Result<Registration> {
    let meter = meter()?;
    let mut everything = dispatcher.implementations("_", meter);
    everything.fallback(Kernel::boxed(count_results));
    let mut products = dispatcher.implementations("aten", meter);
    products.implement(ops::Mm).layer(meter, |next, (a, b)| {
        let product = next.call((a, b))?;
        let sums = a.sizes().get(1).copied().unwrap_or(0);
        count("aten::mm", 2 * sums * product.numel());
        Ok(product)
    });
    let mut registration = everything.finish()?;
    registration.join(products.finish()?);
    Ok(registration)
}

/// The fallback: runs any operator below the layer, then counts the elements that it gave.
fn count_results(call: &mut BoxedCall<'_>) -> Result<()> {
    call.below()?;
    let tensors = call.returns().iter().filter_map(|value| value.borrow().as_tensor());
    let elements = tensors.filter_map(Tensor::from_any_ref).map(Tensor::numel).sum();
    count(&call.operator().name().to_string(), elements);
    Ok(())
}

/// Switches the meter on for calls of this thread, until the guard is dropped.
///
/// # Errors
///
/// As [`meter`].
pub fn on() -> Result<IncludeGuard> {
    meter().map(IncludeGuard::new)
}

/// Switches the meter off for calls of this thread, wherever it was switched on, until the guard is dropped.
///
/// # Errors
///
/// As [`meter`].
pub fn off() -> Result<ExcludeGuard> {
    meter().map(ExcludeGuard::new)
}

/// Runs `body` with the meter on, and gives what it counted of it. Scopes nest: the outer one counts the inner one too.
///
/// # Errors
///
/// As [`meter`].
pub fn metered<X>(body: impl FnOnce() -> X) -> Result<(X, Tally)> {
    let before = Before(TALLY.take());
    let switch = on()?;
    let result = body();
    drop(switch);
    let tally = TALLY.with_borrow(Tally::clone);
    drop(before);
    Ok((result, tally))
}

thread_local! {
    static TALLY: RefCell<Tally> = RefCell::default();
}

/// What the scope around has counted; put back however the inner one ends.
struct Before(Tally);

impl Drop for Before {
    fn drop(&mut self) {
        TALLY.with_borrow_mut(|tally| {
            for (operator, cost) in &self.0.operators {
                tally.add(operator, *cost);
            }
        });
    }
}

fn count(operator: &str, work: i64) {
    TALLY.with_borrow_mut(|tally| tally.add(operator, Cost { calls: 1, work }));
}

/// What the calls of an operator cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// How many there were.
    pub calls: u64,
    /// Floating-point operations of a matrix product, elements of the results of anything else.
    pub work: i64,
}

/// What a meter has counted, by operator. Prints itself as a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    operators: BTreeMap<String, Cost>,
}

impl Tally {
    /// What the calls of that operator cost.
    pub fn cost(&self, operator: &str) -> Cost {
        self.operators.get(operator).copied().unwrap_or_default()
    }

    /// The operators that were called.
    pub fn operators(&self) -> impl Iterator<Item = &str> {
        self.operators.keys().map(String::as_str)
    }

    fn add(&mut self, operator: &str, cost: Cost) {
        let sum = self.operators.entry(operator.to_owned()).or_default();
        sum.calls += cost.calls;
        sum.work += cost.work;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (operator, Cost { calls, work }) in &self.operators {
            writeln!(f, "{calls:>5} {work:>8}  {operator}")?;
        }
        Ok(())
    }
}
