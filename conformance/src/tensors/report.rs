//! Counts what was compared and what differed, and says whether the run passed.

use std::collections::BTreeMap;
use std::fmt;

use super::answer::Answer;
use super::case::Case;
use super::compare::{Difference, Part};
use super::deliberate::Differences;
use crate::tally::Tally;

/// How many unexplained differences of each operator and part are kept to be shown.
const SHOWN: usize = 2;

/// The counts of an operator.
#[derive(Clone, Debug, Default)]
struct Counts {
    compared: usize,
    refused: usize,
    differing: usize,
}

/// The counts of a run.
#[derive(Debug)]
pub struct Report {
    operators: BTreeMap<String, Counts>,
    /// By operator, or what else is compared, and by part.
    tally: Tally<(String, Part)>,
    /// The cases at which the other side died, and those that it answered otherwise in spoilt memory.
    deaths: Vec<String>,
}

impl Default for Report {
    fn default() -> Self {
        Self { operators: BTreeMap::new(), tally: Tally::new(SHOWN), deaths: Vec::new() }
    }
}

impl Report {
    /// Something of a part of the run was compared.
    pub fn compared(&mut self, part: &'static str) {
        self.tally.compared(part);
    }

    /// Something about an operator differed as was decided.
    pub fn explained(&mut self, id: &'static str, operator: &str) {
        self.tally.explained(id, operator);
    }

    /// What differed.
    pub fn tally(&self) -> &Tally<(String, Part)> {
        &self.tally
    }

    /// How often each difference that was decided was met, by operators.
    pub fn table(&self, decided: &Differences) -> String {
        let mut table = String::from("decided differences:\n");
        for (difference, _) in decided.all() {
            let (mut count, mut operators) = (0, Vec::new());
            for (operator, hits) in self.tally.hits(difference.id) {
                count += hits;
                operators.push(format!("{} {hits}", operator.trim_start_matches("aten::")));
            }
            table.push_str(&format!("{count:9}  {}: {}\n", difference.id, operators.join(", ")));
        }
        table
    }

    /// The calls of a case were compared.
    pub fn calls(&mut self, case: &Case, ours: &[Answer], torch: &[Answer]) {
        for ((call, ours), torch) in case.calls.iter().zip(ours).zip(torch) {
            let counts = self.operators.entry(call.operator.clone()).or_default();
            counts.compared += 1;
            counts.refused += usize::from(ours.outcome.is_err() && torch.outcome.is_err());
        }
    }

    /// The other side died at a case; whether a new process answers it.
    pub fn died(&mut self, case: &Case, answers_alone: bool) {
        let how = if answers_alone { "; answered by a new process" } else { " of the case itself" };
        self.deaths.push(format!("{} died{how}", named(case)));
    }

    /// The other side answered a case otherwise than a new process does.
    pub fn spoilt(&mut self, case: &Case) {
        self.deaths.push(format!("{} answered otherwise by a new process", named(case)));
    }

    /// How many differences of an operator no rule explains.
    pub fn count(&self, operator: &str) -> usize {
        self.operators.get(operator).map_or(0, |counts| counts.differing)
    }

    /// Something differed in a case that was not decided.
    pub fn difference(&mut self, case: &Case, difference: &Difference) {
        let call = &case.calls[difference.call];
        self.operators.entry(call.operator.clone()).or_default().differing += 1;
        let text = format!("{call}\n    opgrid  {}\n    torch   {}", difference.ours, difference.torch);
        self.unexplained(&call.operator, difference.part, case.seed, &text);
    }

    /// Something differed that was not decided.
    pub fn unexplained(&mut self, what: &str, part: Part, seed: u64, text: &str) {
        self.tally.unexplained((what.to_owned(), part), seed, || format!("seed {seed} {part:?}: {text}"));
    }

    /// The operators that so few cases compare other than by errors that it says nothing, of those that are compared
    /// at all.
    pub fn hardly_compared(&self, enough: usize) -> Vec<String> {
        let few = |counts: &Counts| counts.compared >= enough && counts.refused * 10 > counts.compared * 9;
        self.operators.iter().filter(|(_, counts)| few(counts)).map(|(name, _)| name.clone()).collect()
    }
}

/// A case by its seed and operators.
fn named(case: &Case) -> String {
    let operators: Vec<&str> = case.calls.iter().map(|call| call.operator.as_str()).collect();
    format!("seed {} {}:", case.seed, operators.join(", "))
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, " compared  refused by both  differing")?;
        for (name, counts) in &self.operators {
            writeln!(f, "{:9}  {:15}  {:9}  {name}", counts.compared, counts.refused, counts.differing)?;
        }
        self.tally.print_compared(f)?;
        writeln!(f, "torch's process: {} deaths and answers of spoilt memory", self.deaths.len())?;
        for death in &self.deaths {
            writeln!(f, "           {death}")?;
        }
        self.tally.print_differences(f, "cases", |(name, part)| format!("{name} {part:?}"))
    }
}
