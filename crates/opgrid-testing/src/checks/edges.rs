//! Tensors without elements and without dimensions.

use opgrid_core::DType;
use opgrid_samples::{Given, Plain, Sample};

use super::reference;
use crate::fault::{Fault, Verdict};
use crate::subject::{Case, Subject};

/// Whether a tensor is of a kind.
type IsOne = fn(&Plain) -> bool;

const KINDS: [(&str, IsOne); 2] = [
    ("no elements", |tensor| tensor.elements().is_empty()),
    ("no dimensions", |tensor| tensor.sizes().is_empty()),
];

/// Whether there are samples of both kinds, for operators on tensors.
pub(super) fn on_subject(subject: &Subject<'_>, dtypes: &[DType]) -> Vec<(String, Verdict)> {
    let declared = subject.samples.dtypes().iter().filter(|dtype| dtypes.contains(dtype));
    let samples: Vec<Sample> = declared.flat_map(|dtype| subject.samples.samples(*dtype)).collect();
    let has = |wanted: fn(&Plain) -> bool| samples.iter().any(|sample| any(sample, wanted));
    if samples.is_empty() || !has(|_| true) {
        return Vec::new();
    }
    let missing = KINDS.into_iter().filter(|(_, wanted)| !has(*wanted));
    missing
        .map(|(name, _)| (String::new(), Err(Fault::skipped(format!("no sample has a tensor with {name}")))))
        .collect()
}

pub(super) fn on_case(case: &Case<'_>) -> Vec<Verdict> {
    if KINDS.iter().any(|(_, wanted)| any(&case.sample, *wanted)) {
        vec![reference::on_case(case)]
    } else {
        Vec::new()
    }
}

fn any(sample: &Sample, wanted: fn(&Plain) -> bool) -> bool {
    sample.arguments().flat_map(Given::tensors).any(wanted)
}
