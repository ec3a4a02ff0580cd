//! Strict mode: a slow path is an error that comes before the slow path is taken.
//!
//! It is set for a scope of one thread ([`strict()`], [`Strict::run`]) or for the process ([`set_strict`]). A scope
//! stands before the process, an inner scope before an outer one, so that a program which is strict as a whole can
//! still let a part of itself be slow.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex};

use crate::calling::kernel::KernelRecord;
use crate::calling::kernel_info::KernelInfo;
use crate::calling::retirement::{flag, raise_flag};
use crate::calling::slow_path::SlowPath;
use crate::calling::slow_path_counts::{Lines, Subject};
use crate::calling::thread::with_thread;
use crate::error::{Error, ErrorKind};
use crate::fork::Held;
use crate::keys::key::DispatchKey;
use crate::keys::parts::BackendComponent;
use crate::keys::set::DispatchKeySet;
use crate::sync::lock;

/// Which slow paths are errors.
///
/// # Examples
///
/// A hook on a key of its own is a fallback that somebody wants; any other is not:
///
/// ```
/// use opgrid_core::{AnyTensor, DispatchKey, Dispatcher, Kernel, SlowPath, Strict, including, operator, strict};
///
/// # use opgrid_core::{Result, TensorData};
/// # use AnyTensor as Tensor;
/// # struct Nothing;
/// # impl TensorData for Nothing {
/// #     fn describe(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
/// #         f.write_str("tensor()")
/// #     }
/// # }
/// operator! {
///     pub Look = "strict::look(Tensor self) -> ()";
/// }
///
/// fn look(_: &Tensor) -> Result<()> {
///     Ok(())
/// }
///
/// const HOOK: DispatchKey = DispatchKey::TestingOnlyGenericMode;
/// let dispatcher = Dispatcher::global();
/// let mut library = dispatcher.library("strict");
/// library.define(Look).kernel(DispatchKey::Cpu, look);
/// let _look = library.finish()?;
/// let mut library = dispatcher.implementations("_", HOOK);
/// library.fallback(Kernel::boxed(|call| call.below()));
/// let _hook = library.finish()?;
///
/// let x = Tensor::new(DispatchKey::Cpu.key_set(), Nothing);
/// let hooked = || including(HOOK, || Look.call(&x));
/// let error = strict(hooked).unwrap_err();
/// assert!(error.to_string().starts_with("strict::look: fallback at TESTING_ONLY_GenericMode is refused"));
/// Strict::all().allow_at(SlowPath::FALLBACK, HOOK).run(hooked)?;
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strict {
    refuses: bool,
    allowed: Vec<(SlowPath, Option<DispatchKeySet>)>,
}

impl Strict {
    /// Every slow path is an error.
    pub fn all() -> Self {
        Self { refuses: true, allowed: Vec::new() }
    }

    /// No slow path is an error: for a part of a program that is strict otherwise.
    pub fn none() -> Self {
        Self { refuses: false, allowed: Vec::new() }
    }

    /// Allows slow paths of this kind.
    pub fn allow(mut self, path: SlowPath) -> Self {
        self.allowed.push((path, None));
        self
    }

    /// Allows slow paths of this kind at these keys; a layer without a backend stands for all backends.
    pub fn allow_at(mut self, path: SlowPath, keys: impl Into<DispatchKeySet>) -> Self {
        self.allowed.push((path, Some(keys.into())));
        self
    }

    /// Whether a slow path at a key is an error.
    pub fn refuses(&self, path: SlowPath, key: Option<DispatchKey>) -> bool {
        let allows = |(allowed, keys): &(SlowPath, Option<DispatchKeySet>)| {
            *allowed == path && keys.is_none_or(|keys| key.is_some_and(|key| covers(keys, key)))
        };
        self.refuses && !self.allowed.iter().any(allows)
    }

    /// Whether there can be a slow path that is an error.
    pub(crate) fn refuses_some(&self) -> bool {
        self.refuses
    }

