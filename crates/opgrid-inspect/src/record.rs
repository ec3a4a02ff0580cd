//! A registry on paper.

use std::collections::BTreeMap;

use opgrid_core::{Dispatcher, Error, ErrorKind, KernelInfo, Reason, Result, TableSlot};
use serde_json::{Map, Value as Json, json};

/// The version of the format, which a file begins with.
const VERSION: u64 = 1;
const HEAD: &str = "opgrid_registry";

/// What is registered: operators with their schemas, kernels and tables, and fallbacks.
///
/// # Examples
///
/// ```
/// use opgrid_core::{DispatchKey, Dispatcher, Kernel};
/// use opgrid_inspect::{ChangeKind, Record};
///
/// let dispatcher = Dispatcher::new();
/// let mut library = dispatcher.library("my");
/// library.define("my::twice(Tensor self, int times=2) -> Tensor").add(Kernel::boxed(|_| Ok(())));
/// let registration = library.finish()?;
/// let before = Record::from_dispatcher(&dispatcher);
/// assert!(before.changes_to(&Record::from_json(&before.to_json())?).is_empty());
///
/// drop(registration);
/// let changes = before.changes_to(&Record::from_dispatcher(&dispatcher));
/// assert_eq!(changes[0].kind, ChangeKind::RemovedOperator);
/// assert!(changes[0].breaks);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Record {
    /// The operators by name, defined or only implemented.
    pub operators: BTreeMap<String, OperatorOnRecord>,
    /// What the fallback of a key is.
    pub fallbacks: BTreeMap<String, SlotOnRecord>,
}

/// An operator on paper.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OperatorOnRecord {
    /// The schema; none of an operator that is only implemented.
    pub schema: Option<String>,
    /// The tags.
    pub tags: Vec<String>,
    /// The kernels as they were registered, by key, aliases included.
    pub kernels: BTreeMap<String, Vec<KernelOnRecord>>,
    /// What fills the columns that have something.
    pub slots: BTreeMap<String, SlotOnRecord>,
}

/// A registered kernel on paper.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelOnRecord {
    /// Its name, else its author's text, else its sort.
    pub title: String,
    /// What has to hold of the arguments for it to run.
    pub condition: Option<String>,
    /// File and line of the registration, which comparisons leave out.
    pub place: String,
}

impl KernelOnRecord {
    fn from_info(kernel: &KernelInfo) -> Self {
        let (title, place) = (kernel.title().to_owned(), kernel.place.clone());
        Self { title, condition: kernel.condition.clone(), place }
    }
}

/// What fills a slot, on paper.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SlotOnRecord {
    /// The rule that filled it, as in `alias CompositeImplicitAutograd`.
    pub reason: String,
    /// Whether calls step over it.
    pub fallthrough: bool,
}

impl SlotOnRecord {
    fn from_slot(slot: &TableSlot) -> Self {
        Self { reason: slot.reason.to_string(), fallthrough: slot.fallthrough }
    }

    /// Whether it is the fallback of its key.
    pub fn is_fallback(&self) -> bool {
        self.reason == Reason::Fallback.to_string()
    }

    /// The slot as changes describe it.
    pub(crate) fn described(&self) -> String {
        format!("{}{}", self.reason, if self.fallthrough { " (fallthrough)" } else { "" })
    }
}

impl Record {
    /// What is registered now.
    ///
    /// What is taken back meanwhile is left out.
    pub fn from_dispatcher(dispatcher: &Dispatcher) -> Self {
        let fallbacks = dispatcher.registered_fallbacks();
        let slots = fallbacks.iter().filter_map(|(key, _)| dispatcher.default_slot(*key).ok());
        let fallbacks = slots.map(|slot| (slot.key.to_string(), SlotOnRecord::from_slot(&slot))).collect();
        let mut record = Self { fallbacks, ..Self::default() };
        let dangling = dispatcher.dangling_implementations();
        for operator in dispatcher.operators().into_iter().chain(dangling) {
            let (Ok(kernels), Ok(table)) = (operator.registered_kernels(), operator.table()) else {
                continue;
            };
            let kernels = kernels.iter().map(|(key, kernels)| {
                (key.to_string(), kernels.iter().map(KernelOnRecord::from_info).collect())
            });
            let filled = table.iter().filter(|slot| slot.reason.is_registered());
            let slots: BTreeMap<_, _> =
                filled.map(|slot| (slot.key.to_string(), SlotOnRecord::from_slot(slot))).collect();
            let found = OperatorOnRecord {
                schema: operator.schema().ok().map(|schema| schema.to_string()),
                tags: operator.tags(),
                kernels: kernels.collect(),
                slots,
            };
            record.operators.insert(operator.name().to_string(), found);
        }
        record
    }

