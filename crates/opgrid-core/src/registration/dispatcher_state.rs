//! A dispatcher behind its handle: the registry and its lock, who listens, and what is done when the lock is released.

use std::any::{Any, TypeId};
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock, Weak};

use hashbrown::HashMap;
use opgrid_schema::OperatorName;

use crate::calling::call::Target;
use crate::calling::kernel::{KernelRecord, Origin, SignatureOf};
use crate::calling::name_index::NameLookup;
use crate::calling::operator::{OperatorHandle, SignatureCell};
use crate::calling::owner::Owner;
use crate::calling::retirement;
use crate::error::{Error, ErrorKind, Result};
use crate::fork::Held;
use crate::keys::key::DispatchKey;
use crate::panics::Panics;
use crate::place::Place;
use crate::registration::dispatcher::Dispatcher;
use crate::registration::forking;
use crate::registration::library::{Library, LibraryKind, Registration, groups_in};
use crate::registration::listener::{Event, Listeners, Member, OnOverride, Override};
use crate::registration::on_demand::{Begun, OnDemand, parts};
use crate::registration::overload::Overload;
use crate::registration::record::OperatorRecord;
use crate::registration::registry::Registry;
use crate::registration::resolve::Rules;
use crate::registration::transaction::{Aftermath, Change, Item};
use crate::sync::lock;
use crate::ticket::Ticket;

/// A dispatcher, behind its handle.
pub(crate) struct DispatcherState {
    /// The registry's operators by name, for look-ups without its lock.
    names: Arc<NameLookup>,
    registry: Mutex<Registry>,
    foreign: bool,
    me: Weak<DispatcherState>,
    /// Overloads of other dispatchers than the global one, by their type: the cell of each.
    overloads: RwLock<HashMap<TypeId, Arc<SignatureCell>, foldhash::fast::RandomState>>,
    listeners: Listeners,
    on_override: Mutex<Option<OnOverride>>,
    warned: AtomicBool,
    /// How often definitions have come or gone, not counting those that waited to be needed.
    changes: AtomicU64,
}

impl DispatcherState {
    /// A dispatcher without operators, whose calls step over the given columns.
    pub(crate) fn new(foreign: bool, rules: Rules, stepped_over: Vec<DispatchKey>) -> Arc<Self> {
        forking::LOCKS.prepare();
        crate::calling::observe::trace_if_asked();
        let state = Arc::new_cyclic(|me: &Weak<Self>| {
            let registry = Registry::new(foreign, me.clone(), rules, stepped_over);
            Self {
                names: registry.operators.lookup().clone(),
                registry: Mutex::new(registry),
                foreign,
                me: me.clone(),
                overloads: RwLock::default(),
                listeners: Listeners::default(),
                on_override: Mutex::new(None),
                warned: AtomicBool::new(false),
                changes: AtomicU64::new(0),
            }
        });
        forking::enter(&state);
        state
    }

    /// Takes the locks of a dispatcher before the process forks.
    pub(crate) fn hold_at_fork(state: &Arc<Self>, held: &mut Held) {
        held.lock_of(state, |state| &state.registry);
        held.write_of(state, |state| &state.overloads);
        held.lock_of(state, |state| &state.on_override);
        held.lock_of(state, |state| state.listeners.line());
    }

    /// Forgets the threads that the child of a fork does not have.
    pub(crate) fn forget_other_threads(&self) {
        self.listeners.forget_other_threads();
    }

    /// Whether this is another dispatcher than the global one.
    pub(crate) fn is_foreign(&self) -> bool {
        self.foreign
    }

    /// Looks into the registry. `body` runs no code of users.
    pub(crate) fn look<X>(&self, body: impl FnOnce(&Registry) -> X) -> X {
        body(&lock(&self.registry))
    }

