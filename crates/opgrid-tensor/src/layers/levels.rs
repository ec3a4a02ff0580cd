//! Transforms that nest: batches in derivatives in batches, each any number of times.
//!
//! Who enters a transform gets a [`Level`] of this thread. Tensors that stand for others at a level, such as the examples of a
//! batch or variables of a derivative, are wrappers that know their level. A call belongs to the level that was entered last
//! among those of its arguments; the transform of that level takes the call apart into calls on what is behind the wrappers,
//! which belong to levels around it, and so on, until the tensors are plain. Where a transform needs autograd, the call goes
//! there first, and comes back to [`Transform::lower`] below it.
//!
//! ```text
//! FuncTorchDynamicLayerFrontMode   autocast, if it is on; then the innermost level among the arguments: `Transform::run`
//!         │ a transform that records
//! Autograd
//!         │
//! FuncTorchDynamicLayerBackMode    the same level: `Transform::lower`, with the thread's recording as it was around the level
//! ```
//!
//! A wrapper is of use while the thread is inside of its level. Whoever keeps one longer gets an error that says where the
//! transform was entered.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::Location;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use opgrid_core::schema::Argument;
use opgrid_core::{
    AnyTensor, BoxedCall, ContextPart, DispatchKey, DispatchKeySet, Dispatcher, ForceGuard, Kernel,
    KeyChange, List, LocalKeys, Reason, Registration, Result, TensorType, Value, ValueRef, ValueView,
    nested_calls, register_context_part,
};

use crate::error::argument;
use crate::tensor::{Tensor, TensorSpec, Wrapper, requires_grad_key};

/// The key by which tensors of levels are seen first.
const FRONT: DispatchKey = DispatchKey::FuncTorchDynamicLayerFrontMode;
/// The key by which calls that autograd has recorded come back to their level.
const BACK: DispatchKey = DispatchKey::FuncTorchDynamicLayerBackMode;

/// Puts the layer under every operator of a dispatcher; dropping the registration takes it out.
///
/// # Errors
///
/// The dispatcher has a fallback for one of the keys already.
pub fn install(dispatcher: &Dispatcher) -> Result<Registration> {
    register_context_part(&Carried);
    let mut front = dispatcher.implementations("_", FRONT);
    front.fallback(Kernel::engine(route).named("levels"));
    let mut back = dispatcher.implementations("_", BACK);
    back.fallback(Kernel::engine(come_back).named("levels below autograd"));
    let mut inside = dispatcher.implementations("_", INSIDE);
    inside.fallback(Kernel::fallthrough());
    let mut factories = dispatcher.implementations("aten", INSIDE);
    for name in FACTORIES {
        factories
            .implement(format!("aten::{name}").as_str())
            .add(Kernel::boxed(adopt).named("levels").at(INSIDE));
    }
    let mut registration = front.finish()?;
    registration.join(back.finish()?);
    registration.join(inside.finish()?);
    registration.join(factories.finish()?);
    Ok(registration)
}

/// What happens to calls whose arguments are of one level.
pub trait Transform: Any + Send + Sync {
    /// The name, for errors and printing.
    fn name(&self) -> &'static str;

    /// Keys that calls have on a thread inside of the level, so that operators without arguments of the level are seen, too.
    fn keys(&self) -> DispatchKeySet {
        DispatchKeySet::EMPTY
    }

