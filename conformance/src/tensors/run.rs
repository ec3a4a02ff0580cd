//! Makes cases, has both sides run them, and compares.

use std::collections::BTreeSet;
use std::sync::Arc;

use opgrid_core::schema::FunctionSchema;
use opgrid_core::{Device, OperatorHandle};
use opgrid_samples::OperatorSamples;
use serde_json::{Value as Json, json};

use super::answer::Answer;
use super::build::Builder;
use super::case::{Case, family};
use super::compare::{Difference, Part, compare};
use super::deliberate::{self, Decided, Differences};
use super::directed;
use super::families::{self, Maker};
use super::mistakes::{self, MISTAKES, Noticed};
use super::ours::Ours;
use super::printing::Printed;
use super::promotion;
use super::report::Report;
use super::tolerance::{self, Rounding};
use super::torch::{DIED, Torch};

/// How many cases are asked for at once.
const BATCH: u64 = 256;

/// So many unexplained differences of an operator are no chance: its cases are not asked again.
const NO_CHANCE: usize = 20;

/// Everything that makes cases.
pub struct Setting {
    /// Our side.
    pub ours: Ours,
    /// What was decided.
    pub differences: Differences,
    operators: Vec<(OperatorHandle, &'static Maker)>,
    /// Operators whose result is a view of their first argument, or may be.
    views: Vec<usize>,
    /// Operators that have samples, or are linked to one that has.
    sampled: Vec<(Arc<FunctionSchema>, Vec<OperatorSamples>)>,
    /// Parts of the names of the operators that the run is about, none where it is about all.
    only: Vec<String>,
}

/// A part of the run: how the case of a seed is made; there is none where the run is not about its operator.
pub type Make = fn(&Setting, u64) -> Option<Case>;

impl Setting {
    /// Prepares a run over all operators.
    ///
    /// # Errors
    ///
    /// Operators cannot be registered, or are of a kind for which no arguments can be made.
    pub fn new() -> Result<Self, String> {
        let ours = Ours::new().map_err(|error| error.to_string())?;
        let mut operators: Vec<OperatorHandle> = ours.dispatcher().operators();
        operators.sort_by_key(|operator| operator.name().to_string());
        let sampled = operators.iter().map(|operator| Ok((operator.schema()?, ours.samples(operator)?)));
        let sampled = sampled.collect::<opgrid_core::Result<Vec<_>>>().map_err(|error| error.to_string())?;
        let sampled = sampled.into_iter().filter(|(_, samples)| !samples.is_empty()).collect();
        let with_makers = operators.into_iter().filter_map(|operator| {
            let maker = families::for_operator(&operator).transpose()?;
            Some(maker.map(|maker| (operator, maker)))
        });
        let operators = with_makers.collect::<Result<Vec<_>, String>>()?;
        let is_view = |(operator, _): &(OperatorHandle, &Maker)| {
            let schema = operator.schema();
            schema.is_ok_and(|schema| {
                schema.returns.iter().any(|result| result.alias.is_some() && !result.is_write())
            })
        };
        let views = (0..operators.len()).filter(|at| is_view(&operators[*at])).collect();
        Ok(Self { operators, views, sampled, only: Vec::new(), differences: Differences::new(), ours })
    }

    /// About those operators only whose names have one of these parts; every seed means what it means without.
    pub fn only(mut self, parts: Vec<String>) -> Self {
        self.only = parts;
        self
    }

    /// Whether the run is about an operator.
    pub(super) fn is_about(&self, operator: &str) -> bool {
        self.is_about_all() || self.only.iter().any(|part| operator.contains(part))
    }

    /// Whether the run is about all operators.
    pub fn is_about_all(&self) -> bool {
        self.only.is_empty()
    }

    /// The overloads whose result is a view of their first argument, or may be: so their schemas say.
    pub fn views(&self) -> Vec<(&OperatorHandle, &'static Maker)> {
        self.views.iter().map(|at| (&self.operators[*at].0, self.operators[*at].1)).collect()
    }

    /// The case of one call that a seed means.
    pub fn one_call(&self, seed: u64) -> Option<Case> {
        let (operator, maker) = &self.operators[(seed % self.operators.len() as u64) as usize];
        self.is_about(&operator.name().to_string()).then(|| self.call_of(operator, maker, seed))
    }

