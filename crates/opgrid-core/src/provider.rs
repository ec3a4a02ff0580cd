//! Providers: several named kernels of one cell, the conditions under which each runs, and which comes first.
//!
//! A cell with one unconditional kernel is that kernel. Any other cell is a *chain*: the first provider whose
//! condition holds for the arguments runs, in the order of registration unless
//! [`Operators::order`](crate::library::Operators::order) or [`Dispatcher::prefer`] says otherwise. Where all refuse,
//! the call goes on with what the other rules give for the key: an alias kernel, the key's fallback, the key below a
//! fallthrough. What was refused is part of explanations and of the error.

use std::any::Any;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use crate::call::BoxedCall;
use crate::explain::no_provider;
use crate::kernel::{Kernel, KernelRecord, Role};
use crate::ledger::note_refused;
use crate::resolve::Reason;
use crate::signature::{Checked, Signature};
use crate::table::{Slot, TableRef};
use crate::{Boxed, DispatchKey, DispatchKeySet, Dispatcher, Error, ErrorKind, Next, OperatorHandle, Result};

/// A condition over values.
type Holds = dyn Fn(&[Boxed<'_>]) -> Result<bool> + Send + Sync;

/// What has to hold of the arguments for a kernel to run.
pub(crate) struct Condition {
    pub(crate) text: Arc<str>,
    /// A `Returning<bool>` of the signature that the condition was written for.
    typed: Option<Box<dyn Any + Send + Sync>>,
    values: Box<Holds>,
}

impl Condition {
    pub(crate) fn typed<S: Signature>(text: &str, holds: S::Returning<bool>) -> Self {
        let values = move |values: &[Boxed<'_>]| S::unpack(values, |args| S::apply(holds, args))?;
        Self { text: text.into(), typed: Some(Box::new(holds)), values: Box::new(values) }
    }

    pub(crate) fn of_values(
        text: &str,
        holds: impl Fn(&[Boxed<'_>]) -> Result<bool> + Send + Sync + 'static,
    ) -> Self {
        Self { text: text.into(), typed: None, values: Box::new(holds) }
    }
}

/// A typed kernel with a name of its own, and perhaps a condition, for operators found by name.
///
/// Overloads known at compile time have [`Operators::provider`](crate::library::Operators::provider).
///
/// # Examples
///
/// ```
/// use opgrid_core::{DispatchKey, Dispatcher, Provider, Value};
///
/// type Half = fn(i64) -> i64;
/// let dispatcher = Dispatcher::new();
/// let mut library = dispatcher.library("myops");
/// library
///     .define("half(int x) -> int")
///     .add(Provider::<Half>::function("shift", |x| Ok(x >> 1)).when("x is even", |x| Ok(x % 2 == 0)).at(DispatchKey::Cpu))
///     .add(Provider::<Half>::function("divide", |x| Ok(x / 2)).at(DispatchKey::Cpu));
/// let _registration = library.finish()?;
/// # let half = dispatcher.find("myops::half")?;
/// # let mut returns = opgrid_core::Returns::new();
/// # half.redispatch_boxed(DispatchKey::Cpu.key_set(), &[7.into()], &mut returns)?;
/// # assert_eq!(returns.into_single()?, Value::from(3));
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub struct Provider<S> {
    kernel: Kernel,
    signature: Checked<S>,
}

impl<S: Signature> Provider<S> {
    fn of(name: &str, kernel: Kernel) -> Self {
        Self { kernel: kernel.named(name), signature: PhantomData }
    }

    /// A function as the provider `name`.
    #[track_caller]
    pub fn function(name: &str, function: S::Returning<S::Output>) -> Self {
        Self::of(name, Kernel::function::<S>(function))
    }

    /// A function that takes the keys of the call in front of the arguments.
    #[track_caller]
    pub fn function_with_keys(name: &str, function: S::ReturningWithKeys<S::Output>) -> Self {
        Self::of(name, Kernel::function_with_keys::<S>(function))
    }

    /// A closure that can call on to the keys below the one it is registered for.
    #[track_caller]
    pub fn layer(
        name: &str,
        layer: impl for<'n, 'a> Fn(Next<'n, S>, S::Args<'a>) -> Result<S::Output> + Send + Sync + 'static,
    ) -> Self {
        Self::of(name, Kernel::layer::<S>(layer))
    }

    /// The same provider, for calls only whose arguments the condition holds for. `text` completes "runs when …".
    ///
    /// The condition looks before anything is moved or written; its errors are errors of the call.
    #[must_use]
    pub fn when(mut self, text: &str, holds: S::Returning<bool>) -> Self {
        self.kernel.record.condition = Some(Box::new(Condition::typed::<S>(text, holds)));
        self
    }

    /// The same provider for that key, whatever the library says.
    #[must_use]
    pub fn at(mut self, key: DispatchKey) -> Self {
        self.kernel = self.kernel.at(key);
        self
    }
}

impl<S> From<Provider<S>> for Kernel {
    fn from(provider: Provider<S>) -> Self {
        provider.kernel
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
/// `refused` hears of every provider whose condition does not hold.
///
/// # Errors
///
/// [`ErrorKind::MissingKernel`] where all refuse and no other rule gives a kernel; those of conditions.
pub(crate) fn settle<'t>(
    first: Settled<'t>,
    table: TableRef<'t>,
    holds: &mut dyn FnMut(&Condition) -> Result<bool>,
    refused: &mut dyn FnMut(&KernelRecord),
) -> Result<Settled<'t>> {
    let chain = first.kernel;
    let mut now = first;
    loop {
        let layer = (now.keys.layers() | 1).ilog2();
        if now.kernel.is_fallthrough() && layer > 0 {
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
pub(crate) fn holds<S: Signature>(condition: &Condition, args: S::Args<'_>) -> Result<bool> {
    let typed = condition.typed.as_ref().and_then(|typed| typed.downcast_ref::<S::Returning<bool>>());
    match typed {
        Some(function) => S::apply(*function, args),
        None => S::pack(args, |values| (condition.values)(values)),
    }
}

/// Whether a condition holds of values.
pub(crate) fn holds_of_values(condition: &Condition, values: &[Boxed<'_>]) -> Result<bool> {
    (condition.values)(values)
}

/// The boxed side of a chain.
pub(crate) fn run_chain(chain: &KernelRecord, call: &mut BoxedCall<'_>) -> Result<()> {
    let (table, values) = (call.table(), call.args());
    let first = Settled::first(chain, Reason::Direct, call.keys());
    let settled = settle(first, table, &mut |condition| holds_of_values(condition, values), &mut |_| {})?;
    let settled = settled.noted(table)?;
    crate::boxing::enter_values(settled.kernel, table, settled.keys, values, call.returns())
}

/// Names of providers, in order.
pub(crate) type Names = Arc<[Arc<str>]>;

pub(crate) fn names_of(names: &[&str]) -> Names {
    names.iter().map(|name| Arc::from(*name)).collect()
}

type Preferences = Vec<(Vec<OperatorHandle>, Names)>;

thread_local! {
    /// Never dropped, so that destructors of thread-locals may prefer, too; it owns nothing when no scope is open.
    static PREFERENCES: ManuallyDrop<RefCell<Preferences>> =
        const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

/// The names that the innermost scope around this call prefers for an operator.
fn preference(operator: &OperatorHandle) -> Option<Names> {
    PREFERENCES.with(|preferences| {
        let preferences = preferences.borrow();
        let found = preferences.iter().rev().find(|(operators, _)| operators.contains(operator));
        found.map(|(_, names)| names.clone())
    })
}

/// Ends a scope of preference.
struct Scope(PhantomData<*const ()>);

impl Drop for Scope {
    fn drop(&mut self) {
        // The handles are dropped after the borrow ends, and with the last scope the memory for scopes.
        let _ended = PREFERENCES.with(|preferences| {
            let mut preferences = preferences.borrow_mut();
            let ended = preferences.pop();
            let memory = if preferences.is_empty() { std::mem::take(&mut *preferences) } else { Vec::new() };
            (ended, memory)
        });
    }
}

impl Dispatcher {
    /// Runs `body` with other providers first: calls of `operator` on this thread, nested ones too, ask those named in
    /// `providers` before the rest of a chain, in this order. A preferred provider whose condition does not hold is
    /// passed over as ever.
    ///
    /// `operator` is a name, which stands for every overload that is defined now, or one overload. Scopes nest; the
    /// innermost that names an operator counts.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unknown`] for an operator that is not there or a provider that none of its cells has.
    ///
    /// # Examples
    ///
    /// ```
    /// # use opgrid_core::{DispatchKey, Dispatcher, Kernel, Provider};
    /// # type F = fn(i64) -> i64;
    /// # let dispatcher = Dispatcher::new();
    /// # let mut library = dispatcher.library("myops");
    /// # library.define("f(int x) -> int")
    /// #     .add(Provider::<F>::function("fast", |x| Ok(x)).at(DispatchKey::Cpu))
    /// #     .add(Provider::<F>::function("exact", |x| Ok(-x)).at(DispatchKey::Cpu));
    /// # let _registration = library.finish()?;
    /// # let mut returns = opgrid_core::Returns::new();
    /// let f = dispatcher.find("myops::f")?;
    /// dispatcher.prefer("myops::f", &["exact"], || {
    ///     f.redispatch_boxed(DispatchKey::Cpu.key_set(), &[1.into()], &mut returns)
    /// })??;
    /// assert_eq!(returns.into_single()?, (-1).into());
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn prefer<X>(&self, operator: &str, providers: &[&str], body: impl FnOnce() -> X) -> Result<X> {
        let operators = self.overloads_of(operator)?;
        let known: Vec<String> = operators.iter().flat_map(OperatorHandle::providers).collect();
        if let Some(unknown) = providers.iter().find(|name| !known.iter().any(|known| known == *name)) {
            let remedy = match known.is_empty() {
                true => "its cells have one kernel each; give kernels names to make a choice".to_owned(),
                false => format!("its providers are {}", known.join(", ")),
            };
            let message = format!("{operator}: no cell has a provider `{unknown}`; {remedy}");
            return Err(Error::new(ErrorKind::Unknown, message));
        }
        let names = names_of(providers);
        PREFERENCES.with(|preferences| preferences.borrow_mut().push((operators, names)));
        let _scope = Scope(PhantomData);
        Ok(body())
    }

    /// The overload of that name, or all of the name where it has no overload part and none is the default one.
    fn overloads_of(&self, operator: &str) -> Result<Vec<OperatorHandle>> {
        let overloads: Vec<_> =
            self.operators().into_iter().filter(|known| known.name().name == operator).collect();
        if overloads.is_empty() { Ok(vec![self.find(operator)?]) } else { Ok(overloads) }
    }
}

impl OperatorHandle {
    /// The names of the operator's providers, of all cells, each once.
    pub fn providers(&self) -> Vec<String> {
        let names = self.with_record(|record| {
            let kernels = record.kernels.iter().flat_map(|(_, chain)| chain.all());
            let mut names: Vec<_> =
                kernels.filter_map(|kernel| kernel.name.as_deref().map(str::to_owned)).collect();
            names.sort();
            names.dedup();
            names
        });
        names.unwrap_or_default()
    }
}

/// Names of providers that come first: for one cell or, without a key, for every cell of an operator.
#[derive(Default)]
pub(crate) struct Orders(Vec<(Option<DispatchKey>, Names)>);

impl Orders {
    pub(crate) fn add(&mut self, key: Option<DispatchKey>, names: Names) {
        self.0.push((key, names));
    }

    pub(crate) fn remove(&mut self, names: &Names) {
        self.0.retain(|(_, known)| !Arc::ptr_eq(known, names));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The newest order for the cell, else the newest for all cells.
    pub(crate) fn of(&self, key: DispatchKey) -> &[Arc<str>] {
        let newest = |wanted| self.0.iter().rev().find(|(known, _)| *known == wanted);
        newest(Some(key)).or_else(|| newest(None)).map_or(&[], |(_, names)| names)
    }
}
