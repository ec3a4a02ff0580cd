//! Watching calls: observers of every thread, a recorder of one, and the trace on standard error.
//!
//! Nobody watching costs nothing: whoever watches raises a flag that ordinary calls test anyway.

use std::cell::RefCell;
use std::io::Write;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, OnceLock};

use crate::calling::kernel::KernelRecord;
use crate::calling::operator::OperatorHandle;
use crate::calling::reason::Reason;
use crate::calling::retirement::{flag, set_common_flag};
use crate::calling::thread::with_thread;
use crate::deferred_drop::Flat;
use crate::error::{Error, Result};
use crate::fork::Held;
use crate::keys::key::DispatchKey;
use crate::keys::set::DispatchKeySet;
use crate::panics::Panics;
use crate::sync::lock;
use crate::ticket::Ticket;

/// How a kernel was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallKind {
    /// A typed call.
    Call,
    /// A boxed call.
    CallBoxed,
    /// A typed call with given keys.
    Redispatch,
    /// A boxed call with given keys.
    RedispatchBoxed,
}

impl CallKind {
    /// The word of the trace.
    pub fn name(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::CallBoxed => "callBoxed",
            Self::Redispatch => "redispatch",
            Self::RedispatchBoxed => "redispatchBoxed",
        }
    }

    /// Whether the keys were given by a kernel, not taken from the arguments.
    pub fn is_redispatch(self) -> bool {
        matches!(self, Self::Redispatch | Self::RedispatchBoxed)
    }
}

/// One step of a call: an operator reaching a kernel.
#[derive(Clone, Debug)]
pub struct Step {
    /// How the kernel was reached.
    pub kind: CallKind,
    /// The operator.
    pub operator: OperatorHandle,
    /// How many steps are around this one on its thread.
    pub depth: u32,
    /// The keys that the kernel gets.
    pub keys: DispatchKeySet,
    /// The layers taken away because the operator falls through them.
    pub fallen_through: DispatchKeySet,
    /// The column.
    pub key: DispatchKey,
    /// The kernel.
    pub kernel: crate::calling::kernel_info::KernelInfo,
    /// The rule that chose the kernel.
    pub reason: Reason,
    /// The providers that were asked before and refused.
    pub refused: Vec<Refusal>,
    /// Whether profilers leave the operator out.
    pub unobserved: bool,
}

/// A provider whose condition did not hold for the arguments of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The provider's name.
    pub provider: String,
    /// What it runs when.
    pub condition: String,
}

impl Refusal {
    pub(crate) fn from_provider(provider: &KernelRecord) -> Self {
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        let condition = provider.condition.as_ref().map(|condition| &*condition.text);
        Self {
            provider: text(Some(provider.name.as_deref().unwrap_or("(unnamed)"))),
            condition: text(condition),
        }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (runs when {})", self.provider, self.condition)
    }
}

/// Somebody who watches every call of the process.
pub trait Observer: Send + Sync {
    /// A kernel is about to run.
    fn before(&self, step: &Step);

    /// The kernel has returned, with an error or without.
    fn after(&self, step: &Step, error: Option<&Error>);

    /// The kernel has panicked, and the thread unwinds: called instead of [`after`](Self::after).
    fn panicked(&self, _step: &Step) {}
}

/// An observer, which may own the observation of another.
type Known = Flat<Arc<dyn Observer>>;

static OBSERVERS: Mutex<Vec<(Ticket, Known)>> = Mutex::new(Vec::new());

/// What is held while the process forks.
pub(crate) fn hold_at_fork(held: &mut Held) {
    held.lock(&OBSERVERS);
}

/// Watches until dropped.
#[must_use = "observing ends when this is dropped"]
pub struct Observation {
    ticket: Ticket,
    /// Keeps the observer until it is taken off the list, so that it is not dropped under a lock.
    _observer: Known,
}

/// Lets `observer` watch every call of every thread, until the result is dropped.
pub fn observe(observer: Arc<dyn Observer>) -> Observation {
    let (ticket, observer) = (Ticket::next(), Flat::new(observer));
    let mut observers = lock(&OBSERVERS);
    observers.push((ticket, observer.clone()));
    set_common_flag(flag::WATCHED, true);
    Observation { ticket, _observer: observer }
}

