//! Modes: handlers of every operator that a thread calls while they are entered.
//!
//! A mode sees what is left when composites have taken themselves apart and gradients are recorded: the layer stands below
//! autograd and above backends, at the key `Python`, which it has from bindings whose classes of tensors see operators, too.
//!
//! # Examples
//!
//! ```
//! use std::sync::{Arc, Mutex};
//!
//! use opgrid_core::{BoxedCall, Dispatcher, Result};
//! use opgrid::{Tensor, layers::modes};
//!
//! /// Writes down which operators are called.
//! #[derive(Default)]
//! struct Log(Mutex<Vec<String>>);
//!
//! impl modes::Mode for Log {
//!     fn handle(&self, call: &mut BoxedCall<'_>) -> Result<()> {
//!         self.0.lock().unwrap().push(call.operator().name().to_string());
//!         call.call()
//!     }
//! }
//!
//! let dispatcher = Dispatcher::new();
//! let _operators = opgrid::ops::register(&dispatcher)?;
//! let _layer = modes::install(&dispatcher)?;
//! let log = Arc::new(Log::default());
//! dispatcher.within(|| {
//!     let _entered = modes::enter(log.clone())?;
//!     let x = Tensor::from_slice(&[1.0f32, 2.0], &[2])?;
//!     x.add(&x)?.relu()
//! })?;
//! assert_eq!(log.0.lock().unwrap()[..], ["aten::add.Tensor", "aten::relu"]);
//! # Ok::<(), opgrid_core::Error>(())
//! ```

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use opgrid_core::deferred_drop::Flat;
use opgrid_core::{
    BoxedCall, ContextPart, DispatchKey, Dispatcher, Error, ErrorKind, Kernel, Reason, Registration, Result,
    is_included, register_context_part, set_included,
};

/// Where the layer stands.
pub const KEY: DispatchKey = DispatchKey::Python;

/// What happens instead of every call of a thread.
pub trait Mode: Any + Send + Sync {
    /// Leaves the results of a call. The mode is left meanwhile: what it calls, and the call itself by
    /// [`BoxedCall::call`], goes to the modes around it.
    ///
    /// # Errors
    ///
    /// They are those of the call.
    fn handle(&self, call: &mut BoxedCall<'_>) -> Result<()>;
}

/// Puts the layer over the backends of a dispatcher; dropping the registration takes it out.
///
/// # Errors
///
/// The dispatcher has a fallback for the key already.
pub fn install(dispatcher: &Dispatcher) -> Result<Registration> {
    install_with(dispatcher, |call| call.below())
}

/// As [`install`]; calls that reach the key without a mode, because their tensors carry it, go to `otherwise`.
///
/// # Errors
///
/// As [`install`].
#[track_caller]
pub fn install_with(
    dispatcher: &Dispatcher,
    otherwise: impl Fn(&mut BoxedCall<'_>) -> Result<()> + Send + Sync + 'static,
) -> Result<Registration> {
    register_context_part(&Carried);
    let mut everything = dispatcher.implementations("_", KEY);
    let see = move |call: &mut BoxedCall<'_>| match leave_innermost() {
        Some(left) => left.entry.mode.handle(call),
        None => otherwise(call),
    };
    everything.fallback(Kernel::boxed(see).named("modes"));
    everything.finish()
}

/// One entering of a mode.
pub struct Entry {
    /// It may own the context of another mode.
    mode: Flat<Arc<dyn Mode>>,
    /// Set where it ends while the mode handles a call, and so is not among the thread's.
    has_ended: AtomicBool,
}

/// The modes of a thread, the innermost last.
type Modes = Vec<Arc<Entry>>;

thread_local! {
    static MODES: RefCell<Modes> = const { RefCell::new(Vec::new()) };
    /// Whether the thread includes the key because of the modes.
    static BRINGS_KEY: Cell<bool> = const { Cell::new(false) };
}

/// Looks at the thread's modes. A thread that ends has none.
fn with_modes<X: Default>(body: impl FnOnce(&mut Modes) -> X) -> X {
    MODES.try_with(|modes| body(&mut modes.borrow_mut())).unwrap_or_default()
}

/// Enters a mode on this thread, until what comes back is dropped.
///
/// # Errors
///
/// The thread's dispatcher does not have the layer.
pub fn enter(mode: Arc<dyn Mode>) -> Result<Entered> {
    Ok(Entered { entry: push(mode)?, on_this_thread: PhantomData })
}

/// Enters a mode on this thread until [`end`], for bindings whose guards do not belong to a thread.
///
/// # Errors
///
/// As [`enter`].
pub fn push(mode: Arc<dyn Mode>) -> Result<Arc<Entry>> {
    if Dispatcher::current().default_slot(KEY)?.reason != Reason::Fallback {
        let message = "found a dispatcher without the layer of modes; call `modes::install` first";
        return Err(Error::new(ErrorKind::Registration, message));
    }
    let entry = Arc::new(Entry { mode: Flat::new(mode), has_ended: AtomicBool::new(false) });
    with_modes(|modes| modes.push(entry.clone()));
    if !is_included(KEY) {
        set_included(KEY, true);
        BRINGS_KEY.set(true);
    }
    Ok(entry)
}

/// Ends what [`push`] began.
///
/// # Errors
///
/// It is not what this thread has entered last.
pub fn end(entry: &Arc<Entry>) -> Result<()> {
    if with_modes(|modes| modes.last().is_some_and(|innermost| Arc::ptr_eq(innermost, entry))) {
        take_out(entry);
        return Ok(());
    }
    let message = "found another mode or none, expected the one that the thread entered last; leave \
         modes in the reverse order";
    Err(Error::new(ErrorKind::Argument, message))
}

/// The innermost mode of this thread.
pub fn current() -> Option<Arc<dyn Mode>> {
    with_modes(|modes| modes.last().map(|entry| Arc::clone(&entry.mode)))
}

/// Takes an entry out. A mode that handles a call now does not come back after it.
fn take_out(entry: &Arc<Entry>) {
    entry.has_ended.store(true, Ordering::Relaxed);
    let is_last = with_modes(|modes| {
        modes.retain(|known| !Arc::ptr_eq(known, entry));
        modes.is_empty()
    });
    if is_last && BRINGS_KEY.replace(false) {
        set_included(KEY, false);
    }
}

/// A mode that is entered. It stays on the thread that entered it.
#[must_use = "the mode is left when this is dropped"]
pub struct Entered {
    entry: Arc<Entry>,
    on_this_thread: PhantomData<*const ()>,
}

impl fmt::Debug for Entered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Entered")
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        take_out(&self.entry);
    }
}

