//! What is registered for an operator and what its table says, as text and as values.

use std::fmt::Write;

use crate::calling::kernel::{KernelRecord, Role};
use crate::calling::kernel_info::KernelInfo;
use crate::calling::listing::{dump_table, list_columns};
use crate::calling::operator::OperatorHandle;
use crate::calling::reason::Reason;
use crate::calling::table::SlotRef;
use crate::calling::thread::LocalKeys;
use crate::error::{Error, ErrorKind, Result};
use crate::keys::key::{DispatchKey, columns};
use crate::keys::set::DispatchKeySet;
use crate::registration::chain::Chain;
use crate::registration::dispatcher::Dispatcher;
use crate::registration::record::OperatorRecord;

/// One slot of an operator's table.
#[derive(Clone, Debug)]
pub struct TableSlot {
    /// The runtime key.
    pub key: DispatchKey,
    /// The rule that filled the slot.
    pub reason: Reason,
    /// Whether calls step over the key.
    pub fallthrough: bool,
    /// The kernel, if there is one.
    pub kernel: Option<KernelInfo>,
}

impl TableSlot {
    fn new(key: DispatchKey, slot: SlotRef<'_>) -> Self {
        Self {
            key,
            reason: slot.reason,
            fallthrough: slot.kernel.is_fallthrough(),
            kernel: slot.reason.is_registered().then(|| KernelInfo::from_record(slot.kernel)),
        }
    }
}

impl OperatorHandle {
    /// The kernels as they were registered: source of truth of the table, in torch's format.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Stale`] where the operator is gone.
    pub fn dump_state(&self) -> Result<String> {
        self.with_record(dump_record).ok_or_else(|| self.stale())
    }

    /// The kernels as they were registered, key by key, alias keys too, the providers of a cell in their order.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_core::{DispatchKey, Dispatcher, Kernel, Place};
    ///
    /// let dispatcher = Dispatcher::new();
    /// let mut library = dispatcher.library("myops");
    /// library.stands_at(Place::new("kernels.py", 7)).define("nothing() -> ()").add(Kernel::boxed(|_| Ok(())).named("none"));
    /// let _registration = library.finish()?;
    /// let nothing = dispatcher.find("myops::nothing")?;
    /// let [(key, kernels)] = &nothing.registered_kernels()?[..] else { panic!("one cell") };
    /// assert_eq!(*key, DispatchKey::CompositeImplicitAutograd);
    /// assert_eq!((kernels[0].title(), kernels[0].place.as_str()), ("none", "kernels.py:7"));
    /// assert_eq!(nothing.defined_at().as_deref(), Some("registered at kernels.py:7"));
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Stale`] where the operator is gone.
    pub fn registered_kernels(&self) -> Result<Vec<(DispatchKey, Vec<KernelInfo>)>> {
        self.with_record(|record| record.kernels.iter().map(registered).collect()).ok_or_else(|| self.stale())
    }

    /// The table, one line per column that has a kernel, in torch's format.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Stale`] where the operator is gone.
    pub fn dump_computed_table(&self) -> Result<String> {
        self.look(dump_table)
    }

    /// The columns that have a kernel, as `[K1, K2]`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Stale`] where the operator is gone.
    pub fn list_dispatch_keys(&self) -> Result<String> {
        self.look(list_columns)
    }

    /// Every column with what fills it, in torch's order; those of users' keys come last.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Stale`] where the operator is gone.
    pub fn table(&self) -> Result<Vec<TableSlot>> {
        self.look(|table| columns().into_iter().map(|key| TableSlot::new(key, table.slot_of(key))).collect())
    }

    /// What fills the column of a runtime key.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Stale`] where the operator is gone.
    pub fn slot(&self, key: DispatchKey) -> Result<TableSlot> {
        self.look(|table| TableSlot::new(key, table.slot_of(key)))
    }

    /// The keys and the column that a call with these arguments' keys reaches, on this thread.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Stale`] where the operator is gone.
    pub fn effective_keys(&self, arguments: DispatchKeySet) -> Result<DispatchKeySet> {
        self.look(|table| table.mask(LocalKeys::current().apply(arguments)))
    }

    /// The state of the key extractor as torch prints it: the reversed position mask and the keys not fallen through.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Stale`] where the operator is gone.
    pub fn dump_extractor(&self) -> Result<String> {
        self.look(|table| {
            let mask = table.definition().map_or(0, |definition| definition.reversed_dispatch_arguments());
            let bits: String = (0..64).map(|bit| if mask >> bit & 1 == 1 { '1' } else { '0' }).collect();
            let kept = table.kept_layers(DispatchKeySet::EMPTY);
            let kept = DispatchKeySet::FULL & DispatchKeySet::from_parts(kept, u32::MAX);
            format!("{bits} {kept}\n")
        })
    }

    /// Whether the column of a runtime key has a kernel.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Registration`] for an alias key, which has no column.
    pub fn has_computed_kernel_for(&self, key: DispatchKey) -> Result<bool> {
        expect_column(key)?;
        self.look(|table| table.slot_of(key).reason.is_registered())
    }

    /// How many bytes the operator's table takes.
    pub fn table_bytes(&self) -> usize {
        self.look(|table| table.size_in_bytes()).unwrap_or(0)
    }
}