    /// The operators of some namespaces only, with all fallbacks.
    pub fn of_namespaces(mut self, admit: impl Fn(&str) -> bool) -> Self {
        self.operators.retain(|name, _| admit(name.split_once("::").map_or("", |(namespace, _)| namespace)));
        self
    }

    /// The record as JSON: columns that the same rule filled stand together.
    pub fn to_json(&self) -> Json {
        let operators: Map<_, _> =
            self.operators.iter().map(|(name, operator)| (name.clone(), operator.to_json())).collect();
        json!({HEAD: VERSION, "fallbacks": slots_to_json(&self.fallbacks), "operators": operators})
    }

    /// The record that a JSON says.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Value`] for what is no record, or one of another version.
    pub fn from_json(value: &Json) -> Result<Self> {
        match value[HEAD].as_u64() {
            Some(VERSION) => {}
            Some(other) => {
                let message = format!(
                    "found a registry record of version {other}, expected {VERSION}; record it again \
                     with this program"
                );
                return Err(Error::new(ErrorKind::Value, message));
            }
            None => return Err(no_record("an object that begins with `opgrid_registry`")),
        }
        let operators = value["operators"].as_object().ok_or_else(|| no_record("`operators`, an object"))?;
        let operators = operators.iter().map(|(name, operator)| {
            let read = OperatorOnRecord::from_json(operator).map_err(|error| error.within(name))?;
            Ok((name.clone(), read))
        });
        Ok(Self {
            operators: operators.collect::<Result<_>>()?,
            fallbacks: slots_from_json(&value["fallbacks"])?,
        })
    }
}

impl OperatorOnRecord {
    fn to_json(&self) -> Json {
        let kernel = |kernel: &KernelOnRecord| match &kernel.condition {
            Some(condition) => json!({"title": kernel.title, "condition": condition, "place": kernel.place}),
            None => json!({"title": kernel.title, "place": kernel.place}),
        };
        let kernels: Map<_, _> = self
            .kernels
            .iter()
            .map(|(key, kernels)| (key.clone(), kernels.iter().map(kernel).collect()))
            .collect();
        json!({"schema": self.schema, "tags": self.tags, "kernels": kernels, "slots": slots_to_json(&self.slots)})
    }

    fn from_json(value: &Json) -> Result<Self> {
        let text =
            |value: &Json, what: &str| value.as_str().map(str::to_owned).ok_or_else(|| no_record(what));
        let kernel = |value: &Json| {
            Ok(KernelOnRecord {
                title: text(&value["title"], "`title`, a string")?,
                condition: value["condition"].as_str().map(str::to_owned),
                place: text(&value["place"], "`place`, a string")?,
            })
        };
        let kernels = value["kernels"].as_object().ok_or_else(|| no_record("`kernels`, an object"))?;
        let kernels = kernels.iter().map(|(key, list)| {
            let list = list.as_array().ok_or_else(|| no_record("a list of kernels"))?;
            Ok((key.clone(), list.iter().map(kernel).collect::<Result<_>>()?))
        });
        let tags = value["tags"].as_array().ok_or_else(|| no_record("`tags`, a list"))?;
        Ok(Self {
            schema: value["schema"].as_str().map(str::to_owned),
            tags: tags.iter().map(|tag| text(tag, "a tag, a string")).collect::<Result<_>>()?,
            kernels: kernels.collect::<Result<_>>()?,
            slots: slots_from_json(&value["slots"])?,
        })
    }
}

/// `{"direct": ["CPU", "Meta"], "fallback (fallthrough)": ["ADInplaceOrView"]}`
fn slots_to_json(slots: &BTreeMap<String, SlotOnRecord>) -> Json {
    let mut groups: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (key, slot) in slots {
        groups.entry(slot.described()).or_default().push(key);
    }
    json!(groups)
}

fn slots_from_json(value: &Json) -> Result<BTreeMap<String, SlotOnRecord>> {
    let groups = value.as_object().ok_or_else(|| no_record("slots by what fills them, an object"))?;
    let mut slots = BTreeMap::new();
    for (described, keys) in groups {
        let (reason, fallthrough) = match described.strip_suffix(" (fallthrough)") {
            Some(reason) => (reason, true),
            None => (described.as_str(), false),
        };
        for key in keys.as_array().ok_or_else(|| no_record("a list of keys"))? {
            let key = key.as_str().ok_or_else(|| no_record("the name of a key"))?.to_owned();
            slots.insert(key, SlotOnRecord { reason: reason.to_owned(), fallthrough });
        }
    }
    Ok(slots)
}

#[cold]
fn no_record(expected: &str) -> Error {
    let message = format!("found something other than a registry record, expected {expected}");
    Error::new(ErrorKind::Value, message)
}
