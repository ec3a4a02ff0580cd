//! Which provider of a chain runs: conditions, preferences of scopes, and where a call goes that every provider refuses.

use std::any::Any;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::calling::boxing::{WithValues, enter_values, lend_to};
use crate::calling::call::BoxedCall;
use crate::calling::kernel::{KernelRecord, Role};
use crate::calling::missing::no_provider;
use crate::calling::operator::OperatorHandle;
use crate::calling::reason::Reason;
use crate::calling::slow_path::note_refused;
use crate::calling::table::{Slot, TableRef};
use crate::deferred_drop::Flat;
use crate::error::{Error, ErrorKind, Result};
use crate::keys::set::DispatchKeySet;
use crate::signatures::signature::Signature;
use crate::values::borrowed::ValueRef;

/// A condition over values.
type Holds = dyn Fn(&[ValueRef<'_>]) -> Result<bool> + Send + Sync;

/// What has to hold of the arguments for a kernel to run.
pub(crate) struct Condition {
    pub(crate) text: Arc<str>,
    /// A `Returning<bool>` of the signature that the condition was written for.
    typed: Option<Box<dyn Any + Send + Sync>>,
    values: Flat<Box<Holds>>,
}

impl Condition {
    pub(crate) fn typed<S: Signature>(text: &str, holds: S::Returning<bool>) -> Self {
        let values = move |values: &[ValueRef<'_>]| S::unpack(values, |args| S::apply(holds, args))?;
        Self { text: text.into(), typed: Some(Box::new(holds)), values: Flat::new(Box::new(values)) }
    }

    pub(crate) fn of_values(
        text: &str,
        holds: impl Fn(&[ValueRef<'_>]) -> Result<bool> + Send + Sync + 'static,
    ) -> Self {
        Self { text: text.into(), typed: None, values: Flat::new(Box::new(holds)) }
    }
}

/// What the record of a chain leads to.
pub(crate) struct Links {
    /// In the order in which they are asked.
    pub(crate) providers: Box<[Arc<KernelRecord>]>,
    /// What the other rules give for the key, for calls that every provider refuses.
    pub(crate) next: Slot,
}

/// The kernel that a call ends up with after the conditions of chains were asked.
pub(crate) struct Settled<'t> {
    pub(crate) kernel: &'t KernelRecord,
    pub(crate) reason: Reason,
    /// The keys of the call, without those above a key that was stepped over.
    pub(crate) keys: DispatchKeySet,
    /// The first provider that refused.
    refused_by: Option<&'t KernelRecord>,
}

impl<'t> Settled<'t> {
    /// Whether nobody needs to be asked.
    pub(crate) fn is_settled(&self) -> bool {
        self.kernel.links.is_none() && self.kernel.wants == 0
    }

    /// What a table gives, before anybody was asked.
    pub(crate) fn first(kernel: &'t KernelRecord, reason: Reason, keys: DispatchKeySet) -> Self {
        Self { kernel, reason, keys, refused_by: None }
    }

    /// Counts that the first provider refused, if one did.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::SlowPath`] in strict mode.
    pub(crate) fn noted(self, table: TableRef<'_>) -> Result<Self> {
        if let Some(provider) = self.refused_by {
            note_refused(provider, table, self.keys)?;
        }
        Ok(self)
    }
}

/// Asks the chain that `keys` lead to, and those that follow where it refuses, until a kernel is found.
///
/// `carried` are the keys that the arguments bring and the thread does not exclude; `refused` hears of every provider whose condition does not hold.
///
/// # Errors
///
/// [`ErrorKind::MissingKernel`] where all refuse and no other rule gives a kernel; those of conditions.
pub(crate) fn settle<'t>(
    first: Settled<'t>,
    table: TableRef<'t>,
    carried: DispatchKeySet,
    holds: &mut dyn FnMut(&Condition) -> Result<bool>,
    refused: &mut dyn FnMut(&KernelRecord),
) -> Result<Settled<'t>> {
    let chain = first.kernel;
    let mut now = first;
    loop {
        let layer = (now.keys.layers() | 1).ilog2();
        if (now.kernel.is_fallthrough() || !now.kernel.is_for(carried)) && layer > 0 {
            let below = now.keys.layers() & ((1 << layer) - 1);
            let keys = table.mask(DispatchKeySet::from_parts(below, now.keys.backends()));
            let slot = table.slot(keys);
            now = Settled { kernel: slot.kernel, reason: slot.reason, keys, ..now };
            continue;
        }
        let Some(links) = now.kernel.links.as_deref() else { break };
        let mut refused_by = now.refused_by;
        let asked = links.in_order(table.operator(), &mut |provider| {
            let Some(condition) = &provider.condition else { return Ok(true) };
            let holds = holds(condition).map_err(|error| of_condition(error, table, provider))?;
            if !holds {
                refused_by = refused_by.or(Some(provider));
                refused(provider);
            }
            Ok(holds)
        })?;
        now = match asked {
            Some(provider) => Settled { kernel: provider, refused_by, ..now },
            None => Settled { kernel: &links.next.kernel, reason: links.next.reason, refused_by, ..now },
        };
    }
    if now.kernel.role == Role::Missing { Err(no_provider(table, chain, now.keys)) } else { Ok(now) }
}

#[cold]
#[inline(never)]
fn of_condition(error: Error, table: TableRef<'_>, provider: &KernelRecord) -> Error {
    if error.kind() == ErrorKind::Depth {
        // It has passed through as many conditions as calls were nested; their names would make a message without end.
        return error;
    }
    let name = provider.name.as_deref().unwrap_or("without a name");
    error.within(format_args!("{}: the condition of provider {name}", table.operator().name()))
}

impl Links {
    /// The first provider that is accepted: those preferred on this thread first, then in the order of the chain.
    fn in_order<'l>(
        &'l self,
        operator: &OperatorHandle,
        accepts: &mut dyn FnMut(&'l KernelRecord) -> Result<bool>,
    ) -> Result<Option<&'l KernelRecord>> {
        let preferred = preference(operator).unwrap_or_default();
        let is_preferred =
            |provider: &KernelRecord| preferred.iter().any(|name| provider.name.as_ref() == Some(name));
        for name in preferred.iter() {
            for provider in self.providers.iter().filter(|provider| provider.name.as_ref() == Some(name)) {
                if accepts(provider)? {
                    return Ok(Some(provider));
                }
            }
        }
        for provider in self.providers.iter().filter(|provider| !is_preferred(provider)) {
            if accepts(provider)? {
                return Ok(Some(provider));
            }
        }
        Ok(None)
    }
}

/// Whether a condition holds of typed arguments.
#[inline(never)]
pub(crate) fn holds<S: Signature>(condition: &Condition, args: S::Args<'_>) -> Result<bool> {
    let typed = condition.typed.as_ref().and_then(|typed| typed.downcast_ref::<S::Returning<bool>>());
    match typed {
        Some(function) => S::apply(*function, args),
        None => {
            let mut asked = Asked { condition, answer: false };
            lend_to::<S>(args, &mut asked)?;
            Ok(asked.answer)
        }
    }
}

/// A condition that is asked of arguments as values.
struct Asked<'c> {
    condition: &'c Condition,
    answer: bool,
}

