//! What dispatchers tell about registrations: operators that come and go, kernels that replace others.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use opgrid_schema::FunctionSchema;

use crate::calling::operator::{Definition, OperatorHandle};
use crate::calling::thread::this_thread;
use crate::deferred_drop::Flat;
use crate::keys::key::DispatchKey;
use crate::panics::Panics;
use crate::sync::lock;
use crate::ticket::Ticket;

/// A kernel was replaced by a newer one for the same operator and key.
#[derive(Clone, Debug)]
pub struct Override {
    /// The operator's schema, or its name where it has none.
    pub operator: String,
    /// Where the operator was defined.
    pub definition: String,
    /// The key.
    pub key: DispatchKey,
    /// The kernel that ran until now.
    pub previous: String,
    /// The kernel that runs from now on.
    pub new: String,
}

impl std::fmt::Display for Override {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "overriding a previously registered kernel for the same operator and the same dispatch key\n  operator: \
             {}\n    {}\n  dispatch key: {}\n  previous kernel: {}\n       new kernel: {}",
            self.operator, self.definition, self.key, self.previous, self.new
        )
    }
}

/// What a dispatcher does with replaced kernels.
pub(crate) type OnOverride = Flat<Arc<dyn Fn(&Override) + Send + Sync>>;

/// Somebody who wants to know which operators come and go.
///
/// Events come one at a time and in the order in which the registrations took effect, on any of the threads that
/// register. A registration that a listener makes, or that another thread makes meanwhile, may return before its own
/// events were told; they follow those before them.
///
/// # Examples
///
/// ```
/// use std::sync::{Arc, Mutex};
///
/// use opgrid_core::{Dispatcher, Listener, OperatorHandle, schema::FunctionSchema};
///
/// #[derive(Default)]
/// struct Names(Mutex<Vec<String>>);
///
/// impl Listener for Names {
///     fn defined(&self, operator: &OperatorHandle, _: &FunctionSchema) {
///         self.0.lock().unwrap().push(format!("+{}", operator.name()));
///     }
///
///     fn dropped(&self, operator: &OperatorHandle, _: &FunctionSchema) {
///         self.0.lock().unwrap().push(format!("-{}", operator.name()));
///     }
/// }
///
/// let (dispatcher, names) = (Dispatcher::new(), Arc::new(Names::default()));
/// let _listening = dispatcher.listen(names.clone());
/// let mut library = dispatcher.library("docs");
/// library.define("heard() -> ()");
/// drop(library.finish()?);
/// assert_eq!(*names.0.lock().unwrap(), ["+docs::heard", "-docs::heard"]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub trait Listener: Send + Sync {
    /// An operator was defined.
    fn defined(&self, operator: &OperatorHandle, schema: &FunctionSchema);
    /// A definition was dropped; the handle may be stale by now.
    fn dropped(&self, operator: &OperatorHandle, schema: &FunctionSchema);
}

/// A definition that came or went.
#[derive(Clone)]
pub(crate) struct Event {
    pub(crate) operator: OperatorHandle,
    pub(crate) definition: Arc<Definition>,
    /// Whether it came.
    pub(crate) defined: bool,
}

impl Event {
    fn tell(&self, listener: &dyn Listener) {
        let schema = &self.definition.schema;
        if self.defined {
            listener.defined(&self.operator, schema);
        } else {
            listener.dropped(&self.operator, schema);
        }
    }
}

/// A listener for as long as it listens.
pub(crate) type Member = (Ticket, Flat<Arc<dyn Listener>>);

/// The listeners of one dispatcher, and what they are still to be told.
///
/// Invariant: events are put in line under the registry's lock, so that they stand in the order of its changes. They
/// are told without any lock, by one thread at a time.
#[derive(Default)]
pub(crate) struct Listeners(Mutex<Line>);

#[derive(Default)]
pub(crate) struct Line {
    known: Vec<Member>,
    waiting: VecDeque<(Member, Event)>,
    /// The thread that is telling what waits, by the address of its state.
    telling: Option<usize>,
}

impl Listeners {
    /// Adds a listener, who is notified of the definitions that are there now before anything else. The caller holds the
    /// registry's lock.
    pub(crate) fn add(&self, member: Member, there: impl Iterator<Item = Event>) {
        let mut line = lock(&self.0);
        line.waiting.extend(there.map(|event| (member.clone(), event)));
        line.known.push(member);
    }

    /// Whether somebody listens.
    pub(crate) fn is_anybody_there(&self) -> bool {
        !lock(&self.0).known.is_empty()
    }

    /// Takes a listener away, with what it was still to be told.
    pub(crate) fn remove(&self, ticket: Ticket) {
        // The caller's handle outlives those that are dropped here, so that no code of users runs under the lock.
        let mut line = lock(&self.0);
        line.known.retain(|(known, _)| *known != ticket);
        line.waiting.retain(|((known, _), _)| *known != ticket);
    }

    /// Puts events in line. The caller holds the registry's lock.
    pub(crate) fn announce(&self, events: Vec<Event>) {
        if events.is_empty() {
            return;
        }
        let mut line = lock(&self.0);
        let Line { known, waiting, .. } = &mut *line;
        for event in events {
            waiting.extend(known.iter().map(|member| (member.clone(), event.clone())));
        }
    }

    /// Tells what waits, unless a thread is at it already, be it this one. The caller holds no lock.
    pub(crate) fn tell(&self) {
        {
            let mut line = lock(&self.0);
            if line.waiting.is_empty() || line.telling.is_some() {
                return;
            }
            line.telling = Some(this_thread());
        }
        let mut panics = Panics::default();
        while let Some(((_, listener), event)) = self.next() {
            // The listener's destructor may run here, too.
            panics.catch(move || event.tell(&**listener));
        }
        panics.resume();
    }

    /// The lock of the line.
    pub(crate) fn line(&self) -> &Mutex<Line> {
        &self.0
    }

    /// Forgets a thread that was telling when the process forked, in the child, where it does not run. What it was telling
    /// then stays told in part.
    pub(crate) fn forget_other_threads(&self) {
        let mut line = lock(&self.0);
        line.telling = line.telling.filter(|thread| *thread == this_thread());
    }

    /// What is to be told next; after the last one, whoever comes first may tell what follows.
    fn next(&self) -> Option<(Member, Event)> {
        let mut line = lock(&self.0);
        let next = line.waiting.pop_front();
        line.telling = next.is_some().then(this_thread);
        next
    }
}