    /// Leaves the results of a call that has tensors of `level` among its arguments, and none of a level inside of it.
    ///
    /// # Errors
    ///
    /// They are those of the call.
    fn run(&self, call: &mut BoxedCall<'_>, level: &Level) -> Result<()>;

    /// Leaves the results of a call that autograd has recorded ([`Level::record`]).
    ///
    /// # Errors
    ///
    /// They are those of the call.
    fn lower(&self, call: &mut BoxedCall<'_>, _level: &Level) -> Result<()> {
        call.below()
    }

    /// A tensor that was made inside of `level`, without any of its tensors, so that others of the level can be written to it.
    ///
    /// # Errors
    ///
    /// They are those of the call that made it.
    fn adopt(&self, made: Tensor, _level: &Level) -> Result<Tensor> {
        Ok(made)
    }
}

/// One entering of a transform on a thread. Clones are the same level.
#[derive(Clone)]
pub struct Level(Arc<State>);

struct State {
    transform: Box<dyn Transform>,
    /// How many levels are around it.
    depth: usize,
    entered_at: &'static Location<'static>,
    /// What of autograd the thread excluded when it entered.
    excluded: DispatchKeySet,
    /// Keys that the thread includes because it entered.
    included: KeyChange,
    /// How many calls were running on the thread then, or are where an operator runs that is made of others.
    nested: AtomicU32,
    /// The number of the level that what entered it was inside of, which is one less than that of the next; 0 outside of all.
    inside_of: usize,
    /// Whether wrappers are as good as what is behind them: how many want so.
    transparent: AtomicU32,
}

thread_local! {
    /// The levels that this thread is inside of, the innermost last. Never dropped, so that destructors of thread-locals may use
    /// transforms; it has no memory while there are none.
    static LEVELS: ManuallyDrop<RefCell<Vec<Level>>> = const { ManuallyDrop::new(RefCell::new(Vec::new())) };
    /// The number of the one that what runs now is inside of, which counts from 1: transforms run calls at the levels around their own.
    static ACTIVE: Cell<usize> = const { Cell::new(0) };
}

/// The key of a thread that is inside of levels, at which only operators have kernels that make tensors of nothing.
const INSIDE: DispatchKey = DispatchKey::VmapMode;

/// Those operators.
const FACTORIES: [&str; 19] = [
    "arange",
    "arange.start",
    "arange.start_step",
    "empty.memory_format",
    "empty_permuted",
    "empty_strided",
    "eye",
    "eye.m",
    "full",
    "linspace",
    "logspace",
    "ones",
    "rand",
    "randint",
    "randint.low",
    "randn",
    "randperm",
    "scalar_tensor",
    "zeros",
];

/// Looks at the thread's levels.
fn with_levels<X>(body: impl FnOnce(&mut Vec<Level>) -> X) -> X {
    LEVELS.with(|levels| body(&mut levels.borrow_mut()))
}

/// The layers of autograd, and the mark of tensors that it concerns.
fn autograd_layers() -> Result<DispatchKeySet> {
    Ok(DispatchKeySet::AUTOGRAD_WITH_INPLACE.add(requires_grad_key()?))
}

/// The keys of a set that are in another one, as layers.
fn both(keys: DispatchKeySet, layers: DispatchKeySet) -> DispatchKeySet {
    DispatchKeySet::from_parts(keys.layers() & layers.layers(), keys.backends())
}

impl Level {
    /// Enters a transform on this thread, until what comes back is dropped.
    ///
    /// # Errors
    ///
    /// The thread's dispatcher does not have the layer.
    #[track_caller]
    pub fn enter(transform: impl Transform) -> Result<Entered> {
        Ok(Entered { level: Self::push(transform)?, on_this_thread: PhantomData })
    }

    /// Enters a transform on this thread until [`leave`](Self::leave), for bindings whose guards do not belong to a thread.
    ///
    /// # Errors
    ///
    /// As [`enter`](Self::enter).
    #[track_caller]
    pub fn push(transform: impl Transform) -> Result<Self> {
        let entered_at = Location::caller();
        if Dispatcher::current().default_slot(FRONT)?.reason != Reason::Fallback {
            return Err(argument(format!(
                "{}: found a dispatcher without the layer of transforms; install that first",
                transform.name()
            )));
        }
        let local = LocalKeys::current();
        let excluded = both(local.excluded, autograd_layers()?);
        let level = with_levels(|levels| {
            let included = KeyChange::apply(LocalKeys {
                included: local.included | INSIDE.key_set() | transform.keys(),
                ..local
            });
            let level = Self(Arc::new(State {
                transform: Box::new(transform),
                depth: levels.len(),
                entered_at,
                excluded,
                included,
                nested: AtomicU32::new(nested_calls()),
                inside_of: ACTIVE.get(),
                transparent: AtomicU32::new(0),
            }));
            levels.push(level.clone());
            ACTIVE.set(levels.len());
            level
        });
        Ok(level)
    }

