//! Which kernel fills a slot, and why: the one function behind tables, dumps, explanations and errors.
//!
//! The rules look at one layer at a time and at all 32 backends together, as masks: each rule fills the backends
//! that it covers and that no earlier rule has filled.

use std::fmt;
use std::sync::Arc;

use crate::chain::Chain;
use crate::kernel::{Kernel, KernelRecord};
use crate::table::{Draft, Row, Slot};
use crate::{BackendComponent, DispatchKey, DispatchKeySet, Functionality, Result, alias_backends};

/// The rule that filled a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// A kernel registered for this very key.
    Direct,
    /// A kernel registered for an alias that covers the key.
    Alias(DispatchKey),
    /// The backend fallback of the key.
    Fallback,
    /// A composite kernel and a kernel of a backend mapped to AutogradOther, between which no rule chooses.
    Ambiguous,
    /// No kernel, and no layer that would need one: calls step over the key.
    SteppedOver,
    /// No kernel.
    Missing,
}

impl Reason {
    /// The words of torch's dumps.
    pub fn provenance(self) -> &'static str {
        match self {
            Self::Direct => "kernel",
            Self::Alias(
                DispatchKey::CompositeExplicitAutograd | DispatchKey::CompositeExplicitAutogradNonFunctional,
            ) => "default backend kernel",
            Self::Alias(DispatchKey::CompositeImplicitAutogradNestedTensor) => "nested kernel",
            Self::Alias(DispatchKey::CompositeImplicitAutograd) => "math kernel",
            Self::Alias(DispatchKey::FuncTorchBatchedDecomposition) => "batched kernel",
            Self::Alias(_) => "autograd kernel",
            Self::Fallback => "backend fallback",
            Self::Ambiguous => "ambiguous autogradother",
            Self::SteppedOver => "stepped over",
            Self::Missing => "missing",
        }
    }

    /// Whether somebody registered a kernel that the rule chose.
    pub fn is_registered(self) -> bool {
        !matches!(self, Self::SteppedOver | Self::Missing)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Direct => f.write_str("direct"),
            Self::Alias(alias) => write!(f, "alias {alias}"),
            Self::Fallback => f.write_str("fallback"),
            Self::Ambiguous => f.write_str("ambiguous"),
            Self::SteppedOver => f.write_str("stepped over"),
            Self::Missing => f.write_str("missing"),
        }
    }
}

/// The kernels that rules choose from: the active one of each key.
pub(crate) trait Kernels {
    /// The active kernel of exactly this key, alias or not.
    fn direct(&self, key: DispatchKey) -> Option<&Arc<KernelRecord>>;

    /// The keys that have kernels.
    fn keys(&self) -> impl Iterator<Item = DispatchKey>;
}

/// The backends that have a kernel of their own for `layer`.
fn direct_backends(kernels: &impl Kernels, layer: Functionality) -> u32 {
    kernels
        .keys()
        .filter(|key| !key.is_alias() && key.functionality() == layer)
        .fold(0, |mask, key| mask | key.columns())
}

/// The backends for which a backend's kernel keeps composite-implicit ones out of the autograd layer `layer`.
fn backends_with_kernels(kernels: &impl Kernels, layer: Functionality) -> u32 {
    if kernels.direct(DispatchKey::CompositeExplicitAutograd).is_some() {
        return u32::MAX;
    }
    let has_kernel = |set: DispatchKeySet| {
        let belongs =
            |key: DispatchKey| !key.is_alias() && key != DispatchKey::Undefined && set.contains(key);
        kernels.keys().any(belongs)
    };
    if layer == Functionality::AutogradFunctionality {
        let dense = direct_backends(kernels, Functionality::Dense);
        let counts = |backend: &BackendComponent| {
            !DispatchKey::runtime(layer, *backend).backends_of_autograd().is_empty()
        };
        return BackendComponent::all()
            .filter(counts)
            .fold(0, |mask, backend| mask | 1 << backend.position())
            & dense;
    }
    let set = DispatchKey::of_functionality(layer).backends_of_autograd();
    if !set.is_empty() && has_kernel(set) { u32::MAX } else { 0 }
}