impl WithValues for Asked<'_> {
    fn run(&mut self, values: &[ValueRef<'_>]) -> Result<()> {
        self.answer = (self.condition.values)(values)?;
        Ok(())
    }
}

/// Whether a condition holds of values.
pub(crate) fn holds_of_values(condition: &Condition, values: &[ValueRef<'_>]) -> Result<bool> {
    (condition.values)(values)
}

/// Asks a chain, and counts that its first provider refused, if it did.
///
/// # Errors
///
/// As [`settle`] and [`Settled::noted`].
pub(crate) fn settle_chain<'t>(
    chain: &'t KernelRecord,
    table: TableRef<'t>,
    keys: DispatchKeySet,
    carried: DispatchKeySet,
    holds: &mut dyn FnMut(&Condition) -> Result<bool>,
) -> Result<Settled<'t>> {
    let first = Settled::first(chain, Reason::Direct, keys);
    settle(first, table, carried, holds, &mut |_| {})?.noted(table)
}

/// The boxed side of a chain.
pub(crate) fn run_chain(chain: &KernelRecord, call: &mut BoxedCall<'_>) -> Result<()> {
    let (table, values) = (call.table(), call.args());
    let mut asked = |condition: &Condition| holds_of_values(condition, values);
    let settled = settle_chain(chain, table, call.keys(), call.carried()?, &mut asked)?;
    enter_values(settled.kernel, table, settled.keys, values, call.returns())
}