    /// Applies the items of a library, all or none.
    pub(crate) fn apply(&self, items: Vec<Item>, place: Place) -> Result<Registration> {
        // What it adds to has been there before. Where that fails, calls of those operators say so.
        for group in self.groups_named_by(&items) {
            let _ = self.register_group(group, true);
        }
        let mut aftermath = Aftermath::default();
        let changes = {
            let mut registry = lock(&self.registry);
            let changes = registry.apply_all(items, place, &mut aftermath);
            if let Ok(changes) = &changes {
                let on_demand = groups_in(changes).next().is_some();
                let events = std::mem::take(&mut aftermath.events);
                self.announce(on_demand || !events.is_empty(), events);
            }
            changes
        };
        // Where a listener panics below, the registration goes out of scope and is undone.
        let registration = changes.map(|changes| Registration::new(self.me.clone(), changes));
        self.finish(aftermath);
        if self.listeners.is_anybody_there() {
            self.register_all();
        }
        registration
    }

    /// The groups that wait and of which items are about an operator.
    fn groups_named_by(&self, items: &[Item]) -> Vec<&'static OnDemand> {
        let mut registry = lock(&self.registry);
        if !registry.demand.has_waiting() {
            return Vec::new();
        }
        let names = items.iter().filter_map(Item::operator);
        let mut groups: Vec<&OnDemand> =
            names.filter_map(|name| registry.demand.group_of(&name.name, &name.overload)).collect();
        groups.dedup_by(|a, b| std::ptr::eq(*a, *b));
        groups
    }

    /// Registers a group, unless it is registered; where `catalogued` says so, only if it is still of a library.
    ///
    /// # Errors
    ///
    /// Those of its registration, which changed nothing.
    pub(crate) fn register_group(&self, group: &'static OnDemand, catalogued: bool) -> Result<()> {
        self.register_groups(&[group], catalogued)
    }

    /// As [`register_group`](Self::register_group), for groups of one library, all of them or none.
    fn register_groups(&self, groups: &[&'static OnDemand], catalogued: bool) -> Result<()> {
        let waiting = |registry: &Registry| {
            let waiting = groups.iter().copied().filter(|group| registry.demand.waits(group, catalogued));
            waiting.collect::<Vec<_>>()
        };
        loop {
            let mut missing = self.look(waiting);
            // Those whose registration asks for them are left to it.
            let begun: Vec<_> =
                missing.iter().map(|group| Begun::with(std::ptr::from_ref(self).addr(), group)).collect();
            let mut is_new = begun.iter().map(Option::is_some);
            missing.retain(|_| is_new.next().unwrap_or(false));
            let Some(first) = missing.first() else { return Ok(()) };
            let (items, place) = self.items_of(first.namespace(), &missing)?;
            drop(begun);
            let mut aftermath = Aftermath::default();
            let (result, forgotten) = {
                let mut registry = lock(&self.registry);
                if missing.iter().any(|group| !registry.demand.waits(group, catalogued)) {
                    // Another thread was first. What was put together for nothing goes without the lock.
                    drop(registry);
                    continue;
                }
                let mut forgotten = Vec::new();
                // Those of libraries were counted when they were stated.
                let is_new = missing.iter().any(|group| registry.demand.catalogue_of(group).is_none());
                let applied = registry.apply_all(items, place, &mut aftermath).map(|mut changes| {
                    for group in &missing {
                        forgotten
                            .append(&mut registry.demand.registered(group, std::mem::take(&mut changes)));
                    }
                });
                self.announce(is_new && applied.is_ok(), std::mem::take(&mut aftermath.events));
                (applied, forgotten)
            };
            drop(forgotten);
            self.finish(aftermath);
            return result;
        }
    }

    /// What groups register.
    ///
    /// # Errors
    ///
    /// A mistake in a group: it defines other operators than it names, or its library has one.
    fn items_of(&self, namespace: &str, groups: &[&'static OnDemand]) -> Result<(Vec<Item>, Place)> {
        let gone = || Error::new(ErrorKind::Stale, "the dispatcher has been dropped; create another one");
        let dispatcher = Dispatcher(self.me.upgrade().ok_or_else(gone)?);
        let mut library = Library::new(&dispatcher, LibraryKind::Fragment, namespace, None);
        for group in groups {
            let before = library.items().len();
            (group.register)(&mut library);
            if let Err(error) = check_group(group, &library.items()[before..]) {
                // The library's own mistake explains what is missing.
                let (items, _) = library.into_items()?;
                drop(items);
                return Err(error);
            }
        }
        library.into_items()
    }

    /// Registers every group that waits. One that cannot be registered is left out: looking for its operators says why.
    pub(crate) fn register_all(&self) {
        let waiting: Vec<_> = self.look(|registry| registry.demand.waiting().collect());
        for groups in waiting {
            if self.register_groups(&groups, true).is_err() {
                for group in groups {
                    let _ = self.register_group(group, true);
                }
            }
        }
    }

    /// Says that what libraries did is never undone.
    pub(crate) fn keep(&self, changes: &[Change]) {
        for groups in groups_in(changes) {
            let forgotten = lock(&self.registry).demand.keep(groups);
            drop(forgotten);
        }
    }

    /// Lets look-ups see what a transaction defined and dropped, then those who keep what they found (where the change is
    /// `counted`), and listeners. The caller holds the registry's lock.
    fn announce(&self, counted: bool, events: Vec<Event>) {
        for event in &events {
            event.operator.0.is_found.store(event.defined, Ordering::Release);
        }
        if counted {
            // Release: whoever sees the count also finds what there is now.
            self.changes.fetch_add(1, Ordering::Release);
        }
        self.listeners.announce(events);
    }

    /// How often definitions have come or gone.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Undoes what a library did.
    pub(crate) fn undo(&self, changes: Vec<Change>) {
        let mut aftermath = Aftermath::default();
        {
            let mut registry = lock(&self.registry);
            let on_demand = groups_in(&changes).next().is_some();
            registry.undo_all(changes, &mut aftermath);
            let events = std::mem::take(&mut aftermath.events);
            self.announce(on_demand || !events.is_empty(), events);
        }
        self.finish(aftermath);
    }

    /// What may run code of users or take long: freed kernels, listeners, warnings. All of it happens, although some
    /// may panic.
    fn finish(&self, aftermath: Aftermath) {
        let Aftermath {
            overrides,
            unregistered,
            removed,
            removed_columns,
            frees_state,
            unapplied,
            events: _,
        } = aftermath;
        debug_assert!(unregistered.is_empty(), "what calls may have found is retired with the tables");
        let mut panics = Panics::default();
        if frees_state || retirement::is_collection_due() {
            panics.catch(retirement::collect);
        }
        panics.drop_each(removed);
        panics.drop_each(removed_columns);
        panics.drop_each(unapplied);
        panics.catch(|| self.listeners.tell());
        for warning in &overrides {
            panics.catch(|| self.warn(warning));
        }
        panics.resume();
    }

    /// Gives a warning to its handler, or to the user, once.
    fn warn(&self, warning: &Override) {
        let handler = lock(&self.on_override).clone();
        match handler {
            Some(handler) => handler(warning),
            None if !self.warned.swap(true, Ordering::Relaxed) => {
                let what = "warning (only once; other operators may also be overridden)";
                let _ = writeln!(std::io::stderr(), "{what}: {warning}");
            }
            None => {}
        }
    }

    pub(crate) fn set_on_override(&self, handler: OnOverride) {
        let before = lock(&self.on_override).replace(handler);
        // The handler before may own anything, so it goes without the lock.
        drop(before);
    }

    pub(crate) fn add_listener(&self, listener: Member) {
        self.register_all();
        {
            let registry = lock(&self.registry);
            let there = registry.operators.iter().filter_map(|record| {
                let (operator, definition) = (record.handle.clone(), record.definition.clone()?);
                Some(Event { operator, definition, defined: true })
            });
            self.listeners.add(listener, there);
        }
        // What was stated meanwhile, by who did not see the listener.
        self.register_all();
        self.listeners.tell();
    }

    pub(crate) fn remove_listener(&self, ticket: Ticket) {
        self.listeners.remove(ticket);
    }

    /// The operator of an overload. On the global dispatcher it is bound to the overload's cell, for good: like a typed
    /// handle, it is not checked again.
    pub(crate) fn operator_of(&self, overload: &Overload) -> Result<Target<'static>> {
        if self.foreign {
            let overloads = self.overloads.read().unwrap_or_else(|poisoned| poisoned.into_inner());
            let known = overloads.get(&overload.id).cloned();
            drop(overloads);
            if let Some(cell) = known.filter(|cell| !cell.operator.is_gone()) {
                return Ok(Target::Found(cell));
            }
        }
        let name = (overload.name)();
        let operator = match self.known(&name.name, &name.overload)? {
            Some(operator) => operator,
            None => {
                if !self.foreign {
                    (overload.ensure_registered)()?;
                }
                self.find_defined(&name)?
            }
        };
        // The types of arguments may be code of users, which does not run under the lock.
        let signature = (overload.signature)();
        if self.foreign {
            let cell = operator.cell_of(signature)?;
            let mut overloads = self.overloads.write().unwrap_or_else(|poisoned| poisoned.into_inner());
            overloads.insert(overload.id, cell.clone());
            return Ok(Target::Found(cell));
        }
        let cell = (overload.cell)();
        let mut registry = lock(&self.registry);
        let record = registry.operators.of_mut(&operator).ok_or_else(|| operator.stale())?;
        if !record.has_bound(cell) {
            record.check_callers(signature, &of_callers())?;
            record.bind(cell, signature);
        }
        drop(registry);
        Ok(Target::Bound(operator, cell, signature.id))
    }

    /// The operator of that name, defined or not.
    ///
    /// # Errors
    ///
    /// It waits to be needed, and cannot be registered.
    pub(crate) fn find(&self, name: &OperatorName) -> Result<Option<OperatorHandle>> {
        if let Some(operator) = self.known(&name.name, &name.overload)? {
            return Ok(Some(operator));
        }
        Ok(lock(&self.registry).operators.named(&name.name, &name.overload).map(OperatorRecord::handle))
    }

    /// The operator of that name, if it has a definition that does not wait to be needed. Takes no lock.
    pub(crate) fn look_up(&self, base: &str, overload: &str) -> Option<OperatorHandle> {
        self.names.find(base, overload)
    }

    /// The operator of that name, if it has a definition, perhaps one that waited for this.
    ///
    /// # Errors
    ///
    /// It waits, and cannot be registered.
    pub(crate) fn known(&self, base: &str, overload: &str) -> Result<Option<OperatorHandle>> {
        if let Some(operator) = self.look_up(base, overload) {
            return Ok(Some(operator));
        }
        let group = {
            let mut registry = lock(&self.registry);
            let record =
                registry.operators.named(base, overload).filter(|record| record.definition.is_some());
            match record {
                Some(record) => return Ok(Some(record.handle())),
                None => registry.demand.group_of(base, overload),
            }
        };
        let Some(group) = group else { return Ok(None) };
        self.register_group(group, true)?;
        Ok(self.look(|registry| {
            let record =
                registry.operators.named(base, overload).filter(|record| record.definition.is_some());
            record.map(OperatorRecord::handle)
        }))
    }

    /// The defined overloads of a name, in the order in which they were registered or stated.
    pub(crate) fn overloads(&self, name: &str) -> Vec<OperatorHandle> {
        let waiting = lock(&self.registry).demand.groups_of(name);
        for group in waiting {
            // The error is that of looking for one of them.
            let _ = self.register_group(group, true);
        }
        let mut registry = lock(&self.registry);
        let defined =
            |record: &&OperatorRecord| record.definition.is_some() && record.handle.name().name == name;
        let mut found: Vec<_> =
            registry.operators.iter().filter(defined).map(|record| record.handle.clone()).collect();
        if found.len() > 1 && registry.demand.is_known() {
            // Groups are registered in any order; what is of none follows in its own.
            found.sort_by_cached_key(|operator| {
                let position = registry.demand.position(name, &operator.name().overload);
                (position.is_none(), position)
            });
        }
        found
    }

    /// The operator of that name, if it has a definition.
    pub(crate) fn find_defined(&self, name: &OperatorName) -> Result<OperatorHandle> {
        if let Some(operator) = self.known(&name.name, &name.overload)? {
            return Ok(operator);
        }
        let registry = lock(&self.registry);
        match registry.operators.named(&name.name, &name.overload) {
            Some(record) if record.definition.is_some() => Ok(record.handle.clone()),
            Some(_) => Err(Error::new(
                ErrorKind::Unknown,
                format!(
                    "could not find schema for {name} but we found an implementation; define the operator with \
                     `Library::define`"
                ),
            )),
            None => Err(registry.unknown(name)),
        }
    }
}

