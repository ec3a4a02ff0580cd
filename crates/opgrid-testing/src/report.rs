//! What a suite has found: counts per operator and check, failures, and what was left out and why.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::Check;

/// The outcome of a suite; its text lists the failures and sums up the rest.
#[derive(Clone, Debug, Default)]
pub struct Report {
    counts: BTreeMap<(String, Check), usize>,
    failures: Vec<Failure>,
    skips: BTreeMap<Skip, usize>,
}

/// A check that a sample did not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The operator's name; that of the overload where it is another.
    pub operator: String,
    /// What was checked.
    pub check: Check,
    /// The arguments.
    pub sample: String,
    /// What came out.
    pub found: String,
    /// What should have.
    pub expected: String,
}

/// A check that was not made, for some samples of an operator.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Skip {
    /// The operator's name.
    pub operator: String,
    /// What was not checked.
    pub check: Check,
    /// Why.
    pub reason: String,
}

impl Report {
    /// Whether there is no failure, and something was checked at all.
    pub fn passed(&self) -> bool {
        self.failures.is_empty() && !self.counts.is_empty()
    }

    /// How often an operator has passed a check.
    pub fn count(&self, operator: &str, check: Check) -> usize {
        self.counts.get(&(operator.to_owned(), check)).copied().unwrap_or(0)
    }

    /// How often checks were passed.
    pub fn total(&self) -> usize {
        self.counts.values().sum()
    }

    /// The counts per operator and check.
    pub fn counts(&self) -> impl Iterator<Item = (&str, Check, usize)> {
        self.counts.iter().map(|((operator, check), count)| (operator.as_str(), *check, *count))
    }

    /// What failed.
    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }

    /// What was left out, and how often.
    pub fn skips(&self) -> impl Iterator<Item = (&Skip, usize)> {
        self.skips.iter().map(|(skip, count)| (skip, *count))
    }

    /// Adds the outcome of another suite.
    pub fn join(&mut self, other: Self) {
        other.counts.into_iter().for_each(|(key, count)| *self.counts.entry(key).or_default() += count);
        other.skips.into_iter().for_each(|(skip, count)| *self.skips.entry(skip).or_default() += count);
        self.failures.extend(other.failures);
    }

    pub(crate) fn note_pass(&mut self, operator: &str, check: Check) {
        *self.counts.entry((operator.to_owned(), check)).or_default() += 1;
    }

    pub(crate) fn note_failure(&mut self, failure: Failure) {
        self.failures.push(failure);
    }

    pub(crate) fn note_skip(&mut self, operator: &str, check: Check, reason: &str) {
        let skip = Skip { operator: operator.to_owned(), check, reason: reason.to_owned() };
        *self.skips.entry(skip).or_default() += 1;
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} fails the check `{}`", self.operator, self.check)?;
        writeln!(f, "    sample    {}", self.sample)?;
        writeln!(f, "    found     {}", self.found)?;
        write!(f, "    expected  {}", self.expected)
    }
}

impl fmt::Display for Report {
    /// The first failures of each operator and check, what was left out, and the sums.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 2;
        let mut shown: BTreeMap<(&str, Check), usize> = BTreeMap::new();
        for failure in &self.failures {
            let count = shown.entry((&failure.operator, failure.check)).or_default();
            *count += 1;
            if *count <= SHOWN {
                writeln!(f, "{failure}")?;
            }
        }
        for ((operator, check), count) in shown.into_iter().filter(|(_, count)| *count > SHOWN) {
            writeln!(f, "{operator} fails the check `{check}` {} times more", count - SHOWN)?;
        }
        let mut reasons: BTreeMap<(Check, &str), BTreeSet<&str>> = BTreeMap::new();
        for skip in self.skips.keys() {
            reasons.entry((skip.check, &skip.reason)).or_default().insert(&skip.operator);
        }
        for ((check, reason), operators) in reasons {
            let names: Vec<&str> = operators.into_iter().collect();
            writeln!(f, "not checked: `{check}`, because {reason}: {}", names.join(", "))?;
        }
        let operators: BTreeSet<&str> = self.counts.keys().map(|(operator, _)| operator.as_str()).collect();
        let (total, failures) = (self.total(), self.failures.len());
        write!(f, "{} operators, {total} checks passed, {failures} failed", operators.len())
    }
}
