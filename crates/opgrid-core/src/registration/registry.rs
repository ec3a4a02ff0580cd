//! What is registered: names to operators, kernels per key, fallbacks; and the change of all of it at once.
//!
//! The items of one library are applied to the registry under its lock, the tables of every operator that they touched
//! are built, and only then published, one by one: a failure on the way undoes what was applied, and nothing was
//! published. Of each operator a call sees the old table or the new one; one that begins after the library is finished
//! sees all of it. Old tables and kernels are freed after the lock is released.

use std::any::{Any, TypeId};
use std::io::Write;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, RwLock, Weak};

use hashbrown::HashMap;
use opgrid_schema::OperatorName;

use crate::calling::call::Target;
use crate::calling::columns::HeldColumn;
use crate::calling::conditions::Names;
use crate::calling::kernel::{Kernel, KernelRecord, Life, Origin, SignatureOf};
use crate::calling::kind::Kind;
use crate::calling::operator::{Definition, Entry, OperatorHandle, SignatureCell};
use crate::calling::owner::Owner;
use crate::calling::reason::Reason;
use crate::calling::retirement::{self, Published, Retired};
use crate::calling::table::{Base, Slot, Table};
use crate::error::{Error, ErrorKind, Result};
use crate::keys::key::DispatchKey;
use crate::panics::Panics;
use crate::place::Place;
use crate::registration::chain::Chain;
use crate::registration::library::Registration;
use crate::registration::listener::{Event, Listener, Listeners, OnOverride, Override};
use crate::registration::overload::Overload;
use crate::registration::provider::Orders;
use crate::registration::record::OperatorRecord;
use crate::registration::records::OperatorRecords;
use crate::registration::resolve::{Kernels, Rules, base_of};
use crate::sync::lock;
use crate::ticket::Ticket;

/// One thing that a library asks for.
pub(crate) enum Item {
    Namespace(String),
    Define(Box<Definition>),
    Implement {
        name: OperatorName,
        key: Option<DispatchKey>,
        kernel: Kernel,
        may_replace: bool,
    },
    Fallback {
        keys: Vec<DispatchKey>,
        kernel: Kernel,
        may_replace: bool,
    },
    /// Without a name, for the fallbacks of a key.
    Order {
        name: Option<OperatorName>,
        key: Option<DispatchKey>,
        names: Names,
    },
    /// Without a name, for the operators of a kind.
    Column {
        name: Option<OperatorName>,
        column: HeldColumn,
        may_replace: bool,
    },
}

/// One thing that was done, to be undone.
pub(crate) enum Change {
    Namespace(String),
    Defined(u32, Arc<Definition>),
    Implemented(u32, DispatchKey, Arc<KernelRecord>, bool),
    FellBack(Vec<DispatchKey>, Arc<KernelRecord>),
    Ordered(Option<u32>, Names),
    /// In a box, because there is a change for every definition and kernel, and a column is larger than those.
    Columned(Option<u32>, Box<HeldColumn>),
}

/// Everything behind the lock.
pub(crate) struct Registry {
    rules: Rules,
    pub(crate) operators: OperatorRecords,
    namespaces: HashMap<String, Place, foldhash::fast::RandomState>,
    pub(crate) fallbacks: Vec<(DispatchKey, Chain)>,
    fallback_orders: Orders,
    /// The columns that fall through unless somebody registers a fallback for them.
    stepped_over: Vec<DispatchKey>,
    base: Arc<Base>,
    /// The columns of kinds, in the order in which they were registered.
    kind_columns: Vec<HeldColumn>,
}

/// What a transaction leaves to be done after the lock is released.
#[derive(Default)]
struct Aftermath {
    events: Vec<Event>,
    overrides: Vec<Override>,
    /// Kernels that calls may have found. They are retired together with the tables.
    unregistered: Vec<Arc<KernelRecord>>,
    /// Counts of kernels that are still registered, or were never seen by calls.
    removed: Vec<Arc<KernelRecord>>,
    /// Columns that are no longer registered, or never were: their values are not dropped under the lock.
    removed_columns: Vec<HeldColumn>,
    /// Whether kernels with state of users were removed, which are not kept longer than calls need them.
    frees_state: bool,
    unapplied: Vec<Item>,
}

