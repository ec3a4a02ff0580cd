//! Counts what was compared and what differed, and says whether the run passed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::compare::{Difference, Part};
use super::deliberate::{self, Met, RULES, Rule};
use super::program::{Program, Step};
use crate::tally::Tally;

/// What programs have, and mistakes that both sides refuse: everything that is counted.
const FEATURES: [&str; 51] = [
    "a library that claims its namespace",
    "algebra of sets",
    "boxed kernel",
    "call",
    "call from a kernel",
    "call from a kernel below a fallback of autograd",
    "call under guards",
    "defined twice",
    "definition among implementations",
    "definition by schema",
    "definition by schema with a kernel",
    "definition inferred from a kernel",
    "edited schema",
    "edited schema, accepted",
    "edited schema, refused",
    "fallback",
    "fallback in the wrong block",
    "fallback of a namespace",
    "fallback without a key",
    "fallthrough",
    "kernel for a functionality",
    "kernel for an alias",
    "kernel for an instance",
    "kernel for every key",
    "kernel of another key",
    "kernel of another namespace",
    "kernel of another type than the schema",
    "kernel without a type to infer from",
    "kernels before the definition",
    "kernels of two types",
    "kernels without a definition",
    "key and its name",
    "legacy registration",
    "library of namespace _",
    "name without a schema",
    "neither schema nor name",
    "nothing to infer a schema from",
    "redispatch",
    "reserved overload name",
    "schema cannot be inferred",
    "schema in the place of a name",
    "schema of another namespace",
    "second fallback",
    "second library of a namespace",
    "symbolic kernel",
    "too many arguments",
    "two kernels for a key in one call",
    "two kernels for every key in one call",
    "two schemas in one call",
    "typed kernel",
    "unknown key",
];

/// How many of a hundred programs have each feature at least.
const LEAST_PERCENT: usize = 10;

/// How many programs there have to be for that to be asked: few ones may lack a feature by chance.
const ENOUGH: usize = 500;

/// How many unexplained differences of each part are kept to be shown.
const SHOWN: usize = 4;

/// The counts of a run.
#[derive(Debug)]
pub struct Report {
    programs: usize,
    features: BTreeMap<&'static str, usize>,
    stale: usize,
    tally: Tally<Part>,
    /// The features of the program that is compared.
    current: BTreeSet<&'static str>,
}

impl Default for Report {
    fn default() -> Self {
        Self {
            programs: 0,
            features: BTreeMap::new(),
            stale: 0,
            tally: Tally::new(SHOWN),
            current: BTreeSet::new(),
        }
    }
}

impl Report {
    /// A program is about to be compared.
    pub(crate) fn begin(&mut self, program: &Program) {
        self.end_of_program();
        self.programs += 1;
        self.current.extend(&program.features);
    }

    /// Adds what the last program had to the counts.
    pub fn end_of_program(&mut self) {
        for feature in std::mem::take(&mut self.current) {
            *self.features.entry(feature).or_default() += 1;
        }
    }

    /// Both sides took a step.
    pub(crate) fn accepted(&mut self, step: &Step, answer: &[String]) {
        match step {
            Step::Parse(_) => {
                self.current.insert("edited schema, accepted");
            }
            Step::Call(_) if answer.len() > 7 => {
                self.current.insert("call from a kernel");
                // The fallback is left behind when the kernel that makes the call is reached.
                if answer[3].contains("[backend fallback]; ") {
                    self.current.insert("call from a kernel below a fallback of autograd");
                }
            }
            _ => {}
        }
    }

    /// Both sides refused a step.
    pub(crate) fn refused(&mut self, step: &Step, class: Option<&'static str>) {
        if matches!(step, Step::Parse(_)) {
            self.current.insert("edited schema, refused");
        } else {
            self.current.extend(class);
        }
    }

    /// A step was compared.
    pub(crate) fn compared(&mut self, step: &Step, is_stale: bool) {
        let name = match step {
            Step::Block(_) => "blocks",
            Step::Legacy(_) => "legacy registrations",
            Step::Drop(_) | Step::Clear => "drops",
            Step::Look(_) => "states and tables",
            Step::Call(_) => "calls",
            Step::Set(..) => "algebra of sets",
            Step::Key(_) | Step::KeyName(_) => "keys",
            Step::Parse(_) => "edited schemas",
        };
        self.tally.compared(name);
        self.stale += usize::from(is_stale);
    }

    /// Something differed.
    pub(crate) fn difference(
        &mut self,
        difference: Difference,
        rule: Option<&'static Rule>,
        program: &Program,
    ) {
        match rule {
            Some(rule) => self.tally.explained(rule.decided.id, ""),
            None => self.tally.unexplained(difference.part, difference.seed, || {
                let Difference { seed, place, part, ours, torch } = &difference;
                let step = &program.steps[*place];
                format!("seed {seed} step {place} {part:?}: {step}\n    opgrid  {ours}\n    torch   {torch}")
            }),
        }
    }

    /// The comparison cannot go on.
    pub(crate) fn broken(&mut self, program: &Program, place: usize, why: &str) {
        let difference = Difference {
            seed: program.seed,
            place,
            part: Part::Outcome,
            ours: String::new(),
            torch: why.to_owned(),
        };
        self.difference(difference, None, program);
    }

    /// A schema of torch's that we print otherwise, or do not read.
    pub fn schema(&mut self, torch: &str, ours: &str) {
        self.tally.compared("schemas");
        if torch != ours {
            self.tally.unexplained(Part::Printed, 0, || format!("schema {torch}\n    opgrid  {ours}"));
        }
    }

    /// How many programs were compared.
    pub fn programs(&self) -> usize {
        self.programs
    }

    /// What differed.
    pub fn tally(&self) -> &Tally<Part> {
        &self.tally
    }

    /// The features that too few programs have.
    pub fn rare_features(&self) -> Vec<&'static str> {
        if self.programs < ENOUGH {
            return Vec::new();
        }
        let count = |name: &str| self.features.get(name).copied().unwrap_or(0);
        FEATURES.into_iter().filter(|name| count(name) * 100 < self.programs * LEAST_PERCENT).collect()
    }

    fn hits(&self, rule: &Rule) -> usize {
        self.tally.hits(rule.decided.id).map(|(_, count)| count).sum()
    }

    /// The wanted differences that programs should have come upon and have not, where there were enough of them: torch or
    /// opgrid has changed, or the rule was never needed.
    pub fn unmet_rules(&self) -> Vec<&'static str> {
        if self.programs < deliberate::ENOUGH {
            return Vec::new();
        }
        let is_unmet = |rule: &&Rule| rule.met == Met::ByPrograms && self.hits(rule) == 0;
        RULES.iter().filter(is_unmet).map(|rule| rule.decided.id).collect()
    }

    /// What was counted and is in no list of features: that list lacks a line.
    pub fn unlisted_features(&self) -> Vec<&'static str> {
        self.features.keys().copied().filter(|name| !FEATURES.contains(name)).collect()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} programs; of a hundred, so many have:", self.programs)?;
        for (name, count) in &self.features {
            writeln!(f, "  {:6.1}  {name}", *count as f64 * 100.0 / self.programs.max(1) as f64)?;
        }
        self.tally.print_compared(f)?;
        writeln!(f, "{:9}  of the states and calls where torch's stored table is stale", self.stale)?;
        writeln!(f, "decided differences:")?;
        for rule in RULES {
            writeln!(f, "{:9}  {}", self.hits(rule), rule.decided.id)?;
        }
        self.tally.print_differences(f, "programs", |part| format!("{part:?}"))
    }
}
