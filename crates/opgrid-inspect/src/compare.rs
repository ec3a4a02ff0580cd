//! What changed between two registries on record.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use opgrid_core::schema::FunctionSchema;
use serde_json::{Value as Json, json};

use crate::record::{KernelOnRecord, OperatorOnRecord, Record, SlotOnRecord};

/// A sort of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ChangeKind {
    /// An operator is gone with all of its overloads.
    RemovedOperator,
    /// An overload is gone, of an operator that has others.
    RemovedOverload,
    /// An operator or an overload is new.
    AddedOperator,
    /// An argument that is left out has another value.
    ChangedDefault,
    /// The schema differs in something else.
    ChangedSchema,
    /// The tags differ.
    ChangedTags,
    /// Keys at which there is no kernel any more.
    LostKernel,
    /// Keys at which there was no kernel.
    NewKernel,
    /// Keys that calls step over now.
    NewFallthrough,
    /// Keys that calls stepped over.
    EndedFallthrough,
    /// Keys that another rule fills now, such as a kernel of their own instead of a composite.
    ChangedReason,
    /// The kernels of a key have other names or conditions.
    ChangedProviders,
}

impl ChangeKind {
    /// The name that listings show, as in `removed-overload`.
    pub fn name(self) -> &'static str {
        match self {
            Self::RemovedOperator => "removed-operator",
            Self::RemovedOverload => "removed-overload",
            Self::AddedOperator => "added-operator",
            Self::ChangedDefault => "changed-default",
            Self::ChangedSchema => "changed-schema",
            Self::ChangedTags => "changed-tags",
            Self::LostKernel => "lost-kernel",
            Self::NewKernel => "new-kernel",
            Self::NewFallthrough => "new-fallthrough",
            Self::EndedFallthrough => "ended-fallthrough",
            Self::ChangedReason => "changed-reason",
            Self::ChangedProviders => "changed-providers",
        }
    }
}

impl fmt::Display for ChangeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A difference between two registries.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The sort of change.
    pub kind: ChangeKind,
    /// Whether calls that worked may fail now, or compute something else.
    pub breaks: bool,
    /// The operator; `_` for fallbacks, which belong to all.
    pub operator: String,
    /// What was and what is.
    pub message: String,
}

impl Change {
    /// The change as JSON.
    pub fn to_json(&self) -> Json {
        json!({
            "kind": self.kind.name(),
            "breaks": self.breaks,
            "operator": self.operator,
            "message": self.message,
        })
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.kind, self.operator, self.message)
    }
}

impl Record {
    /// What changed from this registry to a newer one, those changes first that break callers.
    ///
    /// Places are not compared, so that a line more in a file is no change. What fallbacks do is said once, under `_`, and
    /// not for every operator.
    pub fn changes_to(&self, new: &Self) -> Vec<Change> {
        let mut changes = Changes::default();
        changes.slots("_", &self.fallbacks, &new.fallbacks);
        for (name, old) in &self.operators {
            match new.operators.get(name) {
                None => changes.removed(name, new),
                Some(new) => changes.operator(name, old, new),
            }
        }
        for name in new.operators.keys().filter(|name| !self.operators.contains_key(*name)) {
            changes.add(ChangeKind::AddedOperator, false, name, "is new".to_owned());
        }
        let mut list = changes.0;
        list.sort_by(|a, b| (!a.breaks, &a.operator, a.kind).cmp(&(!b.breaks, &b.operator, b.kind)));
        list
    }
}

#[derive(Default)]
struct Changes(Vec<Change>);

impl Changes {
    fn add(&mut self, kind: ChangeKind, breaks: bool, operator: &str, message: String) {
        self.0.push(Change { kind, breaks, operator: operator.to_owned(), message });
    }

    fn removed(&mut self, name: &str, new: &Record) {
        let base = |name: &str| name.split_once('.').map_or(name, |(base, _)| base).to_owned();
        let left: Vec<_> =
            new.operators.keys().filter(|other| base(other) == base(name)).map(String::as_str).collect();
        match left.as_slice() {
            [] => self.add(ChangeKind::RemovedOperator, true, name, "is gone".to_owned()),
            left => {
                let message = format!("was removed; remaining: {}", left.join(", "));
                self.add(ChangeKind::RemovedOverload, true, name, message);
            }
        }
    }

    fn operator(&mut self, name: &str, old: &OperatorOnRecord, new: &OperatorOnRecord) {
        self.schema(name, old.schema.as_deref(), new.schema.as_deref());
        if old.tags != new.tags {
            let message = format!("[{}] became [{}]", old.tags.join(", "), new.tags.join(", "));
            self.add(ChangeKind::ChangedTags, false, name, message);
        }
        let own = |slots: &BTreeMap<String, SlotOnRecord>, others: &BTreeMap<String, SlotOnRecord>| {
            // A slot that only its key's fallback fills, or filled, is told with the fallback.
            let tells = |(key, slot): &(&String, &SlotOnRecord)| {
                !slot.is_fallback() || others.get(*key).is_some_and(|other| !other.is_fallback())
            };
            slots.iter().filter(tells).map(|(key, slot)| (key.clone(), slot.clone())).collect()
        };
        self.slots(name, &own(&old.slots, &new.slots), &own(&new.slots, &old.slots));
        self.providers(name, old, new);
    }

