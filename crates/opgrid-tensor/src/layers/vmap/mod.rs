//! Batches: a function of one example runs on a whole batch, one call for each operator in it.
//!
//! A batched tensor is a wrapper; behind it, all examples lie along dimension 0. Operators carry a [`BatchingRule`], which says how they
//! do all examples at once, or have that of their kind; `opgrid-transforms` has those of the operators of this library. One that is made of
//! others needs none: these are called. One without a rule runs once for each example, which is counted as a slow path and
//! refused in strict mode.
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

use opgrid_core::schema::Type;
use opgrid_core::{
    BoxedCall, DispatchKey, DispatchKeySet, Dispatcher, Kernel, Reason, Registration, Result, SlowPath, Value,
};

pub use rule::{BatchedCall, BatchingRule, DefineBatching};

use crate::error::argument;
use crate::families::ShapeRule;
use crate::layers::levels::{self, Entered, Level, Leveled, Transform};
use crate::ops::Stack;
use crate::tensor::{Geometry, Tensor, TensorSpec};

/// Puts the layer under every operator of a dispatcher, and that of [levels] with it; dropping the registration takes them out.
///
/// # Errors
///
/// The dispatcher has a fallback for batched tensors or levels already.
pub fn install(dispatcher: &Dispatcher) -> Result<Registration> {
    let mut registration = levels::install(dispatcher)?;
    let mut everything = dispatcher.implementations("_", KEY);
    everything.fallback(Kernel::engine(batch).named("vmap"));
    registration.join(everything.finish()?);
    // Operators that draw random numbers have kernels there.
    let mut inside = dispatcher.implementations("_", INSIDE);
    inside.fallback(Kernel::fallthrough());
    registration.join(inside.finish()?);
    Ok(registration)
}

/// What the error of an operator says whose result has other sizes for each example.
pub const DEPENDS_ON_DATA: &str = "depends on the data of each example";

/// Where rules for batches stand.
const KEY: DispatchKey = DispatchKey::FuncTorchBatched;

/// What calls carry on a thread inside of a batch, whatever their arguments are.
pub const INSIDE: DispatchKey = DispatchKey::FuncTorchVmapMode;

/// A batch that a thread is inside of. Tensors of the level stand for one example each; what is behind them has all along its
/// dimension 0.
pub struct Batch {
    size: i64,
    randomness: Randomness,
}

/// What operators that draw random numbers do in a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Randomness {
    /// They are refused.
    #[default]
    Refused,
    /// They draw the same numbers for all examples.
    Same,
    /// They draw other numbers for each example.
    Different,
}

impl Batch {
    /// How many examples there are.
    pub fn size(&self) -> i64 {
        self.size
    }

    /// What operators that draw random numbers do.
    pub fn randomness(&self) -> Randomness {
        self.randomness
    }

    /// Enters a batch of that many examples on this thread, until what comes back is dropped. Random numbers are refused.
    ///
    /// # Errors
    ///
    /// The thread's dispatcher does not have the layer.
    #[track_caller]
    pub fn enter(size: i64) -> Result<Entered> {
        Self::enter_with(size, Randomness::Refused)
    }

    /// As [`enter`](Self::enter), and says what operators do that draw random numbers.
    ///
    /// # Errors
    ///
    /// As [`enter`](Self::enter).
    #[track_caller]
    pub fn enter_with(size: i64, randomness: Randomness) -> Result<Entered> {
        Level::enter(Self { size, randomness })
    }

    /// Enters a batch on this thread until [`Level::leave`], for bindings whose guards do not belong to a thread.
    ///
    /// # Errors
    ///
    /// As [`enter`](Self::enter).
    #[track_caller]
    pub fn push(size: i64, randomness: Randomness) -> Result<Level> {
        Level::push(Self { size, randomness })
    }
}

impl Transform for Batch {
    fn name(&self) -> &'static str {
        "vmap"
    }

    fn keys(&self) -> DispatchKeySet {
        INSIDE.key_set()
    }

    fn run(&self, call: &mut BoxedCall<'_>, level: &Level) -> Result<()> {
        // A kernel that an operator has for batches comes before the rules.
        let keys = DispatchKeySet::from_parts(KEY.key_set().layers(), call.keys().backends());
        level.outside(|| call.redispatch(keys))
    }
}