    /// Leaves the level, and all that were entered inside of it, where this thread is inside of it.
    pub fn leave(&self) {
        // Levels are dropped when the list is no longer borrowed.
        let ended = self.take();
        ended.iter().rev().for_each(|level| level.0.included.undo());
    }

    /// Takes the level and those inside of it from the thread's, where it is inside of it.
    fn take(&self) -> Vec<Self> {
        with_levels(|levels| {
            let is_here = levels.get(self.0.depth).is_some_and(|level| level.is_same(self));
            let ended = if is_here { levels.split_off(self.0.depth) } else { Vec::new() };
            if is_here {
                ACTIVE.set(self.0.inside_of);
            }
            if levels.is_empty() {
                *levels = Vec::new();
            }
            ended
        })
    }

    /// The transform.
    pub fn transform(&self) -> &dyn Transform {
        &*self.0.transform
    }

    /// The transform, if it is of that type.
    pub fn transform_as<T: Transform>(&self) -> Option<&T> {
        let transform: &dyn Any = &*self.0.transform;
        transform.downcast_ref()
    }

    /// Whether the other is the same entering.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Whether the other one was entered inside of this one.
    pub fn is_around(&self, other: &Self) -> bool {
        self.0.depth < other.0.depth
    }

    /// A tensor that stands for `inner` at this level: it looks as `spec` says. It has the keys of the inner one's backend,
    /// of autograd and of autocast, those of the layer, and `keys`.
    pub fn wrap(
        &self,
        inner: Tensor,
        more: Option<Tensor>,
        spec: TensorSpec,
        keys: DispatchKeySet,
    ) -> Tensor {
        let own = DispatchKeySet::from_keys(&[FRONT, BACK]) | keys;
        let backend = both(inner.keys(), DispatchKeySet::MATH | DispatchKeySet::AUTOCAST);
        let more = more.map_or_else(OnceLock::new, OnceLock::from);
        Tensor::wrap(backend | own, Leveled { level: self.clone(), inner, more, kept: OnceLock::new(), spec })
    }

    /// What stands behind a tensor of this level.
    pub fn behind<'t>(&self, tensor: &'t Tensor) -> Option<&'t Leveled> {
        tensor.wrapper::<Leveled>().filter(|leveled| leveled.level.is_same(self))
    }

    /// What a tensor stands for at this level; one that is not of it is itself.
    pub fn inner_of(&self, tensor: &Tensor) -> Tensor {
        self.behind(tensor).map_or_else(|| tensor.clone(), |leveled| leveled.inner.clone())
    }

    /// Has autograd record a call with tensors of this level; below it, the call comes to [`Transform::lower`].
    ///
    /// # Errors
    ///
    /// Those of the call.
    pub fn record(&self, call: &mut BoxedCall<'_>, args: &[ValueRef<'_>]) -> Result<()> {
        // Layers between, such as tracers, see the calls that the level makes of this one.
        let seen = autograd_layers()? | DispatchKeySet::from_keys(&[BACK]);
        call.redispatch_with(both(call.keys(), seen), args)
    }

    /// Runs `body` with what the thread recorded when it entered the level: calls in it are not of the level, but of those around.
    ///
    /// # Errors
    ///
    /// Those of [`requires_grad_key`].
    pub fn around<X>(&self, body: impl FnOnce() -> Result<X>) -> Result<X> {
        let LocalKeys { included, excluded } = LocalKeys::current();
        let excluded = (excluded - autograd_layers()?) | self.0.excluded;
        let _keys = ForceGuard::new(LocalKeys { included, excluded });
        self.outside(body)
    }

    /// Goes on with a call of an operator that is made of others: what these make is of the level, as if the function had called them.
    ///
    /// # Errors
    ///
    /// Those of the call.
    pub fn redispatch_parts(&self, call: &mut BoxedCall<'_>, keys: DispatchKeySet) -> Result<()> {
        struct Ends<'l>(&'l AtomicU32, u32);
        impl Drop for Ends<'_> {
            fn drop(&mut self) {
                self.0.store(self.1, Ordering::Relaxed);
            }
        }
        // The call of the kernel counts, too.
        let nested = &self.0.nested;
        let _ends = Ends(nested, nested.swap(nested_calls() + 1, Ordering::Relaxed));
        call.redispatch(keys)
    }

    /// Runs `body` as of the levels around: what it makes of nothing is not of this one.
    pub fn outside<X>(&self, body: impl FnOnce() -> X) -> X {
        let _active = Active(ACTIVE.replace(self.0.inside_of));
        body()
    }

    /// Runs `body` with tensors of this level as good as what is behind them, also where the thread has left it: for graphs
    /// that keep such tensors.
    pub fn transparent<X>(&self, body: impl FnOnce() -> X) -> X {
        struct Ends<'l>(&'l Level);
        impl Drop for Ends<'_> {
            fn drop(&mut self) {
                self.0.0.transparent.fetch_sub(1, Ordering::Relaxed);
            }
        }
        self.0.transparent.fetch_add(1, Ordering::Relaxed);
        let _ends = Ends(self);
        body()
    }

    fn is_transparent(&self) -> bool {
        self.0.transparent.load(Ordering::Relaxed) != 0
    }

    /// Whether this thread is inside of the level.
    fn is_entered(&self) -> bool {
        with_levels(|levels| levels.get(self.0.depth).is_some_and(|level| level.is_same(self)))
    }

    /// # Errors
    ///
    /// This thread is not inside of the level.
    fn check_entered(&self) -> Result<()> {
        if self.is_entered() {
            return Ok(());
        }
        let (name, place) = (self.0.transform.name(), self.0.entered_at);
        Err(argument(format!(
            "found a tensor of the `{name}` that was entered at {place}, which has ended or belongs to \
             another thread; return values from the function that is transformed instead of keeping them"
        )))
    }
}

