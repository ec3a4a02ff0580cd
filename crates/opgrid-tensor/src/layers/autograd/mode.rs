//! Whether a thread records, and how much it writes down.

use std::backtrace::Backtrace;
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::OnceLock;

use opgrid_core::{Result, is_excluded, set_excluded};

use crate::tensor::requires_grad_key;

/// Whether calls on this thread are recorded where an argument requires a gradient.
pub fn is_grad_enabled() -> bool {
    requires_grad_key().is_ok_and(|key| !is_excluded(key))
}

/// Switches recording on or off on this thread, until somebody switches it again; [`GradMode`] does so for a scope.
///
/// # Errors
///
/// Those of [`requires_grad_key`].
pub fn set_grad_enabled(on: bool) -> Result<()> {
    set_excluded(requires_grad_key()?, !on);
    Ok(())
}

/// A scope on this thread in which calls are recorded or not; what was so before is so again when it is dropped. Threads that
/// take over this thread's state ([`ThreadContext`](opgrid_core::ThreadContext)) take it over.
///
/// # Examples
///
/// ```
/// use opgrid::{Tensor, layers::autograd::{self, GradMode}};
///
/// let x = Tensor::from_slice(&[1.0f32], &[1])?;
/// x.requires_grad_(true)?;
/// let y = {
///     let _off = GradMode::new(false);
///     assert!(!autograd::is_grad_enabled());
///     x.exp()?
/// };
/// assert!(!y.requires_grad() && x.exp()?.requires_grad());
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[must_use = "the scope ends when this is dropped"]
pub struct GradMode {
    before: bool,
    /// The scope ends on the thread on which it began.
    _of_this_thread: PhantomData<*const ()>,
}

impl GradMode {
    /// Begins the scope.
    pub fn new(on: bool) -> Self {
        let before = is_grad_enabled();
        set(on);
        Self { before, _of_this_thread: PhantomData }
    }
}

impl Drop for GradMode {
    fn drop(&mut self) {
        set(self.before);
    }
}

fn set(on: bool) {
    if let Ok(key) = requires_grad_key() {
        set_excluded(key, !on);
    }
}

/// Runs `body` without recording: results require no gradient.
pub fn no_grad<X>(body: impl FnOnce() -> X) -> X {
    let _off = GradMode::new(false);
    body()
}

/// Runs `body` with recording, inside of [`no_grad`] too.
pub fn enable_grad<X>(body: impl FnOnce() -> X) -> X {
    let _on = GradMode::new(true);
    body()
}

thread_local! {
    static ANOMALY: Cell<bool> = const { Cell::new(false) };
}

/// Says where a call comes from.
type Places = fn() -> String;

static PLACES: OnceLock<Places> = OnceLock::new();

/// Has places of calls said by somebody else than the stack of this program, such as a language binding; the first who asks
/// for it gets it.
pub fn say_places_by(places: Places) {
    let _ = PLACES.set(places);
}

/// A scope on this thread in which every recorded call notes where it was made, so that the error of its derivative names it,
/// and in which a gradient that is not a number is an error. It costs a walk over the stack for each call.
#[must_use = "the scope ends when this is dropped"]
pub struct DetectAnomaly {
    before: bool,
    _of_this_thread: PhantomData<*const ()>,
}

impl DetectAnomaly {
    /// Begins the scope.
    pub fn new(on: bool) -> Self {
        Self { before: ANOMALY.replace(on), _of_this_thread: PhantomData }
    }
}

impl Drop for DetectAnomaly {
    fn drop(&mut self) {
        ANOMALY.set(self.before);
    }
}

/// Whether gradients on this thread are looked at, and calls note where they are made.
pub fn is_anomaly_enabled() -> bool {
    ANOMALY.get()
}

/// Where this thread is, if somebody wants to know.
pub(super) fn place_if_wanted() -> Option<Box<str>> {
    is_anomaly_enabled().then(|| match PLACES.get() {
        Some(places) => places().into(),
        None => Backtrace::force_capture().to_string().into(),
    })
}