impl Drop for Observation {
    fn drop(&mut self) {
        let mut observers = lock(&OBSERVERS);
        observers.retain(|(known, _)| *known != self.ticket);
        if observers.is_empty() {
            set_common_flag(flag::WATCHED, false);
        }
    }
}

thread_local! {
    /// Never dropped, so that destructors of thread-locals may record, too; it is empty when no recording runs.
    static RECORD: ManuallyDrop<RefCell<Option<Vec<Step>>>> =
        const { ManuallyDrop::new(RefCell::new(None)) };
}

/// Collects the steps of this thread's calls.
struct Recording {
    outer: Option<Vec<Step>>,
    thread: PhantomData<*const ()>,
}

impl Drop for Recording {
    fn drop(&mut self) {
        let outer = self.outer.take();
        with_thread(|thread| thread.set_flag(flag::RECORDED, outer.is_some()));
        drop(exchange(outer));
    }
}

/// Replaces the previous record.
fn exchange(record: Option<Vec<Step>>) -> Option<Vec<Step>> {
    RECORD.with(|place| place.replace(record))
}

/// Runs `body` and returns, beside its result, every step that its calls took on this thread. A recording around
/// this one gets the steps too.
pub fn record_calls<X>(body: impl FnOnce() -> X) -> (X, Vec<Step>) {
    let mut recording = Recording { outer: exchange(Some(Vec::new())), thread: PhantomData };
    with_thread(|thread| thread.set_flag(flag::RECORDED, true));
    let result = body();
    let steps = exchange(None).unwrap_or_default();
    if let Some(outer) = &mut recording.outer {
        outer.extend_from_slice(&steps);
    }
    drop(recording);
    (result, steps)
}

/// Prints each step on standard error.
struct Trace;

impl Observer for Trace {
    fn before(&self, step: &Step) {
        let indent = " ".repeat(step.depth as usize);
        let (kind, name) = (step.kind.name(), step.operator.name());
        // Nobody may be there to read it, which is no reason to panic in a call.
        let _ = writeln!(std::io::stderr(), "{indent}[{kind}] op=[{name}], key=[{}]", step.key);
    }

    fn after(&self, _: &Step, _: Option<&Error>) {}
}

/// Starts the trace if `OPGRID_SHOW_DISPATCH_TRACE` asks for it. Called when a dispatcher is made.
pub(crate) fn trace_if_asked() {
    static TRACE: OnceLock<Option<Observation>> = OnceLock::new();
    TRACE.get_or_init(|| match std::env::var("OPGRID_SHOW_DISPATCH_TRACE").as_deref() {
        Ok("1") => Some(observe(Arc::new(Trace))),
        Ok("0") | Err(_) => None,
        Ok(other) => {
            eprintln!("warning: OPGRID_SHOW_DISPATCH_TRACE is `{other}`, expected 0 or 1; no trace");
            None
        }
    });
}

/// Tells everybody who watches this thread about a step around `body`.
pub(crate) fn watched<X>(step: Step, body: impl FnOnce() -> Result<X>) -> Result<X> {
    RECORD.with(|record| {
        if let Some(steps) = &mut *record.borrow_mut() {
            steps.push(step.clone());
        }
    });
    let observers = lock(&OBSERVERS).iter().map(|(_, observer)| observer.clone()).collect();
    let mut told = Told { step, observers, count: 0 };
    while let Some(observer) = told.observers.get(told.count) {
        // Counted first: one that panics is told that the step panicked.
        told.count += 1;
        observer.before(&told.step);
    }
    let result = body();
    told.count = 0;
    for observer in &told.observers {
        observer.after(&told.step, result.as_ref().err());
    }
    result
}

/// Observers that were notified that a step begins, and wait for its end.
struct Told {
    step: Step,
    observers: Vec<Known>,
    /// How many of them, in order.
    count: usize,
}

impl Drop for Told {
    fn drop(&mut self) {
        let mut panics = Panics::default();
        for observer in &self.observers[..self.count] {
            panics.catch(|| observer.panicked(&self.step));
        }
        panics.resume();
    }
}