impl fmt::Debug for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at level {}", self.0.transform.name(), self.0.depth + 1)
    }
}

/// A transform that is entered. It stays on the thread that entered it.
#[must_use = "the transform is left when this is dropped"]
pub struct Entered {
    level: Level,
    on_this_thread: PhantomData<*const ()>,
}

impl Entered {
    /// The level.
    pub fn level(&self) -> &Level {
        &self.level
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.level.leave();
    }
}

/// What stands behind a tensor of a level.
pub struct Leveled {
    level: Level,
    inner: Tensor,
    more: OnceLock<Tensor>,
    kept: OnceLock<Arc<dyn Any + Send + Sync>>,
    spec: TensorSpec,
}

impl Leveled {
    /// The level.
    pub fn level(&self) -> &Level {
        &self.level
    }

    /// The tensor that the other one stands for.
    pub fn inner(&self) -> &Tensor {
        &self.inner
    }

    /// Another handle of the same: without a history, where the first one has one.
    pub(crate) fn again(&self, keys: DispatchKeySet) -> Tensor {
        let (level, inner) = (self.level.clone(), self.inner.clone());
        let (more, kept) = (self.more.clone(), self.kept.clone());
        Tensor::wrap(keys, Self { level, inner, more, kept, spec: self.spec.clone() })
    }

    /// What the transform keeps with the tensor, if it is of that type.
    pub fn kept<T: Any>(&self) -> Option<&T> {
        self.kept.get()?.downcast_ref()
    }

    /// Keeps something with a tensor that has nothing yet.
    pub fn keep(&self, kept: Arc<dyn Any + Send + Sync>) {
        let _ = self.kept.set(kept);
    }

    /// A second tensor that goes with it, such as its tangent.
    pub fn more(&self) -> Option<&Tensor> {
        self.more.get()
    }

    /// Gives a tensor that has none a second one that goes with it.
    pub fn set_more(&self, more: Tensor) {
        let _ = self.more.set(more);
    }
}

impl Wrapper for Leveled {
    fn layer(&self) -> &str {
        self.level.0.transform.name()
    }

    fn spec(&self) -> &TensorSpec {
        &self.spec
    }

    fn version(&self) -> u64 {
        self.inner.version()
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.layer(), self.inner)
    }
}

