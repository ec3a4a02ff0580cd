//! Dispatchers: what is registered, as a value of its own. One of them is global; tests make their own.

use crate::place::Place;
use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};

use opgrid_schema::{FunctionSchema, OperatorName};

use crate::calling::call::{BoxedCall, OnDispatcher, current_owner};
use crate::calling::kernel::Kernel;
use crate::calling::operator::OperatorHandle;
use crate::calling::owner::Owner;
use crate::deferred_drop::Flat;
use crate::error::{Error, ErrorKind, Result};
use crate::keys::key::DispatchKey;
use crate::keys::named::autograd_key;
use crate::keys::parts::BackendComponent;
use crate::keys::set::DispatchKeySet;
use crate::registration::dispatcher_state::DispatcherState;
use crate::registration::forking;
use crate::registration::library::{Library, LibraryKind, Registration};
use crate::registration::listener::{Listener, Override};
use crate::registration::on_demand::OnDemand;
use crate::registration::overload::{ArgsOf, Known, Operator, OutputOf, call_on};
use crate::registration::record::OperatorRecord;
use crate::registration::registry::Registry;
use crate::registration::resolve::{Kernels, Rule, Rules};
use crate::registration::transaction::Item;
use crate::ticket::Ticket;

/// A grid of operators and keys whose cells hold kernels. Copies share it.
///
/// # Examples
///
/// ```
/// use opgrid_core::Dispatcher;
///
/// let dispatcher = Dispatcher::new();
/// assert_eq!(dispatcher.operators().len(), 0);
/// assert!(dispatcher.find("aten::nothing").is_err());
/// ```
#[derive(Clone)]
pub struct Dispatcher(pub(crate) Arc<DispatcherState>);

/// The keys for which torch has a backend fallback, and whether that fallback is a fallthrough.
const REFERENCE_FALLBACKS: [(DispatchKey, bool); 38] = {
    use DispatchKey as Key;
    [
        (Key::Meta, false),
        (Key::BackendSelect, true),
        (Key::Python, false),
        (Key::FuncTorchDynamicLayerBackMode, false),
        (Key::Functionalize, false),
        (Key::Conjugate, false),
        (Key::Negative, false),
        (Key::ZeroTensor, false),
        (Key::AdInplaceOrView, true),
        (Key::AutogradOther, false),
        (Key::AutogradCpu, false),
        (Key::AutogradCuda, false),
        (Key::AutogradXla, false),
        (Key::AutogradMps, false),
        (Key::AutogradXpu, false),
        (Key::AutogradHpu, false),
        (Key::AutogradLazy, false),
        (Key::AutogradMtia, false),
        (Key::AutogradMaia, false),
        (Key::AutogradPrivateUse1, false),
        (Key::AutogradMeta, false),
        (Key::Tracer, false),
        (Key::AutocastCpu, true),
        (Key::AutocastMtia, true),
        (Key::AutocastMaia, true),
        (Key::AutocastXpu, true),
        (Key::AutocastMps, true),
        (Key::AutocastCuda, true),
        (Key::FuncTorchBatched, false),
        (Key::BatchedNestedTensor, false),
        (Key::FuncTorchVmapMode, true),
        (Key::Batched, false),
        (Key::VmapMode, true),
        (Key::FuncTorchGradWrapper, false),
        (Key::PythonTlsSnapshot, false),
        (Key::FuncTorchDynamicLayerFrontMode, false),
        (Key::PreDispatch, false),
        (Key::PythonDispatcher, false),
    ]
};

/// The keys that have on the backends of users, allocated or not, what AutogradPrivateUse1 has.
fn autograd_keys_of_users() -> impl Iterator<Item = DispatchKey> {
    let backends = (0..BackendComponent::COUNT as u32).filter_map(BackendComponent::at);
    backends.filter(|backend| backend.is_run_time()).map(autograd_key)
}

fn is_autograd(key: DispatchKey) -> bool {
    DispatchKeySet::AUTOGRAD.layers() >> key.functionality().position() & 1 != 0
}