    /// Runs `body` with these rules for the calls of this thread.
    pub fn run<X>(self, body: impl FnOnce() -> X) -> X {
        let outer = SCOPE.with(|scope| scope.replace(Some(Arc::new(self))));
        let _scope = Scope { outer, thread: PhantomData };
        look_again();
        body()
    }
}

/// Runs `body`, in which every slow path of this thread's calls is an error: `Strict::all().run(body)`.
pub fn strict<X>(body: impl FnOnce() -> X) -> X {
    Strict::all().run(body)
}

/// Sets the rules of every thread that is in no scope of its own, and returns those before. Calls that run already
/// may end under the rules before.
pub fn set_strict(rules: Option<Strict>) -> Option<Strict> {
    let before = std::mem::replace(&mut *lock(&PROCESS), rules.map(Arc::new));
    raise_flag(flag::STRICTNESS);
    look_again();
    before.map(Arc::unwrap_or_clone)
}

/// Whether `keys` has the layer of `key`, and its backend if it has backends at all.
fn covers(keys: DispatchKeySet, key: DispatchKey) -> bool {
    let layer = (keys.layers() >> key.functionality().position()) & 1 != 0;
    let backend = |backend: BackendComponent| (keys.backends() >> backend.position()) & 1 != 0;
    layer && (keys.backends() == 0 || key.backend().is_none_or(backend))
}

/// What is held while the process forks.
pub(crate) fn hold_at_fork(held: &mut Held) {
    held.lock(&PROCESS);
}

static PROCESS: Mutex<Option<Arc<Strict>>> = Mutex::new(None);

thread_local! {
    /// Never dropped, so that destructors of thread-locals may be strict, too; it is empty outside of scopes.
    static SCOPE: ManuallyDrop<RefCell<Option<Arc<Strict>>>> =
        const { ManuallyDrop::new(RefCell::new(None)) };
}

/// Puts back the rules of the scope around.
struct Scope {
    outer: Option<Arc<Strict>>,
    thread: PhantomData<*const ()>,
}

impl Drop for Scope {
    fn drop(&mut self) {
        drop(SCOPE.with(|scope| scope.replace(self.outer.take())));
        look_again();
    }
}

/// The rules of the innermost scope around, if there is one.
pub(crate) fn scope() -> Option<Arc<Strict>> {
    SCOPE.with(|scope| scope.borrow().clone())
}

/// Runs `body` in a scope of these rules, or in none.
pub(crate) fn within_scope<X>(rules: Option<Arc<Strict>>, body: impl FnOnce() -> X) -> X {
    let outer = SCOPE.with(|scope| scope.replace(rules));
    look_again();
    let _scope = Scope { outer, thread: PhantomData };
    body()
}

/// Lets this thread look at the rules before it counts the next slow path: without lines at hand it has to.
fn look_again() {
    with_thread(|thread| thread.lines.set(Lines::none()));
}

/// The rules for this thread now.
pub(crate) fn in_force() -> Option<Arc<Strict>> {
    let scope = SCOPE.with(|scope| scope.borrow().clone());
    scope.or_else(|| lock(&PROCESS).clone())
}

/// The error instead of a slow path.
#[cold]
#[inline(never)]
pub(crate) fn refused(subject: &Subject, kernel: Option<&KernelRecord>) -> Error {
    let Subject { path, operator, key } = subject;
    let at = key.map(|key| format!(" at {key}")).unwrap_or_default();
    let kernel = kernel.map(KernelInfo::from_record);
    let by = kernel.map(|kernel| format!(" ({}, {})", kernel.title(), kernel.place)).unwrap_or_default();
    let message = format!(
        "{}: {path}{at} is refused in strict mode{by}; {}, or allow it (Strict::allow)",
        operator.name(),
        path.remedy(),
    );
    Error::new(ErrorKind::SlowPath, message)
}