/// Runs `body` with autograd's keys included in calls again, where a kernel below autograd has reason to.
///
/// # Errors
///
/// Those of [`requires_grad_key`], and of `body`.
pub fn recording<X>(body: impl FnOnce() -> Result<X>) -> Result<X> {
    let LocalKeys { included, excluded } = LocalKeys::current();
    let _keys = ForceGuard::new(LocalKeys { included, excluded: excluded - autograd_layers()? });
    body()
}

/// Puts back how many levels what runs is inside of.
struct Active(usize);

impl Drop for Active {
    fn drop(&mut self) {
        ACTIVE.set(self.0);
    }
}

/// The levels that what runs on this thread is inside of, the innermost first.
fn around() -> Vec<Level> {
    with_levels(|levels| {
        let at = |number: usize| levels.get(number.checked_sub(1)?);
        std::iter::successors(at(ACTIVE.get()), |level| at(level.0.inside_of)).cloned().collect()
    })
}

/// The innermost level that what runs on this thread is inside of.
pub fn innermost() -> Option<Level> {
    with_levels(|levels| levels.get(ACTIVE.get().checked_sub(1)?).cloned())
}

/// The kernel of operators that make tensors of nothing, on threads inside of levels.
fn adopt(call: &mut BoxedCall<'_>) -> Result<()> {
    call.below()?;
    // What a kernel makes for itself is not of the level.
    let is_own = |level: &Level| nested_calls() == level.0.nested.load(Ordering::Relaxed) + 1;
    if !innermost().as_ref().is_some_and(is_own) {
        return Ok(());
    }
    let around = around();
    let made: Vec<Value> = call.returns().iter().cloned().collect();
    let adopted = made.iter().map(|value| {
        map_tensors(value.borrow(), &mut |made| {
            // What differs from example to example is of a level already.
            if made.wrapper::<Leveled>().is_some() {
                return Ok(made.clone());
            }
            around.iter().rev().try_fold(made.clone(), |made, level| level.transform().adopt(made, level))
        })
    });
    let adopted = adopted.collect::<Result<Vec<_>>>()?;
    call.returns().clear();
    adopted.into_iter().for_each(|value| call.push(value));
    Ok(())
}

/// The innermost level of a thread that is of a transform.
pub fn innermost_of<T: Transform>() -> Option<Level> {
    around().into_iter().find(|level| level.transform_as::<T>().is_some())
}

/// The layer's kernel for every operator.
fn route(call: &mut BoxedCall<'_>) -> Result<()> {
    let mut is_any_transparent = false;
    each_tensor(call.args(), &mut |tensor| {
        is_any_transparent |= tensor.wrapper::<Leveled>().is_some_and(|it| it.level.is_transparent());
    });
    if is_any_transparent {
        let args = map_all(call.args(), &mut |tensor| Ok(without_transparent(tensor)))?;
        return call.call_with(&args.iter().map(Value::borrow).collect::<Vec<_>>());
    }
    match deepest(call)? {
        Some(level) => super::autocast::before_levels(call, |call| level.0.transform.run(call, &level)),
        // The key was included by hand: there is no level.
        None => call.below(),
    }
}

/// The layer's kernel below autograd.
fn come_back(call: &mut BoxedCall<'_>) -> Result<()> {
    match deepest(call)? {
        Some(level) => level.0.transform.lower(call, &level),
        None => call.below(),
    }
}

/// What stands behind wrappers that are as good as that.
fn without_transparent(tensor: &Tensor) -> Tensor {
    let mut tensor = tensor;
    while let Some(leveled) = tensor.wrapper::<Leveled>().filter(|it| it.level.is_transparent()) {
        tensor = &leveled.inner;
    }
    tensor.clone()
}

/// The level that was entered last among those of the arguments.
///
/// # Errors
///
/// A level that this thread is not inside of.
fn deepest(call: &BoxedCall<'_>) -> Result<Option<Level>> {
    let mut found: Option<&Level> = None;
    let mut ended = Ok(());
    each_tensor(call.args(), &mut |tensor| {
        let Some(leveled) = tensor.wrapper::<Leveled>() else { return };
        if ended.is_ok() {
            ended = leveled.level.check_entered();
        }
        if found.is_none_or(|level| level.0.depth < leveled.level.0.depth) {
            found = Some(&leveled.level);
        }
    });
    ended.map_err(|error| error.within(call.operator().name()))?;
    Ok(found.cloned())
}

