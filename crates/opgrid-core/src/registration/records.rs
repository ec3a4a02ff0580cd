//! The operators of one dispatcher: records by number, numbers by name.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use opgrid_schema::OperatorName;

use crate::calling::name_index::{NameIndex, NameLookup};
use crate::calling::operator::OperatorHandle;
use crate::calling::retirement::Retired;
use crate::registration::record::OperatorRecord;

/// OperatorRecords with numbers that stay theirs while they are here.
///
/// Invariant: `names` holds the operator of every record and no other.
#[derive(Default)]
pub(crate) struct OperatorRecords {
    records: Vec<Option<Box<OperatorRecord>>>,
    free: Vec<u32>,
    /// The record that was asked for last by who registers: what is said of one operator comes in a row.
    last: u32,
    names: NameIndex,
}

impl OperatorRecords {
    /// What looks names up without the registry's lock.
    pub(crate) fn lookup(&self) -> &Arc<NameLookup> {
        self.names.lookup()
    }

    /// The record of that name.
    pub(crate) fn named(&self, base: &str, overload: &str) -> Option<&OperatorRecord> {
        self.get(self.names.number(base, overload)?)
    }

    /// The record of a handle, unless the operator is gone.
    pub(crate) fn record(&self, operator: &OperatorHandle) -> Option<&OperatorRecord> {
        self.get(operator.0.number).filter(|record| record.handle == *operator)
    }

    /// As [`record`](Self::record).
    pub(crate) fn of_mut(&mut self, operator: &OperatorHandle) -> Option<&mut OperatorRecord> {
        self.get_mut(operator.0.number).filter(|record| record.handle == *operator)
    }

    pub(crate) fn get(&self, number: u32) -> Option<&OperatorRecord> {
        self.records.get(number as usize)?.as_deref()
    }

    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut OperatorRecord> {
        self.records.get_mut(number as usize)?.as_deref_mut()
    }

    /// The record of that name; `make` gives the handle of a new one its number and the hash of its name.
    pub(crate) fn named_or_new(
        &mut self,
        name: &OperatorName,
        make: impl FnOnce(u32, u64) -> OperatorHandle,
    ) -> &mut OperatorRecord {
        if self.get(self.last).is_some_and(|record| record.handle.name() == name) {
            return self.get_mut(self.last).expect("the record was there a line above");
        }
        let number = match self.named(&name.name, &name.overload) {
            Some(record) => record.handle.0.number,
            None => {
                self.reserve(1);
                let number = self.free.pop().unwrap_or_else(|| {
                    self.records.push(None);
                    u32::try_from(self.records.len() - 1).expect("operators fit into memory")
                });
                let operator = make(number, self.names.hash(&name.name, &name.overload));
                self.names.insert(&operator);
                self.records[number as usize] = Some(Box::new(OperatorRecord::new(operator)));
                number
            }
        };
        self.last = number;
        self.get_mut(number).expect("the record is there now")
    }

    /// Makes room for more operators.
    pub(crate) fn reserve(&mut self, more: usize) {
        self.records.reserve(more.saturating_sub(self.free.len()));
        if !self.names.has_room(more) {
            let count = self.records.len() - self.free.len() + more;
            self.names.grow(self.records.iter().flatten().map(|record| &record.handle), count);
        }
    }

    /// Takes a record away, and tells its handles. What comes back is what calls and look-ups may still be looking at: its table,
    /// which holds the operator, or else the operator.
    #[must_use = "calls may still be looking at it"]
    pub(crate) fn remove(&mut self, number: u32) -> Option<Retired> {
        let mut record = self.records.get_mut(number as usize)?.take()?;
        self.names.remove(&record.handle);
        record.handle.0.gone.store(true, Ordering::Release);
        self.free.push(number);
        let table = record.publish(None).map(Retired::Table);
        table.or(Some(Retired::Operator(record.handle)))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &OperatorRecord> {
        self.records.iter().filter_map(Option::as_deref)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut OperatorRecord> {
        self.records.iter_mut().filter_map(Option::as_deref_mut)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &OperatorName> {
        self.iter().map(|record| record.handle.name())
    }
}
