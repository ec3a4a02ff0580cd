//! What users run when gradients pass: hooks of tensors and of nodes.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use opgrid_core::Result;
use opgrid_core::deferred_drop::Flat;

use super::node::Node;
use super::reach::{Foreign, Visitor};
use crate::tensor::Tensor;

/// Sees the gradient of a tensor, and may give another one in its place.
///
/// What a hook owns may lead to another one.
pub(super) type TensorHook = Flat<Arc<dyn Fn(&Tensor) -> Result<Option<Tensor>> + Send + Sync>>;

/// Sees the gradients on one side of a node, and may give others in their place.
pub(super) type NodeHook =
    Flat<Arc<dyn Fn(&[Option<Tensor>]) -> Result<Option<Vec<Option<Tensor>>>> + Send + Sync>>;

/// The hooks of a node or of a leaf; most have none.
#[derive(Default)]
pub(super) struct Hooks(OnceLock<Box<Mutex<List>>>);

#[derive(Default, Clone)]
pub(super) struct List {
    next: u64,
    pub(super) of_results: Vec<(u64, usize, TensorHook)>,
    pub(super) before: Vec<(u64, NodeHook)>,
    pub(super) after: Vec<(u64, NodeHook)>,
    /// Where tensors keep the gradients that they want to know, by results.
    pub(super) retaining: Vec<(usize, Weak<Node>)>,
    /// What hooks hold of another language, by their numbers.
    held: Vec<(u64, Flat<Foreign>)>,
}

impl Hooks {
    /// The hooks as they are now; they run without a lock.
    pub(super) fn list(&self) -> Option<List> {
        Some(lock(self.0.get()?).clone())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.get().is_none()
    }

    /// Changes the list and gives the number of the next hook.
    pub(super) fn change<X>(&self, change: impl FnOnce(&mut List, u64) -> X) -> (u64, X) {
        let mut list = lock(self.0.get_or_init(Box::default));
        list.next += 1;
        let number = list.next;
        (number, change(&mut list, number))
    }

    fn remove(&self, number: u64) {
        let Some(list) = self.0.get() else { return };
        let mut list = lock(list);
        // What is taken out is dropped after the lock: it is code of users.
        let mut out = Vec::new();
        let mut out_of_nodes = Vec::new();
        out.extend(list.of_results.extract_if(.., |hook| hook.0 == number));
        out_of_nodes.extend(list.before.extract_if(.., |hook| hook.0 == number));
        out_of_nodes.extend(list.after.extract_if(.., |hook| hook.0 == number));
        let _held: Vec<_> = list.held.extract_if(.., |held| held.0 == number).collect();
        drop(list);
    }

    /// Shows what hooks hold.
    pub(super) fn reach(&self, visitor: &mut dyn Visitor) {
        let Some(Ok(list)) = self.0.get().map(|list| list.try_lock()) else { return };
        list.held.iter().for_each(|(_, held)| visitor.held(held));
    }
}

fn lock(list: &Mutex<List>) -> MutexGuard<'_, List> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A hook that was registered. It stays where it is dropped; [`remove`](Self::remove) takes it out.
pub struct Hook {
    pub(super) node: Weak<Node>,
    pub(super) number: u64,
}

impl Hook {
    /// Attaches what the hook's closure holds.
    pub(super) fn holding(self, held: Foreign) -> Self {
        if let Some(node) = self.node.upgrade() {
            node.hooks.change(|list, _| list.held.push((self.number, Flat::new(held))));
        }
        self
    }

    /// Takes the hook out; one that is gone with its graph already is not missed.
    pub fn remove(self) {
        if let Some(node) = self.node.upgrade() {
            node.hooks.remove(self.number);
        }
    }
}
