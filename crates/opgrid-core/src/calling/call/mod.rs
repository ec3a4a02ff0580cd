//! Calls: from arguments and the thread's keys to a table and a kernel. What kernels see of them is in [`BoxedCall`] and
//! [`Next`].
#![allow(unsafe_code)]

mod boxed_call;
mod next;

use std::any::TypeId;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::calling::boxing::{check_argument, enter, enter_apart, enter_boxed, enter_values};
use crate::calling::conditions::{Condition, Settled, holds, holds_of_values, settle, settle_chain};
use crate::calling::kernel::KernelRecord;
use crate::calling::kernel_info::KernelInfo;
use crate::calling::observe::{CallKind, Refusal, Step, watched};
use crate::calling::operator::{Definition, OperatorHandle, SignatureCell};
use crate::calling::owner::Owner;
use crate::calling::reason::Reason;
use crate::calling::retirement::{Published, count_if_ended, enlist, flag};
use crate::calling::table::TableRef;
use crate::calling::thread::{self, ThreadState, with_thread};
use crate::error::{Error, ErrorKind, Result};
use crate::keys::key::DispatchKey;
use crate::keys::set::DispatchKeySet;
use crate::signatures::signature::Signature;
use crate::signatures::stack::Returns;
use crate::values::borrowed::ValueRef;

pub use boxed_call::BoxedCall;
pub use next::Next;

/// How a call finds its operator when the pointer at hand cannot be used.
pub(crate) trait Route {
    fn target(&self) -> Result<Target<'_>>;
}

/// An operator, and the cell where calls of one signature read its table.
pub(crate) enum Target<'r> {
    /// The cell of the typed handle that is called.
    Held(&'r SignatureCell),
    /// The cell of an overload on another dispatcher than the global one.
    Found(Arc<SignatureCell>),
    /// An overload's own cell, and the signature that it is for.
    Bound(OperatorHandle, &'static Published, TypeId),
}

impl Target<'_> {
    pub(crate) fn operator(&self) -> &OperatorHandle {
        match self {
            Self::Held(cell) => &cell.operator,
            Self::Found(cell) => &cell.operator,
            Self::Bound(operator, ..) => operator,
        }
    }

    fn cell(&self) -> &Published {
        match self {
            Self::Held(cell) => &cell.table,
            Self::Found(cell) => &cell.table,
            Self::Bound(_, cell, _) => cell,
        }
    }

    fn signature(&self) -> TypeId {
        match self {
            Self::Held(cell) => cell.signature,
            Self::Found(cell) => cell.signature,
            Self::Bound(.., signature) => *signature,
        }
    }
}

/// A typed call. `foreign` says that the pointer belongs to another dispatcher than the global one.
///
/// # Safety
///
/// Whatever table the pointer leads to, its typed kernels are of signature `S`, if there are any of the same kind
/// (symbolic or not). The cell that `route` finds need not be for `S`.
#[inline(always)]
pub(crate) unsafe fn call<S: Signature>(
    pointer: &Published,
    foreign: bool,
    route: &dyn Route,
    args: S::Args<'_>,
) -> Result<S::Output> {
    // SAFETY: the reference stays in this function: nothing that is returned or stored borrows from it.
    let thread = unsafe { thread::current() };
    if thread.flags() != 0 || foreign {
        // The tuple is put together anew for calls that take its address, so that the way below needs none in memory.
        return call_watched::<S>(thread, route, None, S::shorten(args));
    }
    let nested = thread.enter()?;
    // SAFETY: the thread is on the list, because its flags are 0, and `enter` marked it before the pointer is read here.
    let Some(table) = (unsafe { TableRef::new(pointer.read()) }) else {
        drop(nested);
        return call_watched::<S>(thread, route, None, S::shorten(args));
    };
    let keys = table.mask(thread.apply(S::keys(args)));
    // SAFETY: guaranteed by the caller, see `# Safety`: the kernel is of a table that the pointer led to.
    unsafe { enter::<S>(table.kernel(keys), table, keys, args) }
}

