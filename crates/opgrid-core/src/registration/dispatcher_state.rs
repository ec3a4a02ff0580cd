//! A dispatcher behind its handle: the registry and its lock, who listens, and what is done when the lock is released.

use std::any::{Any, TypeId};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, RwLock, Weak};

use hashbrown::HashMap;
use opgrid_schema::OperatorName;

use crate::calling::call::Target;
use crate::calling::kernel::{KernelRecord, Origin, SignatureOf};
use crate::calling::operator::{OperatorHandle, SignatureCell};
use crate::calling::owner::Owner;
use crate::calling::retirement;
use crate::error::{Error, ErrorKind, Result};
use crate::keys::key::DispatchKey;
use crate::panics::Panics;
use crate::place::Place;
use crate::registration::library::Registration;
use crate::registration::listener::{Event, Listener, Listeners, OnOverride, Override};
use crate::registration::overload::Overload;
use crate::registration::record::OperatorRecord;
use crate::registration::registry::{Aftermath, Change, Item, Registry};
use crate::registration::resolve::Rules;
use crate::sync::lock;
use crate::ticket::Ticket;

/// A dispatcher, behind its handle.
pub(crate) struct DispatcherState {
    registry: Mutex<Registry>,
    foreign: bool,
    me: Weak<DispatcherState>,
    /// Overloads of other dispatchers than the global one, by their type: the cell of each.
    overloads: RwLock<HashMap<TypeId, Arc<SignatureCell>, foldhash::fast::RandomState>>,
    listeners: Listeners,
    on_override: Mutex<Option<OnOverride>>,
    warned: AtomicBool,
}

impl DispatcherState {
    /// A dispatcher without operators, whose calls step over the given columns.
    pub(crate) fn new(foreign: bool, rules: Rules, stepped_over: Vec<DispatchKey>) -> Arc<Self> {
        crate::calling::observe::trace_if_asked();
        Arc::new_cyclic(|me: &Weak<Self>| Self {
            registry: Mutex::new(Registry::new(foreign, me.clone(), rules, stepped_over)),
            foreign,
            me: me.clone(),
            overloads: RwLock::default(),
            listeners: Listeners::default(),
            on_override: Mutex::new(None),
            warned: AtomicBool::new(false),
        })
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
        let mut aftermath = Aftermath::default();
        let changes = {
            let mut registry = lock(&self.registry);
            let changes = registry.apply_all(items, place, &mut aftermath);
            self.listeners.announce(std::mem::take(&mut aftermath.events));
            changes
        };
        // Where a listener panics below, the registration goes out of scope and is undone.
        let registration = changes.map(|changes| Registration::new(self.me.clone(), changes));
        self.finish(aftermath);
        registration
    }

    /// Undoes what a library did.
    pub(crate) fn undo(&self, changes: Vec<Change>) {
        let mut aftermath = Aftermath::default();
        {
            let mut registry = lock(&self.registry);
            registry.undo_all(changes, &mut aftermath);
            self.listeners.announce(std::mem::take(&mut aftermath.events));
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

    pub(crate) fn add_listener(&self, listener: (Ticket, Arc<dyn Listener>)) {
        {
            let registry = lock(&self.registry);
            let there = registry.operators.iter().filter_map(|record| {
                let (operator, definition) = (record.handle.clone(), record.definition.clone()?);
                Some(Event { operator, definition, defined: true })
            });
            self.listeners.add(listener, there);
        }
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
        let operator = match self.find_defined(&name) {
            Ok(operator) => operator,
            Err(_) if !self.foreign => {
                (overload.home)()?;
                self.find_defined(&name)?
            }
            Err(error) => return Err(error),
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

    pub(crate) fn find(&self, name: &OperatorName) -> Option<OperatorHandle> {
        lock(&self.registry).operators.named(&name.name, &name.overload).map(OperatorRecord::handle)
    }

    /// The operator of that name, if it has a definition.
    pub(crate) fn find_defined(&self, name: &OperatorName) -> Result<OperatorHandle> {
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
    pub(crate) fn of(owner: &dyn Owner) -> &Self {
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

    fn kernel_for_key(&self, operator: &OperatorHandle, key: DispatchKey) -> Result<Arc<KernelRecord>> {
        self.look(|registry| registry.kernel_for_key(operator, key))
    }
}

impl Drop for DispatcherState {
    fn drop(&mut self) {
        let registry = self.registry.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner());
        retirement::retire(|| registry.take_down());
        retirement::collect();
    }
}

/// What errors about the signature of callers say of them.
fn of_callers() -> Origin {
    Origin { description: Some("given by a typed handle".into()), ..Origin::at(Place::here()) }
}
