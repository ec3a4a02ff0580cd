//! The mark of tensors that gradients lead to, and what views know of the tensors that they were taken of.
//!
//! The mark is the key of a layer without kernels. Calls see it among the keys of their arguments, so that a recorder of
//! derivatives is passed by where no argument carries it, and a thread that excludes it records nothing.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use opgrid_core::{DispatchKey, DispatchKeySet, LocalKeys, Result, TensorType};

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

/// How a tensor came to share memory with others, which decides what a recorded write to it means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Sharing {
    /// It has memory of its own, or is a view that gradients pass.
    #[default]
    Recorded,
    /// A view that was taken while the thread did not record: what is written to it is not in the graph.
    Unrecorded,
    /// A view of the same bytes as another dtype, which no gradient passes: what is written to it is not in the graph. Calls see
    /// the mark of its base, but it requires no gradient.
    Reinterpreted,
    /// An argument of a function with a derivative of its own, or a view of one, that the function gave as its result: a
    /// write would go around that derivative.
    OfFunction,
    /// Taken out of the graph on purpose (`detach`): what is written to it is nobody else's concern.
    Detached,
}

impl Sharing {
    fn from_bits(bits: u8) -> Self {
        match bits {
            1 => Self::Unrecorded,
            2 => Self::Reinterpreted,
            3 => Self::OfFunction,
            4 => Self::Detached,
            _ => Self::Recorded,
        }
    }
}

/// What a tensor knows of the memory that it shares, and a base of what was written to it.
#[derive(Default)]
pub(super) struct Lineage {
    /// The tensor that this one was taken of as a view, and that one of no other.
    base: OnceLock<Tensor>,
    sharing: AtomicU8,
    /// How many recorded writes have given the tensor another history.
    rewrites: AtomicU64,
    /// The number of the base's rewrites that a view has taken into account.
    seen: AtomicU64,
}

/// # Whether gradients are wanted
impl Tensor {
    /// Whether gradients lead to this tensor: somebody asked for them ([`requires_grad_`](Self::requires_grad_)), or
    /// it was computed of one that they lead to.
    #[inline]
    pub fn requires_grad(&self) -> bool {
        self.is_marked() && self.sharing() != Sharing::Reinterpreted
    }

    /// Whether calls with this tensor are recorded: those of a view of another dtype, too, which requires no gradient.
    #[inline]
    fn is_marked(&self) -> bool {
        KEY.get().is_some_and(|key| self.keys().contains(*key))
    }

    /// The keys of another tensor on the same memory, which no gradients lead to yet.
    #[inline]
    pub(crate) fn unmarked_keys(&self) -> DispatchKeySet {
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
        self.lineage()?.base.get()
    }

    /// How the tensor came to share memory.
    #[inline]
    pub(crate) fn sharing(&self) -> Sharing {
        self.lineage().map_or(Sharing::Recorded, |it| Sharing::from_bits(it.sharing.load(Ordering::Relaxed)))
    }

    /// How many recorded writes have given the tensor another history.
    pub(crate) fn rewrites(&self) -> u64 {
        self.lineage().map_or(0, |lineage| lineage.rewrites.load(Ordering::Acquire))
    }

    /// Counts a recorded write, after which gradients of the tensor lead elsewhere already.
    pub(crate) fn count_rewrite(&self) {
        self.lineage_or_new().rewrites.fetch_add(1, Ordering::Release);
    }

    /// Returns the number of the base's rewrites that a view has taken into account.
    pub(crate) fn rewrites_seen(&self) -> u64 {
        self.lineage().map_or(0, |lineage| lineage.seen.load(Ordering::Acquire))
    }

    /// Takes note of rewrites of the base.
    pub(crate) fn note_rewrites(&self, seen: u64) {
        self.lineage_or_new().seen.store(seen, Ordering::Release);
    }

    /// Records the base that the view was taken from.
    #[inline]
    pub fn taken_of(self, base: &Self) -> Self {
        if IS_IN_USE.load(Ordering::Relaxed) {
            self.remember_base(base, Sharing::Recorded);
        }
        self
    }

    /// Records the base of a view that was taken without recording, whatever the thread's mode.
    #[inline]
    pub(super) fn taken_unrecorded_of(self, base: &Self) -> Self {
        if base.is_marked() {
            self.remember_base(base, Sharing::Unrecorded);
        }
        self
    }

    /// Records the base of a view as another dtype, which no gradient passes.
    pub fn reinterpreted_from(self, base: &Self) -> Self {
        if IS_IN_USE.load(Ordering::Relaxed) {
            self.remember_base(base, Sharing::Reinterpreted);
        }
        self
    }

    /// Returns a tensor on this memory without a history.
    pub(crate) fn detached_from_graph(self) -> Self {
        if IS_IN_USE.load(Ordering::Relaxed) {
            self.lineage_or_new().sharing.store(Sharing::Detached as u8, Ordering::Relaxed);
        }
        self
    }

    /// Says that the graph knows how this view was computed, whoever took it.
    pub(crate) fn view_is_recorded(&self) {
        if self.sharing() == Sharing::Unrecorded {
            self.lineage_or_new().sharing.store(Sharing::Recorded as u8, Ordering::Relaxed);
        }
    }

    /// Says that a function with a derivative of its own gave this tensor, which shares the memory of an argument.
    pub(crate) fn given_by_function(&self, argument: &Self) {
        let lineage = self.lineage_or_new();
        let base = lineage.base.get_or_init(|| argument.base().unwrap_or(argument).clone());
        lineage.seen.store(base.rewrites(), Ordering::Release);
        lineage.sharing.store(Sharing::OfFunction as u8, Ordering::Relaxed);
    }

    fn remember_base(&self, base: &Self, sharing: Sharing) {
        let Some(key) = KEY.get() else { return };
        let root = base.base().unwrap_or(base);
        let excluded = LocalKeys::current().excluded;
        let is_recording = !excluded.has_any(DispatchKeySet::AUTOGRAD.add(*key));
        let is_wanted = root.keys().contains(*key);
        if !is_recording && !is_wanted {
            return;
        }
        let sharing = match base.sharing() {
            Sharing::Recorded | Sharing::Detached if sharing == Sharing::Recorded && !is_recording => {
                Sharing::Unrecorded
            }
            Sharing::Recorded | Sharing::Detached => sharing,
            before => before,
        };
        let lineage = self.lineage_or_new();
        let _ = lineage.base.set(root.clone());
        if sharing == Sharing::Recorded {
            return;
        }
        lineage.sharing.store(sharing as u8, Ordering::Relaxed);
        lineage.seen.store(root.rewrites(), Ordering::Release);
        if is_wanted {
            // The layer has to see what is written here.
            self.as_any().set_layers(self.keys().add(*key));
        }
    }
}