    fn call_of(&self, operator: &OperatorHandle, maker: &Maker, seed: u64) -> Case {
        let mut builder = Builder::new(&self.ours, seed);
        builder.call(operator, maker);
        builder.case
    }

    /// The case of one call of the overload of that name.
    pub(super) fn call_named(&self, name: &str, seed: u64) -> Option<Case> {
        let known = self.operators.iter().find(|(operator, _)| operator.name().to_string() == name);
        known.map(|(operator, maker)| self.call_of(operator, maker, seed))
    }

    /// How many overloads have samples.
    pub(super) fn count_sampled(&self) -> u64 {
        self.sampled.len() as u64
    }

    /// The overload with samples that a seed means.
    pub(super) fn sampled(&self, seed: u64) -> (&FunctionSchema, &[OperatorSamples]) {
        let (schema, samples) = &self.sampled[(seed % self.count_sampled()) as usize];
        (schema, samples)
    }

    /// Whether an operator has samples that are not refused.
    pub fn can_be_called(&self, operator: &str) -> bool {
        self.ours.can_be_called(operator)
    }

    /// The names of the overloads that are compared.
    pub(super) fn names(&self) -> Vec<String> {
        self.operators.iter().map(|(operator, _)| operator.name().to_string()).collect()
    }
}

/// Compares the cases of these seeds. What differs and is not explained is asked again, of a new process, whose answer
/// counts: torch writes outside of its memory in some calls, and computes with it in others.
///
/// # Errors
///
/// The other side cannot be asked; a case of ours is none.
pub fn cases(
    setting: &Setting,
    torch: &mut Torch,
    (name, make): (&'static str, Make),
    seeds: std::ops::Range<u64>,
    report: &mut Report,
    mut watch: impl FnMut(&Case, &[Answer], &[Answer]),
) -> Result<(), String> {
    let mut next = seeds.start;
    while next < seeds.end {
        let end = seeds.end.min(next + BATCH);
        let batch: Vec<Case> = (next..end).filter_map(|seed| make(setting, seed)).collect();
        next = end;
        let lines: Vec<String> = batch.iter().map(Case::line).collect();
        let replies = torch.ask(&lines)?;
        for at in torch.deaths() {
            report.died(&batch[*at], replies[*at].is_some());
        }
        for (case, reply) in batch.iter().zip(replies) {
            let (mut theirs, mut judged) = judged(setting, case, reply.as_ref())?;
            let is_chance = |judged: &Judged<'_>| {
                judged.unexplained().is_some_and(|operator| report.count(operator) < NO_CHANCE)
            };
            if is_chance(&judged) {
                // A call before may have spoilt the memory in which this one was computed.
                let again = torch.ask_anew(&case.line())?;
                (theirs, judged) = self::judged(setting, case, again.as_ref())?;
                if judged.unexplained().is_none() {
                    report.spoilt(case);
                }
            }
            report.compared(name);
            watch(case, &judged.ours, &theirs);
            judged.reported(case, &theirs, report);
        }
    }
    Ok(())
}

/// What both sides answered to a case, and what differs.
struct Judged<'a> {
    ours: Vec<Answer>,
    /// Each with what explains it.
    differences: Vec<(Difference, Option<&'a Decided>)>,
    /// The operator of the first difference that nothing explains.
    unexplained: Option<String>,
}

impl Judged<'_> {
    /// The operator of the first difference that nothing explains.
    fn unexplained(&self) -> Option<&str> {
        self.unexplained.as_deref()
    }

    /// What the calls show, in words.
    fn shown(&self) -> String {
        let of = |(difference, decided): &(Difference, Option<&Decided>)| match decided {
            Some(decided) => decided.id.to_owned(),
            None => format!("opgrid: {}, torch: {}", difference.ours, difference.torch),
        };
        match self.differences.as_slice() {
            [] => "both sides agree".to_owned(),
            differences => differences.iter().map(of).collect::<Vec<_>>().join(", "),
        }
    }

    fn reported(&self, case: &Case, torch: &[Answer], report: &mut Report) {
        report.calls(case, &self.ours, torch);
        for (difference, decided) in &self.differences {
            match decided {
                Some(decided) => report.explained(decided.id, &case.calls[difference.call].operator),
                None => report.difference(case, difference),
            }
        }
    }
}

