//! Dtypes that are not declared are refused.

use opgrid_core::{DType, OperatorHandle};
use opgrid_samples::{ANY, Sample};

use crate::fault::{Fault, Verdict};
use crate::memory::Memory;
use crate::subject::Subject;
use crate::target::is_panic;

pub(super) fn on_subject(subject: &Subject<'_>, dtypes: &[DType]) -> Vec<(String, Verdict)> {
    let samples = subject.samples;
    // Those that are stored only may be taken by way of others.
    let undeclared = dtypes.iter().filter(|dtype| !samples.dtypes().contains(dtype) && ANY.contains(dtype));
    let mut verdicts = Vec::new();
    for sample in undeclared.flat_map(|dtype| samples.samples(*dtype)) {
        verdicts.push((sample.to_string(), refused(subject, &subject.operator, &sample)));
        if let Some(variant) = &subject.variants.in_place {
            let verdict = refused(subject, &variant.operator, &sample);
            verdicts
                .push((sample.to_string(), verdict.map_err(|fault| fault.about(variant.operator.name()))));
        }
    }
    verdicts
}

fn refused(subject: &Subject<'_>, operator: &OperatorHandle, sample: &Sample) -> Verdict {
    let arguments = subject.arguments(&subject.target, sample, Memory::Contiguous).map_err(Fault::error)?;
    match subject.target.call(operator, &arguments) {
        Err(error) if is_panic(&error) => Err(Fault::error(error)),
        Err(_) => Ok(()),
        Ok(values) => Err(Fault::wrong(format!("{values:?}"), "an error, for the dtype is not declared")),
    }
}