/// Fills the row of `layer` from the operator's kernels; the backends that no rule covers keep the row of the base.
///
/// `base` is the row that the fallbacks alone give.
fn fill_row(
    draft: &mut Draft,
    kernels: &impl Kernels,
    ambiguous: &Arc<KernelRecord>,
    layer: Functionality,
    base: Row,
) -> Result<()> {
    use DispatchKey as Key;
    let undefined = layer == Functionality::Undefined;
    let mut row = base;
    let mut open = u32::MAX;
    let mut fill = |draft: &mut Draft, mask: u32, kernel: &Arc<KernelRecord>, reason: Reason| {
        let number = draft.number(Slot { kernel: kernel.clone(), reason })?;
        for (backend, slot) in row.iter_mut().enumerate() {
            if mask & open & (1 << backend) != 0 {
                *slot = number;
            }
        }
        open &= !mask;
        Ok::<(), crate::Error>(())
    };
    // 1. The key's own kernels.
    for key in kernels.keys().filter(|key| !key.is_alias() && key.functionality() == layer) {
        if let Some(kernel) = kernels.direct(key).filter(|_| key != Key::Undefined) {
            fill(draft, key.columns(), kernel, Reason::Direct)?;
        }
    }
    // 2, 3. Explicit composites; Undefined belongs to them although no alias lists it.
    for alias in [Key::CompositeExplicitAutogradNonFunctional, Key::CompositeExplicitAutograd] {
        if let Some(kernel) = kernels.direct(alias) {
            let mask = if undefined { u32::MAX } else { alias_backends(alias, layer) };
            fill(draft, mask, kernel, Reason::Alias(alias))?;
        }
    }
    // 4, 5, 6. Implicit composites, unless a backend's own kernel stands behind an autograd key.
    if let Some(kernel) = kernels.direct(Key::CompositeImplicitAutogradNestedTensor) {
        let alias = Key::CompositeImplicitAutogradNestedTensor;
        fill(draft, alias_backends(alias, layer), kernel, Reason::Alias(alias))?;
    }
    if let Some(kernel) = kernels.direct(Key::CompositeImplicitAutograd) {
        let alias = Key::CompositeImplicitAutograd;
        let covered = if undefined { u32::MAX } else { alias_backends(alias, layer) };
        let others = DispatchKeySet::AUTOGRAD_OTHER_BACKENDS;
        let reachable_only_through_other = |key: DispatchKey| !key.is_alias() && others.contains(key);
        if layer == Functionality::AutogradOther
            && kernels.keys().any(|key| key != Key::Undefined && reachable_only_through_other(key))
        {
            fill(draft, covered, ambiguous, Reason::Ambiguous)?;
        } else {
            fill(draft, covered & !backends_with_kernels(kernels, layer), kernel, Reason::Alias(alias))?;
        }
    }
    // 7, 8. The remaining aliases. 9 and 10 are the base: the key's fallback, or nothing.
    for alias in [Key::Autograd, Key::FuncTorchBatchedDecomposition] {
        if let Some(kernel) = kernels.direct(alias) {
            fill(draft, alias_backends(alias, layer), kernel, Reason::Alias(alias))?;
        }
    }
    draft.set_row(layer, row)
}

/// The layers whose rows the kernels under `key` can change.
fn layers_touched_by(key: DispatchKey) -> u64 {
    if !key.is_alias() {
        // A backend's kernel also decides whether composites reach autograd.
        return 1 << key.functionality().position() | DispatchKeySet::AUTOGRAD.layers();
    }
    let covered = Functionality::all()
        .filter(|layer| alias_backends(key, *layer) != 0)
        .fold(0, |mask, layer| mask | 1u64 << layer.position());
    covered | 1 << Functionality::Undefined.position()
}

/// The table of an operator without kernels: the fallbacks alone.
///
/// Calls step over layers of users and over the autocast keys of their backends, allocated or not. For the rest, calls
/// on backends of users step over what they step over on PrivateUse1.
pub(crate) fn base_of(fallbacks: &[(DispatchKey, Chain)], stepped_over: &[DispatchKey]) -> Result<Draft> {
    let fallback = |key: DispatchKey| fallbacks.iter().find(|(known, _)| *known == key)?.1.active();
    let mut draft =
        Draft::filled(Slot { kernel: Arc::new(Kernel::missing().record), reason: Reason::Missing });
    let skip = Kernel::fallthrough().describe("stepped over by default");
    let skip = Slot { kernel: Arc::new(skip.record), reason: Reason::SteppedOver };
    for position in 0..Functionality::COUNT as u32 {
        let Some(layer) = Functionality::at(position) else { continue };
        let mut row = [0; BackendComponent::COUNT];
        for (backend, number) in row.iter_mut().enumerate() {
            let backend = BackendComponent::at(backend as u32).expect("a row has as many places as backends");
            let stand_in = if backend.is_run_time() { BackendComponent::PrivateUse1 } else { backend };
            let is_layer_of_user =
                layer.is_run_time() || layer.has_instance_on(backend) && !layer.is_per_backend();
            if let Some(kernel) = fallback(DispatchKey::on(layer, backend)) {
                *number = draft.number(Slot { kernel: kernel.clone(), reason: Reason::Fallback })?;
            } else if is_layer_of_user || stepped_over.contains(&DispatchKey::on(layer, stand_in)) {
                *number = draft.number(skip.clone())?;
            }
        }
        draft.set_row(layer, row)?;
    }
    Ok(draft)
}

/// The table that the rules give for an operator's kernels over a base.
pub(crate) fn draft_of(kernels: &impl Kernels, base: &Draft, ambiguous: &Arc<KernelRecord>) -> Result<Draft> {
    let mut draft = base.clone();
    let touched = kernels.keys().fold(0, |mask, key| mask | layers_touched_by(key));
    for layer in Functionality::all().filter(|layer| touched >> layer.position() & 1 != 0) {
        fill_row(&mut draft, kernels, ambiguous, layer, base.row(layer))?;
    }
    Ok(draft)
}
