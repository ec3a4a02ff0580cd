//! The kernel of one column, held apart from the table: what an override needs to call the kernel that it replaces.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::calling::kernel::KernelRecord;
use crate::calling::kernel_info::KernelInfo;
use crate::calling::operator::OperatorHandle;
use crate::error::{Error, ErrorKind, Result};
use crate::keys::key::DispatchKey;
use crate::keys::set::DispatchKeySet;
use crate::signatures::stack::Returns;
use crate::values::value::Boxed;

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
    kernel: Arc<KernelRecord>,
}

impl HeldKernel {
    /// The operator.
    pub fn operator(&self) -> &OperatorHandle {
        &self.operator
    }

    /// What kernel it is.
    pub fn info(&self) -> KernelInfo {
        KernelInfo::of(&self.kernel)
    }

    /// Whether the kernel's registration is still there.
    pub fn is_valid(&self) -> bool {
        let is_there = |kernel: &KernelRecord| !kernel.dropped.load(Ordering::Acquire);
        let providers = self.kernel.links.iter().flat_map(|links| &links.providers);
        is_there(&self.kernel) && providers.into_iter().all(|provider| is_there(provider))
    }

    /// Calls the kernel with these keys and arguments.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Stale`] where the kernel's registration was dropped; else those of the kernel.
    pub fn call_boxed(&self, keys: DispatchKeySet, args: &[Boxed<'_>], returns: &mut Returns) -> Result<()> {
        if !self.is_valid() {
            let message = format!(
                "{}: the held kernel has been invalidated, its registration was dropped ({}); ask for it again",
                self.operator.name(),
                self.kernel.debug()
            );
            return Err(Error::new(ErrorKind::Stale, message));
        }
        crate::calling::call::call_held(&self.operator, &self.kernel, keys, args, returns)
    }
}

impl std::fmt::Debug for HeldKernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "HeldKernel({}, {})", self.operator.name(), self.kernel.debug())
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
        let kernel = self.look(|table| table.slot_of(key).counted())?;
        Ok(HeldKernel { operator: self.clone(), kernel })
    }
}
