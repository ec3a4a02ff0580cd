//! Operators as callers hold them: a handle found by name, or the cell of an overload known at compile time.
#![allow(unsafe_code)]

use std::any::TypeId;
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use opgrid_schema::{AliasAnalysis, FunctionSchema, OperatorName, Type};

use crate::calling::boxing::kinds_of;
use crate::calling::call::{self, Route, Target};
use crate::calling::inferred::signature_of;
use crate::calling::kernel::{Origin, SignatureOf};
use crate::calling::owner::Owner;
use crate::calling::retirement::{Published, marked};
use crate::calling::table::TableRef;
use crate::calling::thread::with_thread;
use crate::error::{Error, ErrorKind, Result};
use crate::keys::set::DispatchKeySet;
use crate::signatures::signature::{Checked, Signature};
use crate::signatures::stack::{Returns, Stack};
use crate::values::borrowed::ValueRef;
use crate::values::value::Value;

/// The global dispatcher's table of one overload, null until the first call.
///
/// Invariant: what it points to is the table of an operator whose typed kernels are of signature `S`, if there are any of
/// its kind (symbolic or not). Only the operator's record publishes to it, which knows the cell's signature from
/// `Record::bind`. The signature is part of the type because calls do not check it again: two overloads of different
/// signatures cannot share a cell.
///
/// ```compile_fail,E0308
/// use opgrid_core::{AnyTensor, Operator, OperatorCell};
///
/// static SHARED: OperatorCell<fn(AnyTensor) -> AnyTensor> = OperatorCell::new();
///
/// #[derive(Clone, Copy)]
/// struct Half;
///
/// impl Operator for Half {
///     const SCHEMA: &'static str = "myops::half(int x) -> int";
///     type Signature = fn(i64) -> i64;
///
///     fn cell() -> &'static OperatorCell<Self::Signature> {
///         &SHARED
///     }
/// }
/// ```
#[derive(Debug)]
pub struct OperatorCell<S>(Published, Checked<S>);

impl<S> OperatorCell<S> {
    /// An overload that nobody has called.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Self(Published::new(), PhantomData)
    }

    /// The pointer, for the operator's record to publish through.
    pub(crate) fn pointer(&self) -> &Published {
        &self.0
    }
}

impl<S: Signature> OperatorCell<S> {
    /// A typed call through the cell. `foreign` says that it is for another dispatcher than the global one, whose tables
    /// are not in cells.
    #[inline(always)]
    pub(crate) fn call(&self, foreign: bool, route: &dyn Route, args: S::Args<'_>) -> Result<S::Output> {
        // SAFETY: the invariant of `OperatorCell`, whose type is invariant in `S`.
        unsafe { call::call::<S>(&self.0, foreign, route, args) }
    }

    /// A typed call with given keys.
    #[inline(always)]
    pub(crate) fn redispatch(
        &self,
        route: &dyn Route,
        keys: DispatchKeySet,
        args: S::Args<'_>,
    ) -> Result<S::Output> {
        // SAFETY: the invariant of `OperatorCell`, whose type is invariant in `S`.
        unsafe { call::redispatch::<S>(&self.0, false, route, keys, args) }
    }
}

/// The operator whose table an overload's cell holds, where calls of this thread go to the global dispatcher.
pub(crate) fn bound(cell: &Published) -> Option<OperatorHandle> {
    if with_thread(|thread| thread.dispatcher.get().is_some()) {
        return None;
    }
    marked(|| {
        // SAFETY: `marked` marked the thread before the pointer is read here; the table is left before the mark.
        let table = unsafe { TableRef::new(cell.read()) };
        table.map(|table| table.operator().clone())
    })
}

/// Where the typed handles of one signature read an operator's table.
///
/// Invariant: what `table` leads to is a table of `operator` whose typed kernels are of that signature, if there are any
/// (of its own kind, symbolic or not); null otherwise. Only the operator's record makes cells and publishes to them
/// (`Record::shared_cell`, `Record::publish`), under the registry's lock.
pub(crate) struct SignatureCell {
    pub(crate) table: Published,
    pub(crate) foreign: bool,
    pub(crate) signature: TypeId,
    pub(crate) operator: OperatorHandle,
}

impl fmt::Debug for SignatureCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.operator.fmt(f)
    }
}

impl Route for SignatureCell {
    fn target(&self) -> Result<Target<'_>> {
        Ok(Target::Held(self))
    }
}