/// Runs a case on our side and compares it with the other side's reply; with its answers to the calls.
fn judged<'a>(
    setting: &'a Setting,
    case: &Case,
    reply: Option<&Json>,
) -> Result<(Vec<Answer>, Judged<'a>), String> {
    let torch = answers(case, reply)?;
    let run = |device| setting.ours.run(case, device).map_err(|error| format!("seed {}: {error}", case.seed));
    let (ours, meta) = (run(Device::CPU)?, run(Device::META)?);
    let found = compare(&setting.ours, case, &ours, &meta, &torch).into_iter().map(|difference| {
        let decided = setting.differences.explaining(&setting.ours, case, &ours, &difference);
        (difference, decided)
    });
    let differences: Vec<_> = found.collect();
    let open = differences.iter().find(|(_, decided)| decided.is_none());
    let unexplained = open.map(|(difference, _)| case.calls[difference.call].operator.clone());
    Ok((torch, Judged { ours, differences, unexplained }))
}

/// Runs a case on our side and compares it with the other side's reply.
pub(super) fn compared(
    setting: &Setting,
    case: &Case,
    reply: Option<&Json>,
    report: &mut Report,
) -> Result<(), String> {
    let (torch, judged) = judged(setting, case, reply)?;
    judged.reported(case, &torch, report);
    Ok(())
}

/// Makes each mistake in our answers to the cases of these seeds, and counts which are noticed.
///
/// # Errors
///
/// The other side cannot be asked; a case of ours is none.
pub fn mistakes(
    setting: &Setting,
    torch: &mut Torch,
    seeds: std::ops::Range<u64>,
    noticed: &mut Noticed,
) -> Result<(), String> {
    let mut next = seeds.start;
    while next < seeds.end {
        let end = seeds.end.min(next + BATCH);
        let batch: Vec<Case> = (next..end).filter_map(|seed| setting.one_call(seed)).collect();
        next = end;
        let lines: Vec<String> = batch.iter().map(Case::line).collect();
        for (case, answer) in batch.iter().zip(torch.ask(&lines)?) {
            mistakes_in(setting, case, answer.as_ref(), noticed)?;
        }
    }
    Ok(())
}

/// Makes each mistake in our answer to a case of one call, and counts which are noticed beside the other side's reply.
pub(super) fn mistakes_in(
    setting: &Setting,
    case: &Case,
    reply: Option<&Json>,
    noticed: &mut Noticed,
) -> Result<(), String> {
    let torch = answers(case, reply)?;
    let ours = setting.ours.run(case, Device::CPU);
    let ours = ours.map_err(|error| format!("seed {}: {error}", case.seed))?;
    // Elements that were never written are not compared; a result without any is not seen to be missing.
    let is_unset = tolerance::for_call(&setting.ours, &case.calls[0], false) == Rounding::Unset;
    let is_empty = ours[0].tensors().iter().any(|tensor| tensor.sizes.contains(&0));
    for (name, mistake) in MISTAKES {
        let mut wrong = ours.clone();
        if is_unset && mistakes::ON_ELEMENTS.contains(&name) || is_empty && name == mistakes::REFUSAL {
            continue;
        }
        if torch[0].outcome.is_ok() && wrong[0].outcome.is_ok() && mistake(&mut wrong[0]) {
            let differences = compare(&setting.ours, case, &wrong, &[], &torch);
            let is_unexplained = |difference: &Difference| {
                setting.differences.explaining(&setting.ours, case, &wrong, difference).is_none()
            };
            noticed.record(name, &case.calls[0].operator, differences.iter().any(is_unexplained));
        }
    }
    Ok(())
}

/// What the other side answered to the calls of a case; a dead process refuses them.
pub(super) fn answers(case: &Case, answer: Option<&Json>) -> Result<Vec<Answer>, String> {
    match answer.and_then(Json::as_array) {
        Some(list) => list.iter().map(|answer| Answer::parse(answer, &case.blocks)).collect(),
        None => {
            let died = Answer { outcome: Err(DIED.to_owned()), written: Vec::new() };
            Ok(vec![died; case.calls.len()])
        }
    }
}

