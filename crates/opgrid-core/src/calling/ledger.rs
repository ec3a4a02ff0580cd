//! Slow paths: counted per operator, shown by [`stats`], and errors in [strict](crate::strict()) mode.
//!
//! A slow path gives the right result by a way that costs more than its author meant: a typed call that has to lend
//! its arguments as values, a fallback in the place of a kernel, a copy to another device and back. None of them is an
//! error, so all of them are easily overlooked.
//!
//! The dispatcher counts its own. Whoever adds another one, such as a backend that computes through the CPU, makes a
//! [`SlowPath`] and calls [`note`] or [`BoxedCall::note_slow_path`](crate::BoxedCall::note_slow_path) **before** taking
//! it, because in strict mode that is where the error comes from.
//!
//! What is no slow path: a boxed call of a typed kernel, whose caller has values already; calls that fail for want of
//! a kernel; fallthroughs, which cost nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};

use serde_json::{Value as Json, json};

use crate::calling::call::{BoxedCall, Next};
use crate::calling::kernel::{KernelRecord, kernels_alive};
use crate::calling::operator::OperatorHandle;
use crate::calling::retirement::retired_tables;
use crate::calling::shard::{self, Shard, Subject, Tag};
use crate::calling::strict;
use crate::calling::table::TableRef;
use crate::calling::thread::with_thread;
use crate::error::Result;
use crate::keys::key::DispatchKey;
use crate::keys::set::DispatchKeySet;
use crate::registration::dispatcher::Dispatcher;
use crate::signatures::signature::Signature;

/// A kind of slow path: its name, and what to do about it. Kinds of one name are one kind.
///
/// # Examples
///
/// ```
/// use opgrid_core::SlowPath;
///
/// const THROUGH_DISK: SlowPath = SlowPath::new("copy through the disk", "give the machine more memory");
/// assert_ne!(THROUGH_DISK, SlowPath::CPU_COPY);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SlowPath {
    name: &'static str,
    remedy: &'static str,
}

impl SlowPath {
    /// A typed call reached a kernel that is not of its signature: its arguments are lent as values, and its results
    /// come back as values. The other direction is not slow: who calls with values has them already.
    pub const BOXED_ADAPTATION: Self =
        Self::new("boxed adaptation", "register a kernel of the operator's own types");
    /// A call ran the fallback of a key, because the operator has no kernel for it. Counted in the place of the boxed
    /// adaptation that a typed call of it includes.
    pub const FALLBACK: Self = Self::new("fallback", "register a kernel of the operator for the key");
    /// A kernel that comes first in its cell refused the arguments, and a later one ran.
    pub const PROVIDER_REFUSED: Self =
        Self::new("provider refused", "bring the arguments into the form that the first kernel asks for");
    /// A backend computed on the CPU, with copies there and back.
    pub const CPU_COPY: Self = Self::new("copy through the CPU", "register a kernel for the backend");
    /// A batched call ran its operator once for each element of the batch.
    pub const BATCH_LOOP: Self = Self::new("loop over a batch", "give the operator a batching rule");

    /// A kind called `name` (a noun, lower case) with what can be done about it (an order, lower case).
    pub const fn new(name: &'static str, remedy: &'static str) -> Self {
        Self { name, remedy }
    }

    /// The name.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// What can be done about it.
    pub fn remedy(self) -> &'static str {
        self.remedy
    }
}

