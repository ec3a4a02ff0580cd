//! What is registered: names to operators, kernels per key, fallbacks; and the tables that follow from it.
//!
//! `transaction.rs` changes it.

use std::cell::OnceCell;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Weak};

use hashbrown::HashMap;
use opgrid_schema::OperatorName;

use crate::calling::columns::HeldColumn;
use crate::calling::kernel::{Kernel, KernelRecord};
use crate::calling::operator::{Entry, OperatorHandle};
use crate::calling::owner::Owner;
use crate::calling::reason::Reason;
use crate::calling::retirement::{self, Published, Retired};
use crate::calling::table::{Base, Slot, Table};
use crate::error::{Error, ErrorKind, Result};
use crate::keys::key::DispatchKey;
use crate::place::Place;
use crate::registration::chain::Chain;
use crate::registration::on_demand::Demand;
use crate::registration::provider::Orders;
use crate::registration::record::OperatorRecord;
use crate::registration::records::OperatorRecords;
use crate::registration::resolve::{Kernels, Rules, base_of};
use crate::registration::transaction::{Aftermath, Touched};

/// A namespace that a library has claimed.
pub(super) struct Namespace {
    pub(super) place: Place,
    pub(super) hint: Option<&'static str>,
}

/// Everything behind the lock.
pub(crate) struct Registry {
    /// Whether it is that of another dispatcher than the global one, and which.
    foreign: bool,
    owner: Weak<dyn Owner>,
    rules: Rules,
    pub(crate) operators: OperatorRecords,
    /// Operators that are registered when they are needed.
    pub(super) demand: Demand,
    pub(super) namespaces: HashMap<String, Namespace, foldhash::fast::RandomState>,
    pub(crate) fallbacks: Vec<(DispatchKey, Chain)>,
    pub(super) fallback_orders: Orders,
    /// The columns that fall through unless somebody registers a fallback for them.
    stepped_over: Vec<DispatchKey>,
    /// The table of an operator without kernels, made when it is first needed.
    base: OnceCell<Arc<Base>>,
    /// The columns of kinds, in the order in which they were registered.
    pub(super) kind_columns: Vec<HeldColumn>,
}

impl Registry {
    /// A registry without operators, whose calls step over the given columns.
    pub(super) fn new(
        foreign: bool,
        owner: Weak<dyn Owner>,
        rules: Rules,
        stepped_over: Vec<DispatchKey>,
    ) -> Self {
        Self {
            foreign,
            owner,
            rules,
            operators: OperatorRecords::default(),
            demand: Demand::default(),
            namespaces: HashMap::default(),
            fallbacks: Vec::new(),
            fallback_orders: Orders::default(),
            base: OnceCell::new(),
            stepped_over,
            kind_columns: Vec::new(),
        }
    }

    /// The kernel registered for a key, else the key's fallback.
    ///
    /// # Errors
    ///
    /// Neither is there; the operator is gone.
    pub(super) fn kernel_for_key(
        &self,
        operator: &OperatorHandle,
        key: DispatchKey,
    ) -> Result<Arc<KernelRecord>> {
        let record = self.operators.record(operator).ok_or_else(|| operator.stale())?;
        let nothing = || Slot { kernel: Arc::new(Kernel::missing().record), reason: Reason::Missing };
        if let Some(cell) = record.cell(key) {
            return Ok(cell.kernel(record.order(key), nothing));
        }
        let fallback = self.fallbacks.iter().find(|(known, _)| *known == key);
        fallback.map(|(_, chain)| chain.kernel(self.fallback_orders.for_key(key), nothing)).ok_or_else(|| {
            let message =
                format!("{}: no kernel for {key}; register one, or a fallback for the key", operator.name());
            Error::new(ErrorKind::MissingKernel, message)
        })
    }

    /// Takes everything out that calls may still be looking at.
    pub(super) fn take_down(&mut self) -> Vec<Retired> {
        let mut retired = Vec::new();
        for record in self.operators.iter_mut() {
            retired.extend(record.publish(None).map(Retired::Table));
            let kernels = record.kernels.drain(..).flat_map(|(_, chain)| chain.into_kernels());
            retired.extend(kernels.map(Retired::Kernel));
        }
        let fallbacks = self.fallbacks.drain(..).flat_map(|(_, chain)| chain.into_kernels());
        retired.extend(fallbacks.map(Retired::Kernel));
        retired
    }

    /// The record of an operator, which is made if there is none.
    pub(super) fn record(&mut self, name: &OperatorName) -> &mut OperatorRecord {
        let (foreign, owner) = (self.foreign, &self.owner);
        self.operators.named_or_new(name, |number, hash| {
            let (table, dispatcher, name) = (Published::new(), owner.clone(), name.clone());
            let (gone, is_found) = (AtomicBool::new(false), AtomicBool::new(false));
            let entry = Entry { table, foreign, gone, is_found, name, hash, number, dispatcher };
            OperatorHandle(Arc::new(entry))
        })
    }

    /// What is said to who looks for an operator of the namespace that is not there.
    pub(super) fn hint_of(&self, namespace: &str) -> Option<&'static str> {
        self.namespaces.get(namespace)?.hint
    }

    /// Makes the table of an operator that has none yet. Whatever is registered can have a table, so that undoing cannot
    /// fail either.
    pub(super) fn make_table(&mut self, operator: &OperatorHandle) {
        let base = self.base().clone();
        let (rules, kind_columns) = (self.rules, &self.kind_columns);
        if let Some(record) = self.operators.of_mut(operator).filter(|record| record.table.is_none()) {
            let table = record.table_over(rules, &base, kind_columns);
            record.publish(Some(table));
        }
    }

    /// Builds the tables of everything that was touched, and publishes them. What nobody has needed has no table, and gets
    /// none here.
    pub(super) fn rebuild(&mut self, touched: &Touched, aftermath: &mut Aftermath) {
        let mut numbers: Vec<_> = if touched.all {
            self.operators.iter().map(|record| record.handle.0.number).collect()
        } else {
            touched.numbers.clone()
        };
        numbers.sort_unstable();
        numbers.dedup();
        numbers.retain(|number| {
            self.operators.get(*number).is_some_and(|record| record.table.is_some() || record.is_gone())
        });
        if touched.all {
            // Made by the first table that needs it.
            self.base = OnceCell::new();
        }
        let built = numbers.iter().map(|number| {
            let record = self.operators.get(*number).filter(|record| !record.is_gone());
            record.map(|record| record.table_over(self.rules, self.base(), &self.kind_columns))
        });
        let tables: Vec<_> = built.collect();
        retirement::retire(|| {
            let mut retired: Vec<_> = aftermath.unregistered.drain(..).map(Retired::Kernel).collect();
            for (number, table) in numbers.into_iter().zip(tables) {
                let replaced = if table.is_none() {
                    self.operators.remove(number)
                } else {
                    self.operators
                        .get_mut(number)
                        .and_then(|record| record.publish(table))
                        .map(Retired::Table)
                };
                retired.extend(replaced);
            }
            retired
        });
    }

    /// The table that the rules give for an operator now, to be compared with the published one.
    pub(crate) fn recompute(&self, record: &OperatorRecord) -> Table {
        record.table_over(self.rules, &self.new_base(), &self.kind_columns)
    }

    /// The table of an operator without kernels.
    pub(crate) fn base(&self) -> &Arc<Base> {
        self.base.get_or_init(|| self.new_base())
    }

    /// The base that the fallbacks give now.
    fn new_base(&self) -> Arc<Base> {
        Arc::new(base_of(self.rules, &self.fallbacks, &self.fallback_orders, &self.stepped_over))
    }
}