/// Whether torch's fallback of the key looks for tensors that concern it and, where there are none, redispatches below.
fn looks_at_tensors(key: DispatchKey) -> bool {
    is_autograd(key)
        || matches!(key, DispatchKey::Conjugate | DispatchKey::Negative | DispatchKey::ZeroTensor)
}

/// Redispatches below the key as torch's fallbacks do that only look: the thread keeps its keys, so that operators
/// which the kernel below calls come to their own kernels for the key.
fn pass_on(call: &mut BoxedCall<'_>) -> Result<()> {
    let below = match call.key() {
        key if is_autograd(key) => DispatchKeySet::AFTER_AUTOGRAD,
        key => DispatchKeySet::full_after(key),
    };
    call.redispatch(call.keys() & below)
}

/// The keys of layers that torch has and that are not built here yet: calls step over them.
fn layers_to_come() -> Vec<DispatchKey> {
    REFERENCE_FALLBACKS.iter().map(|(key, _)| *key).filter(|key| *key != DispatchKey::Meta).collect()
}

impl Dispatcher {
    /// A dispatcher without operators. Calls step over every key that has no fallback or kernel but has a layer in
    /// torch.
    ///
    /// DIFFERENCE: where torch has fallback kernels that only look and pass on (its Autograd fallbacks among them),
    /// calls here step over the key. [`with_reference_fallbacks`](Self::with_reference_fallbacks) has torch's.
    pub fn new() -> Self {
        Self(DispatcherState::new(true, Rules::ALL, layers_to_come()))
    }

    /// A dispatcher whose table columns are filled as torch's are before any operator is registered.
    pub fn with_reference_fallbacks() -> Self {
        Self::with_reference_fallbacks_and_rules(Rules::ALL)
    }

    /// [`with_reference_fallbacks`](Self::with_reference_fallbacks), resolving by other rules than all of them: for
    /// programs that show that a missing rule is noticed.
    #[doc(hidden)]
    pub fn with_reference_fallbacks_and_rules(rules: Rules) -> Self {
        let dispatcher = Self(DispatcherState::new(true, rules, Vec::new()));
        let exclude = |call: &mut BoxedCall<'_>| call.below();
        let passes_on = rules.has(Rule::BackendFallthrough);
        let pass_on = move || {
            if passes_on {
                Kernel::boxed(pass_on).for_fallback()
            } else {
                Kernel::boxed(exclude).for_fallback()
            }
        };
        let one = |(key, falls_through): (DispatchKey, bool)| {
            let kernel = match (key, falls_through) {
                (_, true) => Kernel::fallthrough(),
                (DispatchKey::Meta, _) => {
                    Kernel::boxed(|call| Err(crate::calling::missing::missing_kernel(call)))
                }
                _ if looks_at_tensors(key) => pass_on(),
                _ => Kernel::boxed(exclude).for_fallback(),
            };
            Item::Fallback { keys: vec![key], kernel, may_replace: false }
        };
        let others = REFERENCE_FALLBACKS.into_iter().filter(|(key, _)| !is_autograd(*key));
        let of_autograd = REFERENCE_FALLBACKS.into_iter().map(|(key, _)| key).filter(|key| is_autograd(*key));
        // One kernel serves every autograd key, so that each table holds one pointer for all of them.
        let items = others.map(one).chain([Item::Fallback {
            keys: of_autograd.chain(autograd_keys_of_users()).collect(),
            kernel: pass_on(),
            may_replace: false,
        }]);
        let items = items.collect();
        let changes = dispatcher.0.apply(items, Place::here());
        changes.expect("every reference fallback has a key of its own").keep();
        dispatcher
    }

    /// A dispatcher with neither operators nor fallbacks, which steps over nothing.
    pub fn bare() -> Self {
        Self(DispatcherState::new(true, Rules::ALL, Vec::new()))
    }

