//! What the samples declare as an error is one, on meta tensors too, and says what is declared.

use opgrid_core::Device;
use opgrid_samples::Refusal;

use crate::fault::{Fault, Verdict};
use crate::memory::Memory;
use crate::subject::Subject;
use crate::target::{Target, is_panic};

pub(super) fn on_subject(subject: &Subject<'_>) -> Vec<(String, Verdict)> {
    let refusals = subject.samples.refusals().iter();
    refusals.map(|refusal| (refusal.sample.to_string(), on_refusal(subject, refusal))).collect()
}

fn on_refusal(subject: &Subject<'_>, refusal: &Refusal) -> Verdict {
    refused(subject, &subject.target, refusal)?;
    let meta = Target { device: Device::META, ..subject.target };
    if refusal.by_data || !subject.samples.is_on_meta() {
        Ok(())
    } else {
        refused(subject, &meta, refusal).map_err(|fault| fault.about("on meta tensors"))
    }
}

fn refused(subject: &Subject<'_>, target: &Target<'_>, refusal: &Refusal) -> Verdict {
    let expected = format!("an error that says \"{}\"", refusal.message);
    match subject.call(target, &refusal.sample, Memory::Contiguous) {
        Ok(values) => Err(Fault::wrong(format!("{values:?}"), expected)),
        Err(error) if is_panic(&error) || !error.to_string().contains(&refusal.message) => {
            Err(Fault::wrong(format!("the error \"{error}\""), expected))
        }
        Err(_) => Ok(()),
    }
}