/// Compares what tensors of these seeds print.
///
/// # Errors
///
/// The other side cannot be asked; a tensor of ours is none.
pub fn printing(torch: &mut Torch, seeds: std::ops::Range<u64>, report: &mut Report) -> Result<(), String> {
    let mut next = seeds.start;
    while next < seeds.end {
        let batch: Vec<(u64, Printed)> =
            (next..seeds.end.min(next + BATCH)).map(|seed| (seed, Printed::new(seed))).collect();
        next += batch.len() as u64;
        let lines: Vec<String> = batch.iter().map(|(_, printed)| printed.line()).collect();
        for ((seed, printed), answer) in batch.iter().zip(torch.ask(&lines)?) {
            text(*seed, printed, answer.as_ref().and_then(Json::as_str).unwrap_or(DIED), report)?;
        }
    }
    Ok(())
}

/// Compares what a tensor prints.
pub(super) fn text(seed: u64, printed: &Printed, torch: &str, report: &mut Report) -> Result<(), String> {
    let ours = printed.text().map_err(|error| format!("seed {seed}: {error}"))?;
    report.compared("printed tensors");
    if ours != torch {
        let text = format!("{printed:?}\n    opgrid  {ours}\n    torch   {torch}");
        report.unexplained("printing", Part::Text, seed, &text);
    }
    Ok(())
}

/// The differences that no call has shown.
#[derive(Default)]
pub struct Unmet {
    /// Differences whose directed call does not show them, other than those that only other processors show.
    pub gone: Vec<String>,
    /// Differences without a directed call: whether they still exist is not known.
    pub unknown: Vec<&'static str>,
}

/// Runs the directed call of each difference that was not met yet.
///
/// # Errors
///
/// The other side cannot be asked; a directed call is none.
pub fn directed(setting: &Setting, torch: &mut Torch, report: &mut Report) -> Result<Unmet, String> {
    let mut unmet = Unmet::default();
    for (difference, _) in setting.differences.all() {
        if report.tally().has_met(difference.id) {
            continue;
        }
        let Some(call) = &difference.directed else {
            unmet.unknown.push(difference.id);
            continue;
        };
        let case = directed::case(&setting.ours, call)?;
        let answer = torch.ask(&[case.line()])?.pop().flatten();
        report.compared("directed calls");
        let (theirs, judged) = judged(setting, &case, answer.as_ref())?;
        judged.reported(&case, &theirs, report);
        if call.is_shown_here() && !report.tally().has_met(difference.id) {
            unmet.gone.push(format!("{} ({})", difference.id, judged.shown()));
        }
    }
    Ok(unmet)
}

/// Compares type promotion, all of it.
///
/// # Errors
///
/// The other side cannot be asked.
pub fn promotion(torch: &mut Torch, report: &mut Report) -> Result<(), String> {
    let mut lines = vec![promotion::line_of_pairs()];
    lines.extend(promotion::DEFAULTS.map(promotion::line));
    let mut answers = torch.ask(&lines)?.into_iter().map(Option::unwrap_or_default);
    let mut pairs = promotion::pairs_compared(&answers.next().unwrap_or_default());
    for (default, answer) in promotion::DEFAULTS.into_iter().zip(answers) {
        let compared = promotion::categories_compared(default, &answer);
        pairs.extend(compared.map_err(|error| error.to_string())?);
    }
    for (pair, ours, torch) in pairs {
        report.compared("promoted pairs");
        if ours == torch {
            continue;
        }
        if promotion::is_narrow_complex(&ours, &torch) {
            report.explained(deliberate::NARROW_COMPLEX, "promotion");
        } else {
            let text = format!("{pair}\n    opgrid  {ours}\n    torch   {torch}");
            report.unexplained("promotion", Part::DType, 0, &text);
        }
    }
    Ok(())
}

/// The overloads that torch has in the families that are compared, and opgrid has not.
///
/// # Errors
///
/// The other side cannot be asked.
pub fn missing(setting: &Setting, torch: &mut Torch) -> Result<Vec<String>, String> {
    let known = setting.names();
    let families: BTreeSet<&str> = known.iter().map(|name| family(name)).collect();
    let line = json!({ "overloads": families }).to_string();
    let answer = torch.ask(&[line])?.pop().flatten().unwrap_or_default();
    let theirs = answer.as_array().into_iter().flatten().filter_map(Json::as_str).map(String::from);
    Ok(theirs.filter(|name| !known.contains(name)).collect())
}
