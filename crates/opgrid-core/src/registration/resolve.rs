//! Which kernel fills a slot, and why: the one function behind tables, dumps, explanations and errors.
//!
//! The rules look at one layer at a time and at all 32 backends together, as masks: each rule fills the backends
//! that it covers and that no earlier rule has filled.

use std::sync::Arc;

use crate::calling::kernel::{Kernel, KernelRecord};
use crate::calling::reason::Reason;
use crate::calling::table::{Base, Draft, Row, Slot};
use crate::keys::key::{DispatchKey, alias_backends};
use crate::keys::parts::{BackendComponent, Functionality};
use crate::keys::set::DispatchKeySet;
use crate::registration::chain::Chain;
use crate::registration::provider::Orders;

/// The rules, in the order in which they are tried.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// A kernel of the very key.
    Direct,
    /// A kernel for `CompositeExplicitAutogradNonFunctional`.
    ExplicitNonFunctional,
    /// A kernel for `CompositeExplicitAutograd`.
    Explicit,
    /// A kernel of a backend keeps composite-implicit ones out of the backend's autograd key.
    BackendFirst,
    /// A kernel for `CompositeImplicitAutogradNestedTensor`.
    Nested,
    /// A kernel for `CompositeImplicitAutograd`, [`Ambiguous`](Self::Ambiguous) included.
    Implicit,
    /// Nothing is chosen between a composite-implicit kernel and one of a backend mapped to AutogradOther.
    Ambiguous,
    /// A kernel for `Autograd`.
    Autograd,
    /// A kernel for `FuncTorchBatchedDecomposition`.
    Batched,
    /// The fallback of the key.
    Fallback,
    /// A key that no rule fills is missing: calls that reach it fail and do not step over it.
    Missing,
    /// Reference fallbacks that only look leave the thread's keys alone. This is about what a kernel does, not which one
    /// is chosen; it stands here so that programs which do without it are known to notice.
    BackendFallthrough,
}

impl Rule {
    /// Every rule, in order.
    pub const ALL: [Self; 12] = [
        Self::Direct,
        Self::ExplicitNonFunctional,
        Self::Explicit,
        Self::BackendFirst,
        Self::Nested,
        Self::Implicit,
        Self::Ambiguous,
        Self::Autograd,
        Self::Batched,
        Self::Fallback,
        Self::Missing,
        Self::BackendFallthrough,
    ];
}

/// The rules that a dispatcher resolves by: all of them, but for programs that show that a missing one is noticed.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules(u16);

impl Rules {
    /// Every rule.
    pub const ALL: Self = Self((1 << Rule::ALL.len()) - 1);

    /// Returns the rules without one of them.
    pub const fn without(self, rule: Rule) -> Self {
        Self(self.0 & !(1 << rule as u16))
    }

    pub(crate) const fn has(self, rule: Rule) -> bool {
        self.0 >> rule as u16 & 1 != 0
    }
}

/// The kernels that rules choose from, by key.
pub(crate) trait Kernels {
    /// The kernels of exactly this key, alias or not.
    fn cell(&self, key: DispatchKey) -> Option<&Chain>;

    /// The providers that come first in a cell.
    fn order(&self, key: DispatchKey) -> &[Arc<str>];

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
    if kernels.cell(DispatchKey::CompositeExplicitAutograd).is_some() {
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

/// A row while rules fill it.
struct Filling<'d> {
    draft: &'d mut Draft,
    row: Row,
    /// The backends that no rule has filled.
    open: u32,
}

impl Filling<'_> {
    /// Fills the backends of `mask` that are open.
    fn fill(&mut self, mask: u32, kernel: Arc<KernelRecord>, reason: Reason) {
        self.put(mask & self.open, kernel, reason);
        self.open &= !mask;
    }

    fn put(&mut self, mask: u32, kernel: Arc<KernelRecord>, reason: Reason) {
        if mask == 0 {
            return;
        }
        let number = self.draft.number(Slot { kernel, reason });
        if mask == u32::MAX {
            self.row = [number; BackendComponent::COUNT];
            return;
        }
        let entries = self.row.iter_mut().enumerate().filter(|(backend, _)| mask >> backend & 1 != 0);
        entries.for_each(|(_, entry)| *entry = number);
    }

    /// The slot of the lowest backend of `mask`.
    fn slot(&self, mask: u32) -> Slot {
        self.draft.slot(self.row[mask.trailing_zeros() as usize]).clone()
    }
}

/// Fills the row of `layer` from the operator's kernels; the backends that no rule covers keep the row of the base.
fn fill_row(draft: &mut Draft, rules: Rules, kernels: &impl Kernels, layer: Functionality) {
    let base = draft.base().clone();
    let mut filling = Filling { row: base.row(layer), draft, open: u32::MAX };
    let is_own =
        |key: &DispatchKey| !key.is_alias() && key.functionality() == layer && *key != DispatchKey::Undefined;
    let own = |key: DispatchKey| kernels.cell(key).map(|cell| (key, cell));
    let own = || kernels.keys().filter(is_own).filter(|_| rules.has(Rule::Direct)).filter_map(own);
    // 1. The key's own kernels.
    for (key, cell) in own() {
        if let Some(kernel) = cell.single() {
            filling.fill(key.columns(), kernel.clone(), Reason::Direct);
        }
    }
    if kernels.keys().any(DispatchKey::is_alias) {
        fill_from_aliases(&mut filling, rules, kernels, &base, layer);
    }
    // Chains come last, because they lead on to what the other rules give.
    for (key, cell) in own().filter(|(_, cell)| cell.single().is_none()) {
        let kernel = cell.kernel(kernels.order(key), || filling.slot(key.columns()));
        filling.put(key.columns(), kernel, Reason::Direct);
    }
    let row = filling.row;
    draft.set_row(layer, row);
}

