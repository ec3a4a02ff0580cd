//! Faults of the tables that follow from the registrations.

use opgrid_core::{DispatchKey, KeyKind, Reason, autograd_key};

use super::{Fault, Report, Subject, is_data_key, listed};
use crate::types::any_tensor;

/// Tags of operators whose results' shapes are known from data only: there is nothing to tell on meta tensors.
const UNKNOWN_SHAPES: [&str; 2] = ["dynamic_output_shape", "data_dependent_output"];

/// The column of `layers::autograd`, whose engine needs no kernel of the operator.
const DERIVATIVE: &str = "derivative";

pub(super) fn check(subject: &Subject, report: &mut Report) {
    no_tensor(subject, report);
    meta(subject, report);
    stepped_over(subject, report);
    ambiguous(subject, report);
    lost_derivative(subject, report);
}

/// A call without tensors begins at the keys of the thread; where none has a kernel, it ends at `Undefined`.
fn no_tensor(subject: &Subject, report: &mut Report) {
    if any_tensor(&subject.schema.arguments) || subject.cells.is_empty() {
        return;
    }
    let answered = |key: DispatchKey| {
        subject.table.iter().any(|slot| slot.key == key && slot.kernel.is_some() && !slot.fallthrough)
    };
    if answered(DispatchKey::Undefined) || answered(DispatchKey::BackendSelect) {
        return;
    }
    let keys: Vec<_> = subject.cells.iter().map(|(key, _)| key.to_string()).collect();
    let message = format!(
        "takes no tensor, so that no call selects {}; register a kernel for BackendSelect, which \
         selects a backend, or for CompositeExplicitAutograd",
        listed(&keys)
    );
    report.add(Fault::NoTensorToDispatchOn, &subject.name, first_place(subject), message);
}

fn meta(subject: &Subject, report: &mut Report) {
    let own = |key: DispatchKey| {
        subject
            .table
            .iter()
            .find(|slot| slot.key == key && slot.reason == Reason::Direct && !slot.fallthrough)
    };
    let backends = subject.data_slots().filter(|slot| slot.key != DispatchKey::Meta);
    let computing: Vec<_> = backends.filter(|slot| slot.kernel.is_some() && !slot.fallthrough).collect();
    let direct = computing.iter().find(|slot| slot.reason == Reason::Direct);
    let meta = subject.operator.slot(DispatchKey::Meta);
    let nothing_on_meta = meta.is_ok_and(|slot| slot.kernel.is_none());
    let tells_shapes = any_tensor(&subject.schema.returns)
        && !subject.operator.tags().iter().any(|tag| UNKNOWN_SHAPES.contains(&tag.as_str()));
    if let Some(direct) = direct.filter(|_| nothing_on_meta && tells_shapes) {
        let place = direct.kernel.as_ref().map(|kernel| kernel.place.as_str());
        let message = format!(
            "has a kernel for {} but none for Meta, so that shapes cannot be computed without data; \
             register one, or tag the operator {} if shapes depend on data",
            direct.key, UNKNOWN_SHAPES[0]
        );
        report.add(Fault::MissingMeta, &subject.name, place, message);
    }
    if let Some(meta) = own(DispatchKey::Meta).filter(|_| computing.is_empty()) {
        let place = meta.kernel.as_ref().map(|kernel| kernel.place.as_str());
        let message = "has a kernel for Meta but none that computes; register one for a backend".to_owned();
        report.add(Fault::MetaAlone, &subject.name, place, message);
    }
}

/// Below a backend's key there is nothing.
fn stepped_over(subject: &Subject, report: &mut Report) {
    let slots = subject.table.iter().filter(|slot| slot.fallthrough && slot.reason == Reason::Direct);
    for slot in slots.filter(|slot| is_data_key(slot.key)) {
        let place = slot.kernel.as_ref().map(|kernel| kernel.place.as_str());
        let message = format!(
            "falls through at {}, which is a backend key with no key below, so that calls end without \
             a kernel; register the fallthrough for a layer",
            slot.key
        );
        report.add(Fault::BackendSteppedOver, &subject.name, place, message);
    }
}

fn ambiguous(subject: &Subject, report: &mut Report) {
    let slots = subject.table.iter().filter(|slot| slot.reason == Reason::Ambiguous);
    let keys: Vec<_> = slots.map(|slot| slot.key.to_string()).collect();
    if keys.is_empty() {
        return;
    }
    let backends = subject.cells.iter().filter(|(key, _)| is_data_key(*key)).map(|(key, _)| key.to_string());
    let message = format!(
        "at {} no rule chooses between the kernel for CompositeImplicitAutograd and that for {}; register one for \
         AutogradOther, or make the composite CompositeExplicitAutograd",
        listed(&keys),
        listed(&backends.collect::<Vec<_>>())
    );
    report.add(Fault::AmbiguousAutograd, &subject.name, first_place(subject), message);
}

/// A backend's own kernel keeps a composite-implicit one out of the backend's autograd key: then the operators that the
/// composite is made of are not recorded, and somebody else has to know the derivative.
fn lost_derivative(subject: &Subject, report: &mut Report) {
    let composite = DispatchKey::CompositeImplicitAutograd;
    if !subject.has_cell(composite) || subject.has_column(DERIVATIVE) {
        return;
    }
    let own = |(key, kernels): &'_ (DispatchKey, Vec<_>)| {
        let backend = (key.kind() == KeyKind::Instance && is_data_key(*key)).then(|| key.backend()).flatten();
        let kernel: Option<&opgrid_core::KernelInfo> = kernels.first();
        Some((*key, autograd_key(backend?), kernel.map(|kernel| kernel.place.clone())))
    };
    for (key, autograd, place) in subject.cells.iter().filter_map(own) {
        let answers = |slot: &&opgrid_core::TableSlot| {
            slot.key == autograd
                && matches!(slot.reason, Reason::Direct | Reason::Alias(_))
                && slot.kernel.is_some()
        };
        if key == DispatchKey::Meta || subject.table.iter().any(|slot| answers(&slot)) {
            continue;
        }
        let message = format!(
            "the kernel for {key} keeps that for {composite} out of {autograd}, where its operators \
             would be recorded; register a derivative for {autograd}, or remove the backend's kernel"
        );
        report.add(Fault::LostDerivative, &subject.name, place.as_deref(), message);
    }
}

fn first_place(subject: &Subject) -> Option<&str> {
    subject.cells.iter().flat_map(|(_, kernels)| kernels).map(|kernel| kernel.place.as_str()).next()
}
