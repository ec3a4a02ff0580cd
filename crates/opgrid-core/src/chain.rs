//! The kernels of one cell: a chain of named providers, each a stack of kernels whose newest counts.

use std::sync::Arc;

use crate::Result;
use crate::kernel::KernelRecord;

/// The kernels of one cell: named providers in order, each a stack whose newest kernel counts.
///
/// Invariant: no provider's stack is empty.
#[derive(Clone, Default)]
pub(crate) struct Chain(Vec<Provider>);

#[derive(Clone)]
struct Provider {
    name: Option<Arc<str>>,
    /// The newest comes last.
    stack: Vec<Arc<KernelRecord>>,
}

impl Chain {
    /// The kernel that runs: the newest of the first provider.
    pub(crate) fn active(&self) -> Option<&Arc<KernelRecord>> {
        self.0.first()?.stack.last()
    }

    /// Every kernel, the active one first.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<KernelRecord>> {
        self.0.iter().flat_map(|provider| provider.stack.iter().rev())
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
            Some(name) => self.0.iter().position(|provider| provider.name.as_ref() == Some(name)),
        };
        let Some(place) = same else {
            self.0.push(Provider { name: kernel.name.clone(), stack: vec![kernel] });
            return Ok(None);
        };
        let stack = &mut self.0[place].stack;
        let replaced = stack.last().cloned().expect("a provider has a kernel");
        if !may_replace {
            return Err(replaced);
        }
        stack.push(kernel);
        Ok(Some(replaced))
    }

    pub(crate) fn remove(&mut self, kernel: &Arc<KernelRecord>) {
        for provider in &mut self.0 {
            provider.stack.retain(|known| !Arc::ptr_eq(known, kernel));
        }
        self.0.retain(|provider| !provider.stack.is_empty());
    }
}
