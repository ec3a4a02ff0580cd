//! The kernel of one column, held apart from the table: what an override needs to call the kernel that it replaces.

use std::marker::PhantomData;
use std::sync::{Arc, Weak};

use crate::calling::call;
use crate::calling::conditions::Links;
use crate::calling::inferred::signature_of;
use crate::calling::kernel::{Kernel, KernelRecord, Life};
use crate::calling::kernel_info::KernelInfo;
use crate::calling::operator::{OperatorHandle, SignatureCell};
use crate::calling::reason::Reason;
use crate::calling::table::{Slot, SlotRef};
use crate::error::{Error, ErrorKind, Result};
use crate::keys::key::DispatchKey;
use crate::keys::set::DispatchKeySet;
use crate::signatures::signature::{Checked, Signature};
use crate::signatures::stack::Returns;
use crate::values::borrowed::ValueRef;

/// The kernel that was computed for a key when it was asked for, whatever is registered later.
///
/// Overriding the kernel leaves it callable; dropping its registration does not.
///
/// # Examples
///
/// ```
/// use opgrid_core::{Dispatcher, DispatchKey, DispatchKeySet, Kernel, Returns, Value};
///
/// type Int = fn(i64) -> i64;
/// let cpu = DispatchKey::Cpu;
/// let dispatcher = Dispatcher::new();
/// let mut library = dispatcher.library("myops");
/// library.define("f(int x) -> int").add(Kernel::function::<Int>(|x| Ok(x + 1)).at(cpu));
/// let first = library.finish()?;
/// let original = dispatcher.find("myops::f")?.held_kernel(cpu)?;
///
/// let mut library = dispatcher.implementations("myops", cpu);
/// library.allow_override().implement("f").add(Kernel::boxed(move |call| {
///     original.call_boxed(call.keys(), call.args(), call.returns())?;
///     let result = call.returns().take(0).unwrap_or_default().borrow().as_int().unwrap_or_default();
///     call.returns().clear();
///     call.push(10 * result);
///     Ok(())
/// }));
/// # dispatcher.on_override(|_| {});
/// let _second = library.finish()?;
/// let mut returns = Returns::new();
/// dispatcher.find("myops::f")?.redispatch_boxed(cpu.key_set(), &[4.into()], &mut returns)?;
/// assert_eq!(returns.into_single()?, Value::from(50));
/// # drop(first);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone)]
pub struct HeldKernel {
    operator: OperatorHandle,
    kernel: Held,
    info: KernelInfo,
    /// What errors call it.
    debug: Arc<str>,
}

/// A kernel apart from tables. What it owns ends with its registration all the same, so that its code can be unloaded
/// ([`quiesce`](crate::quiesce)).
#[derive(Clone)]
enum Held {
    /// One that owns nothing of users.
    Plain(Arc<KernelRecord>),
    /// One with a state or a condition.
    Registered(Weak<KernelRecord>, Option<Life>),
    /// The providers, and what follows them.
    Chain(Arc<(Box<[Held]>, Held, Reason)>),
}

impl Held {
    /// The caller's thread is marked.
    fn from_kernel(kernel: &Arc<KernelRecord>) -> Self {
        match &kernel.links {
            Some(links) => {
                let next = Self::from_kernel(&links.next.kernel);
                Self::Chain(Arc::new((
                    links.providers.iter().map(Self::from_kernel).collect(),
                    next,
                    links.next.reason,
                )))
            }
            None if kernel.owns_state() => Self::Registered(Arc::downgrade(kernel), kernel.life.clone()),
            None => Self::Plain(kernel.clone()),
        }
    }

    /// Whether every registration is still there.
    fn is_valid(&self) -> bool {
        match self {
            Self::Plain(kernel) => !kernel.is_dropped(),
            Self::Registered(kernel, life) => {
                kernel.strong_count() > 0 && !life.as_ref().is_some_and(Life::has_ended)
            }
            Self::Chain(chain) => chain.0.iter().all(Self::is_valid) && chain.1.is_valid(),
        }
    }

    /// The kernel, if every registration is still there.
    ///
    /// The caller's thread is marked until it has dropped what comes back: a registration that is dropped from here on
    /// leaves its kernels to limbo, which keeps them as long.
    fn find(&self) -> Option<Arc<KernelRecord>> {
        if !self.is_valid() {
            return None;
        }
        match self {
            Self::Plain(kernel) => Some(kernel.clone()),
            Self::Registered(kernel, _) => kernel.upgrade(),
            Self::Chain(chain) => {
                let (providers, next, reason) = &**chain;
                let providers = providers.iter().map(Self::find).collect::<Option<_>>()?;
                let next = Slot { kernel: next.find()?, reason: *reason };
                Some(Arc::new(Kernel::chain(Links { providers, next }).record))
            }
        }
    }
}

