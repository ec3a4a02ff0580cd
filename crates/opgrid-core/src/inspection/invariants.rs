//! What must hold of every operator: its published table is the one that the rules give now.

use std::sync::atomic::Ordering;

use crate::calling::kernel::Role;
use crate::calling::operator::OperatorHandle;
use crate::calling::table::{SlotRef, Table};
use crate::error::{Error, ErrorKind, Result};
use crate::keys::key::{DispatchKey, columns};
use crate::registration::dispatcher::Dispatcher;

impl OperatorHandle {
    /// Compares what is published with what the rules give now, and the rest of what must hold.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Internal`] with both dumps where something does not hold.
    pub fn check_invariants(&self) -> Result<()> {
        let broken = self.with_registry(|registry| {
            let Some(record) = registry.operators.record(self) else {
                return Err(self.stale());
            };
            let named =
                record.definition.as_ref().is_none_or(|definition| definition.schema.name == *self.name());
            let found = record.definition.is_some() == self.0.is_found.load(Ordering::Acquire);
            let filled =
                record.kernels.iter().all(|(key, chain)| *key != DispatchKey::Undefined && !chain.is_empty());
            let fresh = registry.recompute(record);
            let same = |published: &Table| {
                let slots = |key: DispatchKey| (published.as_ref().slot_of(key), fresh.as_ref().slot_of(key));
                columns().into_iter().all(|key| {
                    let (a, b) = slots(key);
                    a.reason == b.reason && same_kernel(a, b)
                })
            };
            Ok(!(named && found && filled && record.table.as_ref().is_none_or(same)))
        })??;
        if !broken {
            return Ok(());
        }
        let message = format!(
            "{}: invariants do not hold\n{}\n{}",
            self.name(),
            self.dump_state()?,
            self.dump_computed_table()?
        );
        Err(Error::new(ErrorKind::Internal, message))
    }
}

fn same_kernel(a: SlotRef<'_>, b: SlotRef<'_>) -> bool {
    // Kernels that nobody registered belong to the base, which is built anew.
    let of_base = |slot: SlotRef<'_>| !matches!(slot.kernel.role, Role::Typed | Role::Boxed);
    let providers = |slot: SlotRef<'_>| {
        let links = slot.kernel.links.iter().flat_map(|links| links.providers.iter());
        links.map(std::sync::Arc::as_ptr).collect::<Vec<_>>()
    };
    std::ptr::eq(a.kernel, b.kernel)
        || a.kernel.role == b.kernel.role && of_base(a) && providers(a) == providers(b)
}

impl Dispatcher {
    /// Checks the invariants of every operator.
    ///
    /// # Errors
    ///
    /// As [`OperatorHandle::check_invariants`], for the first operator that breaks one.
    pub fn check_invariants(&self) -> Result<()> {
        self.registrations_for(None).iter().try_for_each(OperatorHandle::check_invariants)
    }
}
