//! The kernels of one cell: a chain of named providers, each a stack of kernels whose newest counts.

use std::sync::Arc;

use crate::calling::conditions::Links;
use crate::calling::kernel::{Kernel, KernelRecord};
use crate::calling::table::Slot;
use crate::error::Result;

/// The kernels of one cell: named providers in the order of registration, each a stack whose newest kernel counts.
///
/// Invariant: no provider's stack is empty.
#[derive(Clone, Default)]
pub(crate) struct Chain(Vec<Stack>);

#[derive(Clone)]
struct Stack {
    name: Option<Arc<str>>,
    /// The newest comes last.
    kernels: Vec<Arc<KernelRecord>>,
}

impl Stack {
    fn active(&self) -> &Arc<KernelRecord> {
        self.kernels.last().expect("the invariant of `Chain`")
    }
}

impl Chain {
    /// The kernel of a cell that has one, for all arguments.
    pub(crate) fn single(&self) -> Option<&Arc<KernelRecord>> {
        match &self.0[..] {
            [stack] => Some(stack.active()).filter(|kernel| kernel.condition.is_none()),
            _ => None,
        }
    }

    /// The kernel that a slot of the cell points to: the single one, or one that asks the providers.
    ///
    /// `order` names those that come first; `next` follows them all.
    pub(crate) fn kernel(&self, order: &[Arc<str>], next: impl FnOnce() -> Slot) -> Arc<KernelRecord> {
        if let Some(kernel) = self.single() {
            return kernel.clone();
        }
        let providers = self.ordered(order);
        match &providers[0] {
            // Whoever is first and takes every call is who runs; masks have to know of a fallthrough.
            first if first.is_fallthrough() && first.condition.is_none() => first.clone(),
            _ => Arc::new(Kernel::chain(Links { providers, next: next() }).record),
        }
    }

    /// The active kernel of each provider, those that `order` names first.
    fn ordered(&self, order: &[Arc<str>]) -> Box<[Arc<KernelRecord>]> {
        let position = |stack: &&Stack| {
            let named = |name: &Arc<str>| stack.name.as_ref() == Some(name);
            order.iter().position(named).unwrap_or(usize::MAX)
        };
        let mut stacks: Vec<_> = self.0.iter().collect();
        stacks.sort_by_key(position);
        stacks.into_iter().map(|stack| stack.active().clone()).collect()
    }

    /// Whether a kernel of that name would become one more provider.
    pub(crate) fn would_be_joined_by(&self, name: Option<&Arc<str>>) -> bool {
        name.is_some() && !self.0.is_empty() && self.0.iter().all(|stack| stack.name.as_ref() != name)
    }

    /// Every kernel of each provider, the active one first, with its position in the provider's stack from the top.
    pub(crate) fn all_placed(&self) -> impl Iterator<Item = (usize, &Arc<KernelRecord>)> {
        self.0.iter().flat_map(|stack| stack.kernels.iter().rev().enumerate())
    }

    /// Every kernel.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<KernelRecord>> {
        self.all_placed().map(|(_, kernel)| kernel)
    }

    /// Every kernel, of a cell that is given up.
    pub(crate) fn into_kernels(self) -> impl Iterator<Item = Arc<KernelRecord>> {
        self.0.into_iter().flat_map(|stack| stack.kernels)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a kernel; the kernel that it replaces comes back, or as an error where nothing may be replaced.
    pub(crate) fn add(
        &mut self,
        kernel: Arc<KernelRecord>,
        may_replace: bool,
    ) -> Result<Option<Arc<KernelRecord>>, Arc<KernelRecord>> {
        let same = match &kernel.name {
            None if self.0.is_empty() => None,
            None => Some(0),
            Some(name) => self.0.iter().position(|stack| stack.name.as_ref() == Some(name)),
        };
        let Some(index) = same else {
            self.0.reserve_exact(1);
            self.0.push(Stack { name: kernel.name.clone(), kernels: vec![kernel] });
            return Ok(None);
        };
        let replaced = self.0[index].active().clone();
        if !may_replace {
            return Err(replaced);
        }
        self.0[index].kernels.push(kernel);
        Ok(Some(replaced))
    }

    pub(crate) fn remove(&mut self, kernel: &Arc<KernelRecord>) {
        for stack in &mut self.0 {
            stack.kernels.retain(|known| !Arc::ptr_eq(known, kernel));
        }
        self.0.retain(|stack| !stack.kernels.is_empty());
    }
}
