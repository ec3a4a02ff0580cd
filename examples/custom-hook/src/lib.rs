//! A hook on every operator: a boxed fallback on a key that a switch includes.
//!
//! `aten::add_1` joins an existing namespace together with a default kernel that fails; a CPU kernel computes `x + 1`.
//! The hook sits on TESTING_ONLY_GenericMode, a key that no tensor carries: calls reach it while [`Hook::enable`]'s
//! guard includes the key, and its kernel excludes the key while it calls on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use opgrid::dispatch::{BoxedCall, IncludeGuard, excluding};
use opgrid::prelude::*;
use opgrid::{Dispatcher, Kernel, Registration, Value};

/// The key that the hook listens on.
pub const HOOK: DispatchKey = DispatchKey::TestingOnlyGenericMode;

fn not_implemented(_: &Tensor) -> Result<Tensor> {
    Err(Error::new(ErrorKind::NotImplemented, "Debug: Not implemented yet!"))
}

fn add_1(input: &Tensor) -> Result<Tensor> {
    input.add(1)
}

/// Adds `aten::add_1` to the dispatcher: defined with a default kernel, implemented for the CPU.
///
/// # Errors
///
/// Where the operator is there already.
pub fn register_add_1(dispatcher: &Dispatcher) -> Result<Registration> {
    let mut library = dispatcher.fragment("aten");
    library
        .define("add_1(Tensor self) -> Tensor")
        .add(Kernel::function::<fn(Tensor) -> Tensor>(not_implemented))
        .add(Kernel::function::<fn(Tensor) -> Tensor>(add_1).at(DispatchKey::Cpu));
    library.finish()
}

/// What the hook does with a call, after it has counted and printed it.
pub type Onward = fn(&mut BoxedCall<'_>) -> Result<()>;

/// Excludes the hook's key and makes the call anew.
///
/// # Errors
///
/// Those of the call.
pub fn call_on(call: &mut BoxedCall<'_>) -> Result<()> {
    excluding(HOOK, || call.call())
}

/// A hook that counts and prints every call while it is enabled.
#[derive(Debug)]
pub struct Hook {
    calls: Arc<AtomicUsize>,
    _registration: Registration,
}

impl Hook {
    /// Installs the hook; `onward` decides how a call goes on.
    ///
    /// # Errors
    ///
    /// Where the key has a fallback already.
    pub fn install(dispatcher: &Dispatcher, onward: Onward) -> Result<Self> {
        let calls = Arc::new(AtomicUsize::new(0));
        let counter = calls.clone();
        let mut library = dispatcher.implementations("_", HOOK);
        library.fallback(Kernel::boxed(move |call| {
            println!("Custom hook called {} times", counter.fetch_add(1, Ordering::Relaxed));
            println!("  Operator: {}", call.operator().name().name);
            onward(call)
        }));
        Ok(Self { calls, _registration: library.finish()? })
    }

    /// Lets calls of this thread reach the hook until the guard is dropped.
    #[must_use = "the hook is disabled when the guard is dropped"]
    pub fn enable(&self) -> IncludeGuard {
        IncludeGuard::new(HOOK)
    }

    /// How many calls reached the hook.
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }
}

/// Calls `aten::add_1` boxed, by its name.
///
/// # Errors
///
/// Those of the call.
pub fn call_add_1(dispatcher: &Dispatcher, x: &Tensor) -> Result<Tensor> {
    let results = dispatcher.find("aten::add_1")?.call_values(vec![Value::from(x.clone())])?;
    results.into_iter().next().unwrap_or_default().try_into()
}
