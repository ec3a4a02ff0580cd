//! Runs every check on every sample.

use std::collections::BTreeSet;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use opgrid_core::{DType, Device, DeviceType, Dispatcher, ThreadContext};
use opgrid_samples::{OperatorSamples, Samples};

use crate::checks::Check;
use crate::draws;
use crate::fault::Fault;
use crate::report::{Failure, Report};
use crate::subject::{Case, Subject};
use crate::target::Target;

/// Samples, and where and how they are checked.
#[derive(Clone, Debug)]
pub struct Suite {
    samples: Samples,
    device: Device,
    dtypes: Vec<DType>,
    checks: Vec<Check>,
}

impl Suite {
    /// All checks of these samples, on the CPU, with every dtype.
    pub fn new(samples: Samples) -> Self {
        let dtypes = opgrid_samples::STORED.to_vec();
        Self { samples, device: Device::CPU, dtypes, checks: Check::ALL.to_vec() }
    }

    /// Runs the checks on another device. Its backend creates tensors by `empty_strided`, `copy_` and `as_strided`.
    pub fn device(self, device: Device) -> Self {
        Self { device, ..self }
    }

    /// Restricts the checks to these dtypes.
    pub fn dtypes(self, dtypes: &[DType]) -> Self {
        Self { dtypes: dtypes.to_vec(), ..self }
    }

    /// Restricts the suite to these checks.
    pub fn checks(self, checks: &[Check]) -> Self {
        Self { checks: checks.to_vec(), ..self }
    }

    /// Runs the suite on the operators of a dispatcher: as many at a time as there are processors, each on a thread in the
    /// state of this one.
    ///
    /// # Panics
    ///
    /// Those of kernels and references.
    pub fn run(&self, dispatcher: &Dispatcher) -> Report {
        let operators = self.samples.operators();
        let (context, next) = (ThreadContext::capture(), AtomicUsize::new(0));
        let work = || {
            let take = || {
                let index = next.fetch_add(1, Ordering::Relaxed);
                operators.get(index).map(|samples| (index, samples))
            };
            context.within(|| {
                let taken = std::iter::from_fn(take);
                taken.map(|(index, samples)| (index, self.checked(dispatcher, samples))).collect()
            })
        };
        let reports: Vec<Vec<(usize, Report)>> = thread::scope(|scope| {
            let threads = thread::available_parallelism().map_or(1, NonZero::get);
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
                .collect()
        });
        let mut reports: Vec<_> = reports.into_iter().flatten().collect();
        reports.sort_unstable_by_key(|(index, _)| *index);
        let mut report = Report::default();
        reports.into_iter().for_each(|(_, one)| report.join(one));
        report
    }

    /// What one operator makes of the checks.
    fn checked(&self, dispatcher: &Dispatcher, samples: &OperatorSamples) -> Report {
        let mut report = Report::default();
        match Subject::new(Target { dispatcher, device: self.device }, samples) {
            Ok(subject) => self.run_subject(&subject, &mut report),
            Err(error) => self.record(&mut report, samples, self.first_check(), "", Err(Fault::error(error))),
        }
        report
    }

    /// The overloads that the suite calls: those that have samples, and those found beside them that write.
    pub fn overloads(&self, dispatcher: &Dispatcher) -> BTreeSet<String> {
        let target = Target { dispatcher, device: self.device };
        let subjects =
            self.samples.operators().iter().filter_map(|samples| Subject::new(target, samples).ok());
        subjects.flat_map(|subject| subject.overloads()).collect()
    }

    fn first_check(&self) -> Check {
        self.checks.first().copied().unwrap_or(Check::Reference)
    }

    fn run_subject(&self, subject: &Subject<'_>, report: &mut Report) {
        let samples = subject.samples;
        if !samples.is_for_devices() && self.device.kind() != DeviceType::Cpu {
            let reason = "the CPU has to address the memory";
            return report.note_skip(samples.name(), self.first_check(), reason);
        }
        let draws = subject.is_random();
        let _alone = draws.then(draws::alone);
        for check in &self.checks {
            for (text, verdict) in check.on_subject(subject, &self.dtypes) {
                self.record(report, samples, *check, &text, verdict);
            }
        }
        for &dtype in self.dtypes.iter().filter(|dtype| samples.dtypes().contains(dtype)) {
            for (number, sample) in samples.samples(dtype).into_iter().enumerate() {
                let text = sample.to_string();
                match subject.expected(&sample) {
                    Ok(expected) => {
                        // Samples of another dtype may draw where those that were looked at do not.
                        let _alone = (!draws && draws::is_random(&expected)).then(draws::alone);
                        let case = Case { subject, dtype, number, sample, expected };
                        for check in &self.checks {
                            for verdict in check.on_case(&case) {
                                self.record(report, samples, *check, &text, verdict);
                            }
                        }
                    }
                    Err(fault) => self.record(report, samples, self.first_check(), &text, Err(fault)),
                }
            }
        }
    }

    fn record(
        &self,
        report: &mut Report,
        samples: &OperatorSamples,
        check: Check,
        sample: &str,
        verdict: Result<(), Fault>,
    ) {
        match verdict {
            Ok(()) => report.note_pass(samples.name(), check),
            Err(Fault::Skipped(reason)) => report.note_skip(samples.name(), check, &reason),
            Err(Fault::Wrong { subject, found, expected }) => report.note_failure(Failure {
                operator: samples.name().to_owned(),
                check,
                sample: format!(
                    "{}{sample}",
                    subject.map_or(String::new(), |subject| format!("{subject}: "))
                ),
                found,
                expected,
            }),
        }
    }
}