/// A typed call with given keys.
///
/// # Safety
///
/// As [`call`].
#[inline(always)]
pub(crate) unsafe fn redispatch<S: Signature>(
    pointer: &Published,
    foreign: bool,
    route: &dyn Route,
    keys: DispatchKeySet,
    args: S::Args<'_>,
) -> Result<S::Output> {
    // SAFETY: the reference stays in this function: nothing that is returned or stored borrows from it.
    let thread = unsafe { thread::current() };
    if thread.flags() != 0 || foreign {
        return call_watched::<S>(thread, route, Some(keys), S::shorten(args));
    }
    let nested = thread.enter()?;
    // SAFETY: the thread is on the list, because its flags are 0, and `enter` marked it before the pointer is read here.
    let Some(table) = (unsafe { TableRef::new(pointer.read()) }) else {
        drop(nested);
        return call_watched::<S>(thread, route, Some(keys), S::shorten(args));
    };
    // SAFETY: guaranteed by the caller, see `# Safety`: the kernel is of a table that the pointer led to.
    unsafe { enter::<S>(table.kernel(keys), table, keys, args) }
}

/// The dispatcher that this thread's kernel runs on, unless it is the global one.
pub(crate) fn current_owner() -> Option<Arc<dyn Owner>> {
    let current = with_thread(|thread| thread.dispatcher.get())?;
    // SAFETY: only `OnDispatcher` sets the pointer, to the dispatcher that it holds itself, and takes it back when it is
    // dropped. It stands on the stack of `prepared`, `ThreadContext::within` or `Dispatcher::within`, below this frame, and
    // belongs to the thread.
    unsafe { current.as_ref() }.shared()
}

/// Puts the thread on a dispatcher: while its kernels run, and for scopes. It stays on the thread that made it, on the
/// stack.
pub(crate) struct OnDispatcher {
    before: Option<NonNull<dyn Owner>>,
    _alive: Option<Arc<dyn Owner>>,
}

impl OnDispatcher {
    fn switch(operator: &OperatorHandle) -> Result<Self> {
        let entry = &operator.0;
        let alive = if entry.foreign {
            Some(entry.dispatcher.upgrade().ok_or_else(|| operator.stale())?)
        } else {
            None
        };
        Ok(Self::enter(alive))
    }

    /// Puts the thread on a dispatcher, or on the global one.
    pub(crate) fn enter(alive: Option<Arc<dyn Owner>>) -> Self {
        let now = alive.as_deref().map(NonNull::from);
        let before = with_thread(|thread| {
            thread.set_flag(flag::FOREIGN, now.is_some());
            thread.dispatcher.replace(now)
        });
        Self { before, _alive: alive }
    }
}

impl Drop for OnDispatcher {
    fn drop(&mut self) {
        with_thread(|thread| {
            thread.dispatcher.set(self.before);
            thread.set_flag(flag::FOREIGN, self.before.is_some());
        });
    }
}

/// Everything out of the ordinary around a dispatch: what writers want, another dispatcher.
fn prepared<X>(
    thread: &ThreadState,
    operator: &OperatorHandle,
    body: impl FnOnce(TableRef<'_>) -> Result<X>,
) -> Result<X> {
    enlist(thread);
    let _counted = count_if_ended(thread);
    let _nested = thread.enter()?;
    // After the mark: should the call be the last to hold the dispatcher, what that retires is seen by whoever sees the
    // call end.
    let _dispatcher = OnDispatcher::switch(operator)?;
    // SAFETY: `enlist` put the thread on the list or `count_if_ended` counts this call, and `enter` marked it, before the pointer
    // is read here.
    body(unsafe { operator.present_table()? })
}

/// A typed call for what is done once for all signatures.
trait TypedCall {
    /// The arguments.
    fn arguments(&self) -> &dyn TypedArguments;

    /// Runs a kernel and keeps what it returns.
    ///
    /// # Safety
    ///
    /// With `is_of_signature`, the table was read from a cell for the call's signature.
    unsafe fn enter(
        &mut self,
        kernel: &KernelRecord,
        table: TableRef<'_>,
        keys: DispatchKeySet,
        is_of_signature: bool,
    ) -> Result<()>;
}

/// The arguments of a typed call for what is done once for all signatures.
pub(crate) trait TypedArguments {
    /// Their keys.
    fn keys(&self) -> DispatchKeySet;

    /// Whether a condition holds of them.
    fn holds(&self, condition: &Condition) -> Result<bool>;
}

/// The arguments of a typed call.
pub(crate) struct Arguments<'a, S: Signature>(pub(crate) S::Args<'a>);