impl DispatcherState {
    /// The registry behind what calls see of a dispatcher.
    pub(crate) fn from_owner(owner: &dyn Owner) -> &Self {
        let owner: &dyn Any = owner;
        owner.downcast_ref().expect("`DispatcherState` alone implements `Owner`")
    }
}

impl Owner for DispatcherState {
    fn shared(&self) -> Option<Arc<dyn Owner>> {
        Some(self.me.upgrade()?)
    }

    fn cell_of(
        &self,
        operator: &OperatorHandle,
        signature: &'static SignatureOf,
    ) -> Result<Arc<SignatureCell>> {
        let mut registry = lock(&self.registry);
        let record = registry.operators.of_mut(operator).ok_or_else(|| operator.stale())?;
        record.check_callers(signature, &of_callers())?;
        Ok(record.shared_cell(signature))
    }

    fn make_table(&self, operator: &OperatorHandle) {
        lock(&self.registry).make_table(operator);
    }

    fn kernel_for_key(&self, operator: &OperatorHandle, key: DispatchKey) -> Result<Arc<KernelRecord>> {
        self.look(|registry| registry.kernel_for_key(operator, key))
    }
}

impl Drop for DispatcherState {
    fn drop(&mut self) {
        forking::remove(&self.me);
        let registry = self.registry.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner());
        retirement::retire(|| registry.take_down());
        retirement::collect();
    }
}