    /// The process's own dispatcher, the one that typed overloads call outside of kernels.
    pub fn global() -> &'static Self {
        static GLOBAL: OnceLock<Dispatcher> = OnceLock::new();
        if let Some(global) = GLOBAL.get() {
            return global;
        }
        let _alone = forking::first_use();
        GLOBAL.get_or_init(|| Self(DispatcherState::new(false, Rules::ALL, layers_to_come())))
    }

    /// The key of a user's backend, allocated at run time if it is new: [`BackendComponent::register`] for those who
    /// register kernels next. Keys belong to the process and are the same on all dispatchers.
    ///
    /// # Errors
    ///
    /// Those of [`BackendComponent::register`].
    #[track_caller]
    pub fn backend(&self, name: &str) -> Result<DispatchKey> {
        BackendComponent::register(name).map(BackendComponent::key)
    }

    /// The dispatcher whose kernel runs on this thread, outside of kernels the global one.
    pub fn current() -> Self {
        let owner: Option<Arc<dyn Any + Send + Sync>> = current_owner().map(|owner| owner as _);
        let current = owner.and_then(|owner| owner.downcast().ok());
        current.map_or_else(|| Self::global().clone(), Self)
    }

    /// Runs `body` with this dispatcher as the [current](Self::current) one of this thread, so that typed calls and methods
    /// of tensors go to it.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_core::{DispatchKey, Dispatcher, operator};
    ///
    /// operator! {
    ///     pub Half = "myops::half(int x) -> int";
    /// }
    ///
    /// let dispatcher = Dispatcher::new();
    /// let mut library = dispatcher.library("myops");
    /// library.define(Half).kernel(DispatchKey::CompositeExplicitAutograd, |x| Ok(x / 2));
    /// let _registration = library.finish()?;
    /// assert_eq!(dispatcher.within(|| Half.call(8))?, 4);
    /// assert!(Half.call(8).is_err(), "the global dispatcher has no such operator");
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn within<X>(&self, body: impl FnOnce() -> X) -> X {
        let owner: Option<Arc<dyn Owner>> = self.0.is_foreign().then(|| self.0.clone() as _);
        let _dispatcher = OnDispatcher::enter(owner);
        body()
    }

    /// A library that defines the operators of a namespace; there is one at a time for each.
    #[track_caller]
    pub fn library(&self, namespace: &str) -> Library {
        Library::new(self, LibraryKind::Library, namespace, None)
    }

    /// A library that adds operators to a namespace without claiming it.
    #[track_caller]
    pub fn fragment(&self, namespace: &str) -> Library {
        Library::new(self, LibraryKind::Fragment, namespace, None)
    }

    /// A library that adds kernels to operators of a namespace, or fallbacks where the namespace is `_`.
    #[track_caller]
    pub fn implementations(&self, namespace: &str, key: impl Into<Option<DispatchKey>>) -> Library {
        Library::new(self, LibraryKind::Implementations, namespace, key.into())
    }

    /// The operator of that name, as in `aten::add.Tensor`, if it is defined.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unknown`] with the names that were probably meant; [`ErrorKind::Schema`] for no name at all.
    pub fn find(&self, name: &str) -> Result<OperatorHandle> {
        let parts = split_name(name);
        match parts.and_then(|(base, overload)| self.0.look_up(base, overload)) {
            Some(operator) => Ok(operator),
            // Parsing knows other ways to write a name, and what is wrong with those that are none.
            None => self.0.find_defined(&parse_name(name)?),
        }
    }

    /// The operator of that name, defined or only implemented.
    ///
    /// # Errors
    ///
    /// As [`find`](Self::find).
    pub fn find_with_or_without_schema(&self, name: &str) -> Result<OperatorHandle> {
        let name = parse_name(name)?;
        self.0.find(&name)?.ok_or_else(|| self.0.look(|registry| registry.unknown(&name)))
    }

    /// The operator of an overload known at compile time.
    ///
    /// # Errors
    ///
    /// As [`find`](Self::find); [`ErrorKind::Signature`] where it has another signature here.
    pub fn operator<O: Operator>(&self, _operator: O) -> Result<OperatorHandle> {
        self.0.operator_of(O::OVERLOAD).map(|target| target.operator().clone())
    }

    /// Calls an overload on this dispatcher.
    ///
    /// # Errors
    ///
    /// Those of the kernel, and of the dispatcher where there is none.
    pub fn call<O: Operator>(&self, operator: O, args: ArgsOf<'_, O>) -> Result<OutputOf<O>> {
        call_on(&self.0, operator, args)
    }

    /// The names of every defined operator in order, those included that are registered [on demand](Library::on_demand): asking
    /// for them registers none.
    pub fn names(&self) -> Vec<OperatorName> {
        self.0.look(Registry::names)
    }

    /// How often operators have been defined or definitions dropped: who keeps what was found asks whether it still is what there
    /// is. Operators that are registered [on demand](Library::on_demand) count once, when they are stated.
    pub fn changes(&self) -> u64 {
        self.0.changes()
    }

    /// Registers a group of operators unless it is registered, for overloads that do so on their first call ([`Operator::ensure_registered`]):
    /// for good, or for as long as the library that states the group.
    ///
    /// # Errors
    ///
    /// Those of its registration.
    pub fn demand(&self, group: &'static OnDemand) -> Result<()> {
        self.0.register_group(group, false)
    }

    /// Every defined operator, by name.
    pub fn operators(&self) -> Vec<OperatorHandle> {
        self.names_where(|record| record.definition.is_some())
    }

    /// The defined overloads of a name without overload, as in `aten::add`, in the order in which they were registered.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_core::Dispatcher;
    ///
    /// let dispatcher = Dispatcher::new();
    /// let mut library = dispatcher.library("myops");
    /// library.define("half.int(int x) -> int");
    /// library.define("half(float x) -> float");
    /// library.define("halves() -> ()");
    /// let registration = library.finish()?;
    /// let names: Vec<_> = dispatcher.overloads("myops::half").iter().map(|it| it.name().to_string()).collect();
    /// assert_eq!(names, ["myops::half.int", "myops::half"]);
    /// drop(registration);
    /// assert!(dispatcher.overloads("myops::half").is_empty());
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn overloads(&self, name: &str) -> Vec<OperatorHandle> {
        self.0.overloads(name)
    }

    /// The operators that have kernels and no definition.
    pub fn dangling_implementations(&self) -> Vec<OperatorHandle> {
        self.names_where(|record| record.definition.is_none())
    }

    /// The operators with a kernel registered for exactly this key, alias or not; all operators without a key.
    pub fn registrations_for(&self, key: Option<DispatchKey>) -> Vec<OperatorHandle> {
        self.names_where(|record| key.is_none_or(|key| record.cell(key).is_some()))
    }

    fn names_where(&self, admit: impl Fn(&OperatorRecord) -> bool) -> Vec<OperatorHandle> {
        self.0.register_all();
        let mut handles: Vec<_> = self.0.look(|registry| {
            registry
                .operators
                .iter()
                .filter(|record| admit(record))
                .map(|record| record.handle.clone())
                .collect()
        });
        handles.sort_by(|a, b| a.name().cmp(b.name()));
        handles
    }

    /// Lets `listener` know which operators come and go, beginning with those that are there.
    ///
    /// # Panics
    ///
    /// Where a listener panics that is told something meanwhile; then `listener` listens no more.
    pub fn listen(&self, listener: Arc<dyn Listener>) -> Listening {
        let (ticket, listener) = (Ticket::next(), Flat::new(listener));
        let listening = Listening { dispatcher: self.clone(), ticket, _listener: listener.clone() };
        self.0.add_listener((ticket, listener));
        listening
    }

    /// Gives kernels that replace others to `handler` instead of one warning on standard error.
    ///
    /// The dispatcher owns the handler. One that owns a handle of this dispatcher keeps both alive until another handler
    /// takes its place.
    pub fn on_override(&self, handler: impl Fn(&Override) + Send + Sync + 'static) {
        self.0.set_on_override(Flat::new(Arc::new(handler)));
    }

    /// Legacy registration: one schema or name with its kernels in one call.
    ///
    /// # Errors
    ///
    /// Those of the library that the call stands for, and of options that contradict each other.
    #[track_caller]
    pub fn register(
        &self,
        schema_or_name: &str,
        options: crate::registration::legacy::LegacyOptions,
    ) -> Result<Registration> {
        crate::registration::legacy::register(self, schema_or_name, options)
    }
}

