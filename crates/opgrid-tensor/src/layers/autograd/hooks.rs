//! What users run when gradients pass: hooks of tensors and of nodes.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use opgrid_core::Result;

use super::variable::Variable;
use crate::tensor::Tensor;

/// Sees the gradient of a tensor, and may give another one in its place.
pub(super) type TensorHook = Arc<dyn Fn(&Tensor) -> Result<Option<Tensor>> + Send + Sync>;

/// Sees the gradients on one side of a node, and may give others in their place.
pub(super) type NodeHook =
    Arc<dyn Fn(&[Option<Tensor>]) -> Result<Option<Vec<Option<Tensor>>>> + Send + Sync>;

/// The hooks of a node or of a leaf; most have none.
#[derive(Default)]
pub(super) struct Hooks(Mutex<Option<Box<List>>>);

#[derive(Default, Clone)]
pub(super) struct List {
    next: u64,
    pub(super) of_results: Vec<(u64, usize, TensorHook)>,
    pub(super) before: Vec<(u64, NodeHook)>,
    pub(super) after: Vec<(u64, NodeHook)>,
    /// Tensors that want to know their gradients, by results.
    pub(super) retaining: Vec<(usize, Weak<Variable>)>,
}

impl Hooks {
    /// The hooks as they are now; they run without a lock.
    pub(super) fn list(&self) -> Option<Box<List>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Changes the list and gives the number of the next hook.
    pub(super) fn change<X>(&self, change: impl FnOnce(&mut List, u64) -> X) -> (u64, X) {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let list = list.get_or_insert_default();
        list.next += 1;
        let number = list.next;
        (number, change(list, number))
    }

    fn remove(&self, number: u64) {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // What is taken out is dropped after the lock: it is code of users.
        let mut out = Vec::new();
        let mut out_of_nodes = Vec::new();
        if let Some(list) = list.as_deref_mut() {
            out.extend(list.of_results.extract_if(.., |hook| hook.0 == number));
            out_of_nodes.extend(list.before.extract_if(.., |hook| hook.0 == number));
            out_of_nodes.extend(list.after.extract_if(.., |hook| hook.0 == number));
        }
        drop(list);
    }
}

/// A hook that was registered. It stays where it is dropped; [`remove`](Self::remove) takes it out.
pub struct Hook {
    pub(super) place: HookPlace,
    pub(super) number: u64,
}

pub(super) enum HookPlace {
    Node(Weak<super::node::Node>),
    Leaf(Weak<Variable>),
}

impl Hook {
    /// Takes the hook out; one that is gone with its graph already is not missed.
    pub fn remove(self) {
        match self.place {
            HookPlace::Node(node) => {
                if let Some(node) = node.upgrade() {
                    node.hooks.remove(self.number);
                }
            }
            HookPlace::Leaf(leaf) => {
                if let Some(leaf) = leaf.upgrade() {
                    leaf.hooks.remove(self.number);
                }
            }
        }
    }
}
