//! What the samples declare as an error is one, on meta tensors too, and says what is declared.

use opgrid_core::Device;
use opgrid_tensor::samples::Refusal;

use super::{Fault, Verdict};
use crate::memory::Memory;
use crate::place::{Place, is_panic};
use crate::subject::Subject;

pub(super) fn on_subject(subject: &Subject<'_>) -> Vec<(String, Verdict)> {
    let refusals = subject.samples.refusals().iter();
    refusals.map(|refusal| (refusal.sample.to_string(), on_refusal(subject, refusal))).collect()
}

fn on_refusal(subject: &Subject<'_>, refusal: &Refusal) -> Verdict {
    refused(subject, &subject.place, refusal)?;
    let meta = Place { device: Device::META, ..subject.place };
    match refusal.by_data || !subject.samples.is_on_meta() {
        true => Ok(()),
        false => refused(subject, &meta, refusal).map_err(|fault| fault.of("on meta tensors")),
    }
}

fn refused(subject: &Subject<'_>, place: &Place<'_>, refusal: &Refusal) -> Verdict {
    let expected = format!("an error that says \"{}\"", refusal.message);
    match subject.call(place, &refusal.sample, Memory::Contiguous) {
        Ok(values) => Err(Fault::wrong(format!("{values:?}"), expected)),
        Err(error) if is_panic(&error) || !error.to_string().contains(&refusal.message) => {
            Err(Fault::wrong(format!("the error \"{error}\""), expected))
        }
        Err(_) => Ok(()),
    }
}