impl Default for Dispatcher {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Dispatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dispatcher({} operators)", self.operators().len())
    }
}

/// Listens until dropped.
#[must_use = "listening ends when this is dropped"]
pub struct Listening {
    dispatcher: Dispatcher,
    ticket: Ticket,
    /// Keeps the listener until it is taken off the dispatcher's list, so that it is not dropped under a lock.
    _listener: Flat<Arc<dyn Listener>>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.dispatcher.0.remove_listener(self.ticket);
    }
}

/// Base and overload of a name as it is printed, unchecked. `None` where a dot stands at the end: that is no name.
fn split_name(name: &str) -> Option<(&str, &str)> {
    // Byte by byte: names are shorter than what a search for a character needs to begin.
    let Some(dot) = name.bytes().position(|byte| byte == b'.') else { return Some((name, "")) };
    let (base, overload) = (&name[..dot], &name[dot + 1..]);
    (!overload.is_empty()).then_some((base, overload))
}

fn parse_name(name: &str) -> Result<OperatorName> {
    OperatorName::parse(name).map_err(|error| {
        Error::new(
            ErrorKind::Schema,
            format!("`{name}` is not an operator name such as namespace::name.overload: {error}"),
        )
    })
}

impl OperatorHandle {
    /// Whether the operator is one of `dispatcher`.
    pub(crate) fn belongs_to(&self, dispatcher: &Dispatcher) -> bool {
        std::ptr::addr_eq(self.0.dispatcher.as_ptr(), Arc::as_ptr(&dispatcher.0))
    }