/// What a definition says, besides kernels.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    pub(crate) schema: Arc<FunctionSchema>,
    pub(crate) origin: Origin,
    pub(crate) tags: Vec<String>,
    /// What the operator does, in words for people.
    pub(crate) documentation: Cow<'static, str>,
    /// Bit `i`: argument `i` brings keys into boxed calls.
    pub(crate) dispatch_arguments: u64,
    /// Bit `i`: argument `i` is a tensor, or may be one.
    pub(crate) tensors: u64,
    /// For each argument the kinds of values that fit it ([`kinds_of`]).
    pub(crate) kinds: Box<[u32]>,
    /// Whether profilers leave the operator out.
    pub(crate) unobserved: bool,
}

impl Definition {
    pub(crate) fn new(schema: FunctionSchema, origin: Origin) -> Self {
        let dispatches = |(place, argument): (usize, &opgrid_schema::Argument)| {
            u64::from(brings_keys(&argument.real_type)) << place
        };
        let dispatch_arguments =
            schema.arguments.iter().enumerate().map(dispatches).fold(0, |mask, bit| mask | bit);
        let kinds: Box<[u32]> =
            schema.arguments.iter().map(|argument| kinds_of(&argument.real_type)).collect();
        let is_tensor =
            |argument: &opgrid_schema::Argument| *argument.real_type.without_optional() == Type::Tensor;
        let tensors = schema.arguments.iter().enumerate();
        let tensors =
            tensors.fold(0, |mask, (place, argument)| mask | u64::from(is_tensor(argument)) << place);
        Self {
            schema: Arc::new(schema),
            origin,
            tags: Vec::new(),
            documentation: Cow::Borrowed(""),
            dispatch_arguments,
            tensors,
            kinds,
            unobserved: false,
        }
    }

    /// The mask as torch keeps it: bit 0 stands for the last argument.
    pub(crate) fn reversed_dispatch_arguments(&self) -> u64 {
        let count = self.schema.arguments.len() as u32;
        if count == 0 { 0 } else { self.dispatch_arguments.reverse_bits() >> (64 - count) }
    }

    pub(crate) fn alias_analysis_text(&self) -> String {
        match self.schema.alias_analysis {
            Some(kind) => kind.to_string(),
            None => format!("{} (default)", AliasAnalysis::Conservative),
        }
    }
}

/// Whether arguments of this type bring keys into boxed calls: `Tensor`, `Tensor?`, `Tensor[]` and `Tensor?[]`.
fn brings_keys(declared: &Type) -> bool {
    match declared {
        Type::Tensor => true,
        Type::Optional(inner) => **inner == Type::Tensor,
        Type::List(element) => *element.without_optional() == Type::Tensor,
        _ => false,
    }
}

/// One operator of one dispatcher.
pub(crate) struct Entry {
    /// Null until a table is first needed, and when the operator is gone.
    pub(crate) table: Published,
    /// Whether the dispatcher is another one than the global.
    pub(crate) foreign: bool,
    /// Whether the operator was removed from its dispatcher.
    pub(crate) gone: AtomicBool,
    /// Whether looking the name up finds the operator: its definition is there, and the library that brought it is finished.
    pub(crate) is_found: AtomicBool,
    pub(crate) name: OperatorName,
    /// The hash of the name, in the dispatcher's index of names.
    pub(crate) hash: u64,
    /// Where the dispatcher keeps the operator's record, as long as the operator is registered.
    pub(crate) number: u32,
    pub(crate) dispatcher: Weak<dyn Owner>,
}

impl Entry {
    /// Whether the last handle of the dispatcher is gone. From then on every answer is that the operator is stale,
    /// although its table is there for a moment longer: calls hold the dispatcher, and cannot any more.
    fn has_lost_its_dispatcher(&self) -> bool {
        self.foreign && self.dispatcher.strong_count() == 0
    }
}

/// An operator found by name. It stays a handle of that operator even when the operator is gone; then calls fail.
///
/// # Examples
///
/// ```
/// use opgrid_core::{Dispatcher, DispatchKey, Kernel, Value};
///
/// let dispatcher = Dispatcher::new();
/// let mut library = dispatcher.library("myops");
/// library.define("double(int x) -> int").add(
///     Kernel::function::<fn(i64) -> i64>(|x| Ok(2 * x)).at(DispatchKey::CompositeExplicitAutograd),
/// );
/// let _registration = library.finish()?;
///
/// let double = dispatcher.find("myops::double")?;
/// assert_eq!(double.call_values(vec![Value::from(21)])?, [Value::from(42)]);
/// let typed = double.typed::<fn(i64) -> i64>()?;
/// assert_eq!(typed.call((4,))?, 8);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone)]
pub struct OperatorHandle(pub(crate) Arc<Entry>);

impl OperatorHandle {
    /// The operator's name.
    pub fn name(&self) -> &OperatorName {
        &self.0.name
    }