/// # Errors
///
/// The items of a group define other operators than it names.
fn check_group(group: &OnDemand, items: &[Item]) -> Result<()> {
    let is_named = |name: &OperatorName| {
        group.names().iter().any(|known| parts(known) == (name.name.as_str(), name.overload.as_str()))
    };
    let defined = || {
        items.iter().filter_map(|item| match item {
            Item::Define(definition) => Some(&definition.schema.name),
            _ => None,
        })
    };
    if let Some(other) = defined().find(|name| !is_named(name)) {
        let message = format!(
            "{other}: it is defined by an on-demand group that does not list it; the group lists {}",
            group.names().join(", ")
        );
        return Err(Error::new(ErrorKind::Registration, message));
    }
    // Names that are defined twice are an error of the registry.
    if defined().count() < group.names().len() {
        let missing = group.names().iter().find(|name| !defined().any(|it| it.to_string() == **name));
        let message = format!(
            "{}: an on-demand group lists it but does not define it",
            missing.copied().unwrap_or_default()
        );
        return Err(Error::new(ErrorKind::Registration, message));
    }
    Ok(())
}

/// What errors about the signature of callers say of them.
fn of_callers() -> Origin {
    Origin { description: Some("given by a typed handle".into()), ..Origin::at(Place::here()) }
}