/// The tensor as a batch along its dimension 0: one example of it, at a level that [`Batch::enter`] gave.
///
/// # Errors
///
/// It has no dimensions.
pub fn batched(inner: Tensor, level: &Level) -> Result<Tensor> {
    let geometry = match inner.sizes() {
        // Without examples there is none that could be looked at.
        [0, example @ ..] => Geometry::contiguous(example)?,
        _ => inner.geometry().select(0, 0)?,
    };
    let spec = TensorSpec::new(geometry, inner.dtype(), inner.device());
    Ok(level.wrap(inner, None, spec, KEY.key_set()))
}

/// What is behind a tensor inside of a batch, with all examples along its dimension 0; one that does not depend on the examples is
/// stretched.
///
/// # Errors
///
/// Those of stretching.
pub fn unbatched(tensor: &Tensor, level: &Level) -> Result<Tensor> {
    match (level.behind(tensor), level.transform_as::<Batch>()) {
        (None, Some(batch)) => tensor.expand(&[&[batch.size], tensor.sizes()].concat()),
        _ => Ok(level.inner_of(tensor)),
    }
}

/// Runs `body` once with examples that stand for those along dimension 0 of each of `batches`. The result has those of all
/// examples along its dimension 0.
///
/// # Errors
///
/// No batches, batches of different sizes, tensors without dimensions; those of `body`.
#[track_caller]
pub fn over(batches: &[&Tensor], body: impl FnOnce(&[Tensor]) -> Result<Tensor>) -> Result<Tensor> {
    let sizes: Vec<Option<i64>> = batches.iter().map(|batch| batch.sizes().first().copied()).collect();
    let Some(Some(size)) = sizes.first().copied() else {
        return Err(argument("expected at least one batch, each with a dimension 0 of examples"));
    };
    if sizes.iter().any(|other| *other != Some(size)) {
        let message = format!("the batches have sizes {sizes:?} in dimension 0, expected one size for all");
        return Err(argument(message));
    }
    let entered = Batch::enter(size)?;
    let level = entered.level();
    let examples =
        batches.iter().map(|batch| batched((*batch).clone(), level)).collect::<Result<Vec<_>>>()?;
    let result = body(&examples)?;
    drop(entered);
    unbatched(&result, examples[0].wrapper::<Leveled>().expect("it was just made").level())
}

/// The first example of the batches that a tensor stands for, where it stands for the examples of some.
///
/// # Errors
///
/// A batch has no examples.
pub fn first_example(tensor: &Tensor) -> Result<Option<Tensor>> {
    let mut example = None;
    while let Some(leveled) = example.as_ref().unwrap_or(tensor).wrapper::<Leveled>() {
        let inner = leveled.inner();
        let first = match leveled.level().transform_as::<Batch>() {
            Some(_) => inner.select(0, 0)?,
            None => inner.clone(),
        };
        example = Some(first);
    }
    Ok(example)
}

/// The innermost batch among the arguments.
fn level_of(call: &BoxedCall<'_>) -> Option<Level> {
    let mut found: Option<&Level> = None;
    levels::each_tensor(call.args(), &mut |tensor| {
        let level = tensor.wrapper::<Leveled>().map(Leveled::level);
        let is_batch = |level: &&Level| level.transform_as::<Batch>().is_some();
        if let Some(level) = level.filter(is_batch).filter(|level| found.is_none_or(|it| it.is_around(level)))
        {
            found = Some(level);
        }
    });
    found.cloned()
}