    /// Looks at what the operator's present table says.
    pub(crate) fn look<X>(&self, body: impl FnOnce(TableRef<'_>) -> X) -> Result<X> {
        marked(|| {
            if self.0.has_lost_its_dispatcher() {
                return Err(self.stale());
            }
            // SAFETY: `marked` marked the thread before the pointer is read here, and `body` ends before the mark.
            unsafe { self.present_table() }.map(body)
        })
    }

    /// The operator's present table, made where nobody has needed it before.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Stale`] where the operator is gone.
    ///
    /// # Safety
    ///
    /// As [`TableRef::new`]: the thread is marked until the table is not used any more.
    pub(crate) unsafe fn present_table<'t>(&self) -> Result<TableRef<'t>> {
        if self.0.table.read().is_null() {
            self.with_owner(|owner| owner.make_table(self))?;
        }
        // SAFETY: guaranteed by the caller, see `# Safety`.
        unsafe { TableRef::new(self.0.table.read()) }.ok_or_else(|| self.stale())
    }

    /// Gives the operator's dispatcher to `body`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Stale`] where it is gone.
    pub(crate) fn with_owner<X>(&self, body: impl FnOnce(&dyn Owner) -> X) -> Result<X> {
        marked(|| {
            // Within the mark: should this become the last handle, what the dispatcher retires is seen by whoever sees
            // the mark go.
            let dispatcher = self.0.dispatcher.upgrade().ok_or_else(|| self.stale())?;
            Ok(body(&*dispatcher))
        })
    }

    /// Whether the operator was removed from its dispatcher, or the dispatcher is gone.
    pub(crate) fn is_gone(&self) -> bool {
        self.0.has_lost_its_dispatcher() || self.0.gone.load(Ordering::Acquire)
    }

    #[cold]
    pub(crate) fn stale(&self) -> Error {
        let message = format!("{}: the operator is no longer registered; find it again", self.0.name);
        Error::new(ErrorKind::Stale, message)
    }

    /// The schema.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Stale`] where the operator is gone, [`ErrorKind::Schema`] where it has kernels but no definition.
    pub fn schema(&self) -> Result<Arc<FunctionSchema>> {
        let schema = self.look(|table| table.definition().map(|definition| definition.schema.clone()))?;
        schema.ok_or_else(|| {
            let name = &self.0.name;
            let message = format!(
                "tried to access the schema for {name} which doesn't have a schema registered yet; define it with \
                 `Library::define`"
            );
            Error::new(ErrorKind::Schema, message)
        })
    }

    /// Whether the operator is registered and has a definition.
    pub fn has_schema(&self) -> bool {
        self.look(|table| table.definition().is_some()).unwrap_or(false)
    }

    /// Where the operator was defined, as `registered at file:line`, or what its author said instead; `None` where it is not
    /// defined.
    pub fn defined_at(&self) -> Option<String> {
        self.look(|table| table.definition().map(|definition| definition.origin.to_string())).ok().flatten()
    }

    /// What the operator does, in words for people; empty where nobody said it.
    pub fn documentation(&self) -> Cow<'static, str> {
        self.look(|table| table.definition().map(|definition| definition.documentation.clone()))
            .ok()
            .flatten()
            .unwrap_or_default()
    }

    /// The tags of the definition.
    pub fn tags(&self) -> Vec<String> {
        self.look(|table| table.definition().map(|definition| definition.tags.clone()))
            .ok()
            .flatten()
            .unwrap_or_default()
    }

    /// Returns the operator with typed calls.
    ///
    /// Asking changes nothing for those who register: the operator has the signature of its kernels. Where the first
    /// typed kernel comes after the handle and is of another signature that fits the schema as well (`Vec<i64>` where the
    /// handle has `[i64; 3]`), calls of the handle lend their arguments as values from then on, which is counted as
    /// [`SlowPath::BOXED_ADAPTATION`](crate::SlowPath::BOXED_ADAPTATION).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Signature`] where `S` is not the signature of the operator's kernels or does not fit its schema.
    pub fn typed<S: Signature>(&self) -> Result<TypedHandle<S>> {
        // The types of arguments may be code of users, which runs here, where the thread is not marked yet.
        Ok(TypedHandle { cell: self.cell_of(signature_of::<S>())?, signature: PhantomData })
    }

    /// Where typed calls of a signature read the operator's table.
    ///
    /// # Errors
    ///
    /// As [`typed`](Self::typed).
    pub(crate) fn cell_of(&self, asked: &'static SignatureOf) -> Result<Arc<SignatureCell>> {
        self.with_owner(|owner| owner.cell_of(self, asked))?
    }