impl PartialEq for SlowPath {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for SlowPath {}

impl Hash for SlowPath {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Display for SlowPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Counts that a call of `operator` is about to take a slow path.
///
/// # Errors
///
/// [`ErrorKind::SlowPath`](crate::ErrorKind::SlowPath) in strict mode; then the slow path must not be taken.
pub fn note(path: SlowPath, operator: &OperatorHandle) -> Result<()> {
    note_subject(Subject { path, operator: operator.clone(), key: None }, None, None)
}

/// Counts a boxed adaptation that is not counted on the line of its kernel yet.
///
/// # Errors
///
/// As [`note`].
#[cold]
#[inline(never)]
pub(crate) fn note_adapted(kernel: &KernelRecord, table: TableRef<'_>, keys: DispatchKeySet) -> Result<()> {
    if !kernel.serial.is_counted() {
        return Ok(());
    }
    let tag = Tag::adapted(kernel.serial);
    if with_thread(|thread| thread.lines.get()).count(tag) {
        return Ok(());
    }
    let (path, operator) = (SlowPath::BOXED_ADAPTATION, table.operator().clone());
    let subject = Subject { path, operator, key: Some(keys.highest_priority_key()) };
    note_subject(subject, Some(kernel), Some(tag))
}

/// Counts that a provider refused the arguments of a call that another kernel runs.
///
/// # Errors
///
/// As [`note`].
#[cold]
#[inline(never)]
pub(crate) fn note_refused(provider: &KernelRecord, table: TableRef<'_>, keys: DispatchKeySet) -> Result<()> {
    // Fallbacks serve many operators, so they have no number to be counted by.
    let tag = provider.serial.is_counted().then(|| Tag::refused(provider.serial));
    if tag.is_some_and(|tag| with_thread(|thread| thread.lines.get()).count(tag)) {
        return Ok(());
    }
    let (path, operator) = (SlowPath::PROVIDER_REFUSED, table.operator().clone());
    let subject = Subject { path, operator, key: Some(keys.highest_priority_key()) };
    note_subject(subject, Some(provider), tag)
}

/// Counts a fallback.
///
/// # Errors
///
/// As [`note`].
pub(crate) fn note_fallback(kernel: &KernelRecord, call: &BoxedCall<'_>) -> Result<()> {
    let tag = Tag::fell_back(call.operator(), call.keys());
    if with_thread(|thread| thread.lines.get()).count(tag) {
        return Ok(());
    }
    let subject =
        Subject { path: SlowPath::FALLBACK, operator: call.operator().clone(), key: Some(call.key()) };
    note_subject(subject, Some(kernel), Some(tag))
}

/// Counts what the thread's lines do not count, unless strict mode refuses it.
#[cold]
#[inline(never)]
fn note_subject(subject: Subject, kernel: Option<&KernelRecord>, tag: Option<Tag>) -> Result<()> {
    let rules = strict::in_force();
    if rules.as_ref().is_some_and(|rules| rules.refuses(subject.path, subject.key)) {
        return Err(strict::refused(&subject, kernel));
    }
    // The kernel of an adaptation may serve several keys; its line counts them together.
    let key = subject.key.filter(|_| subject.path != SlowPath::BOXED_ADAPTATION);
    let short = rules.is_none_or(|rules| !rules.refuses_some());
    Shard::count(tag, Subject { key, ..subject }, short);
    Ok(())
}

impl BoxedCall<'_> {
    /// Counts that the kernel is about to take a slow path, under the key by which it was reached.
    ///
    /// # Errors
    ///
    /// As [`note`].
    ///
    /// # Examples
    ///
    /// A backend that computes through the CPU as long as it has no kernel of its own:
    ///
    /// ```
    /// use opgrid_core::{BoxedCall, DispatchKey, Result, SlowPath};
    ///
    /// fn through_cpu(call: &mut BoxedCall<'_>) -> Result<()> {
    ///     call.note_slow_path(SlowPath::CPU_COPY)?;
    ///     // Here the arguments are copied, and the results after the call.
    ///     call.redispatch(DispatchKey::Cpu.key_set())
    /// }
    /// ```
    pub fn note_slow_path(&self, path: SlowPath) -> Result<()> {
        let subject = Subject { path, operator: self.operator().clone(), key: Some(self.key()) };
        note_subject(subject, Some(self.table().kernel(self.keys())), None)
    }
}

impl<S: Signature> Next<'_, S> {
    /// Counts that the layer is about to take a slow path, under its own key.
    ///
    /// # Errors
    ///
    /// As [`note`].
    pub fn note_slow_path(&self, path: SlowPath) -> Result<()> {
        let key = Some(self.keys().highest_priority_key());
        let subject = Subject { path, operator: self.operator().clone(), key };
        note_subject(subject, Some(self.table().kernel(self.keys())), None)
    }
}

/// How often calls of an operator took a slow path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlowPathCount {
    /// The kind.
    pub path: SlowPath,
    /// The operator.
    pub operator: String,
    /// The key of the fallback, or of the kernel that noted the slow path. Boxed adaptations of all keys are counted
    /// together.
    pub key: Option<DispatchKey>,
    /// How often.
    pub count: u64,
}