impl<S: Signature> TypedArguments for Arguments<'_, S> {
    fn keys(&self) -> DispatchKeySet {
        S::keys(self.0)
    }

    fn holds(&self, condition: &Condition) -> Result<bool> {
        holds::<S>(condition, self.0)
    }
}

/// The arguments of a typed call, and its result when it has one.
struct Pending<'a, S: Signature> {
    args: Arguments<'a, S>,
    output: Option<S::Output>,
}

impl<'a, S: Signature> Pending<'a, S> {
    fn new(args: S::Args<'a>) -> Self {
        Self { args: Arguments(args), output: None }
    }

    fn output(self) -> Result<S::Output> {
        self.output.ok_or_else(|| Error::new(ErrorKind::Internal, "a call succeeded and ran no kernel"))
    }
}

impl<S: Signature> TypedCall for Pending<'_, S> {
    fn arguments(&self) -> &dyn TypedArguments {
        &self.args
    }

    unsafe fn enter(
        &mut self,
        kernel: &KernelRecord,
        table: TableRef<'_>,
        keys: DispatchKeySet,
        is_of_signature: bool,
    ) -> Result<()> {
        let output = if is_of_signature {
            // SAFETY: guaranteed by the caller, see `# Safety`.
            unsafe { enter_apart::<S>(kernel, table, keys, self.args.0)? }
        } else {
            enter_boxed::<S>(kernel, table, keys, self.args.0)?
        };
        self.output = Some(output);
        Ok(())
    }
}

/// The typed call with everything that ordinary ones leave out.
#[cold]
#[inline(never)]
fn call_watched<S: Signature>(
    thread: &ThreadState,
    route: &dyn Route,
    given: Option<DispatchKeySet>,
    args: S::Args<'_>,
) -> Result<S::Output> {
    let mut call = Pending::<S>::new(args);
    run_typed(thread, route, TypeId::of::<S>(), given, &mut call)?;
    call.output()
}

/// Asks a chain for a typed call.
///
/// # Errors
///
/// As [`settle_chain`].
pub(crate) fn settle_typed<'t>(
    chain: &'t KernelRecord,
    table: TableRef<'t>,
    keys: DispatchKeySet,
    args: &dyn TypedArguments,
) -> Result<Settled<'t>> {
    let carried = with_thread(|thread| thread.apply(args.keys()));
    settle_chain(chain, table, keys, carried, &mut |condition| args.holds(condition))
}

/// As [`prepared`], for a typed call of that signature.
fn run_typed(
    thread: &ThreadState,
    route: &dyn Route,
    signature: TypeId,
    given: Option<DispatchKeySet>,
    call: &mut dyn TypedCall,
) -> Result<()> {
    enlist(thread);
    let _counted = count_if_ended(thread);
    let target = route.target()?;
    let operator = target.operator();
    let _nested = thread.enter()?;
    // After the mark, as in `prepared`.
    let _dispatcher = OnDispatcher::switch(operator)?;
    // SAFETY: `enlist` put the thread on the list or `count_if_ended` counts this call, and `enter` marked it, before the
    // pointer is read here. The table is made before the cell is looked at, because that publishes it there, too.
    let present = unsafe { operator.present_table()? };
    // SAFETY: this pointer, too, is read after the mark.
    let (table, is_of_signature) = match unsafe { TableRef::new(target.cell().read()) } {
        Some(table) => (table, target.signature() == signature),
        None => (present, false),
    };
    let (kind, all) = match given {
        Some(keys) => (CallKind::Redispatch, keys),
        None => (CallKind::Call, thread.apply(call.arguments().keys())),
    };
    let keys = if given.is_some() { all } else { table.mask(all) };
    watch(thread, kind, table, all, keys, &mut Typed { call, table, is_of_signature })
}