impl Aftermath {
    /// Takes a kernel that is no longer registered. `failed` says that the registry was locked since it came, so that
    /// no call has seen it.
    fn remove(&mut self, kernel: Arc<KernelRecord>, failed: bool) {
        if let Some(life) = &kernel.life {
            life.end();
        }
        self.frees_state |= kernel.owns_state();
        let list = if failed || !kernel.owns_state() { &mut self.removed } else { &mut self.unregistered };
        list.push(kernel);
    }
}

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
        let registry = Registry {
            rules,
            operators: OperatorRecords::default(),
            namespaces: HashMap::default(),
            fallbacks: Vec::new(),
            fallback_orders: Orders::default(),
            base: Arc::new(base_of(rules, &[], &Orders::default(), &stepped_over)),
            stepped_over,
            kind_columns: Vec::new(),
        };
        Arc::new_cyclic(|me| Self {
            registry: Mutex::new(registry),
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
            let changes = registry.apply_all(self, items, place, &mut aftermath);
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
            let mut touched = Touched::default();
            for change in changes.into_iter().rev() {
                registry.undo(change, &mut touched, &mut aftermath, false);
            }
            registry.rebuild(&touched, &mut aftermath);
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
        let mut registry = lock(&self.registry);
        let record = registry.operators.of_mut(operator).ok_or_else(|| operator.stale())?;
        let nothing = || Slot { kernel: Arc::new(Kernel::missing().record), reason: Reason::Missing };
        if let Some(cell) = record.cell(key) {
            return Ok(cell.kernel(record.order(key), nothing));
        }
        let fallback = registry.fallbacks.iter().find(|(known, _)| *known == key);
        fallback.map(|(_, chain)| chain.kernel(registry.fallback_orders.of(key), nothing)).ok_or_else(|| {
            let message =
                format!("{}: no kernel for {key}; register one, or a fallback for the key", operator.name());
            Error::new(ErrorKind::MissingKernel, message)
        })
    }
}

impl Drop for DispatcherState {
    fn drop(&mut self) {
        let registry = self.registry.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner());
        retirement::retire(|| {
            let mut retired = Vec::new();
            for record in registry.operators.iter_mut() {
                retired.extend(record.publish(None).map(Retired::Table));
                let kernels = record.kernels.drain(..).flat_map(|(_, chain)| chain.into_kernels());
                retired.extend(kernels.map(Retired::Kernel));
            }
            let fallbacks = registry.fallbacks.drain(..).flat_map(|(_, chain)| chain.into_kernels());
            retired.extend(fallbacks.map(Retired::Kernel));
            retired
        });
        retirement::collect();
    }
}

/// What errors about the signature of callers say of them.
fn of_callers() -> Origin {
    Origin { description: Some("given by a typed handle".into()), ..Origin::at(Place::here()) }
}

/// The operators that a transaction changed.
#[derive(Default)]
struct Touched {
    numbers: Vec<u32>,
    all: bool,
}

impl Registry {
    fn record(&mut self, inner: &DispatcherState, name: &OperatorName) -> &mut OperatorRecord {
        self.operators.named_or_new(name, |number| {
            OperatorHandle(Arc::new(Entry {
                table: Published::new(),
                foreign: inner.foreign,
                name: name.clone(),
                number,
                dispatcher: inner.me.clone(),
            }))
        })
    }