    pub(crate) fn with_record<X>(&self, body: impl FnOnce(&OperatorRecord) -> X) -> Option<X> {
        self.with_registry(|registry| registry.operators.record(self).map(body)).ok().flatten()
    }

    /// Looks into the registry of the operator's dispatcher. `body` runs no code of users.
    pub(crate) fn with_registry<X>(&self, body: impl FnOnce(&Registry) -> X) -> Result<X> {
        self.with_owner(|owner| DispatcherState::from_owner(owner).look(body))
    }

    /// Whether a kernel is registered for exactly this key, alias or not.
    pub fn has_kernel_for(&self, key: DispatchKey) -> bool {
        self.with_record(|record| record.cell(key).is_some()).unwrap_or(false)
    }

    /// Whether a kernel is registered for some key of `keys`; aliases do not count.
    pub fn has_kernel_for_any(&self, keys: DispatchKeySet) -> bool {
        let covered = |record: &OperatorRecord| {
            record.kernels.iter().any(|(key, _)| !key.is_alias() && keys.contains(*key))
        };
        self.with_record(covered).unwrap_or(false)
    }

    /// The schema, if the operator is defined: [`schema`](Self::schema) without the error.
    pub fn find_schema(&self) -> Option<Arc<FunctionSchema>> {
        self.schema().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spelled_name_is_looked_up_like_the_name_it_spells() {
        let dispatcher = Dispatcher::new();
        let mut library = dispatcher.library("spelled");
        for name in ["a", "a.b", "b.a"] {
            library.define(format!("{name}(int x) -> int").as_str());
        }
        library.implement("c").add(Kernel::boxed(|call| call.below()));
        let _registration = library.finish().unwrap();
        for text in ["spelled::a", "spelled::a.b", "spelled::b.a"] {
            assert_eq!(dispatcher.find(text).unwrap().name().to_string(), text);
        }
        assert_eq!(dispatcher.find(" spelled :: a . b").unwrap().name().to_string(), "spelled::a.b");
        for text in ["spelled::b", "spelled::c", "spelled::a.", "spelled::a.b.c", ".a", ""] {
            assert!(dispatcher.find(text).is_err(), "{text}");
        }
    }
}
