//! Makes cases, has both sides run them, and compares.

use opgrid_core::{Device, OperatorHandle};
use serde_json::Value as Json;

use super::answer::Answer;
use super::build::Builder;
use super::case::Case;
use super::compare::compare;
use super::families::{self, Family};
use super::ours::Ours;
use super::report::Report;
use super::torch::{DIED, Torch};

/// How many cases are asked for at once.
const BATCH: u64 = 256;

/// Everything that makes cases.
pub struct Setting {
    /// Our side.
    pub ours: Ours,
    operators: Vec<(OperatorHandle, &'static Family)>,
}

/// A part of the run: how the case of a seed is made.
pub type Make = fn(&Setting, u64) -> Case;

impl Setting {
    /// # Errors
    ///
    /// Operators cannot be registered, or no family makes arguments for them.
    pub fn new() -> Result<Self, String> {
        let ours = Ours::new().map_err(|error| error.to_string())?;
        let mut operators: Vec<OperatorHandle> = ours.dispatcher().operators();
        operators.sort_by_key(|operator| operator.name().to_string());
        let with_family = operators.into_iter().map(|operator| {
            let name = operator.name().to_string();
            let family = families::of(&name);
            family.map(|family| (operator, family)).ok_or_else(|| {
                format!("{name} is in no family that makes arguments; enter it in conformance/src/tensors/families.rs")
            })
        });
        Ok(Self { operators: with_family.collect::<Result<_, _>>()?, ours })
    }

    /// The overloads that are compared.
    pub fn operators(&self) -> impl Iterator<Item = &OperatorHandle> {
        self.operators.iter().map(|(operator, _)| operator)
    }

    /// The case of one call that a seed means.
    pub fn one_call(&self, seed: u64) -> Case {
        let mut builder = Builder::new(&self.ours, seed);
        let (operator, family) = &self.operators[(seed % self.operators.len() as u64) as usize];
        builder.call(operator, family);
        builder.case
    }
}

/// Compares the cases of these seeds.
///
/// # Errors
///
/// The other side cannot be asked; a case of ours is none.
pub fn cases(
    setting: &Setting,
    torch: &mut Torch,
    make: Make,
    seeds: std::ops::Range<u64>,
    report: &mut Report,
    mut watch: impl FnMut(&Case, &[Answer], &[Answer]),
) -> Result<(), String> {
    let mut next = seeds.start;
    while next < seeds.end {
        let batch: Vec<Case> = (next..seeds.end.min(next + BATCH)).map(|seed| make(setting, seed)).collect();
        next += batch.len() as u64;
        let lines: Vec<String> = batch.iter().map(Case::line).collect();
        for (case, answer) in batch.iter().zip(torch.ask(&lines)?) {
            let torch = answers(case, answer.as_ref())?;
            let run = |device| {
                setting.ours.run(case, device).map_err(|error| format!("seed {}: {error}", case.seed))
            };
            let (ours, meta) = (run(Device::CPU)?, run(Device::META)?);
            watch(case, &ours, &torch);
            report.calls(case, &ours, &torch);
            for difference in compare(case, &ours, &meta, &torch) {
                report.difference(case, &difference);
            }
        }
    }
    Ok(())
}

/// What the other side answered to the calls of a case; a dead process refuses them.
fn answers(case: &Case, answer: Option<&Json>) -> Result<Vec<Answer>, String> {
    match answer.and_then(Json::as_array) {
        Some(list) => list.iter().map(|answer| Answer::parse(answer, &case.blocks)).collect(),
        None => {
            let died = Answer { outcome: Err(DIED.to_owned()), written: Vec::new() };
            Ok(vec![died; case.calls.len()])
        }
    }
}