    fn apply_all(
        &mut self,
        inner: &DispatcherState,
        items: Vec<Item>,
        place: Place,
        aftermath: &mut Aftermath,
    ) -> Result<Vec<Change>> {
        let mut touched = Touched::default();
        let mut changes = Vec::new();
        let mut result = Ok(());
        let mut items = items.into_iter();
        let life = Life::default();
        for mut item in items.by_ref() {
            if let Item::Implement { kernel, .. } | Item::Fallback { kernel, .. } = &mut item {
                kernel.record.life = Some(life.clone());
            }
            match self.apply(inner, item, place, &mut touched, aftermath) {
                Ok(change) => changes.push(change),
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
        }
        if let Err(error) = result {
            aftermath.overrides.clear();
            aftermath.unapplied.extend(items);
            let mut forgotten = Aftermath::default();
            for change in changes.into_iter().rev() {
                self.undo(change, &mut touched, &mut forgotten, true);
            }
            aftermath.removed.append(&mut forgotten.removed);
            aftermath.removed_columns.append(&mut forgotten.removed_columns);
            aftermath.events.clear();
            // Nothing was published; operators that exist for this library alone go again.
            for number in touched.numbers {
                if self.operators.get(number).is_some_and(|record| record.table.is_none() && record.is_gone())
                {
                    self.operators.remove(number);
                }
            }
            return Err(error);
        }
        self.rebuild(&touched, aftermath);
        Ok(changes)
    }

    fn apply(
        &mut self,
        inner: &DispatcherState,
        item: Item,
        place: Place,
        touched: &mut Touched,
        aftermath: &mut Aftermath,
    ) -> Result<Change> {
        match item {
            Item::Namespace(namespace) => self.claim(namespace, place),
            Item::Define(definition) => self.define(inner, *definition, touched, aftermath),
            Item::Implement { name, key, kernel, may_replace } => {
                self.implement(inner, name, key, kernel, may_replace, touched, aftermath)
            }
            Item::Fallback { keys, kernel, may_replace } => {
                touched.all = true;
                let kernel = Arc::new(kernel.record);
                aftermath.removed.push(kernel.clone());
                self.fall_back(&keys, kernel, may_replace, aftermath)
            }
            Item::Column { name, column, may_replace } => {
                self.carry(inner, name, column, may_replace, touched, aftermath)
            }
            Item::Order { name, key, names } => {
                let number = match name {
                    None => {
                        touched.all = true;
                        self.fallback_orders.add(key, names.clone());
                        None
                    }
                    Some(name) => {
                        let record = self.record(inner, &name);
                        record.orders.add(key, names.clone());
                        touched.numbers.push(record.handle.0.number);
                        Some(record.handle.0.number)
                    }
                };
                Ok(Change::Ordered(number, names))
            }
        }
    }

    /// Adds a column to an operator or a kind.
    fn carry(
        &mut self,
        inner: &DispatcherState,
        name: Option<OperatorName>,
        column: HeldColumn,
        may_replace: bool,
        touched: &mut Touched,
        aftermath: &mut Aftermath,
    ) -> Result<Change> {
        // Whatever becomes of it, the value is not dropped under the lock.
        aftermath.removed_columns.push(column.clone());
        let (number, subject, columns) = match &name {
            Some(name) => {
                let record = self.record(inner, name);
                (Some(record.handle.0.number), name.to_string(), &mut record.columns)
            }
            None => {
                let kind = column.kind.as_ref().map_or("", Kind::name);
                (None, format!("kind {kind}"), &mut self.kind_columns)
            }
        };
        let same = |known: &&HeldColumn| known.id == column.id && known.kind == column.kind;
        if let Some(first) = columns.iter().find(same).filter(|_| !may_replace) {
            let message = format!(
                "{subject}: there is a value of the column `{}` already. First value: {}. New value: {}. Drop the first \
                 registration, or allow overriding",
                column.name, first.origin, column.origin
            );
            // An operator that exists for this item alone goes again.
            touched.numbers.extend(number);
            return Err(Error::new(ErrorKind::Duplicate, message));
        }
        columns.push(column.clone());
        match number {
            Some(number) => touched.numbers.push(number),
            None => touched.all = true,
        }
        Ok(Change::Columned(number, Box::new(column)))
    }

    fn claim(&mut self, namespace: String, place: Place) -> Result<Change> {
        if let Some(first) = self.namespaces.get(&namespace) {
            let message = format!(
                "only a single library can define the namespace {namespace}; use `Dispatcher::fragment` to add \
                 operators to it, or `Dispatcher::implementations` to add kernels. Previous registration of the \
                 library was registered at {}; latest registration was registered at {}",
                first, place,
            );
            return Err(Error::new(ErrorKind::Duplicate, message));
        }
        self.namespaces.insert(namespace.clone(), place);
        Ok(Change::Namespace(namespace))
    }

    fn define(
        &mut self,
        inner: &DispatcherState,
        definition: Definition,
        touched: &mut Touched,
        aftermath: &mut Aftermath,
    ) -> Result<Change> {
        let record = self.record(inner, &definition.schema.name);
        let number = record.handle.0.number;
        touched.numbers.push(number);
        if let Some(first) = &record.definition {
            let message = format!(
                "tried to register an operator ({}) with the same name and overload name multiple times. Each \
                 overload's schema should only be registered with a single call to `Library::define`. Duplicate \
                 registration: {}. Original registration: {}",
                definition.schema, definition.origin, first.origin
            );
            return Err(Error::new(ErrorKind::Duplicate, message));
        }
        for (_, chain) in &record.kernels {
            for kernel in chain.all() {
                if let Some(signature) = &kernel.signature {
                    record.check_schema(&definition, signature, &kernel.origin)?;
                }
            }
        }
        record.compare_signatures(&definition);
        let definition = Arc::new(definition);
        record.definition = Some(definition.clone());
        let (operator, definition) = (record.handle.clone(), definition.clone());
        aftermath.events.push(Event { operator, definition: definition.clone(), defined: true });
        Ok(Change::Defined(number, definition))
    }

    #[allow(clippy::too_many_arguments)]
    fn implement(
        &mut self,
        inner: &DispatcherState,
        name: OperatorName,
        key: Option<DispatchKey>,
        kernel: Kernel,
        may_replace: bool,
        touched: &mut Touched,
        aftermath: &mut Aftermath,
    ) -> Result<Change> {
        let kernel = Arc::new(kernel.record);
        // Whatever becomes of it, the kernel's state is not dropped under the lock.
        aftermath.removed.push(kernel.clone());
        let column = key.unwrap_or(DispatchKey::CompositeImplicitAutograd);
        if !column.exists() {
            let message = format!("{name}: {} ({})", crate::keys::key::NOT_ALLOCATED, kernel.debug());
            return Err(Error::new(ErrorKind::Registration, message));
        }
        if column.is_building_block() || column.is_placeholder() {
            let message = format!(
                "{name}: a kernel for {column} would never run, because {column} is no runtime key; register it for \
                 {column} with a backend, or for an alias ({})",
                kernel.debug()
            );
            return Err(Error::new(ErrorKind::Registration, message));
        }
        let record = self.record(inner, &name);
        let number = record.handle.0.number;
        touched.numbers.push(number);
        record.admit_to_alias(column, &kernel)?;
        if let (Some(definition), Some(signature)) = (&record.definition, &kernel.signature) {
            let known = if signature.is_symbolic() { &record.symbolic } else { &record.typed };
            if known.as_ref().is_none_or(|known| known.signature.id != signature.id || !known.fits) {
                record.check_schema(definition, signature, &kernel.origin)?;
            }
        }
        let pinned = record.pin(&kernel, key)?;
        let replaced = match record.chain_mut(column).add(kernel.clone(), may_replace) {
            Ok(replaced) => replaced,
            Err(first) => {
                if pinned {
                    *record.pinned(kernel.signature.is_some_and(|signature| signature.is_symbolic())) = None;
                }
                let message = format!(
                    "{name}: key {column} already has a kernel. First kernel: {}. New kernel: {}. Give the new one a \
                     name of its own to join the chain, or allow overriding",
                    first.debug(),
                    kernel.debug()
                );
                return Err(Error::new(ErrorKind::Duplicate, message));
            }
        };
        // Kernels for Meta and MTIA are replaced as a matter of course, as in torch.
        let expected = matches!(column, DispatchKey::Meta | DispatchKey::Mtia);
        if let Some(previous) = replaced.filter(|_| !expected) {
            aftermath.overrides.push(Override {
                operator: record.title(),
                definition: record.definition_debug(),
                key: column,
                previous: previous.debug(),
                new: kernel.debug(),
            });
        }
        Ok(Change::Implemented(number, column, kernel, pinned))
    }

    fn fall_back(
        &mut self,
        keys: &[DispatchKey],
        kernel: Arc<KernelRecord>,
        may_replace: bool,
        aftermath: &mut Aftermath,
    ) -> Result<Change> {
        if let Some(signature) = kernel.signature {
            // Calls of every signature reach fallbacks, and take the typed side of a kernel that has one.
            let message = format!(
                "a fallback for {} serves operators of every signature, found a typed kernel ({}); make it with \
                 Kernel::boxed or Kernel::fallthrough ({})",
                keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
                (signature.text)(),
                kernel.debug()
            );
            return Err(Error::new(ErrorKind::Registration, message));
        }
        let mut done = Vec::new();
        for key in keys {
            let mut replaced: Vec<Arc<KernelRecord>> = Vec::new();
            let columns = key.fallback_columns();
            if columns.is_empty() {
                let message = format!(
                    "a fallback for {key} would never run, because {key} covers no runtime key; name a runtime key or \
                     an alias ({})",
                    kernel.debug()
                );
                self.remove_fallback(&done, &kernel);
                return Err(Error::new(ErrorKind::Registration, message));
            }
            for column in columns {
                let known = self.fallbacks.iter().position(|(known, _)| *known == column);
                let place = known.unwrap_or_else(|| {
                    self.fallbacks.push((column, Chain::default()));
                    self.fallbacks.len() - 1
                });
                match self.fallbacks[place].1.add(kernel.clone(), may_replace) {
                    Ok(Some(previous)) if replaced.iter().any(|known| Arc::ptr_eq(known, &previous)) => {}
                    Ok(previous) => replaced.extend(previous),
                    Err(first) => {
                        self.remove_fallback(&done, &kernel);
                        let message = format!(
                            "tried to register multiple backend fallbacks for the same dispatch key {column}; previous \
                             registration {}, new registration {}; give the new one a name of its own to join the \
                             chain, or allow overriding",
                            first.debug(),
                            kernel.debug()
                        );
                        return Err(Error::new(ErrorKind::Duplicate, message));
                    }
                }
                done.push(column);
            }
            aftermath.overrides.extend(replaced.iter().map(|previous| Override {
                operator: "every operator without a kernel for the key".into(),
                definition: "(backend fallback)".into(),
                key: *key,
                previous: previous.debug(),
                new: kernel.debug(),
            }));
        }
        Ok(Change::FellBack(done, kernel))
    }

    fn remove_fallback(&mut self, columns: &[DispatchKey], kernel: &Arc<KernelRecord>) {
        for (column, chain) in &mut self.fallbacks {
            if columns.contains(column) {
                chain.remove(kernel);
            }
        }
        self.fallbacks.retain(|(_, chain)| !chain.is_empty());
    }

    /// Undoes one change. `failed` says that the change was never published.
    fn undo(&mut self, change: Change, touched: &mut Touched, aftermath: &mut Aftermath, failed: bool) {
        match change {
            Change::Namespace(namespace) => {
                self.namespaces.remove(&namespace);
            }
            Change::Defined(number, definition) => {
                if let Some(record) = self.operators.get_mut(number) {
                    let operator = record.handle.clone();
                    aftermath.events.push(Event { operator, definition, defined: false });
                    record.definition = None;
                }
                touched.numbers.push(number);
            }
            Change::Implemented(number, key, kernel, pinned) => {
                if let Some(record) = self.operators.get_mut(number) {
                    record.chain_mut(key).remove(&kernel);
                    record.kernels.retain(|(_, chain)| !chain.is_empty());
                    if failed && pinned {
                        *record.pinned(kernel.signature.is_some_and(|signature| signature.is_symbolic())) =
                            None;
                    }
                }
                touched.numbers.push(number);
                aftermath.remove(kernel, failed);
            }
            Change::Ordered(None, names) => {
                self.fallback_orders.remove(&names);
                touched.all = true;
            }
            Change::Ordered(Some(number), names) => {
                if let Some(record) = self.operators.get_mut(number) {
                    record.orders.remove(&names);
                }
                touched.numbers.push(number);
            }
            Change::Columned(number, column) => {
                let columns = match number {
                    Some(number) => self.operators.get_mut(number).map(|record| &mut record.columns),
                    None => Some(&mut self.kind_columns),
                };
                if let Some(columns) = columns
                    && let Some(place) = columns.iter().position(|known| known.is(&column))
                {
                    aftermath.removed_columns.push(columns.remove(place));
                }
                match number {
                    Some(number) => touched.numbers.push(number),
                    None => touched.all = true,
                }
                aftermath.removed_columns.push(*column);
            }
            Change::FellBack(columns, kernel) => {
                self.remove_fallback(&columns, &kernel);
                touched.all = true;
                aftermath.remove(kernel, failed);
            }
        }
    }

    /// Builds the tables of everything that was touched, and publishes them. Whatever is registered has a table, so that
    /// undoing cannot fail either.
    fn rebuild(&mut self, touched: &Touched, aftermath: &mut Aftermath) {
        let new_base = touched.all.then(|| self.new_base());
        let mut numbers: Vec<_> = match touched.all {
            true => self.operators.iter().map(|record| record.handle.0.number).collect(),
            false => touched.numbers.clone(),
        };
        numbers.sort_unstable();
        numbers.dedup();
        numbers.retain(|number| self.operators.get(*number).is_some());
        let base = new_base.as_ref().unwrap_or(&self.base);
        let built = numbers.iter().map(|number| {
            let record = self.operators.get(*number).filter(|record| !record.is_gone());
            record.map(|record| record.table_over(self.rules, base, &self.kind_columns))
        });
        let tables: Vec<_> = built.collect();
        if let Some(base) = new_base {
            self.base = base;
        }
        retirement::retire(|| {
            let mut retired: Vec<_> = aftermath.unregistered.drain(..).map(Retired::Kernel).collect();
            for (number, table) in numbers.into_iter().zip(tables) {
                let replaced = if table.is_none() {
                    self.operators.remove(number).and_then(|mut record| record.publish(None))
                } else {
                    self.operators.get_mut(number).and_then(|record| record.publish(table))
                };
                retired.extend(replaced.map(Retired::Table));
            }
            retired
        });
    }

    /// The table that the rules give for an operator now, to be compared with the published one.
    pub(crate) fn recompute(&self, record: &OperatorRecord) -> Table {
        record.table_over(self.rules, &self.new_base(), &self.kind_columns)
    }

    /// The base that the fallbacks give now.
    fn new_base(&self) -> Arc<Base> {
        Arc::new(base_of(self.rules, &self.fallbacks, &self.fallback_orders, &self.stepped_over))
    }
}
