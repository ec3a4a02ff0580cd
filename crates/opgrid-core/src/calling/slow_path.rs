//! Slow paths: counted per operator, shown by [`stats`](crate::stats), and errors in [strict](crate::strict()) mode.
//!
//! A slow path gives the right result by a way that costs more than its author meant: a typed call that has to lend
//! its arguments as values, a fallback instead of a kernel, a copy to another device and back. None of them is an
//! error, so all of them are easily overlooked.
//!
//! The dispatcher counts its own. Whoever adds another one, such as a backend that computes through the CPU, makes a
//! [`SlowPath`] and calls [`note_slow_path`] or [`BoxedCall::note_slow_path`](crate::BoxedCall::note_slow_path) **before** taking
//! it, because in strict mode that is where the error comes from.
//!
//! What is no slow path: a boxed call of a typed kernel, whose caller has values already; calls that fail for want of
//! a kernel; fallthroughs, which cost nothing.

use std::fmt;
use std::hash::{Hash, Hasher};

use crate::calling::call::{BoxedCall, Next};
use crate::calling::kernel::KernelRecord;
use crate::calling::operator::OperatorHandle;
use crate::calling::slow_path_counts::{Shard, Subject, Tag};
use crate::calling::strict;
use crate::calling::table::TableRef;
use crate::calling::thread::with_thread;
use crate::error::Result;
use crate::keys::set::DispatchKeySet;
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
    /// A call ran the fallback of a key, because the operator has no kernel for it. Counted instead of the boxed
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
pub fn note_slow_path(path: SlowPath, operator: &OperatorHandle) -> Result<()> {
    note_subject(Subject { path, operator: operator.clone(), key: None }, None, None)
}

/// Counts a boxed adaptation that is not counted on the line of its kernel yet.
///
/// # Errors
///
/// As [`note_slow_path`].
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
/// As [`note_slow_path`].
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
/// As [`note_slow_path`].
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
    /// As [`note_slow_path`].
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
    /// As [`note_slow_path`].
    pub fn note_slow_path(&self, path: SlowPath) -> Result<()> {
        let key = Some(self.keys().highest_priority_key());
        let subject = Subject { path, operator: self.operator().clone(), key };
        note_subject(subject, Some(self.table().kernel(self.keys())), None)
    }
}
