//! The result is that of the plain reference.

use crate::agreement;
use crate::fault::{Fault, Verdict};
use crate::memory::Memory;
use crate::subject::Case;

pub(super) fn on_case(case: &Case<'_>) -> Verdict {
    let subject = case.subject;
    let found = subject.call(&subject.target, &case.sample, Memory::Contiguous).map_err(Fault::error)?;
    agreement::check(&subject.target, &found, &case.expected, subject.samples.eps_count())
}
