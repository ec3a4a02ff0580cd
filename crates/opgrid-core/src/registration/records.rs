//! The operators of one dispatcher: records by number, numbers by name.

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use opgrid_schema::OperatorName;
use std::hash::BuildHasher;
use std::sync::atomic::Ordering;

use crate::calling::operator::OperatorHandle;
use crate::registration::record::OperatorRecord;

/// OperatorRecords with numbers that stay theirs while they are here.
///
/// Invariant: `names` holds the number of every record, by the hash of its name.
#[derive(Default)]
pub(crate) struct OperatorRecords {
    records: Vec<Option<Box<OperatorRecord>>>,
    free: Vec<u32>,
    /// The record that was asked for last by who registers: what is said of one operator comes in a row.
    last: u32,
    names: HashTable<u32>,
    hasher: RandomState,
}

/// The hash of a record's name.
fn hash_of(records: &[Option<Box<OperatorRecord>>], hasher: &RandomState, number: u32) -> u64 {
    let record = records[number as usize].as_ref().expect("the invariant of `OperatorRecords`");
    let name = record.handle.name();
    hasher.hash_one((name.name.as_str(), name.overload.as_str()))
}

impl OperatorRecords {
    fn hash(&self, base: &str, overload: &str) -> u64 {
        self.hasher.hash_one((base, overload))
    }

    /// The record of that name.
    pub(crate) fn named(&self, base: &str, overload: &str) -> Option<&OperatorRecord> {
        let known = |number: &u32| {
            self.get(*number).is_some_and(|record| {
                let name = record.handle.name();
                name.name == base && name.overload == overload
            })
        };
        self.get(*self.names.find(self.hash(base, overload), known)?)
    }

    /// The record of a handle, unless the operator is gone.
    pub(crate) fn of(&self, operator: &OperatorHandle) -> Option<&OperatorRecord> {
        self.get(operator.0.number).filter(|record| record.handle == *operator)
    }

    /// As [`of`](Self::of).
    pub(crate) fn of_mut(&mut self, operator: &OperatorHandle) -> Option<&mut OperatorRecord> {
        self.get_mut(operator.0.number).filter(|record| record.handle == *operator)
    }

    pub(crate) fn get(&self, number: u32) -> Option<&OperatorRecord> {
        self.records.get(number as usize)?.as_deref()
    }

    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut OperatorRecord> {
        self.records.get_mut(number as usize)?.as_deref_mut()
    }

    /// The record of that name; `make` gives the handle of a new one its number.
    pub(crate) fn named_or_new(
        &mut self,
        name: &OperatorName,
        make: impl FnOnce(u32) -> OperatorHandle,
    ) -> &mut OperatorRecord {
        if self.get(self.last).is_some_and(|record| record.handle.name() == name) {
            return self.get_mut(self.last).expect("the record was there a line above");
        }
        let number = match self.named(&name.name, &name.overload) {
            Some(record) => record.handle.0.number,
            None => {
                let number = self.free.pop().unwrap_or_else(|| {
                    self.records.push(None);
                    u32::try_from(self.records.len() - 1).expect("operators fit into memory")
                });
                self.records[number as usize] = Some(Box::new(OperatorRecord::new(make(number))));
                let hash = self.hash(&name.name, &name.overload);
                let (records, hasher) = (&self.records, &self.hasher);
                self.names.insert_unique(hash, number, |number| hash_of(records, hasher, *number));
                number
            }
        };
        self.last = number;
        self.get_mut(number).expect("the record is there now")
    }

    /// Makes room for more operators.
    pub(crate) fn reserve(&mut self, more: usize) {
        self.records.reserve(more);
        let (records, hasher) = (&self.records, &self.hasher);
        self.names.reserve(more, |number| hash_of(records, hasher, *number));
    }

    /// Takes a record away, and tells its handles.
    pub(crate) fn remove(&mut self, number: u32) -> Option<Box<OperatorRecord>> {
        let record = self.records.get_mut(number as usize)?.take()?;
        record.handle.0.gone.store(true, Ordering::Release);
        let name = record.handle.name();
        let hash = self.hash(&name.name, &name.overload);
        if let Ok(entry) = self.names.find_entry(hash, |known| *known == number) {
            entry.remove();
        }
        self.free.push(number);
        Some(record)
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
