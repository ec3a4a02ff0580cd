//! The mark of tensors that gradients lead to, and the tensors that views were taken of.
//!
//! The mark is the key of a layer without kernels. Calls see it among the keys of their arguments, so that a recorder of
//! derivatives is passed by where no argument carries it, and a thread that excludes it records nothing.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use opgrid_core::{DispatchKey, DispatchKeySet, Result, TensorType, is_excluded};

use super::handle::Tensor;

/// The key, once somebody has asked for it.
static KEY: OnceLock<DispatchKey> = OnceLock::new();

/// Whether a tensor of this process was ever marked. Before, no view needs to know what it was taken of.
static IS_IN_USE: AtomicBool = AtomicBool::new(false);

/// The key that marks tensors which gradients lead to.
///
/// # Errors
///
/// Users' layers have taken all places above the autograd keys.
pub fn requires_grad_key() -> Result<DispatchKey> {
    if let Some(key) = KEY.get() {
        return Ok(*key);
    }
    let layer = DispatchKey::layer("RequiresGrad").above(DispatchKey::Autograd).below(DispatchKey::Tracer);
    let key = layer.register()?;
    Ok(*KEY.get_or_init(|| key))
}

impl Tensor {
    /// Whether gradients lead to this tensor: somebody asked for them ([`requires_grad_`](Self::requires_grad_)), or
    /// it was computed of one that they lead to.
    #[inline]
    pub fn requires_grad(&self) -> bool {
        KEY.get().is_some_and(|key| self.keys().contains(*key))
    }

    /// The keys of another tensor on the same memory, which no gradients lead to yet.
    #[inline]
    pub(super) fn unmarked_keys(&self) -> DispatchKeySet {
        KEY.get().map_or(self.keys(), |key| self.keys().remove(*key))
    }

    /// Marks the tensor, or takes the mark away.
    ///
    /// # Errors
    ///
    /// Those of [`requires_grad_key`].
    pub(crate) fn mark_requires_grad(&self, on: bool) -> Result<()> {
        let key = requires_grad_key()?;
        // Read first: a line that all threads read stays in their caches.
        if !IS_IN_USE.load(Ordering::Relaxed) {
            IS_IN_USE.store(true, Ordering::Relaxed);
        }
        let keys = self.keys();
        self.as_any().set_layers(if on { keys.add(key) } else { keys.remove(key) });
        Ok(())
    }

    /// The tensor that this one was taken of as a view, and that one of no other, where that is known: views that are taken
    /// while gradients are in use know it.
    pub fn base(&self) -> Option<&Self> {
        self.known_base()?.get()
    }

    /// The same view, which knows what it was taken of.
    #[inline]
    pub(crate) fn taken_of(self, base: &Self) -> Self {
        if IS_IN_USE.load(Ordering::Relaxed) && KEY.get().is_some_and(|key| !is_excluded(*key)) {
            let _ = self.base_place().set(base.base().unwrap_or(base).clone());
        }
        self
    }
}
