//! Counts what was compared and what differed, and says whether the run passed.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fmt;

use crate::compare::{Difference, Part};
use crate::deliberate::{self, Met, RULES, Rule};
use crate::program::{Program, Step};

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
#[derive(Debug, Default)]
pub struct Report {
    programs: usize,
    features: BTreeMap<&'static str, usize>,
    compared: BTreeMap<&'static str, usize>,
    stale: usize,
    explained: BTreeMap<&'static str, usize>,
    unexplained: BTreeMap<Part, usize>,
    differing: BTreeSet<u64>,
    shown: Vec<(Difference, String)>,
    current: BTreeSet<&'static str>,
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
        *self.compared.entry(name).or_default() += 1;
        self.stale += usize::from(is_stale);
    }

    /// Something differed.
    pub(crate) fn difference(
        &mut self,
        difference: Difference,
        rule: Option<&'static Rule>,
        program: &Program,
    ) {
        if let Some(rule) = rule {
            *self.explained.entry(rule.difference.id).or_default() += 1;
            return;
        }
        let of_part = self.unexplained.entry(difference.part).or_default();
        *of_part += 1;
        self.differing.insert(difference.seed);
        if *of_part <= SHOWN {
            let step = program.steps[difference.place].to_string();
            self.shown.push((difference, step));
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
        *self.compared.entry("schemas").or_default() += 1;
        if torch != ours {
            *self.unexplained.entry(Part::Printed).or_default() += 1;
            eprintln!("schema {torch}\n  ours {ours}");
        }
    }

    /// How many programs were compared.
    pub fn programs(&self) -> usize {
        self.programs
    }

    /// How many differences no rule explains.
    pub fn unexplained(&self) -> usize {
        self.unexplained.values().sum()
    }

    /// How many programs have such differences.
    pub fn differing_programs(&self) -> usize {
        self.differing.len()
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
        self.explained.get(rule.difference.id).copied().unwrap_or(0)
    }

    /// The wanted differences that programs should have come upon and have not, where there were enough of them: torch or
    /// opgrid has changed, or the rule was never needed.
    pub fn unmet_rules(&self) -> Vec<&'static str> {
        if self.programs < deliberate::ENOUGH {
            return Vec::new();
        }
        let is_unmet = |rule: &&Rule| rule.met == Met::ByPrograms && self.hits(rule) == 0;
        RULES.iter().filter(is_unmet).map(|rule| rule.difference.id).collect()
    }

    /// What was counted and is in no list of features: that list lacks a line.
    pub fn unlisted_features(&self) -> Vec<&'static str> {
        self.features.keys().copied().filter(|name| !FEATURES.contains(name)).collect()
    }

    /// The differences to be shown.
    pub fn shown(&self) -> impl Iterator<Item = &(Difference, String)> {
        self.shown.iter()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} programs; of a hundred, so many have:", self.programs)?;
        for (name, count) in &self.features {
            writeln!(f, "  {:6.1}  {name}", *count as f64 * 100.0 / self.programs.max(1) as f64)?;
        }
        writeln!(f, "compared:")?;
        for (name, count) in &self.compared {
            writeln!(f, "  {count:9}  {name}")?;
        }
        writeln!(f, "  {:9}  of the states and calls where torch's stored table is stale", self.stale)?;
        writeln!(f, "wanted differences:")?;
        for rule in RULES {
            writeln!(f, "  {:9}  {}", self.hits(rule), rule.difference.id)?;
        }
        writeln!(f, "other differences: {} in {} programs", self.unexplained(), self.differing.len())?;
        for (part, count) in &self.unexplained {
            writeln!(f, "  {count:9}  {part:?}")?;
        }
        Ok(())
    }
}