/// Names of providers, in order.
pub(crate) type Names = Arc<[Arc<str>]>;

pub(crate) fn names_of(names: &[&str]) -> Names {
    names.iter().map(|name| Arc::from(*name)).collect()
}

/// A scope that is open: the operators that it is about and the providers that come first for them.
#[derive(Clone)]
pub(crate) struct Preferring {
    /// Tells the scope from others, so that scopes may end in any order.
    number: u64,
    operators: Vec<OperatorHandle>,
    names: Names,
}

/// The scopes that are open, the innermost last.
pub(crate) type Preferences = Vec<Preferring>;

thread_local! {
    /// Never dropped, so that destructors of thread-locals may prefer, too; it owns nothing when no scope is open.
    static PREFERENCES: ManuallyDrop<RefCell<Preferences>> =
        const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

/// The names that the innermost scope around this call prefers for an operator.
fn preference(operator: &OperatorHandle) -> Option<Names> {
    PREFERENCES.with(|preferences| {
        let preferences = preferences.borrow();
        let found = preferences.iter().rev().find(|scope| scope.operators.contains(operator));
        found.map(|scope| scope.names.clone())
    })
}

/// The scopes that are open on this thread.
pub(crate) fn preferences() -> Preferences {
    PREFERENCES.with(|preferences| preferences.borrow().clone())
}

/// Runs `body` with these scopes open, and no others.
pub(crate) fn preferring_all<X>(scopes: Preferences, body: impl FnOnce() -> X) -> X {
    /// Puts back the scopes around.
    struct Around(Preferences, PhantomData<*const ()>);
    impl Drop for Around {
        fn drop(&mut self) {
            // The handles are dropped after the borrow ends.
            let around = std::mem::take(&mut self.0);
            drop(PREFERENCES.with(|preferences| preferences.replace(around)));
        }
    }
    let _around = Around(PREFERENCES.with(|preferences| preferences.replace(scopes)), PhantomData);
    body()
}

/// A scope in which some providers come first, which ends when this is dropped; see
/// [`Dispatcher::preference`](crate::Dispatcher::preference).
#[must_use = "the scope ends when this is dropped"]
pub struct Preference {
    number: u64,
    /// Invariant: a scope ends on the thread that opened it.
    of_this_thread: PhantomData<*const ()>,
}

impl Preference {
    /// Opens a scope in which the providers of these names come first, for calls of these operators on this thread.
    pub(crate) fn open(operators: Vec<OperatorHandle>, names: Names) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        PREFERENCES
            .with(|preferences| preferences.borrow_mut().push(Preferring { number, operators, names }));
        Self { number, of_this_thread: PhantomData }
    }
}

impl Drop for Preference {
    fn drop(&mut self) {
        // The handles are dropped after the borrow ends, and with the last scope the memory for scopes.
        let _ended = PREFERENCES.with(|preferences| {
            let mut preferences = preferences.borrow_mut();
            let place = preferences.iter().rposition(|scope| scope.number == self.number);
            let ended = place.map(|place| preferences.remove(place));
            let memory = if preferences.is_empty() { std::mem::take(&mut *preferences) } else { Vec::new() };
            (ended, memory)
        });
    }
}