/// What is behind a tensor at all levels.
pub fn plain(tensor: &Tensor) -> &Tensor {
    let mut tensor = tensor;
    while let Some(leveled) = tensor.wrapper::<Leveled>() {
        tensor = &leveled.inner;
    }
    tensor
}

/// Shows the tensors among arguments, those in lists too.
pub fn each_tensor<'a>(args: &[ValueRef<'a>], body: &mut dyn FnMut(&'a Tensor)) {
    for value in args {
        match value.view() {
            ValueView::Tensor(tensor) => Tensor::from_any_ref(tensor).into_iter().for_each(&mut *body),
            ValueView::Tensors(list) => list.iter().filter_map(Tensor::from_any_ref).for_each(&mut *body),
            ValueView::OptionalTensors(list) => {
                list.iter().flatten().filter_map(Tensor::from_any_ref).for_each(&mut *body);
            }
            _ => {}
        }
    }
}

/// An argument with other tensors in place of its own, those in lists too.
///
/// # Errors
///
/// Those of `body`.
pub fn map_tensors(value: ValueRef<'_>, body: &mut dyn FnMut(&Tensor) -> Result<Tensor>) -> Result<Value> {
    let mut one = |tensor: &AnyTensor| match Tensor::from_any_ref(tensor) {
        Some(tensor) => Ok(body(tensor)?.into_any()),
        None => Ok(tensor.clone()),
    };
    Ok(match value.view() {
        ValueView::Tensor(tensor) => one(tensor)?.into(),
        ValueView::Tensors(list) => List::Tensors(list.iter().map(one).collect::<Result<_>>()?).into(),
        ValueView::OptionalTensors(list) => {
            let each = list.iter().map(|tensor| tensor.as_ref().map(&mut one).transpose());
            List::OptionalTensors(each.collect::<Result<_>>()?).into()
        }
        _ => value.to_value(),
    })
}

/// As [`map_tensors`], of all arguments.
///
/// # Errors
///
/// Those of `body`.
pub fn map_all(args: &[ValueRef<'_>], body: &mut dyn FnMut(&Tensor) -> Result<Tensor>) -> Result<Vec<Value>> {
    args.iter().map(|value| map_tensors(*value, body)).collect()
}

/// # Errors
///
/// The call writes a tensor from outside the function, which cannot take values that depend on the level.
pub fn check_writes(call: &BoxedCall<'_>, level: &Level) -> Result<()> {
    let Some(schema) = call.schema() else { return Ok(()) };
    for (declared, value) in schema.arguments.iter().zip(call.args()).filter(|(it, _)| Argument::is_write(it))
    {
        let mut is_outside = false;
        each_tensor(std::slice::from_ref(value), &mut |tensor| is_outside |= level.behind(tensor).is_none());
        if is_outside {
            let (operator, name, transform) =
                (call.operator().name(), &declared.name, level.transform().name());
            return Err(argument(format!(
                "{operator}: argument `{name}` comes from outside the function that `{transform}` transforms, \
                     and cannot be written with what the function computes; pass it as an input, or use the \
                     functional form"
            )));
        }
    }
    Ok(())
}

/// The levels go along where work goes to other threads.
struct Carried;

impl ContextPart for Carried {
    fn capture(&self) -> Option<Box<dyn Any + Send + Sync>> {
        let levels = with_levels(|levels| levels.clone());
        (!levels.is_empty()).then(|| Box::new(levels) as _)
    }

    fn within(&self, state: &(dyn Any + Send + Sync), body: &mut dyn FnMut()) {
        let levels = state.downcast_ref::<Vec<Level>>().cloned().unwrap_or_default();
        // Calls are counted by the thread that entered the levels.
        let _active = Active(ACTIVE.replace(0));
        let _before = Before(with_levels(|own| std::mem::replace(own, levels)));
        body();
    }
}

/// Puts back the levels of a thread.
struct Before(Vec<Level>);

impl Drop for Before {
    fn drop(&mut self) {
        let _carried = with_levels(|levels| std::mem::replace(levels, std::mem::take(&mut self.0)));
    }
}
