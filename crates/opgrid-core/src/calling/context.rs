//! What a thread carries into work that it hands to others: keys, dispatcher, preferences, strictness, and what layers add.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use crate::calling::call::{OnDispatcher, current_owner};
use crate::calling::conditions::{Preferences, preferences, preferring_all};
use crate::calling::owner::Owner;
use crate::calling::strict::{Strict, scope, within_scope};
use crate::calling::thread::{ForceGuard, LocalKeys};
use crate::deferred_drop::Flat;
use crate::fork::Held;

/// A part of the thread's state that belongs to a layer: a mode, a dtype, a place to write to.
///
/// [`register_context_part`] makes it one that [`ThreadContext`] carries.
pub trait ContextPart: Any + Sync {
    /// The state of this thread; `None` where it is as every thread begins.
    fn capture(&self) -> Option<Box<dyn Any + Send + Sync>>;

    /// Runs `body` once with a state that [`capture`](Self::capture) gave, on this thread or another.
    fn within(&self, state: &(dyn Any + Send + Sync), body: &mut dyn FnMut());
}

static PARTS: RwLock<Vec<&'static dyn ContextPart>> = RwLock::new(Vec::new());

/// Lets every [`ThreadContext`] carry a part from here on. A part that is registered twice is carried once.
pub fn register_context_part(part: &'static dyn ContextPart) {
    let mut parts = PARTS.write().unwrap_or_else(PoisonError::into_inner);
    // Parts without fields may lie at one address, although they are of different types.
    let is_it = |known: &&dyn ContextPart| {
        std::ptr::addr_eq(*known, part) && Any::type_id(*known) == Any::type_id(part)
    };
    if !parts.iter().any(is_it) {
        parts.push(part);
    }
}

/// What is held while the process forks.
pub(crate) fn hold_at_fork(held: &mut Held) {
    held.write(&PARTS);
}

/// The state of a thread as one value: what it includes and excludes, its dispatcher, its preferred providers, its rules
/// for slow paths, and what layers have registered.
///
/// Work that goes to another thread is done as if it had stayed when it is done [`within`](Self::within) the context.
///
/// # Examples
///
/// ```
/// use opgrid_core::{DispatchKey, ThreadContext, including, is_included};
///
/// let context = including(DispatchKey::Tracer, ThreadContext::capture);
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         assert!(!is_included(DispatchKey::Tracer));
///         context.within(|| assert!(is_included(DispatchKey::Tracer)));
///     });
/// });
/// ```
pub struct ThreadContext {
    keys: LocalKeys,
    dispatcher: Option<Arc<dyn Owner>>,
    preferences: Preferences,
    strict: Option<Arc<Strict>>,
    parts: Vec<Part>,
}

/// A part and its state, which may own another context.
type Part = (&'static dyn ContextPart, Flat<Box<dyn Any + Send + Sync>>);

impl ThreadContext {
    /// The state of this thread.
    pub fn capture() -> Self {
        let parts = PARTS.read().unwrap_or_else(PoisonError::into_inner).clone();
        Self {
            keys: LocalKeys::current(),
            dispatcher: current_owner(),
            preferences: preferences(),
            strict: scope(),
            parts: parts.into_iter().filter_map(|part| Some((part, Flat::new(part.capture()?)))).collect(),
        }
    }

    /// Runs `body` in this state, and puts back the thread's own.
    ///
    /// # Panics
    ///
    /// A part that does not run the body; those of parts and of `body`.
    pub fn within<X>(&self, body: impl FnOnce() -> X) -> X {
        let _keys = ForceGuard::new(self.keys);
        let _dispatcher = OnDispatcher::enter(self.dispatcher.clone());
        preferring_all(self.preferences.clone(), || {
            within_scope(self.strict.clone(), || {
                let (mut body, mut result) = (Some(body), None);
                // A part that runs it twice has run it once.
                nested(&self.parts, &mut || {
                    if let Some(body) = body.take() {
                        result = Some(body());
                    }
                });
                result.expect("`ContextPart::within` runs the body that it is given")
            })
        })
    }
}

/// Runs `body` within every part.
fn nested(parts: &[Part], body: &mut dyn FnMut()) {
    match parts.split_first() {
        Some(((part, state), rest)) => part.within(&***state, &mut || nested(rest, body)),
        None => body(),
    }
}

impl fmt::Debug for ThreadContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadContext").field("keys", &self.keys).field("parts", &self.parts.len()).finish()
    }
}