impl Dispatcher {
    /// The fallbacks as they were registered, key by key, the providers of a key in their order.
    pub fn registered_fallbacks(&self) -> Vec<(DispatchKey, Vec<KernelInfo>)> {
        self.0.look(|registry| registry.fallbacks.iter().map(registered).collect())
    }

    /// What fills the column of a runtime key for operators that registered nothing for it: the key's fallback, which may be
    /// a fallthrough, or nothing.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Registration`] for an alias key, which has no column.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_core::{DispatchKey, Dispatcher, Kernel, Reason};
    ///
    /// let (tracer, dispatcher) = (DispatchKey::Tracer, Dispatcher::new());
    /// assert_eq!(dispatcher.default_slot(tracer)?.reason, Reason::SteppedOver);
    /// let mut everything = dispatcher.implementations("_", tracer);
    /// everything.fallback(Kernel::fallthrough());
    /// let _registration = everything.finish()?;
    /// let slot = dispatcher.default_slot(tracer)?;
    /// assert_eq!((slot.reason, slot.fallthrough), (Reason::Fallback, true));
    /// let [(key, kernels)] = &dispatcher.registered_fallbacks()[..] else { panic!("one fallback") };
    /// assert_eq!((*key, kernels[0].fallthrough), (tracer, true));
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn default_slot(&self, key: DispatchKey) -> Result<TableSlot> {
        expect_column(key)?;
        Ok(self.0.look(|registry| TableSlot::new(key, registry.base().slot_of(key))))
    }
}

/// A cell for those who list it.
fn registered((key, chain): &(DispatchKey, Chain)) -> (DispatchKey, Vec<KernelInfo>) {
    (*key, chain.all().map(|kernel| KernelInfo::from_record(kernel)).collect())
}

/// # Errors
///
/// The key is an alias.
fn expect_column(key: DispatchKey) -> Result<()> {
    if !key.is_alias() {
        return Ok(());
    }
    let message = format!("{key}: alias keys do not have runtime kernel registrations");
    Err(Error::new(ErrorKind::Registration, message))
}

fn dump_record(record: &OperatorRecord) -> String {
    let name = record.handle.name();
    let mut text = format!("name: {name}\n");
    match &record.definition {
        None => text.push_str("schema: (none)\n"),
        Some(definition) => {
            let _ = write!(
                text,
                "schema: {}\ndebug: {}\nalias analysis kind: {}\n",
                definition.schema,
                definition.origin,
                definition.alias_analysis_text()
            );
        }
    }
    for (key, chain) in &record.kernels {
        for (index, kernel) in chain.all_placed() {
            let inferred = match &kernel.signature {
                // Torch leaves the name of inferred schemas empty.
                Some(signature) => signature.schema.to_string(),
                None => "(none)".into(),
            };
            let state = match kernel.role {
                Role::Fallthrough => "fallthrough boxed",
                Role::Typed if kernel.signature.is_some_and(|signature| !signature.is_symbolic()) => {
                    "boxed unboxed"
                }
                _ => "boxed",
            };
            let alias = if key.is_alias() { "[alias]" } else { "" };
            let inactive = if index > 0 { " (inactive)" } else { "" };
            let provider = if chain.single().is_some() { String::new() } else { provider_of(kernel) };
            let _ = writeln!(
                text,
                "{key}{alias}{inactive}{provider}: {} :: {inferred} [ {state} ]",
                kernel.debug()
            );
        }
    }
    text
}

/// What a dump says of a kernel that is not the only one of its cell.
fn provider_of(kernel: &KernelRecord) -> String {
    let name = kernel.name.as_deref().unwrap_or("(unnamed)");
    match &kernel.condition {
        Some(condition) => format!(" (provider {name}, when {})", condition.text),
        None => format!(" (provider {name})"),
    }
}
