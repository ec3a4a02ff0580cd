//! Faults of the kernels as they were registered, cell by cell.

use opgrid_core::{DispatchKey, Dispatcher, KernelInfo, Reason};

use super::{Fault, Report, Subject, is_data_key, listed};
use crate::names::confusable;

/// Kernels for a name that nobody defines.
pub(super) fn dangling(
    name: &str,
    cells: &[(DispatchKey, Vec<KernelInfo>)],
    dispatcher: &Dispatcher,
    report: &mut Report,
) {
    let keys: Vec<_> = cells.iter().map(|(key, _)| key.to_string()).collect();
    let place = cells.iter().flat_map(|(_, kernels)| kernels).map(|kernel| kernel.place.as_str()).next();
    let base = name.split('.').next().unwrap_or(name);
    let overloads: Vec<_> = dispatcher.overloads(base).iter().map(|it| it.name().to_string()).collect();
    let near = dispatcher.operators().into_iter().map(|it| it.name().to_string());
    let near = near.filter(|known| confusable(known, name)).chain(overloads).collect::<Vec<_>>();
    let remedy = match near.as_slice() {
        [] => "define it, or remove the kernels".to_owned(),
        near => format!("did you mean {}?", near.join(" or ")),
    };
    let message = format!("has kernels for {} but no schema; {remedy}", listed(&keys));
    report.add(Fault::DanglingImplementation, name, place, message);
}

pub(super) fn check(subject: &Subject, report: &mut Report) {
    if subject.cells.is_empty() {
        let message = "is defined but has no kernel; register one, or remove the definition".to_owned();
        return report.add(Fault::SchemaWithoutKernel, &subject.name, subject.place(), message);
    }
    for (key, kernels) in &subject.cells {
        overridden(subject, *key, kernels, report);
        shadowed(subject, *key, kernels, report);
        covered(subject, *key, kernels, report);
    }
    nothing_below(subject, report);
}

/// A kernel counts until one of the same name is registered for its cell; the newest stands first.
fn overridden(subject: &Subject, key: DispatchKey, kernels: &[KernelInfo], report: &mut Report) {
    for (place, kernel) in kernels.iter().enumerate() {
        let Some(newer) = kernels[..place].iter().find(|newer| newer.name == kernel.name) else { continue };
        let message = format!(
            "the kernel for {key} never runs, because {} replaced it; remove one of them, or name them \
             to keep both",
            newer.place
        );
        report.add(Fault::OverriddenKernel, &subject.name, Some(&kernel.place), message);
    }
}

/// Providers are asked in their order; one without a condition takes every call.
fn shadowed(subject: &Subject, key: DispatchKey, kernels: &[KernelInfo], report: &mut Report) {
    let mut active: Vec<&KernelInfo> = Vec::new();
    for kernel in kernels {
        if active.iter().all(|known| known.name != kernel.name) {
            active.push(kernel);
        }
    }
    // The slot's kernel is named after the providers in the order in which they are asked.
    let slot = subject.table.iter().find(|slot| match slot.reason {
        Reason::Direct => slot.key == key,
        Reason::Alias(alias) => alias == key,
        _ => false,
    });
    let asked = slot.and_then(|slot| slot.kernel.as_ref()?.name.clone()).unwrap_or_default();
    let asked: Vec<_> = asked.split(", ").collect();
    active.sort_by_key(|kernel| {
        let name = kernel.name.as_deref().unwrap_or("(unnamed)");
        asked.iter().position(|known| *known == name).unwrap_or(usize::MAX)
    });
    let Some(first) = active.iter().position(|kernel| kernel.condition.is_none()) else { return };
    for kernel in &active[first + 1..] {
        let message = format!(
            "the provider {} for {key} never runs, because {} at {} accepts every call; give that one \
             a condition, or another position in the order",
            kernel.title(),
            active[first].title(),
            active[first].place
        );
        report.add(Fault::ShadowedProvider, &subject.name, Some(&kernel.place), message);
    }
}

/// A kernel for an alias that fills no slot.
fn covered(subject: &Subject, key: DispatchKey, kernels: &[KernelInfo], report: &mut Report) {
    let fills = |reason: Reason| reason == Reason::Alias(key) || reason == Reason::Ambiguous;
    if !key.is_alias() || subject.table.iter().any(|slot| fills(slot.reason)) {
        return;
    }
    let stronger: Vec<_> = subject
        .cells
        .iter()
        .map(|(key, _)| *key)
        .filter(|other| *other != key)
        .map(|key| key.to_string())
        .collect();
    let message = format!(
        "no call can reach the kernel for {key}, because those for {} come first; remove it",
        listed(&stronger)
    );
    report.add(Fault::CoveredAlias, &subject.name, kernels.first().map(|it| it.place.as_str()), message);
}

/// Kernels of layers only.
fn nothing_below(subject: &Subject, report: &mut Report) {
    let layers_only = subject.cells.iter().all(|(key, _)| {
        if key.is_alias() {
            *key == DispatchKey::Autograd || *key == DispatchKey::FuncTorchBatchedDecomposition
        } else {
            *key != DispatchKey::Undefined && *key != DispatchKey::BackendSelect && !is_data_key(*key)
        }
    });
    let computed = subject.data_slots().any(|slot| slot.kernel.is_some());
    if layers_only && !computed {
        let keys: Vec<_> = subject.cells.iter().map(|(key, _)| key.to_string()).collect();
        let place = subject.cells.iter().flat_map(|(_, kernels)| kernels).map(|it| it.place.as_str()).next();
        let message = format!(
            "has kernels for {} only, which are layers and redispatch, and none for a backend; \
             register one for CPU or for CompositeExplicitAutograd",
            listed(&keys)
        );
        report.add(Fault::NothingBelow, &subject.name, place, message);
    }
}