/// What the dispatcher counts while it works: slow paths since the last [`reset_stats`], and what is alive now.
///
/// Prints itself as a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Slow paths, those taken most often first.
    pub slow_paths: Vec<SlowPathCount>,
    /// How many replaced tables wait until calls that may read them have ended.
    pub retired_tables: usize,
    /// How many kernels there are: those of every dispatcher, and those that wait with their tables.
    pub kernels: u64,
}

/// What every thread and every dispatcher of the process has counted.
///
/// # Examples
///
/// ```
/// use opgrid_core::{SlowPath, stats};
///
/// let stats = stats();
/// assert_eq!(stats.total(SlowPath::CPU_COPY), 0);
/// println!("{stats}");
/// ```
pub fn stats() -> Stats {
    stats_where(|_| true)
}

/// Begins to count slow paths anew, on every thread.
pub fn reset_stats() {
    shard::reset();
}

fn stats_where(admit: impl Fn(&OperatorHandle) -> bool) -> Stats {
    let mut counts = BTreeMap::<_, u64>::new();
    for (subject, count) in shard::sums() {
        if admit(&subject.operator) {
            let Subject { path, operator, key } = subject;
            *counts.entry((path.name, operator.name().to_string(), key, path.remedy)).or_default() += count;
        }
    }
    let count = |((name, operator, key, remedy), count)| {
        let path = SlowPath { name, remedy };
        SlowPathCount { path, operator, key, count }
    };
    let mut slow_paths: Vec<_> = counts.into_iter().map(count).collect();
    slow_paths.sort_by_key(|counted| std::cmp::Reverse(counted.count));
    Stats { slow_paths, retired_tables: retired_tables(), kernels: kernels_alive() }
}

impl Dispatcher {
    /// As [`stats`], of this dispatcher's operators alone; what is alive is the process's.
    pub fn stats(&self) -> Stats {
        stats_where(|operator| operator.belongs_to(self))
    }
}

impl Stats {
    /// How often slow paths of this kind were taken.
    pub fn total(&self, path: SlowPath) -> u64 {
        self.slow_paths.iter().filter(|counted| counted.path == path).map(|counted| counted.count).sum()
    }

    /// How often the operator's calls took slow paths of this kind.
    pub fn of(&self, path: SlowPath, operator: &str) -> u64 {
        let of_both = |counted: &&SlowPathCount| counted.path == path && counted.operator == operator;
        self.slow_paths.iter().filter(of_both).map(|counted| counted.count).sum()
    }

    /// The kinds of slow paths that were taken, each with how often.
    pub fn totals(&self) -> Vec<(SlowPath, u64)> {
        let mut paths: Vec<SlowPath> = Vec::new();
        for counted in &self.slow_paths {
            if !paths.contains(&counted.path) {
                paths.push(counted.path);
            }
        }
        paths.into_iter().map(|path| (path, self.total(path))).collect()
    }

    /// The figures as JSON.
    pub fn to_json(&self) -> Json {
        let totals: serde_json::Map<_, _> =
            self.totals().into_iter().map(|(path, count)| (path.name.to_owned(), count.into())).collect();
        let counted = |counted: &SlowPathCount| {
            json!({
                "path": counted.path.name,
                "operator": counted.operator,
                "key": counted.key.map(|key| key.to_string()),
                "count": counted.count,
            })
        };
        json!({
            "totals": totals,
            "slow_paths": self.slow_paths.iter().map(counted).collect::<Vec<_>>(),
            "retired_tables": self.retired_tables,
            "kernels": self.kernels,
        })
    }
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = |counted: &SlowPathCount| {
            let key = counted.key.map_or_else(|| "any".to_owned(), |key| key.to_string());
            [counted.count.to_string(), counted.path.to_string(), counted.operator.clone(), key]
        };
        let mut rows = vec![["count", "slow path", "operator", "key"].map(str::to_owned)];
        rows.extend(self.slow_paths.iter().map(row));
        let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
        let [counts, paths, operators] = [0, 1, 2].map(width);
        if self.slow_paths.is_empty() {
            writeln!(f, "no slow paths")?;
        } else {
            for [count, path, operator, key] in &rows {
                writeln!(f, "{count:>counts$}  {path:paths$}  {operator:operators$}  {key}")?;
            }
            let totals: Vec<_> =
                self.totals().iter().map(|(path, count)| format!("{path} {count}")).collect();
            writeln!(f, "total: {}", totals.join(", "))?;
        }
        writeln!(f, "alive: kernels {}, replaced tables {}", self.kernels, self.retired_tables)
    }
}