/// A step of a call, for those who watch: who runs the kernel, and answers the conditions of chains.
trait Watched {
    fn holds(&self, condition: &Condition) -> Result<bool>;

    /// The keys that the arguments bring.
    fn keys(&self) -> Result<DispatchKeySet>;

    fn enter(&mut self, kernel: &KernelRecord, keys: DispatchKeySet) -> Result<()>;
}

/// A step of a typed call.
///
/// Invariant: with `is_of_signature`, the table was read from a cell for the call's signature, or is that of a `Next` of it.
struct Typed<'c, 't> {
    call: &'c mut dyn TypedCall,
    table: TableRef<'t>,
    is_of_signature: bool,
}

impl Watched for Typed<'_, '_> {
    fn holds(&self, condition: &Condition) -> Result<bool> {
        self.call.arguments().holds(condition)
    }

    fn keys(&self) -> Result<DispatchKeySet> {
        Ok(self.call.arguments().keys())
    }

    fn enter(&mut self, kernel: &KernelRecord, keys: DispatchKeySet) -> Result<()> {
        // SAFETY: the invariant of `Typed`, which `run_typed` and `Next::redispatch_watched` see to: they alone make them.
        unsafe { self.call.enter(kernel, self.table, keys, self.is_of_signature) }
    }
}

/// A step of a boxed call.
struct Boxed<'c, 'v> {
    table: TableRef<'c>,
    args: &'c [ValueRef<'v>],
    returns: &'c mut Returns,
}

impl Watched for Boxed<'_, '_> {
    fn holds(&self, condition: &Condition) -> Result<bool> {
        holds_of_values(condition, self.args)
    }

    fn keys(&self) -> Result<DispatchKeySet> {
        boxed_keys(self.table, self.args)
    }

    fn enter(&mut self, kernel: &KernelRecord, keys: DispatchKeySet) -> Result<()> {
        enter_values(kernel, self.table, keys, self.args, self.returns)
    }
}

/// Whether somebody watches the steps of this thread.
#[inline(always)]
pub(crate) fn is_watched(thread: &ThreadState) -> bool {
    thread.flags() & (flag::WATCHED | flag::RECORDED) != 0
}

/// Runs a step with the kernel of `keys`, telling those who watch.
fn watch(
    thread: &ThreadState,
    kind: CallKind,
    table: TableRef<'_>,
    all: DispatchKeySet,
    keys: DispatchKeySet,
    call: &mut dyn Watched,
) -> Result<()> {
    let slot = table.slot(keys);
    if !is_watched(thread) {
        return call.enter(slot.kernel, keys);
    }
    let mut refused = Vec::new();
    let first = Settled::first(slot.kernel, slot.reason, keys);
    let mut asked = |condition: &Condition| call.holds(condition);
    let settled = if first.is_settled() {
        Ok(first)
    } else {
        let carried = thread.apply(call.keys()?);
        settle(first, table, carried, &mut asked, &mut |provider| {
            refused.push(Refusal::from_provider(provider))
        })
    };
    // Where nobody accepts, the step is told with the chain.
    let (kernel, reason, keys) = match &settled {
        Ok(settled) => (settled.kernel, settled.reason, settled.keys),
        Err(_) => (slot.kernel, Reason::Missing, keys),
    };
    // A kernel that the call passes by is no step of it.
    let step = Step {
        kind,
        operator: table.operator().clone(),
        depth: thread.mark.depth() - 1,
        keys,
        fallen_through: DispatchKeySet::from_parts(all.layers() & !keys.layers(), 0),
        key: keys.highest_priority_key(),
        kernel: KernelInfo::from_record(kernel),
        reason,
        refused,
        unobserved: table.definition().is_some_and(|definition| definition.unobserved),
    };
    watched(step, || call.enter(settled?.noted(table)?.kernel, keys))
}

