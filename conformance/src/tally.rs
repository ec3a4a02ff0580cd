//! Counts what was compared and what differed: the same for programs of the dispatcher and for calls on tensors.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The counts of a run. `Group` is what unexplained differences are counted by.
#[derive(Debug)]
pub struct Tally<Group> {
    /// How many unexplained differences of each group are kept to be shown.
    shown_per_group: usize,
    compared: BTreeMap<&'static str, usize>,
    /// By the names of decided differences, and what they were met in.
    explained: BTreeMap<(&'static str, String), usize>,
    unexplained: BTreeMap<Group, usize>,
    seeds: BTreeSet<u64>,
    shown: Vec<String>,
}

impl<Group: Ord> Tally<Group> {
    /// Nothing was compared yet.
    pub fn new(shown_per_group: usize) -> Self {
        Self {
            shown_per_group,
            compared: BTreeMap::new(),
            explained: BTreeMap::new(),
            unexplained: BTreeMap::new(),
            seeds: BTreeSet::new(),
            shown: Vec::new(),
        }
    }

    /// Something of a part of the run was compared.
    pub fn compared(&mut self, part: &'static str) {
        *self.compared.entry(part).or_default() += 1;
    }

    /// Something about `subject` differed as was decided.
    pub fn explained(&mut self, id: &'static str, subject: &str) {
        *self.explained.entry((id, subject.to_owned())).or_default() += 1;
    }

    /// Something differed that was not decided.
    pub fn unexplained(&mut self, group: Group, seed: u64, text: impl FnOnce() -> String) {
        let count = self.unexplained.entry(group).or_default();
        *count += 1;
        self.seeds.insert(seed);
        if *count <= self.shown_per_group {
            self.shown.push(text());
        }
    }

    /// How often a decided difference was met, by what it was met in.
    pub fn hits(&self, id: &str) -> impl Iterator<Item = (&str, usize)> {
        let of_it = self.explained.iter().filter(move |((known, _), _)| *known == id);
        of_it.map(|((_, subject), count)| (subject.as_str(), *count))
    }

    /// Whether a decided difference was met.
    pub fn has_met(&self, id: &str) -> bool {
        self.hits(id).next().is_some()
    }

    /// How many differences were not decided.
    pub fn differences(&self) -> usize {
        self.unexplained.values().sum()
    }

    /// How many seeds have such differences.
    pub fn differing_seeds(&self) -> usize {
        self.seeds.len()
    }

    /// The first undecided differences of each group.
    pub fn shown(&self) -> &[String] {
        &self.shown
    }

    /// Prints what was compared.
    ///
    /// # Errors
    ///
    /// Those of the formatter.
    pub fn print_compared(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "compared:")?;
        self.compared.iter().try_for_each(|(part, count)| writeln!(f, "{count:9}  {part}"))
    }

    /// Prints the undecided differences; `cases` says what has a seed, and `name` names a group.
    ///
    /// # Errors
    ///
    /// Those of the formatter.
    pub fn print_differences(
        &self,
        f: &mut fmt::Formatter<'_>,
        cases: &str,
        name: impl Fn(&Group) -> String,
    ) -> fmt::Result {
        writeln!(f, "other differences: {} in {} {cases}", self.differences(), self.differing_seeds())?;
        let mut groups = self.unexplained.iter();
        groups.try_for_each(|(group, count)| writeln!(f, "{count:9}  {}", name(group)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_counted_by_groups_and_the_first_are_kept() {
        let mut tally = Tally::new(2);
        for seed in 0..5 {
            tally.unexplained("strides", seed / 2, || format!("seed {seed}"));
        }
        tally.unexplained("dtype", 9, || "another".to_owned());
        assert_eq!((tally.differences(), tally.differing_seeds()), (6, 4));
        assert_eq!(tally.shown(), ["seed 0", "seed 1", "another"]);
    }

    #[test]
    fn decided_differences_are_counted_by_what_they_were_met_in() {
        let mut tally: Tally<()> = Tally::new(1);
        for subject in ["add", "mul", "add"] {
            tally.explained("rounding", subject);
        }
        assert_eq!(tally.hits("rounding").collect::<Vec<_>>(), [("add", 2), ("mul", 1)]);
        assert!(tally.has_met("rounding") && !tally.has_met("round"));
        assert_eq!(tally.differences(), 0);
    }
}
