//! Providers: several named kernels of one cell, the conditions under which each runs, and which comes first.
//!
//! A cell with one unconditional kernel is that kernel. Any other cell is a *chain*: the first provider whose
//! condition holds for the arguments runs, in the order of registration unless
//! [`OperatorBuilder::order`](crate::OperatorBuilder::order) or [`Dispatcher::prefer`] says otherwise. Where all refuse,
//! the call goes on with what the other rules give for the key: an alias kernel, the key's fallback, the key below a
//! fallthrough. What was refused is part of explanations and of the error.

use std::marker::PhantomData;
use std::sync::Arc;

use crate::calling::call::Next;
pub use crate::calling::conditions::Preference;
use crate::calling::conditions::{Condition, Names, names_of};
use crate::calling::kernel::Kernel;
use crate::calling::operator::OperatorHandle;
use crate::error::{Error, ErrorKind, Result};
use crate::keys::key::DispatchKey;
use crate::registration::dispatcher::Dispatcher;
use crate::signatures::signature::{Checked, Signature};

/// A typed kernel with a name of its own, and perhaps a condition, for operators found by name.
///
/// Overloads known at compile time have [`OperatorBuilder::provider`](crate::OperatorBuilder::provider).
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
    fn from_kernel(name: &str, kernel: Kernel) -> Self {
        Self { kernel: kernel.named(name), signature: PhantomData }
    }

    /// A function as the provider `name`.
    #[track_caller]
    pub fn function(name: &str, function: S::Returning<S::Output>) -> Self {
        Self::from_kernel(name, Kernel::function::<S>(function))
    }

    /// A function that takes the keys of the call in front of the arguments.
    #[track_caller]
    pub fn function_with_keys(name: &str, function: S::ReturningWithKeys<S::Output>) -> Self {
        Self::from_kernel(name, Kernel::function_with_keys::<S>(function))
    }

    /// A closure that can call on to the keys below the one it is registered for.
    #[track_caller]
    pub fn layer(
        name: &str,
        layer: impl for<'n, 'a> Fn(Next<'n, S>, S::Args<'a>) -> Result<S::Output> + Send + Sync + 'static,
    ) -> Self {
        Self::from_kernel(name, Kernel::layer::<S>(layer))
    }

    /// Restricts the provider to calls for whose arguments the condition holds. `text` completes "runs when …".
    ///
    /// The condition looks before anything is moved or written; its errors are errors of the call.
    #[must_use]
    pub fn when(mut self, text: &str, holds: S::Returning<bool>) -> Self {
        self.kernel.record.condition = Some(Box::new(Condition::typed::<S>(text, holds)));
        self
    }

    /// Registers the provider at this key, whatever the library's key is.
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
        let _scope = self.preference(operator, providers)?;
        Ok(body())
    }

    /// Opens the scope of [`prefer`](Self::prefer), which ends when the guard is dropped: for foreign callers, whose scopes
    /// are no closures. Scopes may end in any order.
    ///
    /// # Errors
    ///
    /// Those of [`prefer`](Self::prefer).
    pub fn preference(&self, operator: &str, providers: &[&str]) -> Result<Preference> {
        let operators = self.overloads_of(operator)?;
        let known: Vec<String> = operators.iter().flat_map(OperatorHandle::providers).collect();
        if let Some(unknown) = providers.iter().find(|name| !known.iter().any(|known| known == *name)) {
            let remedy = if known.is_empty() {
                "its cells have one kernel each; name kernels to register several".to_owned()
            } else {
                format!("its providers are {}", known.join(", "))
            };
            let message = format!("{operator}: no cell has a provider `{unknown}`; {remedy}");
            return Err(Error::new(ErrorKind::Unknown, message));
        }
        Ok(Preference::open(operators, names_of(providers)))
    }

    /// The overload of that name, or all of the name where it has no overload part and none is the default one.
    fn overloads_of(&self, operator: &str) -> Result<Vec<OperatorHandle>> {
        let overloads = self.overloads(operator);
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
    pub(crate) fn for_key(&self, key: DispatchKey) -> &[Arc<str>] {
        let newest = |wanted| self.0.iter().rev().find(|(known, _)| *known == wanted);
        newest(Some(key)).or_else(|| newest(None)).map_or(&[], |(_, names)| names)
    }
}