/// The keys that the arguments of a boxed call bring.
///
/// # Errors
///
/// [`ErrorKind::Value`] where the number or the kind of a value is wrong.
//
// Always inlined: two words that come back through memory are written in parts and read as a whole, for which the processor
// waits longer than the check takes.
#[inline(always)]
fn boxed_keys(table: TableRef<'_>, args: &[ValueRef<'_>]) -> Result<DispatchKeySet> {
    let Some(definition) = table.definition() else {
        // Which arguments select is up to the schema.
        return Ok(DispatchKeySet::EMPTY);
    };
    let expected = definition.kinds.len();
    if args.len() != expected && !(definition.schema.is_vararg && args.len() > expected) {
        return Err(wrong_count(table, expected, args.len()));
    }
    let (mut keys, mut tensors) = (DispatchKeySet::EMPTY, definition.tensors);
    for (index, arg) in args.iter().enumerate() {
        match arg.tensor_in_place() {
            Some(tensor) if tensors & 1 != 0 => keys |= tensor.keys(),
            _ => return other_keys(table, definition, args, index, keys),
        }
        tensors >>= 1;
    }
    Ok(keys)
}

/// The keys that values bring, without those that the thread excludes.
///
/// # Errors
///
/// As [`boxed_keys`].
pub(crate) fn carried(table: TableRef<'_>, args: &[ValueRef<'_>]) -> Result<DispatchKeySet> {
    let keys = boxed_keys(table, args)?;
    Ok(with_thread(|thread| thread.apply(keys)))
}

/// The keys below the highest layer, with which a call goes on that passes that layer's kernel by.
#[inline(always)]
pub(crate) fn beside(keys: DispatchKeySet) -> DispatchKeySet {
    let layer = (keys.layers() | 1).ilog2();
    DispatchKeySet::from_parts(keys.layers() & ((1 << layer) - 1), keys.backends())
}

/// Checks the number and the kinds of values that a kernel passes on.
///
/// # Errors
///
/// As [`boxed_keys`].
#[inline(never)]
fn check_arguments(table: TableRef<'_>, args: &[ValueRef<'_>]) -> Result<()> {
    boxed_keys(table, args).map(|_| ())
}