/// The innermost mode while it handles a call, when it is left.
struct Left {
    entry: Arc<Entry>,
    brought_key: bool,
}

/// Leaves the innermost mode, if there is one. Without a mode around it, only tensors bring the key into calls.
fn leave_innermost() -> Option<Left> {
    let (entry, is_last) = with_modes(|modes| modes.pop().map(|entry| (entry, modes.is_empty())))?;
    let brought_key = is_last && BRINGS_KEY.replace(false);
    if brought_key {
        set_included(KEY, false);
    }
    Some(Left { entry, brought_key })
}

impl Drop for Left {
    fn drop(&mut self) {
        if self.entry.has_ended.load(Ordering::Relaxed) {
            return;
        }
        with_modes(|modes| modes.push(self.entry.clone()));
        if self.brought_key {
            set_included(KEY, true);
            BRINGS_KEY.set(true);
        }
    }
}

/// The modes go along where work goes to other threads; the key itself is among the thread's keys.
struct Carried;

impl ContextPart for Carried {
    fn capture(&self) -> Option<Box<dyn Any + Send + Sync>> {
        let modes = with_modes(|modes| modes.clone());
        (!modes.is_empty()).then(|| Box::new((modes, BRINGS_KEY.get())) as _)
    }

    fn within(&self, state: &(dyn Any + Send + Sync), body: &mut dyn FnMut()) {
        let (modes, brings_key) = state.downcast_ref::<(Modes, bool)>().cloned().unwrap_or_default();
        let _before = Before(replace(modes), BRINGS_KEY.replace(brings_key));
        body();
    }
}

/// Gives the thread other modes; those that it had. A thread that ends has none and keeps none.
fn replace(modes: Modes) -> Modes {
    with_modes(|own| std::mem::replace(own, modes))
}

/// Puts back the modes of a thread.
struct Before(Modes, bool);

impl Drop for Before {
    fn drop(&mut self) {
        let _carried = replace(std::mem::take(&mut self.0));
        BRINGS_KEY.set(self.1);
    }
}