impl HeldKernel {
    fn from_slot(operator: &OperatorHandle, slot: SlotRef<'_>) -> Self {
        let (info, debug) = (KernelInfo::from_record(slot.kernel), slot.kernel.debug().into());
        Self { operator: operator.clone(), kernel: Held::from_kernel(&slot.counted()), info, debug }
    }

    /// The operator.
    pub fn operator(&self) -> &OperatorHandle {
        &self.operator
    }

    /// What kernel it is.
    pub fn info(&self) -> KernelInfo {
        self.info.clone()
    }

    /// Whether the kernel's registration is still there.
    pub fn is_valid(&self) -> bool {
        self.kernel.is_valid()
    }

    /// Calls the kernel with these keys and arguments.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Stale`] where the kernel's registration was dropped; else those of the kernel.
    pub fn call_boxed(
        &self,
        keys: DispatchKeySet,
        args: &[ValueRef<'_>],
        returns: &mut Returns,
    ) -> Result<()> {
        if !self.is_valid() {
            return Err(self.invalidated());
        }
        call::call_held_boxed(&self.operator, || self.find(), keys, args, returns)
    }

    /// Returns the kernel with typed calls.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Signature`] where `S` is not the signature of the operator's kernels or does not fit its schema.
    pub fn typed<S: Signature>(&self) -> Result<TypedHeldKernel<S>> {
        let cell = self.operator.cell_of(signature_of::<S>())?;
        Ok(TypedHeldKernel { kernel: self.clone(), cell, signature: PhantomData })
    }

    /// The caller's thread is marked, as for [`Held::find`].
    fn find(&self) -> Result<Arc<KernelRecord>> {
        self.kernel.find().ok_or_else(|| self.invalidated())
    }

    #[cold]
    fn invalidated(&self) -> Error {
        let message = format!(
            "{}: the held kernel has been invalidated, its registration was dropped ({}); ask for it again",
            self.operator.name(),
            self.debug
        );
        Error::new(ErrorKind::Stale, message)
    }
}

impl std::fmt::Debug for HeldKernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "HeldKernel({}, {})", self.operator.name(), self.debug)
    }
}

/// A held kernel with typed calls, of [`HeldKernel::typed`].
///
/// # Examples
///
/// An override in the types of the kernel that it replaces:
///
/// ```
/// use opgrid_core::{DispatchKey, Dispatcher, operator};
///
/// operator! {
///     F = "myops::f(int x) -> int";
/// }
///
/// let cpu = DispatchKey::Cpu;
/// let dispatcher = Dispatcher::new();
/// # dispatcher.on_override(|_| {});
/// let mut library = dispatcher.library("myops");
/// library.define(F).kernel(cpu, |x| Ok(x + 1));
/// let _first = library.finish()?;
/// let original = dispatcher.find("myops::f")?.held_kernel(cpu)?.typed::<fn(i64) -> i64>()?;
///
/// let mut library = dispatcher.implementations("myops", None);
/// library.allow_override().implement(F).closure(cpu, move |x| Ok(10 * original.call(cpu.key_set(), x)?));
/// let _second = library.finish()?;
/// let f = dispatcher.find("myops::f")?.typed::<fn(i64) -> i64>()?;
/// assert_eq!(f.redispatch(cpu.key_set(), (4,))?, 50);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone)]
pub struct TypedHeldKernel<S> {
    kernel: HeldKernel,
    /// Where typed calls of the signature read the operator's table.
    cell: Arc<SignatureCell>,
    signature: Checked<S>,
}

impl<S> TypedHeldKernel<S> {
    /// Returns the kernel without its signature.
    pub fn kernel(&self) -> &HeldKernel {
        &self.kernel
    }
}

impl<S: Signature> TypedHeldKernel<S> {
    /// Calls the kernel with these keys and arguments.
    ///
    /// # Errors
    ///
    /// As [`HeldKernel::call_boxed`].
    pub fn call(&self, keys: DispatchKeySet, args: S::Args<'_>) -> Result<S::Output> {
        if !self.kernel.is_valid() {
            return Err(self.kernel.invalidated());
        }
        call::call_held::<S>(&self.cell, || self.kernel.find(), keys, args)
    }
}

impl<S> std::fmt::Debug for TypedHeldKernel<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Typed{:?}", self.kernel)
    }
}

impl OperatorHandle {
    /// The kernel that the table has for a runtime key now.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingKernel`] where the column has none, [`ErrorKind::Registration`] for an alias key.
    pub fn held_kernel(&self, key: DispatchKey) -> Result<HeldKernel> {
        if !self.has_computed_kernel_for(key)? {
            let message =
                format!("no kernel for {key} for {}; register one, or a fallback for the key", self.name());
            return Err(Error::new(ErrorKind::MissingKernel, message));
        }
        self.look(|table| HeldKernel::from_slot(self, table.slot_of(key)))
    }
}