    /// Calls the operator with borrowed values and lets it leave its results in `returns`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Value`] where the number or the kind of a value is wrong; else those of the kernel.
    #[inline]
    pub fn call_boxed(&self, args: &[ValueRef<'_>], returns: &mut Returns) -> Result<()> {
        call::call_boxed(self, args, returns)
    }

    /// Calls the operator with exactly these keys.
    ///
    /// # Errors
    ///
    /// As [`call_boxed`](Self::call_boxed).
    pub fn redispatch_boxed(
        &self,
        keys: DispatchKeySet,
        args: &[ValueRef<'_>],
        returns: &mut Returns,
    ) -> Result<()> {
        call::redispatch_boxed(self, keys, args, returns)
    }

    /// Calls the kernel registered for `key` (an alias too), else the fallback of that key; never what the table says.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingKernel`] where there is neither; else as [`call_boxed`](Self::call_boxed).
    pub fn call_boxed_for_key(
        &self,
        key: crate::keys::key::DispatchKey,
        args: &[ValueRef<'_>],
        returns: &mut Returns,
    ) -> Result<()> {
        call::call_boxed_for_key(self, key, args, returns)
    }

    /// Calls the operator with owned values.
    ///
    /// # Errors
    ///
    /// As [`call_boxed`](Self::call_boxed).
    pub fn call_values(&self, args: Vec<Value>) -> Result<Vec<Value>> {
        let mut returns = Returns::new();
        let borrowed: Vec<_> = args.iter().map(Value::borrow).collect();
        self.call_boxed(&borrowed, &mut returns)?;
        Ok(returns.into_vec())
    }

    /// Takes the operator's arguments from the top of `stack` and leaves its results there.
    ///
    /// # Errors
    ///
    /// As [`call_boxed`](Self::call_boxed); then the stack is as it was.
    pub fn call_stack(&self, stack: &mut Stack) -> Result<()> {
        let count = self.schema()?.arguments.len();
        let mut returns = Returns::new();
        let args: Vec<_> = stack.last(count)?.iter().map(Value::borrow).collect();
        self.call_boxed(&args, &mut returns)?;
        drop(args);
        stack.drop_last(count)?;
        stack.push_all(returns.into_vec());
        Ok(())
    }

    /// Calls the operator with positional and keyword values, bound as [`bind`](Self::bind) does.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Value`] where the values do not fit the schema; else those of the kernel.
    pub fn call_with(&self, positional: Vec<Value>, keyword: Vec<(String, Value)>) -> Result<Vec<Value>> {
        self.call_values(self.bind(positional, keyword)?)
    }
}

impl PartialEq for OperatorHandle {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for OperatorHandle {}

impl std::hash::Hash for OperatorHandle {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}

impl fmt::Debug for OperatorHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OperatorHandle({})", self.0.name)
    }
}

/// An operator found by name, with typed calls.
///
/// # Examples
///
/// ```
/// use opgrid_core::{DispatchKey, Dispatcher, Kernel};
///
/// let dispatcher = Dispatcher::new();
/// let mut library = dispatcher.library("docs");
/// library
///     .define("half(int x) -> int")
///     .add(Kernel::function::<fn(i64) -> i64>(|x| Ok(x / 2)).at(DispatchKey::CompositeExplicitAutograd));
/// let _registration = library.finish()?;
/// let half = dispatcher.find("docs::half")?.typed::<fn(i64) -> i64>()?;
/// assert_eq!(half.call((42,))?, 21);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TypedHandle<S> {
    /// Invariant: a cell for the signature `S`: `OperatorHandle::typed`, which asks for one, alone makes handles.
    cell: Arc<SignatureCell>,
    signature: Checked<S>,
}

impl<S> TypedHandle<S> {
    /// The handle without the signature.
    pub fn operator(&self) -> &OperatorHandle {
        &self.cell.operator
    }
}

impl<S: Signature> TypedHandle<S> {
    /// Calls the operator.
    ///
    /// # Errors
    ///
    /// Those of the kernel, and of the dispatcher where there is none.
    #[inline]
    pub fn call(&self, args: S::Args<'_>) -> Result<S::Output> {
        // SAFETY: the invariants of `TypedHandle`, whose type is invariant in `S`, and of `SignatureCell`.
        unsafe { call::call::<S>(&self.cell.table, self.cell.foreign, &*self.cell, args) }
    }

    /// Calls the operator with exactly these keys: neither the thread's keys nor fallthroughs change them.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call).
    #[inline]
    pub fn redispatch(&self, keys: DispatchKeySet, args: S::Args<'_>) -> Result<S::Output> {
        // SAFETY: the invariants of `TypedHandle`, whose type is invariant in `S`, and of `SignatureCell`.
        unsafe { call::redispatch::<S>(&self.cell.table, self.cell.foreign, &*self.cell, keys, args) }
    }
}
