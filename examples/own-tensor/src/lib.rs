//! A tensor library of one's own on the dispatcher alone: lists of intervals, their operators, and a layer.
//!
//! Nothing here knows `opgrid-tensor`. The dispatcher sees handles with keys; what is behind them only this crate
//! knows. Two dispatchers give the same operators different kernels: quick ones, and ones that round outwards.
#![forbid(unsafe_code)]

mod intervals;

use std::sync::{Arc, Mutex, PoisonError};

use opgrid_core::{
    BoxedCall, DispatchKey, Dispatcher, Error, ErrorKind, Kernel, Library, Registration, Result, operator,
};

pub use intervals::{Interval, Intervals};

// `Tensor` in schemas is whatever has that name here.
use Intervals as Tensor;

operator! {
    /// The sums of numbers from both.
    pub Add = "interval::add(Tensor self, Tensor other) -> Tensor";
    /// The products of numbers from both.
    pub Mul = "interval::mul(Tensor self, Tensor other) -> Tensor";
    /// The smallest intervals that hold those of every list.
    pub Hull = "interval::hull(Tensor[] tensors) -> Tensor";
    /// How wide each interval is.
    pub Widths = "interval::widths(Tensor self) -> float[]";
    /// `self * self + self`, made of the others.
    pub Curve = "interval::curve(Tensor self) -> Tensor";
}

/// How the ends of results are rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// To the nearest number, so that an end may be a little too far inside.
    Nearest,
    /// To the next number outside, so that results hold every true value.
    Outwards,
}

/// Gives a dispatcher the operators.
///
/// # Errors
///
/// It has the namespace `interval` already.
pub fn register(dispatcher: &Dispatcher, rounding: Rounding) -> Result<Registration> {
    let mut library = dispatcher.library("interval");
    arithmetic(&mut library, rounding);
    // A list may be empty; a call without a tensor still finds a kernel that is not for one backend.
    library.define(Hull).kernel(DispatchKey::CompositeExplicitAutograd, hull);
    library.define(Widths).kernel(DispatchKey::Cpu, widths);
    library.define(Curve).kernel(DispatchKey::CompositeImplicitAutograd, curve);
    library.finish()
}

/// Kernels that capture what they need are closures over the arguments as a tuple.
fn arithmetic(library: &mut Library, rounding: Rounding) {
    library.define(Add).closure(DispatchKey::Cpu, move |(a, b): (&Tensor, &Tensor)| {
        pairs("interval::add", a, b, |a, b| outwards(rounding, a.low + b.low, a.high + b.high))
    });
    library.define(Mul).closure(DispatchKey::Cpu, move |(a, b): (&Tensor, &Tensor)| {
        pairs("interval::mul", a, b, |a, b| {
            let ends = [a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high];
            let (low, high) = (ends.into_iter().reduce(f64::min), ends.into_iter().reduce(f64::max));
            outwards(rounding, low.unwrap_or(f64::NAN), high.unwrap_or(f64::NAN))
        })
    });
}

fn outwards(rounding: Rounding, low: f64, high: f64) -> Interval {
    match rounding {
        Rounding::Nearest => Interval { low, high },
        Rounding::Outwards => Interval { low: low.next_down(), high: high.next_up() },
    }
}

fn pairs(
    operator: &str,
    a: &Tensor,
    b: &Tensor,
    compute: impl Fn(Interval, Interval) -> Interval,
) -> Result<Tensor> {
    let (left, right) = (a.items(), b.items());
    if left.len() != right.len() {
        let (found, expected) = (right.len(), left.len());
        let message =
            format!("{operator}: argument `other` has {found} intervals, expected {expected} as in `self`");
        return Err(Error::new(ErrorKind::Argument, message));
    }
    Tensor::from_intervals(left.iter().zip(right).map(|(a, b)| compute(*a, *b)).collect())
}

fn hull(tensors: &[Tensor]) -> Result<Tensor> {
    let Some((first, rest)) = tensors.split_first() else {
        let message = "interval::hull: argument `tensors` is empty, expected at least one list";
        return Err(Error::new(ErrorKind::Argument, message));
    };
    rest.iter().try_fold(first.clone(), |hull, other| {
        pairs("interval::hull", &hull, other, |a, b| Interval {
            low: a.low.min(b.low),
            high: a.high.max(b.high),
        })
    })
}

fn widths(input: &Tensor) -> Result<Vec<f64>> {
    Ok(input.items().iter().map(|it| it.high - it.low).collect())
}

/// Calls inside of a kernel go to the dispatcher that runs it.
fn curve(input: &Tensor) -> Result<Tensor> {
    Add.call(&Mul.call(input, input)?, input)
}

/// A log of calls. Clones are the same log.
#[derive(Clone, Debug, Default)]
pub struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    /// The key of the layer that writes logs, above autograd: tensors bring it into calls ([`Intervals::under`]).
    ///
    /// # Errors
    ///
    /// No place for a layer is free there.
    pub fn layer() -> Result<DispatchKey> {
        DispatchKey::layer("IntervalLog").above(DispatchKey::Autograd).register()
    }

    /// Has the calls of a dispatcher that a logged tensor takes part in written down, by one boxed kernel for all
    /// operators.
    ///
    /// # Errors
    ///
    /// The dispatcher has such a log already.
    pub fn attach(&self, dispatcher: &Dispatcher) -> Result<Registration> {
        let (layer, log) = (Self::layer()?, self.clone());
        let mut library = dispatcher.implementations("_", layer);
        library.fallback(Kernel::boxed(move |call| log.write(call)));
        library.finish()
    }

    fn write(&self, call: &mut BoxedCall<'_>) -> Result<()> {
        let arguments: Vec<_> = call.args().iter().map(|argument| argument.to_string()).collect();
        let outcome = call.below();
        let results: Vec<_> = call.returns().iter().map(|result| result.to_string()).collect();
        let results = outcome.as_ref().map_or_else(|error| error.to_string(), |()| results.join(", "));
        let line = format!("{}({}) -> {results}", call.operator().name(), arguments.join(", "));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        outcome
    }

    /// What was written, one line per call.
    pub fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
