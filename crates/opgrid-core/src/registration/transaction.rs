//! A change of what is registered, all of it or nothing: the items of a library are applied, and undone.
//!
//! The items of one library are applied to the registry under its lock, the tables of every operator that they touched
//! are built, and only then published, one by one: a failure on the way undoes what was applied, and nothing was
//! published. Of each operator a call sees the old table or the new one; one that begins after the library is finished
//! sees all of it. Old tables and kernels are freed after the lock is released.

use std::sync::Arc;

use opgrid_schema::OperatorName;

use crate::calling::columns::HeldColumn;
use crate::calling::conditions::Names;
use crate::calling::kernel::{Kernel, KernelRecord, Life};
use crate::calling::kind::Kind;
use crate::calling::operator::Definition;
use crate::calling::retirement;
use crate::error::{Error, ErrorKind, Result};
use crate::keys::key::DispatchKey;
use crate::place::Place;
use crate::registration::chain::Chain;
use crate::registration::listener::{Event, Override};
use crate::registration::on_demand::Groups;
use crate::registration::registry::{Namespace, Registry};

/// One thing that a library asks for.
pub(crate) enum Item {
    /// A namespace, and what is said to who looks for an operator in it that is not there.
    Namespace(String, Option<&'static str>),
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
    OnDemand(Groups),
}

impl Item {
    /// The operator that it is about, if it is about one.
    pub(super) fn operator(&self) -> Option<&OperatorName> {
        match self {
            Self::Define(definition) => Some(&definition.schema.name),
            Self::Implement { name, .. } => Some(name),
            Self::Order { name, .. } | Self::Column { name, .. } => name.as_ref(),
            Self::Namespace(..) | Self::Fallback { .. } | Self::OnDemand(_) => None,
        }
    }
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
    OnDemand(Groups),
}

/// What a transaction leaves to be done after the lock is released.
#[derive(Default)]
pub(super) struct Aftermath {
    pub(super) events: Vec<Event>,
    pub(super) overrides: Vec<Override>,
    /// Kernels that calls may have found. They are retired together with the tables.
    pub(super) unregistered: Vec<Arc<KernelRecord>>,
    /// Counts of kernels that are still registered, or were never seen by calls.
    pub(super) removed: Vec<Arc<KernelRecord>>,
    /// Columns that are no longer registered, or never were: their values are not dropped under the lock.
    pub(super) removed_columns: Vec<HeldColumn>,
    /// Whether kernels with state of users were removed, which are not kept longer than calls need them.
    pub(super) frees_state: bool,
    pub(super) unapplied: Vec<Item>,
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

/// The operators that a transaction changed.
#[derive(Default)]
pub(super) struct Touched {
    pub(super) numbers: Vec<u32>,
    pub(super) all: bool,
}

impl Registry {
    /// Applies the items of a library, all or none.
    pub(super) fn apply_all(
        &mut self,
        items: Vec<Item>,
        place: Place,
        aftermath: &mut Aftermath,
    ) -> Result<Vec<Change>> {
        let mut touched = Touched::default();
        let mut changes = Vec::with_capacity(items.len());
        self.operators.reserve(items.iter().filter(|item| matches!(item, Item::Define(_))).count());
        let mut result = Ok(());
        let mut items = items.into_iter();
        let life = Life::default();
        for mut item in items.by_ref() {
            if let Item::Implement { kernel, .. } | Item::Fallback { kernel, .. } = &mut item {
                kernel.record.life = Some(life.clone());
            }
            match self.apply(item, place, &mut touched, aftermath) {
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
            let records = &mut self.operators;
            touched.numbers.retain(|number| {
                records.get(*number).is_some_and(|record| record.table.is_none() && record.is_gone())
            });
            retirement::retire(|| {
                touched.numbers.iter().filter_map(|number| records.remove(*number)).collect()
            });
            return Err(error);
        }
        self.rebuild(&touched, aftermath);
        Ok(changes)
    }

    /// Undoes what a library did.
    pub(super) fn undo_all(&mut self, changes: Vec<Change>, aftermath: &mut Aftermath) {
        let mut touched = Touched::default();
        for change in changes.into_iter().rev() {
            self.undo(change, &mut touched, aftermath, false);
        }
        self.rebuild(&touched, aftermath);
    }

    fn apply(
        &mut self,
        item: Item,
        place: Place,
        touched: &mut Touched,
        aftermath: &mut Aftermath,
    ) -> Result<Change> {
        match item {
            Item::Namespace(namespace, hint) => self.claim(namespace, hint, place),
            Item::Define(definition) => self.define(*definition, touched, aftermath),
            Item::Implement { name, key, kernel, may_replace } => {
                self.implement(name, key, kernel, may_replace, touched, aftermath)
            }
            Item::Fallback { keys, kernel, may_replace } => {
                touched.all = true;
                let kernel = Arc::new(kernel.record);
                aftermath.removed.push(kernel.clone());
                self.fall_back(&keys, kernel, may_replace, aftermath)
            }
            Item::Column { name, column, may_replace } => {
                self.carry(name, column, may_replace, touched, aftermath)
            }
            Item::OnDemand(groups) => match self.demand.add(groups.clone()) {
                Ok(()) => Ok(Change::OnDemand(groups)),
                Err(name) => {
                    let message = format!(
                        "{name}: the on-demand group of this operator is registered already; register \
                         it once, or drop the registration of the library that has it first"
                    );
                    Err(Error::new(ErrorKind::Duplicate, message))
                }
            },
            Item::Order { name, key, names } => {
                let number = match name {
                    None => {
                        touched.all = true;
                        self.fallback_orders.add(key, names.clone());
                        None
                    }
                    Some(name) => {
                        let record = self.record(&name);
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
        name: Option<OperatorName>,
        column: HeldColumn,
        may_replace: bool,
        touched: &mut Touched,
        aftermath: &mut Aftermath,
    ) -> Result<Change> {
        // Whatever becomes of it, the value is not dropped under the lock.
        aftermath.removed_columns.push(column.clone());
        let (number, columns) = match &name {
            Some(name) => {
                let record = self.record(name);
                (Some(record.handle.0.number), &mut record.columns)
            }
            None => (None, &mut self.kind_columns),
        };
        let same = |known: &&HeldColumn| known.id == column.id && known.kind == column.kind;
        if let Some(first) = columns.iter().find(same).filter(|_| !may_replace) {
            let subject = match &name {
                Some(name) => name.to_string(),
                None => format!("kind {}", column.kind.as_ref().map_or("", Kind::name)),
            };
            let message = format!(
                "{subject}: column `{}` already has a value. First value: {}. New value: {}. Drop the \
                 first registration, or allow overriding",
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

    fn claim(&mut self, namespace: String, hint: Option<&'static str>, place: Place) -> Result<Change> {
        if let Some(first) = self.namespaces.get(&namespace) {
            let message = format!(
                "only a single library can define the namespace {namespace}; use `Dispatcher::fragment` to add \
                 operators to it, or `Dispatcher::implementations` to add kernels. Previous registration of the \
                 library was registered at {}; latest registration was registered at {}",
                first.place, place,
            );
            return Err(Error::new(ErrorKind::Duplicate, message));
        }
        self.namespaces.insert(namespace.clone(), Namespace { place, hint });
        Ok(Change::Namespace(namespace))
    }

    fn define(
        &mut self,
        definition: Definition,
        touched: &mut Touched,
        aftermath: &mut Aftermath,
    ) -> Result<Change> {
        let record = self.record(&definition.schema.name);
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
                "{name}: a kernel for {column} would never run, because {column} is not a runtime key; \
                 register it for {column} with a backend, or for an alias ({})",
                kernel.debug()
            );
            return Err(Error::new(ErrorKind::Registration, message));
        }
        let record = self.record(&name);
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
                let index = known.unwrap_or_else(|| {
                    self.fallbacks.push((column, Chain::default()));
                    self.fallbacks.len() - 1
                });
                match self.fallbacks[index].1.add(kernel.clone(), may_replace) {
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
                    && let Some(index) = columns.iter().position(|known| known.is(&column))
                {
                    aftermath.removed_columns.push(columns.remove(index));
                }
                match number {
                    Some(number) => touched.numbers.push(number),
                    None => touched.all = true,
                }
                aftermath.removed_columns.push(*column);
            }
            Change::OnDemand(groups) => {
                for change in self.demand.remove(&groups).into_iter().rev() {
                    self.undo(change, touched, aftermath, failed);
                }
            }
            Change::FellBack(columns, kernel) => {
                self.remove_fallback(&columns, &kernel);
                touched.all = true;
                aftermath.remove(kernel, failed);
            }
        }
    }
}