/// The layer's kernel for every operator.
fn batch(call: &mut BoxedCall<'_>) -> Result<()> {
    // The key was included by hand: there is no batch.
    let Some(level) = level_of(call) else { return call.below() };
    let backend = call.keys().highest_backend_type();
    // Rules are those of the operators that it is made of.
    if call.operator().slot(backend)?.reason == Reason::Alias(DispatchKey::CompositeImplicitAutograd) {
        return call.redispatch(backend.key_set());
    }
    levels::check_writes(call, &level)?;
    let rule = call.column::<BatchingRule>();
    let mut call = BatchedCall::new(call, level);
    let operator = call.operator();
    let done = match rule {
        _ if call.size() == 0 && !call.writes() && call.without_examples().is_ok() => Ok(()),
        _ if call.is_of_no_elements() => call.all_as_one(),
        _ if call.writes_outputs() => call.through_functional(),
        Some(rule) => rule.apply(&mut call),
        None if call.writes() => call.through_functional(),
        None => call.one_by_one(),
    };
    done.map_err(|error| error.within(format_args!("{} on a batch", operator.name())))
}

/// Calls an operator for each example.
fn one_by_one(call: &mut BoxedCall<'_>, level: &Level) -> Result<()> {
    let size = level.transform_as::<Batch>().map_or(0, Batch::size);
    call.note_slow_path(SlowPath::BATCH_LOOP)?;
    if call.schema().is_none_or(|schema| schema.arguments.iter().any(|argument| argument.is_write())) {
        return Err(argument(
            "it has no batching rule and writes an argument, which cannot be done for one example at a time; \
             use the functional form, or give it a rule",
        ));
    }
    if size == 0 {
        return without_examples(call, level);
    }
    let mut results: Vec<Vec<Value>> = Vec::new();
    for at in 0..size {
        let args = levels::map_all(call.args(), &mut |tensor| match level.behind(tensor) {
            Some(leveled) => leveled.inner().select(0, at),
            None => Ok(tensor.clone()),
        })?;
        results.push(call.operator().call_values(args)?);
    }
    for place in 0..results[0].len() {
        let each: Vec<&Value> = results.iter().map(|results| &results[place]).collect();
        call.push(stacked(&each, level)?);
    }
    Ok(())
}

/// Leaves results that say what examples would have, if there were any.
fn without_examples(call: &mut BoxedCall<'_>, level: &Level) -> Result<()> {
    let is_list = call
        .schema()
        .and_then(|schema| schema.returns.first())
        .is_some_and(|result| matches!(result.real_type, Type::List(..)));
    let Some(rule) = call.column::<ShapeRule>() else {
        return Err(argument(format!(
            "the result {DEPENDS_ON_DATA}, and a batch without examples has no data"
        )));
    };
    let none = |spec: &TensorSpec| {
        batched(Tensor::empty([&[0], spec.sizes()].concat(), spec.dtype(), spec.device())?, level)
    };
    let results = rule.apply(call.args())?.iter().map(none).collect::<Result<Vec<_>>>()?;
    if is_list {
        call.push(results);
    } else {
        results.into_iter().for_each(|result| call.push(result));
    }
    Ok(())
}

/// The results of all examples as one: tensors of the level, or what is the same for all.
fn stacked(each: &[&Value], level: &Level) -> Result<Value> {
    let lists: Vec<Vec<Tensor>> = each.iter().map(|value| tensors_of(value)).collect();
    if lists[0].is_empty() && each.iter().all(|value| value == &each[0]) {
        return Ok(each[0].clone());
    }
    let sizes = |list: &[Tensor]| -> Vec<Vec<i64>> { list.iter().map(|it| it.sizes().to_vec()).collect() };
    if lists[0].is_empty() || lists.iter().any(|list| sizes(list) != sizes(&lists[0])) {
        return Err(argument(format!(
            "the result {DEPENDS_ON_DATA} in a batch, so that there is none for all of them; compute it \
             outside of `vmap`"
        )));
    }
    let mut place = 0;
    levels::map_tensors(each[0].borrow(), &mut |tensor| {
        let of_all: Vec<Tensor> = lists.iter().map(|list| list[place].clone()).collect();
        place += 1;
        if tensor.is_defined() { batched(Stack.call(&of_all, 0)?, level) } else { Ok(tensor.clone()) }
    })
}

/// The tensors of a value, those of a list one by one.
fn tensors_of(value: &Value) -> Vec<Tensor> {
    let mut tensors = Vec::new();
    levels::each_tensor(&[value.borrow()], &mut |tensor| tensors.push(tensor.clone()));
    tensors
}