/// The rules for kernels of aliases.
fn fill_from_aliases(
    filling: &mut Filling<'_>,
    rules: Rules,
    kernels: &impl Kernels,
    base: &Base,
    layer: Functionality,
) {
    use DispatchKey as Key;
    let undefined = layer == Functionality::Undefined;
    let alias_kernel = |rule: Rule, alias: DispatchKey| {
        kernels.cell(alias).and_then(Chain::single).filter(|_| rules.has(rule)).cloned()
    };
    // 2, 3. Explicit composites; Undefined belongs to them although no alias lists it.
    for (rule, alias) in [
        (Rule::ExplicitNonFunctional, Key::CompositeExplicitAutogradNonFunctional),
        (Rule::Explicit, Key::CompositeExplicitAutograd),
    ] {
        if let Some(kernel) = alias_kernel(rule, alias) {
            let mask = if undefined { u32::MAX } else { alias_backends(alias, layer) };
            filling.fill(mask, kernel, Reason::Alias(alias));
        }
    }
    // 4, 5, 6. Implicit composites, unless a backend's own kernel stands behind an autograd key.
    if let Some(kernel) = alias_kernel(Rule::Nested, Key::CompositeImplicitAutogradNestedTensor) {
        let alias = Key::CompositeImplicitAutogradNestedTensor;
        filling.fill(alias_backends(alias, layer), kernel, Reason::Alias(alias));
    }
    if let Some(kernel) = alias_kernel(Rule::Implicit, Key::CompositeImplicitAutograd) {
        let alias = Key::CompositeImplicitAutograd;
        let covered = if undefined { u32::MAX } else { alias_backends(alias, layer) };
        let others = DispatchKeySet::AUTOGRAD_OTHER_BACKENDS;
        let reachable_only_through_other = |key: DispatchKey| !key.is_alias() && others.contains(key);
        if layer == Functionality::AutogradOther
            && rules.has(Rule::Ambiguous)
            && kernels.keys().any(|key| key != Key::Undefined && reachable_only_through_other(key))
        {
            filling.fill(covered, base.ambiguous.clone(), Reason::Ambiguous);
        } else {
            let kept_out =
                if rules.has(Rule::BackendFirst) { backends_with_kernels(kernels, layer) } else { 0 };
            filling.fill(covered & !kept_out, kernel, Reason::Alias(alias));
        }
    }
    // 7, 8. The remaining aliases. 9 and 10 are the base: the key's fallback, or nothing.
    for (rule, alias) in
        [(Rule::Autograd, Key::Autograd), (Rule::Batched, Key::FuncTorchBatchedDecomposition)]
    {
        if let Some(kernel) = alias_kernel(rule, alias) {
            filling.fill(alias_backends(alias, layer), kernel, Reason::Alias(alias));
        }
    }
}

/// The layers whose rows the kernels under `key` can change.
fn layers_touched_by(key: DispatchKey) -> u64 {
    if !key.is_alias() {
        return 1 << key.functionality().position();
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
pub(crate) fn base_of(
    rules: Rules,
    fallbacks: &[(DispatchKey, Chain)],
    orders: &Orders,
    stepped_over: &[DispatchKey],
) -> Base {
    let fallbacks = if rules.has(Rule::Fallback) { fallbacks } else { &[] };
    let missing = Slot { kernel: Arc::new(Kernel::missing().record), reason: Reason::Missing };
    let mut base = Base::filled(missing.clone());
    let skip = Kernel::fallthrough().describe("stepped over by default");
    let skip = Slot { kernel: Arc::new(skip.record), reason: Reason::SteppedOver };
    for position in 0..Functionality::COUNT as u32 {
        let Some(layer) = Functionality::at(position) else { continue };
        let mut row = [0; BackendComponent::COUNT];
        // Backends that share a key share its slot.
        let mut before: Option<(DispatchKey, u16)> = None;
        for (backend, number) in row.iter_mut().enumerate() {
            let backend = BackendComponent::at(backend as u32).expect("a row has as many places as backends");
            let key = DispatchKey::on(layer, backend);
            if let Some((_, known)) = before.filter(|(known, _)| *known == key) {
                *number = known;
                continue;
            }
            let stand_in = if backend.is_run_time() { BackendComponent::PrivateUse1 } else { backend };
            let is_layer_of_user =
                layer.is_run_time() || layer.has_instance_on(backend) && !layer.is_per_backend();
            let stepped_over = is_layer_of_user || stepped_over.contains(&DispatchKey::on(layer, stand_in));
            let nothing = if stepped_over || !rules.has(Rule::Missing) { &skip } else { &missing };
            let slot = match fallbacks.iter().find(|(known, _)| *known == key) {
                None => nothing.clone(),
                Some((_, chain)) => {
                    let kernel = chain.kernel(orders.for_key(key), || nothing.clone());
                    Slot { kernel, reason: Reason::Fallback }
                }
            };
            *number = base.number(slot);
            before = Some((key, *number));
        }
        base.set_row(layer, row);
    }
    base
}

/// The table that the rules give for an operator's kernels over a base.
pub(crate) fn draft_of(rules: Rules, kernels: &impl Kernels, base: &Arc<Base>) -> Draft {
    let mut draft = Draft::from_base(base);
    let mut touched = kernels.keys().fold(0, |mask, key| mask | layers_touched_by(key));
    while touched != 0 {
        if let Some(layer) = Functionality::at(touched.trailing_zeros()) {
            fill_row(&mut draft, rules, kernels, layer);
        }
        touched &= touched - 1;
    }
    draft
}