/// Goes on with [`boxed_keys`] from the first argument that is no tensor, where the schema wants one or not.
#[inline(never)]
fn other_keys(
    table: TableRef<'_>,
    definition: &Definition,
    args: &[ValueRef<'_>],
    from: usize,
    mut keys: DispatchKeySet,
) -> Result<DispatchKeySet> {
    for (index, arg) in args.iter().enumerate().skip(from) {
        let brings = |mask: u64| index < definition.kinds.len() && mask >> index & 1 != 0;
        match arg.tensor_in_place() {
            Some(tensor) if brings(definition.tensors) => keys |= tensor.keys(),
            _ if definition.kinds.get(index).is_some_and(|kinds| kinds & arg.kind() != 0) => {}
            _ => {
                check_argument(table, index, arg)?;
                if brings(definition.dispatch_arguments) {
                    keys |= arg.tensor_keys();
                }
            }
        }
    }
    Ok(keys)
}

#[cold]
fn wrong_count(table: TableRef<'_>, expected: usize, found: usize) -> Error {
    let operator = table.operator().name();
    let schema = table.definition().map(|definition| &definition.schema);
    let at_least = if schema.is_some_and(|schema| schema.is_vararg) { "at least " } else { "" };
    let schema = schema.map(ToString::to_string).unwrap_or_default();
    let message = format!(
        "{operator}: expected {at_least}{expected} arguments but got {found}; the schema is {schema}"
    );
    Error::new(ErrorKind::Value, message)
}

/// A boxed call.
#[inline]
pub(crate) fn call_boxed(
    operator: &OperatorHandle,
    args: &[ValueRef<'_>],
    returns: &mut Returns,
) -> Result<()> {
    // SAFETY: the reference stays in this function: nothing that is returned or stored borrows from it.
    let thread = unsafe { thread::current() };
    let entry = &*operator.0;
    if thread.flags() != 0 || entry.foreign {
        return call_boxed_watched(thread, operator, args, returns);
    }
    let nested = thread.enter()?;
    // SAFETY: the thread is on the list, because its flags are 0, and `enter` marked it before the pointer is read here.
    let Some(table) = (unsafe { TableRef::new(entry.table.read()) }) else {
        drop(nested);
        return call_boxed_watched(thread, operator, args, returns);
    };
    let keys = table.mask(thread.apply(boxed_keys(table, args)?));
    enter_values(table.kernel(keys), table, keys, args, returns)
}

/// The boxed call with everything that ordinary ones leave out.
#[cold]
#[inline(never)]
fn call_boxed_watched(
    thread: &ThreadState,
    operator: &OperatorHandle,
    args: &[ValueRef<'_>],
    returns: &mut Returns,
) -> Result<()> {
    prepared(thread, operator, |table| {
        let all = thread.apply(boxed_keys(table, args)?);
        let keys = table.mask(all);
        watch(thread, CallKind::CallBoxed, table, all, keys, &mut Boxed { table, args, returns })
    })
}

/// A boxed call with given keys.
pub(crate) fn redispatch_boxed(
    operator: &OperatorHandle,
    keys: DispatchKeySet,
    args: &[ValueRef<'_>],
    returns: &mut Returns,
) -> Result<()> {
    with_thread(|thread| {
        prepared(thread, operator, |table| {
            check_arguments(table, args)?;
            watch(thread, CallKind::RedispatchBoxed, table, keys, keys, &mut Boxed { table, args, returns })
        })
    })
}

/// A boxed call of the kernel registered for one key, else of the key's fallback.
pub(crate) fn call_boxed_for_key(
    operator: &OperatorHandle,
    key: DispatchKey,
    args: &[ValueRef<'_>],
    returns: &mut Returns,
) -> Result<()> {
    with_thread(|thread| {
        prepared(thread, operator, |table| {
            // The thread is marked: where the kernel's registration is dropped from here on, limbo keeps the kernel.
            let dispatcher = operator.0.dispatcher.upgrade().ok_or_else(|| operator.stale())?;
            let kernel = dispatcher.kernel_for_key(operator, key)?;
            let keys = table.mask(thread.apply(boxed_keys(table, args)?));
            enter_values(&kernel, table, keys, args, returns)
        })
    })
}

/// A boxed call of one kernel, whatever the table says. The thread is marked from before `find` gives it until after it
/// is dropped.
pub(crate) fn call_held_boxed(
    operator: &OperatorHandle,
    find: impl FnOnce() -> Result<Arc<KernelRecord>>,
    keys: DispatchKeySet,
    args: &[ValueRef<'_>],
    returns: &mut Returns,
) -> Result<()> {
    with_thread(|thread| {
        prepared(thread, operator, |table| {
            check_arguments(table, args)?;
            enter_values(&*find()?, table, keys, args, returns)
        })
    })
}

/// As [`call_held_boxed`], typed, with the operator's cell for some signature. A kernel of another signature than `S`, or of
/// none, gets the arguments as values.
pub(crate) fn call_held<S: Signature>(
    cell: &SignatureCell,
    find: impl FnOnce() -> Result<Arc<KernelRecord>>,
    keys: DispatchKeySet,
    args: S::Args<'_>,
) -> Result<S::Output> {
    with_thread(|thread| {
        prepared(thread, &cell.operator, |table| {
            let kernel = find()?;
            let is_typed = cell.signature == TypeId::of::<S>()
                && kernel.signature.is_some_and(|signature| signature.id == TypeId::of::<S>());
            // SAFETY: `prepared` has marked the thread before the pointer is read here.
            match unsafe { TableRef::new(cell.table.read()) }.filter(|_| is_typed) {
                // SAFETY:
                // - the kernel: its typed side is for the signature that it names, the invariant of `KernelRecord`, which the
                //   constructors of `Kernel` see to; that is `S`, as was just asked.
                // - the table, by which a layer calls on: it comes from a cell for `S`, the invariant of `SignatureCell`.
                Some(table) => unsafe { enter::<S>(&kernel, table, keys, args) },
                None => enter_boxed::<S>(&kernel, table, keys, args),
            }
        })
    })
}