    fn schema(&mut self, name: &str, old: Option<&str>, new: Option<&str>) {
        let (old, new) = match (old, new) {
            (Some(old), Some(new)) if old != new => (old, new),
            (Some(_), None) => {
                return self.add(ChangeKind::ChangedSchema, true, name, "is no longer defined".to_owned());
            }
            (None, Some(new)) => {
                return self.add(ChangeKind::ChangedSchema, false, name, format!("was added, as {new}"));
            }
            _ => return,
        };
        let (Ok(before), Ok(mut after)) = (FunctionSchema::parse(old), FunctionSchema::parse(new)) else {
            return self.add(ChangeKind::ChangedSchema, true, name, format!("{old} became {new}"));
        };
        for argument in &mut after.arguments {
            let Some(known) = before.arguments.iter().find(|known| known.name == argument.name) else {
                continue;
            };
            if let (Some(was), Some(is)) = (&known.default, &argument.default)
                && was != is
            {
                let message =
                    format!("the default of argument `{}` was {was} and is now {is}", argument.name);
                self.add(ChangeKind::ChangedDefault, true, name, message);
                argument.default = known.default.clone();
            }
        }
        if before == after {
            return;
        }
        match after.is_backward_compatible_with(&before) {
            Ok(()) => self.add(ChangeKind::ChangedSchema, false, name, format!("{old} became {new}")),
            Err(found) => {
                let reasons: Vec<_> = found.reasons().iter().map(ToString::to_string).collect();
                let message = format!("{old} became {new}: {}", reasons.join("; "));
                self.add(ChangeKind::ChangedSchema, true, name, message);
            }
        }
    }

    /// What fills the columns: those that changed alike are told together.
    fn slots(
        &mut self,
        name: &str,
        old: &BTreeMap<String, SlotOnRecord>,
        new: &BTreeMap<String, SlotOnRecord>,
    ) {
        let mut alike: BTreeMap<(ChangeKind, bool, String), Vec<&str>> = BTreeMap::new();
        for key in old.keys().chain(new.keys()).collect::<BTreeSet<_>>() {
            let Some((kind, breaks, message)) = slot_change(old.get(key), new.get(key)) else { continue };
            alike.entry((kind, breaks, message)).or_default().push(key);
        }
        for ((kind, breaks, message), keys) in alike {
            self.add(kind, breaks, name, format!("{}: {message}", shortened(&keys)));
        }
    }

    /// Kernels of a cell that was there and is there.
    fn providers(&mut self, name: &str, old: &OperatorOnRecord, new: &OperatorOnRecord) {
        let title = |kernel: &KernelOnRecord| match &kernel.condition {
            Some(condition) => format!("{} when {condition}", kernel.title),
            None => kernel.title.clone(),
        };
        let titles = |kernels: &[KernelOnRecord]| kernels.iter().map(title).collect::<Vec<_>>().join(", ");
        for (key, before) in &old.kernels {
            let Some(after) = new.kernels.get(key) else { continue };
            let (before, after) = (titles(before), titles(after));
            if before != after {
                let message = format!("{key}: {before} became {after}");
                self.add(ChangeKind::ChangedProviders, false, name, message);
            }
        }
    }
}

/// What a change of a slot is, whether it breaks callers, and what to say.
fn slot_change(old: Option<&SlotOnRecord>, new: Option<&SlotOnRecord>) -> Option<(ChangeKind, bool, String)> {
    let ambiguous = |slot: &SlotOnRecord| slot.reason == "ambiguous";
    let (kind, breaks) = match (old, new) {
        (None, None) => return None,
        (Some(old), Some(new)) if old == new => return None,
        (Some(old), None) if old.fallthrough => (ChangeKind::EndedFallthrough, true),
        (Some(_), None) => (ChangeKind::LostKernel, true),
        (None, Some(new)) if new.fallthrough => (ChangeKind::NewFallthrough, false),
        (None, Some(_)) => (ChangeKind::NewKernel, false),
        (Some(old), Some(new)) if new.fallthrough && !old.fallthrough => (ChangeKind::NewFallthrough, true),
        (Some(old), Some(new)) if old.fallthrough && !new.fallthrough => {
            (ChangeKind::EndedFallthrough, false)
        }
        (Some(_), Some(new)) => (ChangeKind::ChangedReason, ambiguous(new)),
    };
    let described = |slot: Option<&SlotOnRecord>| slot.map_or("nothing".to_owned(), SlotOnRecord::described);
    Some((kind, breaks, format!("{} became {}", described(old), described(new))))
}

/// The first keys of a list, and how many there are more.
fn shortened(keys: &[&str]) -> String {
    const SHOWN: usize = 4;
    match keys.len().checked_sub(SHOWN) {
        Some(more @ 2..) => format!("{} and {more} more", keys[..SHOWN].join(", ")),
        _ => keys.join(", "),
    }
}
